"""Insertion: semi-naive from the new facts, with rewriting (Motik et al. 2015), over the closure in memory.

Per round: equalities merge classes, and facts that mention a lost representative are removed and rewritten; new facts
are the delta; if it has schema facts, the rules are specialised again, and new instances fire over all facts; every
rule instance with a fact of the delta fires once. The fixpoint is an empty delta.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.keys import NONE, Ids, union
from triplestore.maintain.program import Specialised, as_keys, instances_lost, shared
from triplestore.materialise.figures import RoundFigures
from triplestore.materialise.stages import both
from triplestore.model.equality import Equality

INSERTION: Final = "semi-naive"
"""The name of the algorithm."""


def extend(run: MaintenanceContext, new: Ids, closed_by: Specialised | None = None) -> None:
    """Add facts (keys, in any terms) and their consequences to the closure; `run.program` follows. closed_by: the
    program under which the facts are closed; else what that before the run and the present one have in common."""
    state = run.state
    derived, figures = state.normalised(new), RoundFigures(0)
    issued = run.program.unconditional
    before = closed_by or shared(run.layout, run.before, run.program)
    inserted = 0
    while True:
        merged = figures.merged
        delta = _absorbed(run, derived, figures)
        delta = delta[~state.facts.contains(delta)]
        if len(state.schema_of(delta)) or _stale(run):
            run.program = _respecialised(run, delta)
            closed = as_keys(run.layout, run.program.schema)
            delta = union(delta, closed[~state.facts.contains(closed)])
        later = run.program.unconditional - issued
        issued |= later
        fresh = instances_lost(run.program, before)
        if figures.merged > merged:
            fresh = both(fresh, run.program.seeing(run.dirty))
        if not (len(delta) or later or fresh):
            break
        with run.round(len(delta)) as figures:
            run.recount_instances(before, run.program)
            state.add(delta)
            inserted += len(delta)
            run.afford(inserted)
            kept, made = shared(run.layout, before, run.program), run.made
            found = [as_keys(run.layout, later), run.forward(kept.rules, delta, state.facts, NONE, figures, times=1)]
            found.append(run.heads_of(run.rules(fresh), state.facts, figures, times=1))
            run.check_made(made)
            derived, before = np.concatenate(found), run.program
    complete_reflexive(run)


def _absorbed(run: MaintenanceContext, derived: Ids, figures: RoundFigures) -> Ids:
    """The derived facts, distinct and normalised, after the equalities among them have merged classes."""
    state = run.state
    while True:
        facts, equalities = run.sorted_heads(derived)
        if not len(equalities):
            if state.equality != Equality.AXIOMS:
                return facts
            return union(facts, _asserted_reflexive(run, derived))
        s, _, o = run.layout.unpack(equalities)
        lost = state.classes.merge(zip(s.tolist(), o.tolist(), strict=True))
        named = state.classes.normalise(np.array(sorted(lost), dtype=np.int64))
        run.dirty |= lost | set(named.tolist())
        figures.merged += len(lost)
        terms = np.array(sorted(lost), dtype=np.int64)
        if run.program.program.uses_inequality:  # `?x != ?y` may begin to hold for the class that grew
            terms = union(terms, named)
        outdated = state.remove(state.mentioning(terms))
        figures.rewritten += len(outdated)
        derived = state.normalised(union(facts, outdated))


def _asserted_reflexive(run: MaintenanceContext, derived: Ids) -> Ids:
    """Mode `axioms`: of the derived `x sameAs x`, those that are asserted."""
    derived = union(derived)
    s, p, o = run.layout.unpack(derived)
    same: Ids = derived[(p == run.state.same_as) & (s == o)]
    return same[run.state.asserted.contains(same)]


def _stale(run: MaintenanceContext) -> bool:
    """Whether a term of the schema or a constant of the rules is no longer a representative."""
    if run.renewed and not run.specialised_again:
        run.specialised_again = True
        return True
    if not run.dirty:
        return False
    terms = run.layout.encode(run.program.terms)
    return bool((run.state.classes.normalise(terms) != terms).any())


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
