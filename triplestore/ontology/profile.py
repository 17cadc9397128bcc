"""Which axioms of the loaded ontology the store's rules give no effect, or only a part of their effect.

For `owl2rl` the axioms are held against the grammar of the profile ("OWL 2 Web Ontology Language Profiles", section
4.2): what a class expression may be depends on the side of the axiom that it is on. For any ruleset, the vocabulary
that no rule of the store speaks of is listed. What is read is the asserted schema, the user's own axioms.

A finding has *no* effect if no rule uses the axiom at all, a *partial* one if a part of it or one direction is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

import pyarrow as pa

from triplestore.compile.lists import lists_at
from triplestore.compile.schema import METACLASSES, SCHEMA_PREDICATES, Fact, SchemaFacts
from triplestore.dictionary import encoding
from triplestore.dictionary.datatypes import value_of
from triplestore.engine import Queries, Workbench
from triplestore.engine.arrow import int64s
from triplestore.model.rule import Atom, Rule
from triplestore.model.terms import (
    BUILTIN_IDS,
    BUILTIN_IRIS,
    FIRST_BLANK,
    OWL,
    RDF,
    RDFS,
    TYPE,
    XSD,
    builtin,
    literal_token,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Axioms of one kind: what they are, whether they have "no" or "partial" effect, how many, and one of them (tokens
    of its triple)."""

    what: str
    effect: str
    count: int
    example: tuple[str, str, str]


class Side(Enum):
    """Where a class expression stands: on the left of a subclass axiom, on the right, or on both (equivalence)."""

    LEFT = "on the left"
    RIGHT = "on the right"


def _owl(*names: str) -> tuple[int, ...]:
    return tuple(builtin(OWL + name) for name in names)


_INTERSECTION, _UNION, _COMPLEMENT, _ONE_OF, _SOME, _ALL, _VALUE, _SELF = _owl(
    *("intersectionOf", "unionOf", "complementOf", "oneOf", "someValuesFrom", "allValuesFrom", "hasValue", "hasSelf")
)
_MAX, _MAX_QUALIFIED, _ON_CLASS, _THING = _owl("maxCardinality", "maxQualifiedCardinality", "onClass", "Thing")
_NO_RULE = _owl("hasSelf", "minCardinality", "cardinality", "minQualifiedCardinality", "qualifiedCardinality")
_DATA_RANGES = _owl("onDatatype", "datatypeComplementOf")
_CONSTRUCTS: Final = (
    *(_INTERSECTION, _UNION, _COMPLEMENT, _ONE_OF, _SOME, _ALL, _VALUE, _MAX, _MAX_QUALIFIED, *_NO_RULE, *_DATA_RANGES),
)
_PARTS: Final = frozenset(
    (
        *_owl("onProperty", "onProperties", "onClass", "onDataRange", "withRestrictions", "members", "distinctMembers"),
        *_owl("sourceIndividual", "assertionProperty", "targetIndividual", "targetValue"),
        *(builtin(RDF + name) for name in ("first", "rest")),
    )
)
"""Predicates that are a part of another axiom or expression, which is reported in their stead."""

_DECLARATIONS: Final = frozenset(
    (
        *_owl("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty", "OntologyProperty", "Ontology"),
        *_owl("NamedIndividual", "Restriction", "DataRange", "Axiom", "Annotation", "DeprecatedClass"),
        *_owl("DeprecatedProperty", "NegativePropertyAssertion", "AllDifferent"),
        *(builtin(RDF + name) for name in ["Property", "List", "Statement", "Bag", "Seq", "Alt", "nil"]),
        *(builtin(RDFS + name) for name in ["Class", "Datatype", "Container", "ContainerMembershipProperty"]),
    )
)
"""Classes whose instances are declared, with no axiom meant."""

_SUBCLASS = builtin(RDFS + "subClassOf")
_EQUIVALENT, _DISJOINT, _HAS_KEY, _DISJOINT_UNION = _owl("equivalentClass", "disjointWith", "hasKey", "disjointUnionOf")
_DOMAIN, _RANGE, _DATATYPE = (builtin(RDFS + name) for name in ("domain", "range", "Datatype"))
_TOPS: Final = _owl("topObjectProperty", "bottomObjectProperty", "topDataProperty", "bottomDataProperty")
_UNSUPPORTED_DATATYPES: Final = _owl("real", "rational")
_NUMBERS: Final = {literal_token(number, XSD + "integer") for number in "01"}

Fault = tuple[str, bool]
"""What is outside the profile, and whether the rest of its expression still has an effect."""


