"""The schema part of rules: which atoms it is, its facts, and matching them.

Schema facts are few (an ontology's, not the data's), so they live in memory and are joined here, whatever the engine:
the same code serves every engine, and costs no statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.compile.dependency import ALL, Node, fact_node
from triplestore.compile.lists import FIRST, REST, Placed, lists_at, members_at, unroll_atom
from triplestore.model.errors import LimitError
from triplestore.model.rule import Atom, Filter, ListOf, MemberOf, SchemaElement, Span, SpanEnd, Term, Var
from triplestore.model.terms import BUILTIN_IDS, BUILTIN_IRIS, OWL, RDF, RDFS, SAME_AS, TYPE, builtin, iri_token

Fact = tuple[int, int, int]
Binding = dict[str, int]
"""Variable name -> id (or list position); the length of the rule's list is under `LENGTH`, and the literal that an atom
with a number matched, which may be another of its value, under `spelling` of the atom; of several lists at one node the
one that positions are of, under `list_of`, and the members taken from it under that and the position."""

LENGTH: Final = "#n"

MOST_PAIRED: Final = 3_000
"""Most members of a list that a rule takes two by two: the pairs are half of their square. Constraints on any two
members join the list as a table instead (`triplestore.compile.pairs`)."""


class Constants(dict[str, int]):
    """Token -> id of a rule's constants. `equal`: for a number, the ids of all literals of its value, which a body
    atom matches alike."""

    def __init__(self, ids: Mapping[str, int], equal: Mapping[str, Sequence[int]] | None = None) -> None:
        super().__init__(ids)
        self.equal = dict(equal or {})

    def under(self, normal: Callable[[int], int]) -> Constants:
        """The constants with other ids in place of theirs: their representatives."""
        return Constants(
            {token: normal(number) for token, number in self.items()},
            {token: list(dict.fromkeys(map(normal, numbers))) for token, numbers in self.equal.items()},
        )

    @property
    def vocabulary(self) -> Vocabulary:
        """Which facts are schema under the representatives that the constants have."""
        return Vocabulary.under(lambda number: self.get(iri_token(BUILTIN_IRIS[number]), number))

    def all(self, token: str) -> Sequence[int]:
        """Every id that a constant in a body atom matches; none for a term that the store lacks."""
        if token in self.equal:
            return self.equal[token]
        return (self[token],) if token in self else ()


_OWL_ANNOTATIONS = (
    *("differentFrom", "versionInfo", "priorVersion", "backwardCompatibleWith", "incompatibleWith", "deprecated"),
    *("annotatedSource", "annotatedProperty", "annotatedTarget", "versionIRI", "imports"),
)
_DATA_PREDICATES = {TYPE, SAME_AS} | {
    builtin(iri)
    for iri in (
        *(OWL + name for name in _OWL_ANNOTATIONS),
        *(RDFS + name for name in ("member", "label", "comment", "seeAlso", "isDefinedBy")),
        *(RDF + name for name in ("subject", "predicate", "object", "value")),
    )
}
_DATA_CLASSES = {builtin(iri) for iri in (OWL + "Thing", OWL + "Nothing", RDFS + "Resource", RDFS + "Literal")}


def _vocabulary(excluded: Collection[int]) -> frozenset[int]:
    terms = (number for number, iri in enumerate(BUILTIN_IRIS) if iri.startswith((RDF, RDFS, OWL)))
    return frozenset(terms) - frozenset(excluded)


SCHEMA_PREDICATES: Final = _vocabulary(_DATA_PREDICATES)
"""Predicates whose triples are schema: the vocabulary of RDF, RDFS and OWL but for annotations and the like."""

METACLASSES: Final = _vocabulary(_DATA_CLASSES)
"""Classes whose instances are schema: `?x rdf:type owl:TransitiveProperty` and the like."""


def is_schema_atom(atom: Atom) -> bool:
    """Whether an atom of a rule can match schema facts only."""
    if not isinstance(atom.p, str):
        return False
    o = BUILTIN_IDS.get(atom.o, -1) if isinstance(atom.o, str) else -1
    return Vocabulary(SCHEMA_PREDICATES, METACLASSES).has(BUILTIN_IDS.get(atom.p, -1), o)


def atom_node(atom: Atom) -> Node:
    """The node of a schema atom, by the vocabulary's own ids."""
    return fact_node(BUILTIN_IDS[str(atom.p)], BUILTIN_IDS.get(atom.o, ALL) if isinstance(atom.o, str) else ALL)


