"""DRed or FP-update, as the facts that both overdelete tell: what `auto` runs.

DRed asks of each overdeleted fact whether something derives it; FP-update runs the rules over all that is left, which
is cheaper where much is overdeleted. Up to there they are the same.
"""

from __future__ import annotations

from triplestore.maintain import dred, fixpoint_update
from triplestore.maintain.run import Run

NAME = f"{dred.NAME} or {fixpoint_update.NAME}"


def dred_or_fixpoint_update(run: Run) -> str:
    """Bring the closure up to date with the asserted facts that went and came; the name of what did it. DRed where the
    run's budget foretells nothing."""
    with run.phase("overdelete"):
        overdeleted, dissolved = dred.overdelete(run)
    foretelling = run.budget.foretelling
    if foretelling is not None and foretelling.by_fixpoint_update(len(overdeleted), run.taken):
        fixpoint_update.finish(run, overdeleted, dissolved)
        return fixpoint_update.NAME
    dred.finish(run, overdeleted, dissolved)
    return dred.NAME
