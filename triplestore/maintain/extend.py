"""Insertion: semi-naive from the new facts, with rewriting (Motik et al. 2015), over the closure in memory.

Per round: equalities merge classes, and facts that mention a lost representative are removed and rewritten; new facts
are the delta; if it has schema facts, the rules are specialised again, and new instances fire over all facts; every
rule instance with a fact of the delta fires once. The fixpoint is an empty delta.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.keys import NONE, Ids, member, union
from triplestore.maintain.program import Specialised, instances_lost, shared
from triplestore.materialise.figures import RoundFigures
from triplestore.materialise.stages import both
from triplestore.model.equality import Equality

INSERTION: Final = "semi-naive"
"""The name of the algorithm."""


def extend(run: MaintenanceContext, new: Ids, closed_by: Specialised | None = None) -> None:
    """Add facts (keys, in any terms) and their consequences to the closure; `run.program` follows. closed_by: the
    program under which the facts are closed; else what that before the run and the present one have in common."""
    state = run.state
    annotation = run.annotation
    derived, figures = annotation.normalised(run, new), RoundFigures(0)
    issued = run.program.unconditional
    before = closed_by or shared(run.layout, run.before, run.program)
    inserted, dirty = 0, _sorted(run.dirty)
    while True:
        merged = figures.merged
        delta, changed = _absorbed(run, derived, figures)
        delta, added = annotation.new(run, delta)
        dirty = union(dirty, changed)
        if len(state.schema_of(added)) or _stale(run, dirty):
            run.program = _respecialised(run, added)
            closed = run.layout.keys_of(run.program.schema)
            closed = closed[~state.facts.contains(closed)]
            delta, added = union(delta, closed), union(added, closed)
        dirty = NONE
        later = run.program.unconditional - issued
        issued |= later
        fresh = instances_lost(run.program, before)
        if figures.merged > merged:
            fresh = both(fresh, run.program.seeing(run.dirty))
        if not (len(delta) or later or fresh):
            break
        with run.round(len(delta)) as figures:
            run.recount_instances(before, run.program)
            state.add_new(added)
            inserted += len(delta)
            run.afford(inserted)
            kept, made = shared(run.layout, before, run.program), run.made
            found = [
                annotation.given(run, run.layout.keys_of(later)),
                run.forward(kept.rules, delta, state.facts, NONE, figures, times=1),
                run.heads_of(run.rules(fresh), state.facts, figures, times=1),
            ]
            run.check_made(made)
            derived, before = np.concatenate(found), run.program
    complete_reflexive(run)


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
