"""DRed: overdelete, rederive, insert (Gupta, Mumick and Subrahmanian 1993), with rewriting, for facts and axioms.

Overdeletion runs over the old fixpoint, which is complete, so it takes fewer rounds than the first derivation did
(Kotowski, Bry and Brodt 2011). With rewriting, a class of equals is overdeleted when a derivation of one of its
equalities is: it is dissolved, every fact that mentions it is overdeleted, its members represent themselves, and facts
that still hold are derived again from the asserted facts in their own ids.
"""

from __future__ import annotations

import numpy as np

from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.extend import extend
from triplestore.maintain.join import Rules
from triplestore.maintain.keys import NONE, Ids, member, minus, union
from triplestore.maintain.program import NotMaintainableError

NAME = "dred"


def dred(run: MaintenanceContext) -> str:
    """Bring the closure up to date with the asserted facts that were removed and added (`run.state.minus`, `plus`);
    returns the algorithm's name."""
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
    """(facts of I with a derivation that used a removed fact; representatives of the classes that have lost an
    equality). `run.program` becomes the program that holds without them."""
    state = run.state
    removed = state.normalised(state.minus)
    ungrounded = False
    run.check_ties(state.schema_of(removed))
    if len(state.schema_of(removed)) or run.rules_changed:
        ungrounded = True
        with run.round(0) as figures:
            run.program = run.grounded()
            removed = union(removed, *run.lost_with(run.program, figures))
    return spread(run, run.before.rules, removed, ungrounded)


def spread(run: MaintenanceContext, rules: Rules, lost: Ids, ungrounded: bool) -> tuple[Ids, Ids]:
    """The second step of overdeletion: what `lost` leads to by the rules, with it. ungrounded: the program does not
    rest on facts that may be lost any more."""
    state = run.state
    deleted, dissolved = NONE, NONE
    frontier, tokens = _lost(run, lost, deleted, dissolved)
    waiting = NONE
    while len(frontier) or len(tokens):
        dissolved = union(dissolved, tokens)
        frontier = union(frontier, minus(state.mentioning(tokens), deleted)) if len(tokens) else frontier
        if not ungrounded and not len(waiting):
            frontier, waiting = run.sampled(frontier, len(deleted) + len(dissolved))
        with run.round(len(frontier)) as figures:
            run.afford(len(deleted) + len(dissolved) + len(frontier))
            found = run.forward(rules, frontier, state.facts, deleted, figures, deleting=True)
            deleted = union(deleted, frontier)
            frontier, tokens = _lost(run, found, deleted, dissolved)
            run.check_ties(state.schema_of(frontier))
            if not ungrounded and len(state.schema_of(frontier)):
                ungrounded = True
                run.program = run.grounded()
                more = _lost(run, union(*run.lost_with(run.program, figures)), deleted, dissolved)
                frontier, tokens = union(frontier, more[0]), union(tokens, more[1])
        if not len(frontier) and not len(tokens) and len(waiting):
            run.budget.rest()
            frontier, waiting = minus(waiting, deleted), NONE
    run.figures.doubted += len(deleted)
    run.figures.dissolved += len(dissolved)
    run.note("overdeleted", deleted)
    return deleted, dissolved


def _lost(run: MaintenanceContext, found: Ids, deleted: Ids, dissolved: Ids) -> tuple[Ids, Ids]:
    """The effect of heads that lost a derivation: facts of I to overdelete, classes to dissolve."""
    state = run.state
    tokens = minus(run.tokens(found), dissolved)
    if len(tokens):
        pinned = member(state.layout.decode(tokens), run.before.terms)
        if pinned.any():
            raise NotMaintainableError("a class of equals that the rules mention may be split")
    facts, _ = run.sorted_heads(found)
    facts = minus(facts, deleted)
    return facts[state.facts.contains(facts)], tokens


def rederive(run: MaintenanceContext, overdeleted: Ids, dissolved: Ids) -> Ids:
    """Remove the overdeleted facts; returns those that still hold: by `dissolve`, or by a derivation from the kept
    facts."""
    held = dissolve(run, overdeleted, dissolved)
    rest = minus(overdeleted, held)
    back = union(
        held,
        rest[run.derivable(run.program.rules, rest, run.state.facts, expressive=False)],
        run.fired_again(run.state.removed),
    )
    return rederived(run, overdeleted, back)


def rederived(run: MaintenanceContext, checked: Ids, held: Ids) -> Ids:
    """The facts that hold (`held`) of those that were overdeleted; the figures count the ones that are not in I."""
    back = run.state.normalised(held)
    back = back[~run.state.facts.contains(back)]
    run.figures.checked += len(checked)
    run.figures.proved += len(back)
    run.note("rederived", back)
    return held


def dissolve(run: MaintenanceContext, overdeleted: Ids, dissolved: Ids) -> Ids:
    """Remove the overdeleted facts and split the dissolved classes; returns those facts that are asserted (in their own
    ids) or hold by the schema alone."""
    state = run.state
    _, asserted = state.asserted_in(overdeleted)
    equal_s, equal_o = state.asserted_equalities(dissolved) if len(dissolved) else (NONE, NONE)
    same = np.full(len(equal_s), state.same_as, dtype=np.int64)
    held = run.program.held
    state.remove(overdeleted)
    run.dirty.update(state.classes.dissolve(dissolved.tolist()))
    return union(asserted, run.layout.keys(equal_s, same, equal_o), held)
