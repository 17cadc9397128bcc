"""DRed^c: DRed with derivation counts (Hu, Motik and Horrocks 2018, algorithm 2), for facts and axioms.

A fact is overdeleted only if its nonrecursive count is 0, and rederived if it has a count left: no rule is read
backwards. Without recursive rules it is the Counting algorithm of Gupta, Mumick and Subrahmanian (1993).

Departures: all strata are overdeleted together, then all of them are rederived. A nonrecursive derivation that is lost
with a lower stratum is subtracted when it is lost, and its fact is looked at again, so that each kept fact has at the
end a derivation by kept facts of lower strata. Facts that are overdeleted in a lower stratum, and rederived, may
overdelete more in higher ones than the paper's order does.
"""

from __future__ import annotations

from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.counts import NONRECURSIVE, Counts
from triplestore.maintain.extend import extend
from triplestore.maintain.keys import NONE, Ids, member, minus, union

NAME = "dred-counting"


def dred_counting(run: MaintenanceContext) -> str:
    """Bring the closure and its counts up to date with the asserted facts that were removed and added; returns the name
    of the algorithm."""
    state, counts = run.state, counts_of(run)
    with run.phase("overdelete"):
        overdeleted = overdelete(run, counts)
    with run.phase("rederive"):
        state.remove(overdeleted)
        left = counts.of(overdeleted).any(axis=0) | member(overdeleted, _held(run))
        back = overdeleted[left]
        run.figures.proved = len(back)
        run.note("rederived", back)
    with run.phase("insert"):
        run.deletion_done(len(overdeleted))
        counts.add(state.plus, NONRECURSIVE, 1)
        extend(run, union(back, state.plus))
    return NAME


def counts_of(run: MaintenanceContext) -> Counts:
    """The counts that an algorithm keeps itself."""
    assert run.counts is not None
    return run.counts


def overdelete(run: MaintenanceContext, counts: Counts) -> Ids:
    """The facts of I that have lost their nonrecursive derivations, and may have lost all. Each derivation that used
    one is subtracted. `run.program` becomes the program that holds without them."""
    state, deleted, spared = run.state, NONE, NONE
    counts.add(state.minus, NONRECURSIVE, -1)
    removed, forced = state.minus, NONE
    ungrounded = False
    if len(state.schema_of(removed)) or run.rules_changed:
        ungrounded = True
        forced, found = _ground(run, NONE)
        removed = union(removed, found)
    found = _doubted(run, removed)
    waiting = NONE
    while True:
        none = counts.of(found)[NONRECURSIVE] == 0
        if not ungrounded and len(state.schema_of(found[none])):
            ungrounded = True
            forced, more = _ground(run, deleted)
            found = union(found, minus(_doubted(run, more), deleted))
            none = counts.of(found)[NONRECURSIVE] == 0
        lost = minus(forced[state.facts.contains(forced)], deleted)
        # What the schema alone says is certain only once the schema is: it may rest on what is deleted.
        held = _held(run) if ungrounded else NONE
        delta = union(found[none & ~member(found, held)], lost)
        spared = union(spared, minus(found, delta))
        if not len(delta) and not len(waiting):
            break
        if not len(delta):
            run.budget.rest()
            found, waiting = minus(waiting, deleted), NONE
            continue
        if not ungrounded and not len(waiting):
            delta, waiting = run.sampled(delta, len(deleted))
        with run.round(len(delta)) as figures:
            run.afford(len(deleted) + len(delta))
            heads = run.forward(run.program.rules, delta, state.facts, deleted, figures, times=-1)
            deleted = union(deleted, delta)
        found = minus(_doubted(run, heads), deleted)
    run.figures.doubted = len(deleted)
    run.note("overdeleted", deleted)
    run.note("spared", minus(spared, deleted))
    return deleted


def _ground(run: MaintenanceContext, deleted: Ids) -> tuple[Ids, Ids]:
    """Restrict the program to instances that certainly hold; (the other schema facts, which must be derived again; the
    heads of the removed instances)."""
    with run.round(0) as figures:
        run.program = run.grounded()
        return run.lost_with(run.program, figures, deleted)


def _doubted(run: MaintenanceContext, found: Ids) -> Ids:
    """The facts of I among heads."""
    facts, _ = run.sorted_heads(found)
    kept: Ids = facts[run.state.facts.contains(facts)]
    return kept


def _held(run: MaintenanceContext) -> Ids:
    """What holds by the schema alone."""
    return run.program.held
