"""DRed over the engine's tables, for changes that are too large for memory; see `triplestore.materialise.deletion`."""

from __future__ import annotations

from triplestore.engine.queries import count
from triplestore.maintain import Outcome, Task, dred, rematerialise
from triplestore.materialise.deletion import NotDeletableError


def delete(task: Task, reason: str) -> Outcome:
    """Bring the closure up to date with `minus` and `plus`; see `triplestore.maintain` for the working tables. What
    joins do not maintain is computed from scratch."""
    engine = task.engine
    run = task.evaluation(track=True)
    try:
        figures = run.delete_and_insert("minus", "plus")
    except NotDeletableError as error:
        return rematerialise.rematerialise(task, f"{reason}; by joins it is not: {error}")
    added, removed = (count(engine, t) for t in ("added", "removed"))
    return Outcome(dred.NAME, f"{reason}: by joins", figures, False, added, removed, figures.merged, 0)
