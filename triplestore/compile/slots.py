"""From terms of a rule to slots of its canonical form: atoms, expressions, negated groups and aggregates.

NOT and AGGREGATE speak of terms up to equality: they see each class of equal terms once. Their own variables are
renamed apart from the rule's. A variable predicate in them stands for any predicate but owl:sameAs, which holds of
every term and itself. `NOT [?x, owl:sameAs, ?y]` is the test that x and y are of different classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from triplestore.compile.inline import numbered, substituted
from triplestore.compile.plan import (
    Absent,
    Condition,
    DataVar,
    Equal,
    Group,
    Grouped,
    Holds,
    Hole,
    Made,
    Member,
    Numbering,
    Occurs,
    OpenSlot,
    Pattern,
    Result,
    Unequal,
    canonical,
)
from triplestore.compile.unify import SAME_AS_TOKEN, Unifier, parted, readings
from triplestore.model.equality import Equality
from triplestore.model.expression import Expression, Variable
from triplestore.model.rule import Aggregate, Atom, Filter, Not, Term, Var
from triplestore.model.rule import Holds as RuleHolds

Now = Callable[[Term], Term]
"""What a term of a rule is after unification."""


class Slots:
    """The slots of one canonical form. `sources`: what fills its holes. is_free: whether a term stays a variable.

    share: a constant that occurs twice is one parameter, not two, so that the halves of a symmetric body look alike
    (`triplestore.compile.symmetry`). Literals never are: each stands for all of its value.
    """

    def __init__(self, is_free: Callable[[Term], bool], share: bool = False) -> None:
        self.sources: list[Term] = []
        self._is_free, self._share = is_free, share
        self._shared: dict[Term, Hole] = {}
        self._copies: dict[Term, list[str]] = {}

    def of(self, term: Term) -> OpenSlot:
        """The slot of a term of an atom."""
        if self._is_free(term):
            assert isinstance(term, Var)
            return DataVar(term.name)
        if self._share and term in self.sources and not (isinstance(term, str) and term.startswith('"')):
            return Hole(self.sources.index(term))
        self.sources.append(term)
        return Hole(len(self.sources) - 1)

    def read(self, name: str, term: Term) -> tuple[OpenSlot, int]:
        """The slot (and copy, see `plan.Member`) of variable `name` of an expression, which is `term` now."""
        names = self._copies.setdefault(term, [])
        if name not in names:
            names.append(name)
        copy = names.index(name)
        if self._is_free(term):
            return self.of(term), copy
        if term not in self._shared:
            self.sources.append(term)
            self._shared[term] = Hole(len(self.sources) - 1)
        return self._shared[term], copy


def holds(expression: Expression, now: Now, slots: Slots) -> Callable[[Numbering], Holds]:
    """A condition by an expression of the rule."""
    plain, names = numbered(expression)
    reads = [slots.read(name, now(Var(name))) for name in names]
    return lambda number: Holds(plain, tuple(Member(number(slot), copy) for slot, copy in reads))


def made(expression: Expression, now: Now, slots: Slots) -> Callable[[Numbering], Made]:
    """An output that an expression of the rule makes."""
    plain, names = numbered(expression)
    reads = [slots.read(name, now(Var(name))) for name in names]
    return lambda number: Made(plain, tuple(Member(number(slot), copy) for slot, copy in reads))


def compared(condition: Filter, now: Now, slots: Slots) -> Callable[[Numbering], Equal | Unequal]:
    """A condition on two terms."""
    kind = Unequal if condition.operator == "!=" else Equal
    left, right = slots.of(now(condition.left)), slots.of(now(condition.right))
    return lambda number: kind(number(left), number(right))


def absences(
    group: Not, number: int, outer: Iterable[str], equality: Equality, now: Now, slots: Slots
) -> list[Callable[[Numbering], Absent]] | None:
    """The conditions that nothing matches a group, one for each way to read its equalities; None if that is never so.

    outer: the variables that occur outside of NOTs. number: tells the rule's NOTs apart.
    """
    group = _apart(group, f"not{number}", set(outer))
    own = {t.name for e in group.body if isinstance(e, Atom) for t in e.terms if isinstance(t, Var)} - set(outer)
    atoms = [e for e in group.body if isinstance(e, Atom)]
    same = [equality != Equality.OFF and atom.p == SAME_AS_TOKEN for atom in atoms]
    found = []
    for reading in readings(same, stored=equality != Equality.REWRITE):
        here = Unifier[Term](lambda term: isinstance(term, Var) and term.name in own, now)
        stored, reflexive = parted(atoms, reading)
        equal = [(here(atom.s), here(atom.o)) for atom in reflexive if not here.unify(atom.s, atom.o)]
        patterns = [tuple(map(here, atom.terms)) for atom in stored]
        predicates = [here(atom.p) for atom in stored if isinstance(atom.p, Var)]
        if equality != Equality.OFF and SAME_AS_TOKEN in predicates:
            continue  # the rule's body has bound it
        conditions: list[Callable[[Numbering], Condition]] = [
            compared(Filter("=", left, right), here, slots) for left, right in equal
        ]
        conditions += _not_same_as(predicates, equality, slots)
        asked: set[Term] = set()
        for element in group.body:
            if isinstance(element, RuleHolds):
                conditions.append(holds(element.expression, here, slots))
                asked.update(here(Var(name)) for name in numbered(element.expression)[1] if name in own)
            elif isinstance(element, Filter):
                conditions.append(compared(element, here, slots))
                asked.update(here(t) for t in (element.left, element.right) if isinstance(t, Var) and t.name in own)
        mentioned = {term for terms in patterns for term in terms}
        itself = dict.fromkeys(here(atom.s) for atom in reflexive)
        bound = (t for t in itself if isinstance(t, str) or (isinstance(t, Var) and t.name in own and t in asked))
        occurring = [(term,) for term in bound if term not in mentioned]
        if not patterns and not occurring and not conditions:
            return None
        found.append(_absent([tuple(map(slots.of, terms)) for terms in (*patterns, *occurring)], conditions))
    return found


def _absent(
    body: Sequence[tuple[OpenSlot, ...]], conditions: Sequence[Callable[[Numbering], Condition]]
) -> Callable[[Numbering], Absent]:
    def build(number: Numbering) -> Absent:
        patterns = tuple(
            Occurs(number(open_slots[0])) if len(open_slots) == 1 else Pattern(*map(number, open_slots))
            for open_slots in body
        )
        return Absent(patterns, tuple(condition(number) for condition in conditions))  # type: ignore[misc]

    return build


def _not_same_as(
    predicates: Iterable[Term], equality: Equality, slots: Slots
) -> list[Callable[[Numbering], Condition]]:
    """That variable predicates are not owl:sameAs; with `rewrite` no fact has it."""
    if equality != Equality.AXIOMS:
        return []
    variables = dict.fromkeys(p for p in predicates if isinstance(p, Var))
    return [compared(Filter("!=", p, SAME_AS_TOKEN), lambda term: term, slots) for p in variables]


def grouped(aggregate: Aggregate, equality: Equality, now: Now, slots: Slots) -> Callable[[Numbering], Grouped] | None:
    """A body element that joins the table of an aggregate; None if the group has no match ever."""
    inner = Slots(lambda term: isinstance(term, Var))
    atoms = [e for e in aggregate.body if isinstance(e, Atom)]
    variables = dict.fromkeys(
        t.name for t in (*aggregate.keys, *(t for a in atoms for t in a.terms)) if isinstance(t, Var)
    )
    columns = {name: Variable(str(column)) for column, name in enumerate(variables)}

    def as_is(term: Term) -> Term:
        return term

    body = [tuple(map(inner.of, atom.terms)) for atom in dict.fromkeys(atoms)]
    conditions = _not_same_as([atom.p for atom in atoms], equality, inner)
    for index, element in enumerate(aggregate.body):
        if isinstance(element, RuleHolds):
            conditions.append(holds(element.expression, as_is, inner))
        elif isinstance(element, Filter):
            conditions.append(compared(element, as_is, inner))
        elif isinstance(element, Not):
            absent = absences(element, index, variables, equality, as_is, inner)
            if absent is None:
                return None
            conditions += absent
    matches, holes = canonical(body, conditions, [DataVar(name) for name in variables])
    results = tuple(
        Result(r.function, r.argument and substituted(r.argument, columns), r.distinct) for r in aggregate.results
    )
    group = Group(matches, len(aggregate.keys), results)
    parameters = [slots.of(inner.sources[hole]) for hole in holes]
    columns_of = [slots.of(now(v)) for v in (*aggregate.keys, *(r.variable for r in aggregate.results))]
    return lambda number: Grouped(group, tuple(map(number, parameters)), tuple(map(number, columns_of)))


def _apart(group: Not, mark: str, outer: set[str]) -> Not:
    """The group with its own variables renamed."""

    def name_of(name: str) -> str:
        return name if name in outer else f"{name} {mark}"

    def renamed(term: Term) -> Term:
        return Var(name_of(term.name)) if isinstance(term, Var) else term

    body: list[Atom | Filter | RuleHolds] = []
    for element in group.body:
        if isinstance(element, Atom):
            body.append(Atom(*map(renamed, element.terms)))
        elif isinstance(element, Filter):
            body.append(Filter(element.operator, renamed(element.left), renamed(element.right)))
        else:
            names = {name: Variable(name_of(name)) for name in numbered(element.expression)[1]}
            body.append(RuleHolds(substituted(element.expression, names)))
    return Not(tuple(body))