def condition_of(nodes: Iterable[Node]) -> str:
    """That a fact (columns p and o) is of one of the nodes, as SQL."""
    classes: dict[int, list[int]] = {}
    predicates = []
    for p, o in sorted(nodes):
        if o == ALL:
            predicates.append(p)
        else:
            classes.setdefault(p, []).append(o)
    parts = [f"p IN ({', '.join(map(str, predicates))})"] if predicates else []
    parts += [f"(p = {p} AND o IN ({', '.join(map(str, each))}))" for p, each in classes.items()]
    return f"({' OR '.join(parts)})" if parts else "FALSE"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What makes a fact a schema fact, under some representatives: one of the `predicates`, or rdf:type and one of the
    `classes`. Where a schema term equals rdf:type, rdfs:label or owl:Thing, say, all facts of that are schema."""

    predicates: frozenset[int]
    classes: frozenset[int]

    @classmethod
    def under(cls, normal: Callable[[int], int]) -> Vocabulary:
        """normal: the representative of a built-in term."""
        renamed = {normal(TYPE)} - {TYPE}  # its facts are no instances by name any more
        predicates = renamed.union(map(normal, SCHEMA_PREDICATES)) - {SAME_AS}  # which makes classes, not facts
        return cls(frozenset(predicates), frozenset(map(normal, METACLASSES)))

    def has(self, p: int, o: int) -> bool:
        """Whether a fact with this predicate and object is a schema fact."""
        return p in self.predicates or (p == TYPE and o in self.classes)

    @property
    def condition(self) -> str:
        """The same test as SQL over columns p and o."""
        predicates, classes = (", ".join(map(str, sorted(ids))) for ids in (self.predicates, self.classes))
        return f"(p IN ({predicates}) OR (p = {TYPE} AND o IN ({classes})))"


class SchemaFacts:
    """A set of facts, found by predicate and subject or predicate and object. closed: nodes of lists that were read, at
    which a way ends and might go on: it comes back to them, or they are rdf:nil, and a cell."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.facts: set[Fact] = set()
        self.closed: set[int] = set()
        self._by_p: dict[int, list[tuple[int, int]]] = {}
        self._by_ps: dict[tuple[int, int], list[int]] = {}
        self._by_po: dict[tuple[int, int], list[int]] = {}
        self._last: tuple[int, list[list[Placed]]] | None = None
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> bool:
        """Add a fact; whether it was new."""
        if fact in self.facts:
            return False
        self.facts.add(fact)
        s, p, o = fact
        self._by_p.setdefault(p, []).append((s, o))
        self._by_ps.setdefault((p, s), []).append(o)
        self._by_po.setdefault((p, o), []).append(s)
        if p in (FIRST, REST):
            self._last = None
        return True

    @property
    def predicates(self) -> Iterable[int]:
        return self._by_p.keys()

    def match(self, s: int | None, p: int, o: int | None) -> Iterable[tuple[int, int]]:
        """(s, o) of the facts with predicate p, and with subject s and object o where given."""
        if s is None:
            if o is None:
                return self._by_p.get(p, ())
            return [(x, o) for x in self._by_po.get((p, o), ())]
        if o is None:
            return [(s, x) for x in self._by_ps.get((p, s), ())]
        return [(s, o)] if (s, p, o) in self.facts else ()

    def size(self, s: int | None, p: int | None, o: int | None) -> int:
        """How many facts `match` finds, at most one if both ends are given."""
        if p is None:
            return 0
        if s is None:
            return len(self._by_p.get(p, ()) if o is None else self._by_po.get((p, o), ()))
        return len(self._by_ps.get((p, s), ())) if o is None else 1

    def objects(self, s: int, p: int) -> Sequence[int]:
        return self._by_ps.get((p, s), ())

    def members(self, head: int) -> list[list[Placed]]:
        """The members of the lists that start at a node (`members_at`). Those of the last node are kept: a rule that
        asks for two members asks again for each of the first."""
        if self._last is None or self._last[0] != head:
            self._last = head, members_at(head, self.objects, self.closed)
        return self._last[1]


