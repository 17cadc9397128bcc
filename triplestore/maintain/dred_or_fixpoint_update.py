"""DRed or FP-update, as the facts that both overdelete tell: what `auto` runs.

Up to there they are the same. Then DRed asks of each overdeleted fact whether something derives it; FP-update runs the
rules over all that is left, which is cheaper where much is overdeleted. So some of the facts are asked first.
"""

from __future__ import annotations

from typing import Final

from triplestore.maintain import dred, fixpoint_update
from triplestore.maintain.extend import extend
from triplestore.maintain.keys import Ids, minus, union
from triplestore.maintain.run import Run

NAME = f"{dred.NAME} or {fixpoint_update.NAME}"

SAMPLE: Final = 8
"""One in so many facts is asked first."""

FIRST: Final = 32
"""One in so many of these before the others: what rules take however few facts there are tells nothing."""

FEW: Final = 20_000
"""Overdeleted facts up to which DRed goes on without."""


def dred_or_fixpoint_update(run: Run) -> str:
    """Bring the closure up to date with the asserted facts that went and came; the name of what did it. DRed where the
    run's budget foretells nothing."""
    with run.phase("overdelete"):
        overdeleted, dissolved = dred.overdelete(run)
    with run.phase("rederive"):
        held = dred.dissolve(run, overdeleted, dissolved)
        found = _rederived(run, overdeleted, held)
        name = fixpoint_update.NAME if found is None else dred.NAME
        back = fixpoint_update.consequences(run, overdeleted) if found is None else found
        back = dred.rederived(run, overdeleted, union(held, back))
    with run.phase("insert"):
        extend(run, union(back, run.working.plus))
    if found is None:
        run.note("supported", overdeleted[run.working.facts.contains(overdeleted)])
    return name


def _rederived(run: Run, overdeleted: Ids, held: Ids) -> Ids | None:
    """The overdeleted facts that something left derives; None where FP-update is to find them."""
    rest, foretelling = minus(overdeleted, held), run.budget.foretelling

    def derivable(facts: Ids) -> Ids:
        return facts[run.derivable(run.program.rules, facts, run.working.facts)]

    if foretelling is None or len(rest) <= FEW:
        return derivable(rest)
    plain = foretelling.by_fixpoint_update(len(overdeleted))
    if plain is not None:
        return None if plain else derivable(rest)
    some = rest[::SAMPLE]
    first, more, others = some[::FIRST], minus(some, some[::FIRST]), minus(rest, some)
    found = derivable(first)
    begun = run.taken
    derivable(first)  # once more, as it has made indexes
    between = run.taken
    found = union(found, derivable(more))
    each = (run.taken - between - (between - begun)) / max(1, len(more) - len(first))
    if foretelling.by_fixpoint_update(len(overdeleted), each * len(others)):
        return None
    return union(found, derivable(others))
