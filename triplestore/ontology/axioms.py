"""What an axiom of OWL means, with fresh individuals: the way from rules over data to conclusions about schema.

"OWL 2 RDF-Based Semantics", section 5, states most axioms as equivalences: a property is transitive if and only if
x p y and y p z give x p z for all x, y, z. Individuals that occur nowhere else stand for all; so the axiom follows from
a store if its consequence follows once its premises are supposed (`triplestore.ontology.entails` does that).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from rdflib import OWL, RDF, RDFS, Literal, URIRef
from rdflib.term import Node

Triple = tuple[Node, Node, Node]


@dataclass(frozen=True, slots=True)
class Supposition:
    """With `given` supposed, `then` must follow; without `then`, a contradiction must. `section` is the standard's."""

    given: tuple[Triple, ...]
    then: Triple | None
    section: str


_X, _Y, _Z = (URIRef(f"urn:triplake:supposed:{name}") for name in "xyz")
"""Individuals that occur nowhere else."""

Meaning = Callable[[Node, Node], tuple[Supposition, ...]]


def _gives(then: Triple | None, *given: Triple, section: str) -> tuple[Supposition, ...]:
    return (Supposition(given, then, section),)


_IS: Final = RDF.type

_BY_PREDICATE: Final[dict[Node, Meaning]] = {
    OWL.differentFrom: lambda s, o: _gives(None, (s, OWL.sameAs, o), section="5.9"),
    RDFS.subClassOf: lambda s, o: _gives((_X, _IS, o), (_X, _IS, s), section="5.8"),
    OWL.equivalentClass: lambda s, o: (
        *_gives((_X, _IS, o), (_X, _IS, s), section="5.9"),
        *_gives((_X, _IS, s), (_X, _IS, o), section="5.9"),
    ),
    OWL.disjointWith: lambda s, o: _gives(None, (_X, _IS, s), (_X, _IS, o), section="5.9"),
    RDFS.subPropertyOf: lambda s, o: _gives((_X, o, _Y), (_X, s, _Y), section="5.8"),
    OWL.equivalentProperty: lambda s, o: (
        *_gives((_X, o, _Y), (_X, s, _Y), section="5.9"),
        *_gives((_X, s, _Y), (_X, o, _Y), section="5.9"),
    ),
    OWL.propertyDisjointWith: lambda s, o: _gives(None, (_X, s, _Y), (_X, o, _Y), section="5.9"),
    OWL.inverseOf: lambda s, o: (
        *_gives((_Y, o, _X), (_X, s, _Y), section="5.12"),
        *_gives((_Y, s, _X), (_X, o, _Y), section="5.12"),
    ),
    RDFS.domain: lambda s, o: _gives((_X, _IS, o), (_X, s, _Y), section="5.8"),
    RDFS.range: lambda s, o: _gives((_Y, _IS, o), (_X, s, _Y), section="5.8"),
}

_BY_CLASS: Final[dict[Node, Callable[[Node], tuple[Supposition, ...]]]] = {
    OWL.FunctionalProperty: lambda p: _gives((_Y, OWL.sameAs, _Z), (_X, p, _Y), (_X, p, _Z), section="5.13"),
    OWL.InverseFunctionalProperty: lambda p: _gives((_X, OWL.sameAs, _Y), (_X, p, _Z), (_Y, p, _Z), section="5.13"),
    OWL.ReflexiveProperty: lambda p: _gives((_X, p, _X), (_X, _IS, OWL.Thing), section="5.13"),
    OWL.IrreflexiveProperty: lambda p: _gives(None, (_X, p, _X), section="5.13"),
    OWL.SymmetricProperty: lambda p: _gives((_Y, p, _X), (_X, p, _Y), section="5.13"),
    OWL.AsymmetricProperty: lambda p: _gives(None, (_X, p, _Y), (_Y, p, _X), section="5.13"),
    OWL.TransitiveProperty: lambda p: _gives((_X, p, _Z), (_X, p, _Y), (_Y, p, _Z), section="5.13"),
}