def findings(engine: Workbench, rules: Iterable[Rule], profile: bool) -> list[Finding]:
    """The axioms in `asserted` that the rules do not use, or use in part, most frequent first.

    profile: the rules are those of OWL 2 RL, so that its grammar applies. Reads the working tables (or views)
    `asserted` and `term`.
    """
    rules = list(rules)
    facts = SchemaFacts(_read(engine, _expression_condition()))
    expressions = sorted({s for p in _CONSTRUCTS for s, _ in facts.match(None, p, None)})
    found: dict[tuple[str, str], list[Fact]] = {}
    if profile:
        numbers = _small_numbers(engine, facts)
        for axiom, what, effect in _Grammar(facts, numbers).check(_axioms(engine, expressions, facts)):
            found.setdefault((what, effect), []).append(axiom)
    counted = [(what, effect, len(axioms), axioms[0]) for (what, effect), axioms in found.items()]
    counted += [(what, "no", count, example) for what, count, example in _unused(engine, rules, profile)]
    tokens = encoding.decode(engine, {i for *_, example in counted for i in example})
    listed = [
        Finding(what, effect, count, (tokens[s], tokens[p], tokens[o])) for what, effect, count, (s, p, o) in counted
    ]
    return sorted(listed, key=lambda f: (-f.count, f.what))


def _read(engine: Queries, condition: str) -> list[Fact]:
    rows = engine.query(f"SELECT DISTINCT s, p, o FROM asserted WHERE {condition} ORDER BY s, p, o")
    return list(zip(*(rows.column(i).to_pylist() for i in range(3)), strict=True))


def _expression_condition() -> str:
    """The triples that make up class expressions and data ranges, as SQL."""
    predicates = ", ".join(map(str, sorted({*_CONSTRUCTS, *_PARTS})))
    return f"(p IN ({predicates}) OR (p = {TYPE} AND o = {_DATATYPE}))"


def _axioms(engine: Workbench, expressions: list[int], facts: SchemaFacts) -> list[Fact]:
    """The axioms about class expressions (or owl:Thing, or a datatype out of the profile), and assertions of them."""
    about = ", ".join(map(str, (_SUBCLASS, _EQUIVALENT, _DISJOINT, _HAS_KEY, _DOMAIN, _RANGE, TYPE)))
    terms = pa.table({"term": int64s([*expressions, _THING, *_TOPS, *_UNSUPPORTED_DATATYPES])})
    with engine.scratch() as scratch:
        inside = f"IN (SELECT term FROM {scratch.load('expression', terms)})"
        found = _read(engine, f"p IN ({about}) AND (s {inside} OR o {inside}) AND NOT (p = {TYPE} AND o = {_THING})")
    # A named class with a description on itself, as OWL 1 wrote it, is an equivalence.
    described = {
        (s, p, o)
        for p in (_INTERSECTION, _UNION, _COMPLEMENT, _ONE_OF)
        for s, o in facts.match(None, p, None)
        if s < FIRST_BLANK
    }
    return [f for f in found if not (f[1] == TYPE and f[2] in METACLASSES)] + sorted(described)


def _small_numbers(engine: Queries, facts: SchemaFacts) -> set[int]:
    """The literals of the schema's cardinalities that are 0 or 1 by value, as the rules read them."""
    numbers = {o for p in (_MAX, _MAX_QUALIFIED) for _, o in facts.match(None, p, None)}
    values = {i: value_of(token) for i, token in encoding.decode(engine, numbers).items() if token.startswith('"')}
    return {i for i, value in values.items() if value is not None and value.canonical in _NUMBERS}


