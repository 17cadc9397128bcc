"""What is known of the types of variables: from the predicates whose objects they are, and the terms they are given.

A store keeps the types that the objects of each predicate may have (`triplestore.dictionary.object_types`). A variable
that is the object of several patterns has the types that all of them have, unless literals are matched by value and
shown as the first pattern has them. Joins, unions and the like keep them with columns (`sparql.relation.Column`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplake.sparql.algebra import Triple
from triplake.sparql.dataset import Graphs, Reading
from triplake.sparql.patterns import iris_of, subjects_of
from triplestore.dictionary.object_types import ObjectType, plain_type
from triplestore.model.equality import Equality
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import FIRST_LITERAL, FIRST_TRIPLE, SAME_AS

Types = frozenset[ObjectType]
"""None of them is `ObjectType.OTHER`."""


def of_variables(triples: Sequence[Triple], reading: Reading, graphs: Graphs) -> dict[str, Types]:
    """The types of the variables of a basic graph pattern of which some are known."""
    how = reading.matching
    by_value = how.facts != how.base
    others, found = subjects_of(triples) | iris_of(triples), dict[str, Types | None]()
    for _, predicate, variable in triples:
        if not isinstance(variable, Variable) or variable.name in others:
            continue
        types = _of_objects(predicate, graphs) if isinstance(predicate, Constant) else None
        before = found.setdefault(variable.name, types)
        if not by_value:
            found[variable.name] = types if before is None else before if types is None else before & types
    return {name: types for name, types in found.items() if types}


def _of_objects(predicate: Constant, graphs: Graphs) -> Types | None:
    """The types of the objects of a predicate, in the closure and in graphs whose triples are asserted in it."""
    constants, view, known = graphs.closure.constants, graphs.view, graphs.types()
    equal = constants.is_equal(predicate.token) or view.equality == Equality.AXIOMS
    if known is None or (view.equal_values and equal):  # forms of literals may come from equal predicates
        return None
    number = constants.matched(predicate.token)
    types = known.get(number)
    return None if number == SAME_AS or types is None or ObjectType.OTHER in types else types


def of_terms(terms: Iterable[tuple[str, int]]) -> Types | None:
    """The types of some terms, (token, id) each; None where it is not plain of all what literals they are."""
    found = {plain_type(token) if FIRST_LITERAL <= number < FIRST_TRIPLE else None for token, number in terms}
    known = frozenset(kind for kind in found if kind is not None and kind is not ObjectType.OTHER)
    return known if known and len(known) == len(found) else None