def matches(
    elements: Sequence[SchemaElement], facts: SchemaFacts, constants: Constants, binding: Binding
) -> Iterator[Binding]:
    """All bindings that extend `binding` and satisfy the elements over the facts. `constants`: token -> id."""
    if not elements:
        yield binding
        return
    chosen = (
        0
        if len(elements) == 1
        else min(range(len(elements)), key=lambda i: _cost(elements[i], facts, constants, binding))
    )
    element, rest = elements[chosen], [*elements[:chosen], *elements[chosen + 1 :]]
    if isinstance(element, Filter):
        if holds(element, constants, binding):
            yield from matches(rest, facts, constants, binding)
    elif isinstance(element, Atom) and any(isinstance(t, Span) for t in element.terms):
        unrolled = unroll_atom(element, binding[LENGTH])
        yield from matches([*unrolled, *rest], facts, constants, binding)
    else:
        paired = isinstance(element, MemberOf) and any(
            isinstance(other, MemberOf) and other.list == element.list for other in rest
        )
        for extended in _extend(element, facts, constants, binding, MOST_PAIRED if paired else None):
            yield from matches(rest, facts, constants, extended)


def matched(atom: Atom, fact: Fact, constants: Constants, binding: Mapping[str, int]) -> Binding | None:
    """The binding extended so that the atom is the fact, or None; spans are left out."""
    extended = dict(binding)
    for term, value in zip(atom.terms, fact, strict=True):
        if isinstance(term, str):
            if value not in constants.all(term):
                return None
        elif isinstance(term, Var) and extended.setdefault(term.name, value) != value:
            return None
    return extended


def holds(condition: Filter, constants: Constants, binding: Binding) -> bool:
    """Whether a filter whose terms are all bound holds."""
    left, right = _value(condition.left, constants, binding), _value(condition.right, constants, binding)
    if condition.operator in ("<", ">"):
        assert left is not None
        assert right is not None
        return left < right if condition.operator == "<" else left > right
    return (left == right) == (condition.operator == "=")


def spelling(atom: Atom) -> str:
    """Where a binding has the literal that an atom with a number matched."""
    return f"{atom.s} {atom.p} {atom.o}"


def list_of(element: ListOf | MemberOf) -> str:
    """Where a binding has which of the lists at one node the positions are of."""
    return f"the list of {element.list}"


def filled(term: Term, constants: Constants, binding: Binding) -> int:
    """The value of a term that is no variable, or bound."""
    if isinstance(term, str):
        return constants[term]
    assert isinstance(term, Var), term
    return binding[term.name]