class _Grammar:
    """Section 4.2.3 over the expressions of a schema. numbers: the ids of the literals 0 and 1."""

    def __init__(self, facts: SchemaFacts, numbers: set[int]) -> None:
        self.facts, self.numbers = facts, numbers

    def check(self, axioms: Iterable[Fact]) -> Iterator[tuple[Fact, str, str]]:
        """(axiom, what is outside, effect) for each axiom that is not within the profile."""
        for axiom in axioms:
            s, p, o = axiom
            for what, effect in dict.fromkeys(self._faults(s, p, o)):
                yield axiom, what, effect

    def _faults(self, s: int, p: int, o: int) -> Iterator[tuple[str, str]]:
        if p == _SUBCLASS:
            for what, _ in self._expression(s, Side.LEFT):
                yield what, "partial" if s == _THING else "no"
            yield from self._right(o)
        elif p in (_EQUIVALENT, _INTERSECTION, _UNION, _COMPLEMENT, _ONE_OF):
            pair = (s, o) if p == _EQUIVALENT else (s,)
            for end in pair:
                if end == _THING:
                    yield "owl:Thing in an equivalence", "partial"
                else:
                    yield from self._both(end)
        elif p == _DISJOINT:
            for end in (s, o):
                yield from ((what, "no") for what, _ in self._expression(end, Side.LEFT))
        elif p == _HAS_KEY:
            yield from ((what, "no") for what, _ in self._expression(s, Side.LEFT))
        elif p in (_DOMAIN, _RANGE, TYPE):
            yield from self._right(o)

    def _right(self, node: int) -> Iterator[tuple[str, str]]:
        if node == _THING:  # C subClassOf owl:Thing says nothing
            return
        for what, rest in self._expression(node, Side.RIGHT):
            yield what, "partial" if rest else "no"

    def _both(self, node: int) -> Iterator[tuple[str, str]]:
        left, right = list(self._expression(node, Side.LEFT)), list(self._expression(node, Side.RIGHT))
        if left and right:
            yield from ((what, "no") for what, _ in [*left, *right])
            return
        for what, _ in left or right:
            for side in Side:
                what = what.replace(side.value, "in an equivalence")
            yield what, "partial"

    def _expression(self, node: int, side: Side, seen: frozenset[int] = frozenset()) -> Iterator[Fault]:
        """What an expression has that its side does not allow."""
        if node in seen:
            return
        seen |= {node}
        if node == _THING and side is Side.LEFT:
            yield f"owl:Thing {side.value}", False
        if node in _UNSUPPORTED_DATATYPES:
            yield f"the datatype {_short(node)}", False
        described = {p: self.facts.objects(node, p) for p in _CONSTRUCTS if self.facts.objects(node, p)}
        if (node, TYPE, _DATATYPE) in self.facts.facts or _DATA_RANGES[0] in described or _DATA_RANGES[1] in described:
            if set(described) - {_INTERSECTION}:
                yield f"a data range ({', '.join(_short(p) for p in described)})", False
            return
        for p, objects in described.items():
            yield from self._construct(p, objects, node, side, seen)

    def _construct(
        self, p: int, objects: Iterable[int], node: int, side: Side, seen: frozenset[int]
    ) -> Iterator[Fault]:
        left = side is Side.LEFT
        if p == _INTERSECTION:
            members = [m for o in objects for cells in lists_at(o, self.facts.objects) for m, _ in cells]
            faults = [list(self._expression(m, side, seen)) for m in members if m != _THING]
            some = any(not f for f in faults)
            for fault in (fault for found in faults for fault in found):
                yield fault[0], fault[1] or (some and not left)
        elif p == _UNION and left:
            members = [m for o in objects for cells in lists_at(o, self.facts.objects) for m, _ in cells]
            for member in members:
                yield from self._expression(member, side, seen)
        elif p == _SOME and left:
            for o in objects:
                if o != _THING:
                    yield from self._expression(o, side, seen)
        elif (p == _ONE_OF and left) or p == _VALUE:
            return
        elif p == _COMPLEMENT and not left:
            for o in objects:
                yield from self._expression(o, Side.LEFT, seen)
        elif p == _ALL and not left:
            for o in objects:
                if o != _THING:
                    yield from self._expression(o, side, seen)
        elif p in (_MAX, _MAX_QUALIFIED) and not left:
            if not all(o in self.numbers for o in objects):
                yield f"{_short(p)} other than 0 and 1", False
            for o in self.facts.objects(node, _ON_CLASS):
                if o != _THING:
                    yield from self._expression(o, Side.LEFT, seen)
        elif p in _NO_RULE:
            yield _short(p), False
        else:
            yield f"{_short(p)} {side.value}", False


def _unused(engine: Queries, rules: Iterable[Rule], profile: bool) -> list[tuple[str, int, Fact]]:
    """The schema vocabulary in use that no rule's body speaks of: (what, how many triples, one of them)."""
    spoken: set[int] = set()
    for atom in (e for rule in rules for e in rule.body if isinstance(e, Atom)):
        spoken |= {BUILTIN_IDS[t] for t in (atom.p, atom.o) if isinstance(t, str) and t in BUILTIN_IDS}
    own = frozenset(_CONSTRUCTS) if profile else frozenset(_DATA_RANGES)
    predicates = sorted(SCHEMA_PREDICATES - spoken - _PARTS - own)
    classes = sorted(i for i in METACLASSES - spoken - _DECLARATIONS if _is_kind(i))
    listed = {"p": predicates, "o": classes}
    found = []
    for column, ids in listed.items():
        extra = f" AND p = {TYPE}" if column == "o" else ""
        rows = engine.query(
            f"SELECT {column} AS k, count(*) AS n, min(s) AS s FROM asserted "
            f"WHERE {column} IN ({', '.join(map(str, ids)) or -1}){extra} GROUP BY {column} ORDER BY {column}"
        ).to_pylist()
        for row in rows:
            condition = f"{column} = {row['k']} AND s = {row['s']}{extra}"
            example = _read(engine, condition)[0]
            found.append((_short(row["k"]), int(row["n"]), example))
    if profile:
        for top in _TOPS:
            axioms = _read(engine, f"p = {top} OR ((s = {top} OR o = {top}) AND p <> {TYPE})")
            if axioms:
                found.append((_short(top), len(axioms), axioms[0]))
    return found


def _is_kind(number: int) -> bool:
    """Whether a built-in term is a class of axioms (owl:TransitiveProperty), not a property or a plain class."""
    return BUILTIN_IRIS[number].rpartition("#")[2][:1].isupper()


def _short(number: int) -> str:
    iri = BUILTIN_IRIS[number]
    for space, name in ((OWL, "owl"), (RDFS, "rdfs"), (RDF, "rdf"), (XSD, "xsd")):
        if iri.startswith(space):
            return f"{name}:{iri[len(space) :]}"
    return iri
