"""Rules that read data: schema part and data part, and how a match of the one makes an instance of the other's shape.

Equality needs care in bodies only. `[?x, owl:sameAs, ?y]` (written so, or met through a predicate that turns out to be
owl:sameAs) matches `x sameAs x` for every term x that occurs; that is never stored, so such an atom is replaced by
unifying its ends. With equality `rewrite` that is all it can match; with `axioms` stored equalities match too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from triplestore.compile.inline import bound_by
from triplestore.compile.lists import unroll, unroll_atom
from triplestore.compile.pairs import Pair
from triplestore.compile.passes import Draft, Options
from triplestore.compile.plan import (
    Condition,
    K,
    Made,
    Numbering,
    OpenElement,
    OpenSlot,
    Pattern,
    Row,
    Shape,
    V,
    canonical,
)
from triplestore.compile.program import Program
from triplestore.compile.schema import (
    LENGTH,
    MOST_PAIRED,
    Binding,
    Constants,
    SchemaFacts,
    filled,
    is_schema_atom,
    matches,
    spelling,
)
from triplestore.compile.slots import Slots, absences, compared, grouped, holds, made
from triplestore.compile.symmetry import half
from triplestore.compile.unify import SAME_AS_TOKEN, Reading, Unifier, parted, readings
from triplestore.model.equality import Equality
from triplestore.model.errors import LimitError
from triplestore.model.expression import Variable, variables_of, walk
from triplestore.model.rule import (
    Aggregate,
    Atom,
    Filter,
    Holds,
    MemberOf,
    Not,
    Rule,
    Span,
    Term,
    Var,
)
from triplestore.model.terms import SAME_AS

LONGEST: Final = 1_000
"""Most members of a list of which each is a join."""

LONGEST_LINKED: Final = 400
"""The same where each join has a variable of its own, as in chains: more are too long for one statement."""

LONGEST_COMPARED: Final = 100
"""The same where two terms have these joins, as in keys: an engine's time for one statement grows with a high power."""

