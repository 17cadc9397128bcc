"""Rules read backwards: which instances of a rule can derive a given fact, as a join of what is not known yet.

The schema part of a rule (see `triplestore.compile.specialise`) is matched in memory with the head already bound, so
only the instances that lead to the facts asked for are made. What is left, the data part, is a shape: `BodyMatch.shape`
with the row of its parameters, one statement for all instances that share it (`triplestore.compile.sql.bindings`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, product
from typing import Final

from triplestore.compile.lists import FIRST, NIL, REST, Cell, lists_at, unroll, unroll_atom
from triplestore.compile.plan import DataVar, Hole, OpenSlot, Row, Shape, V, canonical
from triplestore.compile.schema import (
    LENGTH,
    Binding,
    Constants,
    Fact,
    SchemaFacts,
    is_schema_atom,
    list_of,
    matched,
    matches,
)
from triplestore.compile.thresholds import THRESHOLDS
from triplestore.compile.unify import Reading, Unifier, parted, readings
from triplestore.model.rule import (
    Atom,
    BodyElement,
    Filter,
    ListOf,
    MemberOf,
    Rule,
    SchemaElement,
    Span,
    SpanEnd,
    Term,
    Var,
    compares,
    positions_of,
    variables,
)
from triplestore.model.terms import SAME_AS

Known = str | int
"""A term of a triple pattern: the name of a variable, or the id of a constant."""

Triple = tuple[Known, Known, Known]

Place = tuple[int, int, Rule, Atom | None]
"""A head (None: false) of a rule: (number of the rule, number of the head, rule, head)."""

UNKNOWN: Final = -1
"""The id of a constant that no term of the store is."""


@dataclass(frozen=True, slots=True)
class Body:
    """A rule for lists of one length, its constants as ids as the dictionary has them (not normalised).

    atoms: in the order of the text; the cells of a list stand where the body reads the list. lists: (variable's name
    or id of the list, first and last + 1 of its cells in `atoms`). unequal, equal: the filters of terms. made:
    variables of the head that an expression or an aggregate binds, with their ids. seen: variables that expressions
    read, with the terms (members of classes) that they saw.
    """

    rule: Rule
    head: Triple | None
    atoms: tuple[Triple, ...]
    lists: tuple[tuple[Known, int, int], ...]
    unequal: tuple[tuple[Known, Known], ...]
    equal: tuple[tuple[Known, Known], ...]
    made: tuple[tuple[str, int], ...] = ()
    seen: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class BodyMatch:
    """A body with some variables bound (to normalised ids); the others are for `shape` to find, with parameters `row`.

    names: of the variables that the shape binds, in the order of its own variables. same: variables that stand for the
    same term as another, by an equality. No shape: all is bound.
    """

    body: Body
    binding: Mapping[str, int]
    shape: Shape | None
    row: Row
    names: tuple[str, ...]
    same: tuple[tuple[str, str], ...]


_canonical = lru_cache(maxsize=4096)(
    lambda patterns, free: canonical(patterns, (), [DataVar(name) for name in free]),
)
_unroll: Final = lru_cache(maxsize=4096)(unroll)


class Backward:
    """Rules over a closed schema. schema, and `normal` (id -> representative), speak of normalised ids; `constants` of
    the dictionary's own. congruent: whether equality is more than a property like any other."""

    def __init__(
        self,
        rules: Iterable[Rule],
        schema: SchemaFacts,
        constants: Constants,
        normal: Callable[[int], int],
        congruent: bool,
    ) -> None:
        self._rules = tuple(rules)
        self._schema, self._own, self._normal, self._congruent = schema, constants, normal, congruent
        self._constants = constants.under(normal)
        self._written = Constants(self._constants)  # a head has a number as it is written, a body all of its value
        self._heads: dict[int | None, list[tuple[int, int, Rule, Atom]]] = defaultdict(list)  # by predicate, None: any
        for number, rule in enumerate(self._rules):
            for which, head in enumerate(rule.heads if rule.monotone else ()):
                for predicate in self._constants.all(head.p) if isinstance(head.p, str) else (None,):
                    self._heads[predicate].append((number, which, rule, head))
        self._schema_matches: dict[tuple[int, int, tuple[int | None, ...]], list[Binding]] = {}

    def deriving(self, fact: Fact) -> Iterator[BodyMatch]:
        """The ways to derive a fact of the normalised closure (an equality of a class c is written c sameAs c)."""
        found = [*self._heads.get(fact[1], ()), *self._heads.get(None, ())]
        for number, which, rule, head in sorted(found, key=lambda x: x[:2]):
            start = matched(head, fact, self._written, {})
            if start is not None:
                yield from self._bodies(number, which, rule, head, fact, start)

    def evaluated(self, fact: Fact) -> Iterator[Place]:
        """The rules with NOT, AGGREGATE or expressions whose head can be the fact."""
        for number, rule in enumerate(self._rules):
            for which, head in enumerate(rule.heads if not rule.monotone else ()):
                if matched(head, fact, self._written, {}) is not None:
                    yield number, which, rule, head

    def instance(
        self,
        place: Place,
        fact: Fact | None,
        atoms: Sequence[Fact],
        own: Fact | None,
        seen: Mapping[str, int],
        grouped: Mapping[str, int],
    ) -> Iterator[BodyMatch]:
        """One instance of such a rule, by what its head and its atoms are (none of them where there are spans). own:
        the head as the rule made it, in the dictionary's ids; seen: see `Body`; grouped: the keys and results of its
        aggregates, which `made` has too."""
        number, which, rule, head = place
        known = {name: self._normal(i) for name, i in grouped.items()}
        start = known if head is None or fact is None else matched(head, fact, self._written, known)
        for atom, found in zip((e for e in rule.body if isinstance(e, Atom)), atoms, strict=False):
            start = matched(atom, found, self._constants, start) if start is not None else None
        if start is None:
            return
        for match in self._bodies(number, which, rule, head, fact, start):
            bound = {term for atom in match.body.atoms for term in atom}
            made = {name: i for name, i in grouped.items() if name not in bound}
            top = match.body.head
            if top is not None and own is not None:
                made |= {t: i for t, i in zip(top, own, strict=True) if isinstance(t, str) and t not in bound}
                s, p, o = (made.get(t, t) if isinstance(t, str) else t for t in top)
                top = s, p, o
            yield replace(match, body=replace(match.body, head=top, made=tuple(made.items()), seen=tuple(seen.items())))

    def constraints(self, name: str) -> Iterator[Place]:
        """The rules of that name with NOT, AGGREGATE or expressions whose head is false."""
        for number, rule in enumerate(self._rules):
            if rule.name == name and not rule.heads and not rule.monotone:
                yield number, -1, rule, None

    def violating(self, name: str, facts: Sequence[Fact]) -> Iterator[BodyMatch]:
        """The ways in which facts at fault, in the order of the rule's atoms, violate the plain joins of that name."""
        for number, rule in enumerate(self._rules):
            if rule.name != name or rule.heads or not rule.monotone:
                continue
            start: Binding = {}
            plain = [e for e in rule.body if isinstance(e, Atom)]
            if not any(isinstance(t, Span | SpanEnd) for a in plain for t in a.terms) and len(plain) == len(facts):
                bound: Binding | None = start
                for atom, fact in zip(plain, facts, strict=True):
                    bound = matched(atom, fact, self._constants, bound) if bound is not None else None
                if bound is None:
                    continue
                start = bound
            yield from self._bodies(number, -1, rule, None, None, start)

    def _bodies(
        self, number: int, which: int, rule: Rule, head: Atom | None, fact: Fact | None, start: Binding
    ) -> Iterator[BodyMatch]:
        for found in self._schema_part(number, which, rule, start):
            length = found.get(LENGTH)
            binding = {**found, **start}
            if length is None:
                plain, heads = rule, [head]
            else:
                plain = _unroll(rule, length)
                heads = list(unroll_atom(head, length)) if head is not None else [None]
            for one in heads:
                bound = binding if one is None or fact is None else matched(one, fact, self._written, binding)
                if bound is not None:
                    yield from self._instances(rule, plain, one, bound)

    def _schema_part(self, number: int, which: int, rule: Rule, start: Binding) -> list[Binding]:
        """The matches of the schema part, from what the head binds of it."""
        positions = positions_of(rule.body)
        elements = [e for e in rule.body if isinstance(e, SchemaElement) and self._is_schema_element(e, positions)]
        if not elements:
            return [{}]
        names = sorted({name for e in elements for name in variables(e)} & start.keys())
        key = number, which, tuple(start[name] for name in names)
        if key not in self._schema_matches:
            known = {name: start[name] for name in names}
            self._schema_matches[key] = list(matches(elements, self._schema, self._constants, known))
        return self._schema_matches[key]

    def _instances(self, rule: Rule, plain: Rule, head: Atom | None, binding: Binding) -> Iterator[BodyMatch]:
        """The rule with its lists as cells: where a list has several ways to rdf:nil, by each of some of them, since
        the cells of one may take less to derive than those of another."""
        groups: dict[str, list[ListOf | MemberOf]] = {}  # what is of one list
        keys: list[str] = []
        for element in plain.body:
            if isinstance(element, ListOf | MemberOf):
                together = isinstance(element, MemberOf) and element.position is not None
                keys.append(list_of(element) if together else f"{len(keys)}")
                groups.setdefault(keys[-1], []).append(element)
        found = [self._ways(group, binding) for group in groups.values()]
        for ways in islice(product(*found), THRESHOLDS.ways):
            chosen = dict(zip(groups, ways, strict=True))
            cells = [chosen[key] for key in keys]
            elements = [e for e in plain.body if isinstance(e, ListOf | MemberOf)]
            places = [self._places(e, each, binding) for e, each in zip(elements, cells, strict=True)]
            for place in islice(product(*places), THRESHOLDS.ways * THRESHOLDS.ways):
                yield from self._with_cells(rule, plain, head, binding, cells, place)

    def _places(self, element: ListOf | MemberOf, cells: tuple[Cell, ...], binding: Binding) -> list[int]:
        """The positions of a list at which MEMBER may have its member: several, where terms that became equal are
        members of one list. A proof reads the member at one of them, before or after it equals the others."""
        if isinstance(element, ListOf):
            return [0]
        item = self._item(element, binding)
        return [i for i, (each, _) in enumerate(cells) if each == item and self._at(element, i, binding)]

    def _with_cells(
        self,
        rule: Rule,
        plain: Rule,
        head: Atom | None,
        binding: Binding,
        ways: Sequence[tuple[Cell, ...]],
        places: Sequence[int],
    ) -> Iterator[BodyMatch]:
        """The rule with its constants as ids (numbers in each spelling that the store has) and its lists as cells.
        places: for each list of `ways` the position of the member that MEMBER reads."""
        atoms: list[list[Triple]] = []  # alternatives of each atom
        lists: list[tuple[Known, int, int]] = []
        bound = dict(binding)
        for element in plain.body:
            if isinstance(element, Atom):
                choices = [self._ids(t) for t in element.terms]
                atoms.append([(s, p, o) for s, p, o in product(*choices)])
            elif isinstance(element, ListOf | MemberOf):
                source, cells, place = self._id(element.list), ways[len(lists)], places[len(lists)]
                lists.append((source, len(atoms), len(atoms) + 2 * len(cells)))
                node: Known = source
                for i, (item, rest) in enumerate(cells):
                    member: Known = f"#{len(lists)}.{i}"
                    after = f"#{len(lists)}.{i}.rest"
                    if isinstance(element, ListOf):
                        member = f"{element.items.stem}{element.items.first + i}"
                    elif i == place:
                        member = self._id(element.item)
                    if isinstance(member, str):
                        bound[member] = item
                    tail: Known = NIL if i + 1 == len(cells) else after
                    if isinstance(tail, str):
                        bound[tail] = rest
                    atoms.append([(node, FIRST, member)])
                    atoms.append([(node, REST, tail)])
                    node = tail
        if any(not alternatives for alternatives in atoms):
            return
        positions = positions_of(plain.body)
        filters = [e for e in plain.body if isinstance(e, Filter) and not compares(e, positions)]
        unequal, equal = (
            tuple((self._id(e.left), self._id(e.right)) for e in filters if e.operator == operator)
            for operator in ("!=", "=")
        )
        top = None
        if head is not None:
            s, p, o = (self._id(t) for t in head.terms)
            top = s, p, o
        for chosen in product(*atoms):
            yield from self._open(Body(rule, top, chosen, tuple(lists), unequal, equal), bound)

    def _open(self, body: Body, binding: Binding) -> Iterator[BodyMatch]:
        """What of a body is not known in memory, once for each way of reading its equalities."""
        for reading in readings([self._is_equality(p, binding) for _, p, _ in body.atoms], stored=False):
            found = self._read(body, reading, binding)
            if found is not None:
                yield found

    def _is_equality(self, predicate: Known, binding: Binding) -> bool | None:
        """Whether an atom with this predicate is an equality; None: it may match equalities among other things."""
        known = binding.get(predicate) if isinstance(predicate, str) else self._normal(predicate)
        return None if known is None and self._congruent else self._congruent and known == SAME_AS

    def _read(self, body: Body, reading: Reading, binding: Binding) -> BodyMatch | None:
        known = {name: value for name, value in binding.items() if name != LENGTH}
        now = Unifier[Known](
            lambda term: isinstance(term, str),
            lambda term: known.get(term, term) if isinstance(term, str) else self._normal(term),
        )
        stored, reflexive = parted(body.atoms, reading)
        for s, p, o in reflexive:
            if not (now.unify(p, SAME_AS) and now.unify(s, o)):
                return None
        patterns = dict.fromkeys(tuple(map(now, atom)) for atom in stored)
        values: list[int] = []

        def open_slot(term: Known) -> OpenSlot:
            if isinstance(term, str):
                return DataVar(term)
            values.append(term)
            return Hole(len(values) - 1)

        patterns_left = tuple(tuple(open_slot(t) for t in terms) for terms in patterns if not self._in_schema(terms))
        free = tuple(dict.fromkeys(p.name for terms in patterns_left for p in terms if isinstance(p, DataVar)))
        one = {str(name): now(name) for name in now.replaced}
        known |= {name: term for name, term in one.items() if isinstance(term, int)}
        same = tuple((name, term) for name, term in one.items() if isinstance(term, str))
        if not patterns_left:
            return BodyMatch(body, known, None, (), (), same)
        shape, holes = _canonical(patterns_left, free)
        order = [slot.number for slot in shape.output if isinstance(slot, V)]
        names = tuple(name for _, name in sorted(zip(order, free, strict=True)))
        return BodyMatch(body, known, shape, tuple(values[hole] for hole in holes), names, same)

    def _is_schema_element(self, element: BodyElement, positions: Collection[Term]) -> bool:
        if isinstance(element, Atom):  # by a predicate that equals owl:sameAs it is a matter of classes
            equality = self._congruent and self._constants.get(str(element.p)) == SAME_AS
            return is_schema_atom(element) and not equality
        return isinstance(element, ListOf | MemberOf) or compares(element, positions)

    def _in_schema(self, terms: tuple[Known, ...]) -> bool:
        """Whether a pattern is a schema fact at hand."""
        return terms in self._schema.facts

    def _ids(self, term: Term) -> list[Known]:
        """What an atom of a body asks for: a number in each spelling that the store has."""
        if isinstance(term, Var):
            return [term.name]
        assert isinstance(term, str), term
        return list(self._own.all(term))

    def _id(self, term: Term) -> Known:
        """A term as it is written."""
        return term.name if isinstance(term, Var) else self._own.get(str(term), UNKNOWN)

    def _item(self, element: MemberOf, binding: Binding) -> int:
        """The member that a match has found."""
        term = element.item
        return binding[term.name] if isinstance(term, Var) else self._normal(int(self._id(term)))

    def _at(self, element: MemberOf, index: int, binding: Binding) -> bool:
        return not isinstance(element.position, Var) or binding[element.position.name] == index

    def _ways(self, group: Sequence[ListOf | MemberOf], binding: Binding) -> list[tuple[Cell, ...]]:
        """The cells of the lists that agree with the binding, `THRESHOLDS.ways` at most. group: the elements about
        one list."""
        source = self._id(group[0].list)
        start = binding[source] if isinstance(source, str) else self._normal(source)
        return list(islice(self._agreeing(group, start, binding), THRESHOLDS.ways))

    def _agreeing(self, group: Sequence[ListOf | MemberOf], start: int, binding: Binding) -> Iterator[tuple[Cell, ...]]:
        wanted: list[int] = []
        for element in group:
            if isinstance(element, ListOf):
                stem, first = element.items.stem, element.items.first
                wanted += [binding[f"{stem}{first + i}"] for i in range(binding[LENGTH])]
            else:
                wanted.append(self._item(element, binding))

        def objects(subject: int, predicate: int) -> Sequence[int]:
            """Of several members of a cell those that are wanted, lest the others multiply the ways."""
            found = self._schema.objects(subject, predicate)
            return [x for x in found if x in wanted] or found if predicate == FIRST and len(found) > 1 else found

        def agrees(element: ListOf | MemberOf, items: Sequence[int]) -> bool:
            if isinstance(element, ListOf):
                return items == wanted
            item = self._item(element, binding)
            return any(item == each and self._at(element, i, binding) for i, each in enumerate(items))

        for cells in lists_at(start, objects):
            items = [item for item, _ in cells]
            if all(agrees(element, items) for element in group):
                yield cells
