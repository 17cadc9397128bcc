"""DRed: overdelete, rederive, insert (Gupta, Mumick and Subrahmanian 1993), with rewriting, for facts and axioms.

Overdeletion runs over the old fixpoint, which is all there, so it takes fewer rounds than the first derivation did
(Kotowski, Bry and Brodt 2011). With rewriting, a class of equals is overdeleted when a derivation of one of its
equalities is: it is dissolved, every fact that mentions it is overdeleted, its members represent themselves, and what
still holds comes back from the asserted facts in their own ids.
"""

from __future__ import annotations

import numpy as np

from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.extend import extend
from triplestore.maintain.keys import NONE, Ids, member, minus, union
from triplestore.maintain.program import NotMaintainableError

NAME = "dred"


def dred(run: MaintenanceContext) -> str:
    """Bring the closure up to date with the asserted facts that went and came (`run.state.minus`, `plus`); the name
    of the algorithm."""
    with run.phase("overdelete"):
        overdeleted, dissolved = overdelete(run)
    restore(run, overdeleted, dissolved)
    return NAME


def restore(run: MaintenanceContext, overdeleted: Ids, dissolved: Ids) -> None:
    """The steps after overdeletion: rederive, insert."""
    run.deletion_done(len(overdeleted))
    with run.phase("rederive"):
        back = rederive(run, overdeleted, dissolved)
    with run.phase("insert"):
        extend(run, union(back, run.state.plus))


def overdelete(run: MaintenanceContext) -> tuple[Ids, Ids]:
    """(facts of I with a derivation that used what went; representatives of the classes that have lost an equality).
    `run.program` becomes what holds of the program without them."""
    state = run.state
    gone = state.normalised(state.minus)
    deleted, dissolved = NONE, NONE
    ungrounded = False
    run.check_ties(state.schema_of(gone))
    if len(state.schema_of(gone)) or run.rules_changed:
        ungrounded = True
        with run.round(0) as figures:
            run.program = run.grounded()
            gone = union(gone, *run.lost_with(run.program, figures))
    frontier, tokens = _lost(run, gone, deleted, dissolved)
    waiting = NONE
    while len(frontier) or len(tokens):
        dissolved = union(dissolved, tokens)
        frontier = union(frontier, minus(state.mentioning(tokens), deleted)) if len(tokens) else frontier
        if not ungrounded and not len(waiting):
            frontier, waiting = run.sampled(frontier, len(deleted) + len(dissolved))
        with run.round(len(frontier)) as figures:
            run.afford(len(deleted) + len(dissolved) + len(frontier))
            found = run.forward(run.before.rules, frontier, state.facts, deleted, figures)
            deleted = union(deleted, frontier)
            frontier, tokens = _lost(run, found, deleted, dissolved)
            run.check_ties(state.schema_of(frontier))
            if not ungrounded and len(state.schema_of(frontier)):
                ungrounded = True
                run.program = run.grounded()
                lost = _lost(run, union(*run.lost_with(run.program, figures)), deleted, dissolved)
                frontier, tokens = union(frontier, lost[0]), union(tokens, lost[1])
        if not len(frontier) and not len(tokens) and len(waiting):
            run.budget.rest()
            frontier, waiting = minus(waiting, deleted), NONE
    run.figures.doubted, run.figures.dissolved = len(deleted), len(dissolved)
    run.note("overdeleted", deleted)
    return deleted, dissolved


def _lost(run: MaintenanceContext, found: Ids, deleted: Ids, dissolved: Ids) -> tuple[Ids, Ids]:
    """What heads that lost a derivation mean: facts of I to overdelete, classes to dissolve."""
    state = run.state
    tokens = minus(run.tokens(found), dissolved)
    if len(tokens):
        pinned = member(state.layout.decode(tokens), run.before.terms)
        if pinned.any():
            raise NotMaintainableError("a class of equals that the rules mention may come apart")
    facts, _ = run.sorted_heads(found)
    facts = minus(facts, deleted)
    return facts[state.facts.contains(facts)], tokens


def rederive(run: MaintenanceContext, overdeleted: Ids, dissolved: Ids) -> Ids:
    """Take the overdeleted facts out, and say what of them still holds: what `dissolve` says, and what has a derivation
    from what is left."""
    held = dissolve(run, overdeleted, dissolved)
    rest = minus(overdeleted, held)
    back = union(held, rest[run.derivable(run.program.rules, rest, run.state.facts)])
    return rederived(run, overdeleted, back)


def rederived(run: MaintenanceContext, checked: Ids, held: Ids) -> Ids:
    """What holds of facts that were overdeleted (`held`, perhaps with others); the figures have what is not there."""
    back = run.state.normalised(held)
    back = back[~run.state.facts.contains(back)]
    run.figures.checked, run.figures.proved = len(checked), len(back)
    run.note("rederived", back)
    return held


def dissolve(run: MaintenanceContext, overdeleted: Ids, dissolved: Ids) -> Ids:
    """Take the overdeleted facts out and part the dissolved classes; of those facts the ones that are asserted (in
    their own ids) or hold by the schema alone."""
    state = run.state
    _, asserted = state.asserted_in(overdeleted)
    equal_s, equal_o = state.asserted_equalities(dissolved) if len(dissolved) else (NONE, NONE)
    same = np.full(len(equal_s), state.same_as, dtype=np.int64)
    held = run.program.held
    state.remove(overdeleted)
    run.dirty.update(state.classes.dissolve(dissolved.tolist()))
    return union(asserted, run.layout.keys(equal_s, same, equal_o), held)