MOST_PAIRS: Final = MOST_PAIRED**2 // 2
"""Most matches of a rule that takes members of lists two by two, over all lists: those of one of the longest."""


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a match of a rule's schema part becomes an instance: the shape, and what fills each parameter.

    asked: parameters of the body, where a number stands for all of its value. matched: those that are the literal which
    an atom of the schema part matched, with its `spelling`.
    """

    shape: Shape
    sources: tuple[Term, ...]
    asked: frozenset[int]
    matched: Mapping[int, str]
    checks: tuple[tuple[Term, Term], ...]


@dataclass(frozen=True, slots=True)
class _Output:
    """What a body yields: the head, under unification, and the atoms that were met."""

    head: tuple[Term, ...] | None
    evidence: Sequence[Atom]


class DataRule:
    """A rule that reads data, with one head (None: false)."""

    def __init__(self, draft: Draft, head: Atom | None, options: Options) -> None:
        rule = draft.rule
        self.rule, self.made, self.head, self.equality = rule, draft.made, head, options.equality
        self._evidence = options.evidence
        expressions = [part.expression for part in walk(rule.body) if isinstance(part, Holds)]
        read = {n for e in (*expressions, *draft.made.values()) for n in variables_of(e)}
        self._read = read if options.evidence else set()
        self.joined = [e for e in draft.data if is_schema_atom(e)] if draft.joined else []
        self.schema, self.atoms = draft.schema, draft.data
        self._pair = None if options.evidence else Pair.of(rule, self.schema)
        self._paired = [] if self._pair is None else self._pair.elements
        self._alone = [e for e in self.schema if e not in self._paired]
        self._pairs = sum(isinstance(e, MemberOf) for e in self.schema) > 1
        self._recipes: dict[tuple[int | None, bool, tuple[bool | None, ...]], list[_Recipe]] = {}
        self._unrolled: dict[int, list[Atom]] = {}

    def instantiate(self, schema: SchemaFacts, present: set[int], constants: Constants, program: Program) -> None:
        """Add this rule's instances over the schema to the program."""
        for atom in (e for e in self.schema if isinstance(e, Atom)):
            if constants[str(atom.p)] not in present:
                return
        needed = [t for a in self.atoms for t in a.terms if isinstance(t, str)]
        if any(not constants.all(t) for t in needed):
            return  # a constant that no term of the store is: the body cannot match
        number = 0
        for binding in matches(self._alone, schema, constants, {}):
            listed = None if self._pair is None else self._pair.rows(schema, binding)
            if listed is not None:
                program.listed.update(listed)
                self._add_match(schema, constants, binding, program, self._pair)
                continue
            for found in matches(self._paired, schema, constants, binding):
                self._add_match(schema, constants, found, program)
                number += 1
                if number > MOST_PAIRS and self._pairs:
                    raise LimitError(
                        f"rule {self.rule.name} takes the members of lists two by two, and the lists of the data have "
                        f"more than {MOST_PAIRS:,} such pairs: split the lists, or leave out the rule"
                    )

    def _add_match(
        self, schema: SchemaFacts, constants: Constants, binding: Binding, program: Program, pair: Pair | None = None
    ) -> None:
        """Add the instances of one match of the schema part. pair: what is joined with the table of lists."""
        length = binding.get(LENGTH)
        plain = self._plain(length)
        members = () if pair is None else [member.item for member in pair.members]  # none is owl:sameAs: `Pair.rows`
        same = tuple(False if a.p in members else self._is_same_as(a.p, schema, constants, binding) for a in plain)
        key = (length, pair is not None, same)
        recipes = self._recipes.get(key)
        if recipes is None:
            recipes = self._recipes[key] = self._make_recipes(length, plain, same, binding, pair)
        for recipe in recipes:
            self._add(recipe, constants, binding, program)

    def _plain(self, length: int | None) -> Sequence[Atom]:
        """The data atoms, spans unrolled. Raises LimitError for a list that is too long to be joined."""
        if length is None:
            return self.atoms
        spans = [sum(isinstance(term, Span) for term in atom.terms) for atom in self.atoms]
        linked = sum(found > 1 for found in spans)
        most = LONGEST_COMPARED if linked > 1 else LONGEST_LINKED if linked else LONGEST
        if length > most and any(spans):
            raise LimitError(
                f"rule {self.rule.name} joins a fact for each member of a list, and a list of the data has {length:,} "
                f"members: at most {most:,} are joined; shorten the list, or leave out the rule"
            )
        if length not in self._unrolled:
            self._unrolled[length] = [a for atom in self.atoms for a in unroll_atom(atom, length)]
        return self._unrolled[length]

    def _is_same_as(self, predicate: Term, schema: SchemaFacts, constants: Constants, binding: Binding) -> bool | None:
        """Whether an atom with this predicate is an equality; None: it may match equalities among other things."""
        if self.equality == Equality.OFF:
            return False
        if isinstance(predicate, Var) and predicate.name not in binding:
            ends = [(a, a.s == predicate) for a in self.joined if predicate in (a.s, a.o)]
            found = (
                schema.match(SAME_AS if first else None, constants[str(a.p)], None if first else SAME_AS)
                for a, first in ends
            )
            return None if all(found) else False
        return filled(predicate, constants, binding) == SAME_AS

    def _add(self, recipe: _Recipe, constants: Constants, binding: Binding, program: Program) -> None:
        for left, right in recipe.checks:
            if _meant(left, constants, binding).isdisjoint(_meant(right, constants, binding)):
                return
        choices = [
            constants.all(source)
            if isinstance(source, str) and number in recipe.asked
            else (self._filled(source, recipe.matched.get(number), constants, binding),)
            for number, source in enumerate(recipe.sources)
        ]
        for row in product(*choices):
            if self.head is None or not self._is_idle(recipe.shape, row):
                self._add_row(recipe.shape, row, program)

    @staticmethod
    def _filled(source: Term, matched: str | None, constants: Constants, binding: Binding) -> int:
        return binding[matched] if matched in binding else filled(source, constants, binding)

    def _is_idle(self, shape: Shape, row: Row) -> bool:
        """Whether an instance derives what holds anyway: an atom of its body (`?x a :C` of `?x a :C` and `:C
        rdfs:subClassOf :C`), or `x owl:sameAs x`, perhaps by a name of owl:sameAs, of a term of its body."""

        def of(slots: Sequence[object]) -> list[object]:
            return [row[slot.number] if isinstance(slot, K) else slot for slot in slots]

        s, p, o = head = of(shape.output[:3])
        reflexive = self.equality != Equality.OFF and p == SAME_AS and s == o and isinstance(s, V)
        return reflexive or any(of(element.slots) == head for element in shape.body if isinstance(element, Pattern))

    def _add_row(self, shape: Shape, row: Row, program: Program) -> None:
        name = self.rule.name
        if shape.body or shape.conditions:
            constraints, instances = program.constraints, program.instances
            rows = constraints.setdefault((name, shape), {}) if self.head is None else instances.setdefault(shape, {})
            rows.setdefault(row, name)
        elif self.head is None:
            program.violations.add((name, _constants_of(shape, row)))
        else:
            s, p, o = _constants_of(shape, row)
            program.facts.add((s, p, o))

    def _make_recipes(
        self,
        length: int | None,
        atoms: Sequence[Atom],
        same: Sequence[bool | None],
        binding: Binding,
        pair: Pair | None,
    ) -> list[_Recipe]:
        """One recipe for each way of reading the body's equalities (see the module's text)."""
        rule = unroll(self.rule, length) if length is not None else self.rule
        head = None
        if self.head is not None:
            head = unroll_atom(self.head, length)[0] if length is not None else self.head
        evidence = [e for e in rule.body if isinstance(e, Atom)] if head is None or self._evidence else []
        recipes = []
        for reading in readings(same, stored=self.equality != Equality.REWRITE):
            recipe = self._reading(rule, atoms, reading, head, evidence, binding, pair)
            if recipe is not None and recipe not in recipes:
                recipes.append(recipe)
        return recipes

    def _reading(
        self,
        rule: Rule,
        atoms: Sequence[Atom],
        reading: Reading,
        head: Atom | None,
        evidence: Sequence[Atom],
        binding: Binding,
        pair: Pair | None,
    ) -> _Recipe | None:
        def is_free(term: Term) -> bool:
            return isinstance(term, Var) and term.name not in binding

        now = Unifier(is_free)
        checks: list[tuple[Term, Term]] = []
        spelled: list[tuple[Term, Term]] = []  # variables, and the literals of whose forms they are one
        plain, reflexive = parted(atoms, reading)
        for atom in reflexive:
            if not now.unify(atom.p, SAME_AS_TOKEN):
                checks.append((now(atom.p), SAME_AS_TOKEN))  # an atom before this one has bound it
            s, o = now(atom.s), now(atom.o)
            if is_free(s) and _is_literal(o):
                spelled.append((s, o))
            elif is_free(o) and _is_literal(s):
                spelled.append((o, s))
            elif not now.unify(s, o):
                checks.append((s, o))
        stored = list(dict.fromkeys(tuple(map(now, atom.terms)) for atom in plain))
        mentioned = {t for terms in stored for t in terms}
        mentioned |= {now(t) for e in rule.body if isinstance(e, Aggregate) for t in bound_by(e)}
        if pair is not None:
            pair = pair.under(now)
            mentioned |= {member.item for member in pair.members}
        ends = ((now(atom.s), now(atom.o)) for atom in reflexive)
        occurring = dict.fromkeys(
            term
            for term in (o if _is_literal(s) and is_free(o) else s for s, o in ends)
            if term not in mentioned and (is_free(term) or isinstance(term, str))
        )
        derived = None if head is None else tuple(map(now, head.terms))
        if derived is not None:
            s, p, o = derived
            itself = self.equality != Equality.OFF and p == SAME_AS_TOKEN and s == o and is_free(s)
            spells = any(map(_is_literal, derived))  # the head a literal as it is written, the body all of its value
            if itself or (derived in stored and not spells):
                return None  # derives what its body says, or x sameAs x of a term of its body
        out, bound = _Output(derived, evidence), frozenset(binding)
        if derived is not None and self.equality != Equality.OFF and derived[1] == SAME_AS_TOKEN and rule.monotone:
            recipe = self._recipe(rule, stored, tuple(occurring), spelled, now, out, bound, checks, share=True)
            if recipe is not None and half(recipe.shape) is not None:
                return recipe
        return self._recipe(rule, stored, tuple(occurring), spelled, now, out, bound, checks, pair=pair)

    def _recipe(
        self,
        rule: Rule,
        stored: Sequence[tuple[Term, ...]],
        occurring: Sequence[Term],
        spelled: Sequence[tuple[Term, Term]],
        now: Callable[[Term], Term],
        output: _Output,
        bound: frozenset[str],
        checks: Sequence[tuple[Term, Term]],
        share: bool = False,
        pair: Pair | None = None,
    ) -> _Recipe | None:
        """The recipe of a body; None where it never matches. share: see `Slots`."""
        slots = Slots(lambda term: isinstance(term, Var) and term.name not in bound, share)
        facts = [tuple(slots.of(t) for t in terms) for terms in stored]
        body: list[OpenElement] = [*facts, *((slots.of(t),) for t in occurring)]
        conditions: list[Callable[[Numbering], Condition]] = [
            compared(Filter("=", variable, literal), now, slots) for variable, literal in spelled
        ]
        if pair is not None:
            elements, order = pair.slotted(slots)
            body += elements
            conditions.append(order)
        asked = len(slots.sources)
        outer = {*bound, *(t.name for e in rule.body for t in bound_by(e) if isinstance(t, Var))}
        for number, element in enumerate(rule.body):
            match element:
                case Filter("=" | "!=") if element not in self.schema:
                    conditions.append(compared(element, now, slots))
                case Holds(expression):
                    conditions.append(holds(expression, now, slots))
                case Not():
                    absent = absences(element, number, outer, self.equality, now, slots)
                    if absent is None:
                        return None
                    conditions += absent
                case Aggregate():
                    table = grouped(element, self.equality, now, slots)
                    if table is None:
                        return None
                    body.append(table)
        columns: list[OpenSlot | Callable[[Numbering], Made]] = [
            made(self.made[t.name], now, slots) if isinstance(t, Var) and t.name in self.made else slots.of(t)
            for t in output.head or ()
        ]
        matched: dict[int, str] = {}
        for atom in output.evidence:
            terms = tuple(map(now, atom.terms))
            for place, (term, written) in enumerate(zip(terms, atom.terms, strict=True)):
                read = isinstance(written, Var) and written.name in self._read
                meant = written if read else term
                if isinstance(meant, Var) and meant.name in self.made:
                    columns.append(made(self.made[meant.name], now, slots))
                elif isinstance(meant, Var) and read:
                    columns.append(made(Variable(meant.name), now, slots))
                elif _is_literal(term) and terms in stored:  # that of the fact, which the body's own slot has
                    columns.append(facts[stored.index(terms)][place])
                else:
                    if _is_literal(term):
                        matched[len(slots.sources)] = spelling(atom)
                    columns.append(slots.of(term))
        if self._evidence:
            columns += [slots.of(now(t)) for e in rule.body if isinstance(e, Aggregate) for t in bound_by(e)]
        shape, holes = canonical(body, conditions, columns)
        asked_now = frozenset(number for number, hole in enumerate(holes) if hole < asked)
        matched_now = {number: matched[hole] for number, hole in enumerate(holes) if hole in matched}
        return _Recipe(shape, tuple(slots.sources[hole] for hole in holes), asked_now, matched_now, tuple(checks))


def _is_literal(term: Term) -> bool:
    return isinstance(term, str) and term.startswith('"')


def _meant(term: Term, constants: Constants, binding: Binding) -> set[int]:
    """What a term of an equality stands for: a literal for all of its forms."""
    return {*constants.all(str(term))} if _is_literal(term) else {filled(term, constants, binding)}


def _constants_of(shape: Shape, row: Row) -> Row:
    """The output of a shape that has neither body nor conditions."""
    return tuple(row[slot.number] for slot in shape.output if isinstance(slot, K))
