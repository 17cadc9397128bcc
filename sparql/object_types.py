"""The types of variables, as the predicates whose objects they are, and the terms that they are given, tell them.

A store keeps the types that the objects of each predicate may have (`triplestore.dictionary.object_types`). A variable
that is the object of several patterns has the types that all of them have, unless literals are matched by value and
shown as the first pattern has them. Joins, unions and the like keep them with columns (`sparql.relation.Column`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from triplake.sparql.algebra import Triple
from triplake.sparql.constants import Constants
from triplake.sparql.dataset import Graphs, Reading
from triplake.sparql.patterns import iris_of, subjects_of
from triplestore.closure.view import ClosureView
from triplestore.dictionary.object_types import SPELLED_ONCE, ObjectType, plain_type
from triplestore.dictionary.object_types import Types as Known
from triplestore.model.equality import Equality
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import FIRST_LITERAL, SAME_AS

Types = frozenset[ObjectType]
"""None of them is `ObjectType.OTHER`."""


def of_variables(triples: Sequence[Triple], reading: Reading, graphs: Graphs) -> dict[str, Types]:
    """The types of the variables of a basic graph pattern of which some are known."""
    how = reading.matching
    by_value = how.facts != how.base
    others, found = subjects_of(triples) | iris_of(triples), dict[str, Types | None]()
    if not graphs.view.literals_in_classes and not graphs.view.generalised:
        found |= dict.fromkeys(others, _NODES)
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
    number, known = graphs.closure.constants.matched(predicate.token), graphs.types()
    types = None if known is None or number == SAME_AS else known.get(number)
    if types is None or ObjectType.OTHER in types or (graphs.view.equal_values and _is_equal(predicate.token, graphs)):
        return None  # forms of literals may come from equal predicates
    return None if ObjectType.RESOURCE in types and graphs.view.literals_in_classes else types


def _is_equal(predicate: str, graphs: Graphs) -> bool:
    """Whether a predicate may equal another."""
    return graphs.view.equality == Equality.AXIOMS or graphs.closure.constants.is_equal(predicate)


_NODES: Final = frozenset({ObjectType.RESOURCE})


def with_one_form(constants: Constants, view: ClosureView, known: Known | None) -> frozenset[int]:
    """The predicates of a query all objects of which have types that spell a value in one way."""
    if known is None or view.literals_in_classes or view.equality == Equality.AXIOMS:
        return frozenset()
    predicates = (token for token in constants.ids if token[0] == "<" and not constants.is_equal(token))
    numbers = map(constants.matched, predicates)
    return frozenset(number for number in numbers if number in known and known[number] <= SPELLED_ONCE)


def of_terms(terms: Iterable[tuple[str, int]]) -> Types | None:
    """The types of some terms, (token, id) each; None where it is not plain of all what literals they are."""
    found = {plain_type(token) if (token[0] == '"') == (number >= FIRST_LITERAL) else None for token, number in terms}
    known = frozenset(kind for kind in found if kind is not None and kind is not ObjectType.OTHER)
    return known if known and len(known) == len(found) else None
