"""Insertion: semi-naive from the new facts (`triplestore.materialise.seminaive`), over the closure in memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from triplestore.compile.plan import Row, Shape
from triplestore.compile.schema import Fact
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.keys import NONE, Ids, member, union
from triplestore.maintain.program import Specialised, instances_lost, shared
from triplestore.materialise.figures import RoundFigures
from triplestore.materialise.seminaive import semi_naive
from triplestore.materialise.stages import both
from triplestore.model.equality import Equality

INSERTION: Final = "semi-naive"
"""The name of the algorithm."""


def extend(run: MaintenanceContext, new: Ids, closed_by: Specialised | None = None) -> None:
    """Add facts (keys, in any terms) and their consequences to the closure; `run.program` follows. closed_by: the
    program under which the facts are closed; else what that before the run and the present one have in common."""
    keys = Keys(run, new, closed_by or shared(run.layout, run.before, run.program))
    keys.absorb(run.figures.absorbed)
    semi_naive(keys, run.figures, run.report)
    complete_reflexive(run)


class Keys:
    """The closure in memory, as a backend of `semi_naive`. before: the program under which the facts are closed."""

    def __init__(self, run: MaintenanceContext, new: Ids, before: Specialised) -> None:
        self.run, self.before = run, before
        self._derived = run.annotation.normalised(run, new)
        self._delta = self._added = NONE  # facts that are to be read; those of them that did not hold
        self._later: frozenset[Fact] = frozenset()  # what holds without condition, for the next round to derive
        self._issued = run.program.unconditional  # what was in `_later`
        self._fresh: dict[Shape, dict[Row, str]] = {}  # instances that look at all facts
        self._dirty = _sorted(run.dirty)  # terms whose classes have changed since the program was made
        self._grown = False  # whether a class has grown since the last round
        self._inserted = 0

    def absorb(self, figures: RoundFigures) -> None:
        """See `Backend`."""
        merged = figures.merged
        delta, changed = _absorbed(self.run, self._derived, figures)
        self._delta, self._added = self.run.annotation.new(self.run, delta)
        self._dirty, self._grown = union(self._dirty, changed), figures.merged > merged

    def specialise(self) -> int | None:
        """See `Backend`."""
        run = self.run
        if len(run.state.schema_of(self._added)) or _stale(run, self._dirty):
            run.program = _respecialised(run, self._added)
            closed = run.layout.keys_of(run.program.schema)
            closed = closed[~run.state.facts.contains(closed)]
            self._delta, self._added = union(self._delta, closed), union(self._added, closed)
        self._dirty = NONE
        self._later = run.program.unconditional - self._issued
        self._issued |= self._later
        self._fresh = instances_lost(run.program, self.before)
        if self._grown:
            self._fresh = both(self._fresh, run.program.seeing(run.dirty))
        return len(self._delta) if len(self._delta) or self._later or self._fresh else None

    def derive(self, figures: RoundFigures) -> None:
        """See `Backend`."""
        run, facts = self.run, self.run.state.facts
        run.recount_instances(self.before, run.program)
        run.state.add_new(self._added)
        self._inserted += len(self._delta)
        run.afford(self._inserted)
        kept, made = shared(run.layout, self.before, run.program), run.made
        found = [
            run.annotation.given(run, run.layout.keys_of(self._later)),
            run.forward(kept.rules, self._delta, facts, NONE, figures, times=1),
            run.heads_of(run.rules(self._fresh), facts, figures, times=1),
        ]
        run.check_made(made)
        self._derived, self.before = np.concatenate(found), run.program

    def begin_stratum(self) -> bool:
        """See `Backend`. Strata are maintained one by one (`triplestore.maintain.dred_by_strata`)."""
        return False


def _absorbed(run: MaintenanceContext, derived: Ids, figures: RoundFigures) -> tuple[Ids, Ids]:
    """The derived facts, distinct and normalised, after the equalities among them have merged classes; and the terms
    whose classes have changed by that."""
    state, changed = run.state, NONE
    while True:
        facts, equalities = run.sorted_heads(derived)
        if not len(equalities):
            if state.equality != Equality.AXIOMS:
                return facts, changed
            return union(facts, _asserted_reflexive(run, derived)), changed
        merged, again = run.annotation.merge(run, equalities, figures)
        changed = union(changed, merged)
        derived = run.annotation.normalised(run, union(facts, again))


def _asserted_reflexive(run: MaintenanceContext, derived: Ids) -> Ids:
    """Mode `axioms`: of the derived `x sameAs x`, those that are asserted."""
    derived = union(derived)
    s, p, o = run.layout.unpack(derived)
    same: Ids = derived[(p == run.state.same_as) & (s == o)]
    return same[run.state.asserted.contains(same)]


def _stale(run: MaintenanceContext, changed: Ids) -> bool:
    """Whether a term of the schema or a constant of the rules is no longer a representative. changed: the terms whose
    classes have changed since the program was made."""
    if run.renewed and not run.specialised_again:
        run.specialised_again = True
        return True
    if not len(changed):
        return False
    terms = run.layout.encode(run.program.terms)
    used = terms[member(terms, changed)]
    return bool((run.state.classes.normalise(used) != used).any())


def _sorted(terms: Collection[int]) -> Ids:
    found = np.fromiter(terms, np.int64, len(terms))
    found.sort()
    return found


def _respecialised(run: MaintenanceContext, delta: Ids) -> Specialised:
    known = run.state.schema_facts()
    return run.specialised(run.state.facts_of(union(known, run.state.schema_of(delta))))


def complete_reflexive(run: MaintenanceContext) -> None:
    """Mode `axioms`: `x sameAs x` is a fact where x equals something else, or where it was asserted."""
    state = run.state
    if state.equality != Equality.AXIOMS:
        return
    changed = union(state.added, state.removed, state.plus, state.minus)
    changed = changed[state.is_equality(changed)]
    if not len(changed):
        return
    s, _, o = run.layout.unpack(changed)
    terms = union(s, o)
    same = np.full(len(terms), state.same_as, dtype=np.int64)
    reflexive = run.layout.keys(terms, same, terms)
    rows, keys, _ = state.facts.match(run.layout.numbers(same), terms, None)
    equal = np.zeros(len(terms), dtype=np.bool_)
    equal[rows[run.layout.unpack(keys)[2] != terms[rows]]] = True
    wanted = equal | state.asserted.contains(reflexive)
    fresh = state.add(reflexive[wanted])
    removed = reflexive[~wanted]
    removed = removed[state.facts.contains(removed)]
    for changed, times in ((fresh, 1), (removed, -1)):
        if run.counts is not None and len(changed):
            run.forward(run.program.rules, changed, state.facts, NONE, RoundFigures(len(changed)), times=times)
    state.remove(removed)