CLASS_AXIOMS: Final = frozenset((RDFS.subClassOf, OWL.equivalentClass, OWL.disjointWith))
"""Axioms both of whose ends must be classes."""

PROPERTY_KINDS: Final = tuple(_BY_CLASS)
"""Classes of properties that an axiom may put one in."""

_PAIRWISE: Final[dict[Node, Node]] = {
    OWL.AllDifferent: OWL.differentFrom,
    OWL.AllDisjointClasses: OWL.disjointWith,
    OWL.AllDisjointProperties: OWL.propertyDisjointWith,
}
"""Axioms about lists -> what holds between each two of the members (section 5.10)."""


def meaning(triple: Triple) -> tuple[Supposition, ...]:
    """The suppositions that make an axiom true, all of them; none for a triple that is no axiom of these kinds."""
    s, p, o = triple
    if p == RDF.type:
        return _BY_CLASS[o](s) if o in _BY_CLASS else ()
    return _BY_PREDICATE[p](s, o) if p in _BY_PREDICATE else ()


def of_properties(triple: Triple) -> tuple[Node, ...]:
    """The terms of an axiom that `meaning` has the suppositions of, which must be properties for it to hold."""
    s, p, o = triple
    if p == RDF.type or p in (RDFS.domain, RDFS.range):
        return (s,)
    return () if p == OWL.differentFrom or p in CLASS_AXIOMS else (s, o)


def chain_meaning(prop: Node, chain: Sequence[Node]) -> Supposition:
    """That a chain of properties gives `prop` (section 5.11)."""
    nodes = [URIRef(f"urn:triplake:supposed:u{i}") for i in range(len(chain) + 1)]
    links = tuple((nodes[i], step, nodes[i + 1]) for i, step in enumerate(chain))
    return Supposition(links, (nodes[0], prop, nodes[-1]), "5.11")


def complement_meaning(individual: Node, negated: Node) -> Supposition:
    """That an individual is in the complement of a class (section 5.4)."""
    return Supposition(((individual, RDF.type, negated),), None, "5.4")


def pairwise(kind: Node, members: Sequence[Node]) -> list[Triple]:
    """The axioms between two that owl:AllDifferent and the like stand for."""
    return [(a, _PAIRWISE[kind], b) for a, b in combinations(members, 2)]


def is_pairwise(kind: Node) -> bool:
    """Whether a class is that of an axiom about all pairs of a list."""
    return kind in _PAIRWISE


def negative_meaning(source: Node, prop: Node, target: Node) -> Supposition:
    """That a property does not hold between two (section 5.15)."""
    return Supposition(((source, prop, target),), None, "5.15")


_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_INTERVALS: Final[dict[str, tuple[float, float]]] = {
    "integer": (float("-inf"), float("inf")),
    "nonNegativeInteger": (0, float("inf")),
    "positiveInteger": (1, float("inf")),
    "nonPositiveInteger": (float("-inf"), 0),
    "negativeInteger": (float("-inf"), -1),
    **{name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in _BITS.items()},
    **{f"unsigned{name.capitalize()}": (0, 2**bits - 1) for name, bits in _BITS.items()},
}
_XSD = "http://www.w3.org/2001/XMLSchema#"


def values_within(ranges: Sequence[Node], target: Node) -> bool:
    """Whether every value that is in all of some datatypes is in the datatype `target` ("OWL 2 Structural
    Specification", section 4.1: the integers that each derived datatype of xsd:integer holds)."""
    intervals = [_INTERVALS[str(r)[len(_XSD) :]] for r in ranges if str(r)[len(_XSD) :] in _INTERVALS]
    wanted = _INTERVALS.get(str(target)[len(_XSD) :]) if str(target).startswith(_XSD) else None
    if wanted is None or not intervals:
        return False
    low, high = max(i[0] for i in intervals), min(i[1] for i in intervals)
    return low > high or (wanted[0] <= low and high <= wanted[1])


def is_cardinality(term: Node) -> bool:
    """Whether a term can be the number of a cardinality restriction."""
    return isinstance(term, Literal) and type(term.value) is int and not term.ill_typed and term.value >= 0