def _extend(
    element: Atom | ListOf | MemberOf,
    facts: SchemaFacts,
    constants: Constants,
    binding: Binding,
    most: int | None = None,
) -> Iterator[Binding]:
    """The bindings that match one element. most: members of a list, where they are matched two by two."""
    if isinstance(element, Atom):
        p = _value(element.p, constants, binding)
        if p is None or (isinstance(element.s, str) and element.s not in constants):
            return
        s = _value(element.s, constants, binding)
        objects: Sequence[int | None] = (
            constants.all(element.o) if isinstance(element.o, str) else (_value(element.o, constants, binding),)
        )
        for o in objects:
            for found in facts.match(s, p, o):
                ends = [(t, v) for t, v in zip((element.s, element.o), found, strict=True) if not isinstance(t, str)]
                for extended in _bind(ends, constants, binding):
                    if isinstance(element.o, str) and element.o in constants.equal:
                        extended[spelling(element)] = found[1]
                    yield extended
        return
    start = _value(element.list, constants, binding)
    if start is None and isinstance(element.list, str):
        return  # a list that no term of the store is
    heads = [start] if start is not None else sorted({s for s, _ in facts.match(None, FIRST, None)})
    for head in heads:
        base = dict(binding)
        if isinstance(element.list, Var):
            base[element.list.name] = head
        if isinstance(element, MemberOf):
            yield from _members(element, facts.members(head), constants, base, most)
        else:
            for cells in lists_at(head, facts.objects, facts.closed):
                items = [item for item, _ in cells]
                if not items:  # rules over lists speak of one member at least
                    continue
                if base.get(LENGTH, len(items)) != len(items):
                    continue
                names = [Var(f"{element.items.stem}{element.items.first + i}") for i in range(len(items))]
                yield from _bind(tuple(zip(names, items, strict=True)), constants, base | {LENGTH: len(items)})


def _members(
    element: MemberOf, lists: Sequence[Sequence[Placed]], constants: Constants, binding: Binding, most: int | None
) -> Iterator[Binding]:
    """The bindings for each member of the lists at one node. Positions are compared in one list: atoms that ask for
    them, of one node, take its members from the same list, and those of one position are the same."""
    known = binding.get(element.item.name) if isinstance(element.item, Var) else None
    if known is not None:
        lists = [[(position, item) for position, item in members if item == known] for members in lists]
    longest = max(map(len, lists), default=0)
    if most is not None and longest > most:
        raise LimitError(
            f"a rule takes the members of a list two by two, and a list of the data has {longest:,} members: "
            f"at most {most:,} are taken so; split the list, or leave out the rule"
        )
    if element.position is None:
        for item in dict.fromkeys(item for members in lists for _, item in members):
            yield from _bind([(element.item, item)], constants, binding)
        return
    taken = list_of(element)
    for number, members in enumerate(lists):
        if binding.get(taken, number) == number:
            for position, item in members:
                here = f"{taken}: {position}"
                if binding.get(here, item) == item:
                    pairs = (element.item, item), (element.position, position)
                    yield from _bind(pairs, constants, binding | {taken: number, here: item})


def _bind(pairs: Sequence[tuple[Term, int]], constants: Constants, binding: Binding) -> Iterator[Binding]:
    extended = dict(binding)
    for term, value in pairs:
        known = _value(term, constants, extended)
        if known is None and isinstance(term, Var):
            extended[term.name] = value
        elif known != value:
            return
    yield extended


def _value(term: Term, constants: Constants, binding: Binding) -> int | None:
    if isinstance(term, Var):
        return binding.get(term.name)
    if isinstance(term, SpanEnd):
        return binding.get(f"{term.stem}{binding[LENGTH]}") if LENGTH in binding else None
    return constants.get(term) if isinstance(term, str) else None


def _cost(element: SchemaElement, facts: SchemaFacts, constants: Constants, binding: Binding) -> float:
    """How many matches to expect of an element, exactly so for an atom: the cheapest is joined first."""
    if isinstance(element, Filter):
        bound = all(not isinstance(t, Var) or t.name in binding for t in (element.left, element.right))
        return 0.0 if bound else 1e9
    if isinstance(element, ListOf | MemberOf):
        known = not isinstance(element.list, Var) or element.list.name in binding
        return 3.0 if known else 1e6
    if any(isinstance(t, Span) for t in element.terms):
        return 0.5 if LENGTH in binding else 1e8
    if isinstance(element.o, str) and element.o in constants.equal:
        return 10.0
    s, p, o = (_value(term, constants, binding) for term in element.terms)
    return facts.size(s, p, o)
