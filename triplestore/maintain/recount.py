"""Derivation counts by what a run has changed, whatever algorithm it was; and from nothing.

What has changed is known when a run is over: asserted facts, facts of I, rule instances. So each derivation that there
was and is no more, or that is new, is found once by the same joins (Gupta, Mumick and Subrahmanian 1993).
"""

from __future__ import annotations

from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.counts import NONRECURSIVE, Counts
from triplestore.maintain.keys import NONE
from triplestore.maintain.program import instances_lost, shared
from triplestore.materialise.figures import RoundFigures


def recount(run: MaintenanceContext, counts: Counts) -> None:
    """Bring the counts up to date after a run that did not keep them itself."""
    state, before, after = run.state, run.before, run.program
    facts, figures = state.facts, RoundFigures(0)
    kept = shared(run.layout, before, after)
    run.counts = counts
    counts.add(state.minus, NONRECURSIVE, -1)
    counts.add(state.plus, NONRECURSIVE, 1)
    with state.facts_before():
        run.heads_of(run.rules(instances_lost(before, after), before), facts, figures, times=-1)
        run.recount_instances(before, after)
        run.forward(kept.rules, state.removed, facts, NONE, figures, times=-1)
    run.forward(kept.rules, state.added, facts, NONE, figures, times=1)
    run.heads_of(run.rules(instances_lost(after, before)), facts, figures, times=1)


def counted(run: MaintenanceContext) -> Counts:
    """The counts of the closure under `run.program`."""
    counts = Counts()
    run.counts = counts
    counts.add(run.state.asserted.keys, NONRECURSIVE, 1)
    run.heads_of(run.program.rules, run.state.facts, RoundFigures(0), times=1)
    return Counts(*counts.rows())
