"""Derivation counts by what a run has changed, whatever algorithm it was; and from nothing.

What has changed is known when a run is over: asserted facts, facts of I, rule instances. So each derivation that there
was and is no more, or that is new, is found once by the same joins (Gupta, Mumick and Subrahmanian 1993).
"""

from __future__ import annotations

from triplestore.maintain.counts import NONRECURSIVE, Counts
from triplestore.maintain.keys import NONE
from triplestore.maintain.program import instances_lost, shared
from triplestore.maintain.run import Run
from triplestore.materialise.figures import RoundFigures


def recount(run: Run, counts: Counts) -> None:
    """Bring the counts up to date after a run that did not keep them itself."""
    working, before, after = run.working, run.before, run.program
    facts, figures = working.facts, RoundFigures(0)
    kept = shared(run.layout, before, after)
    run.counts = counts
    counts.add(working.minus, NONRECURSIVE, -1)
    counts.add(working.plus, NONRECURSIVE, 1)
    facts.remove(working.came)
    facts.add(working.went)  # as it was
    run.heads_of(run.rules(instances_lost(before, after), before), facts, figures, times=-1)
    run.count_anew(before, after)
    run.forward(kept.rules, working.went, facts, NONE, figures, times=-1)
    facts.remove(working.went)
    facts.add(working.came)
    run.forward(kept.rules, working.came, facts, NONE, figures, times=1)
    run.heads_of(run.rules(instances_lost(after, before)), facts, figures, times=1)


def counted(run: Run) -> Counts:
    """The counts of the closure under `run.program`."""
    counts = Counts()
    run.counts = counts
    counts.add(run.working.asserted.keys, NONRECURSIVE, 1)
    run.heads_of(run.program.rules, run.working.facts, RoundFigures(0), times=1)
    return Counts(*counts.rows())
