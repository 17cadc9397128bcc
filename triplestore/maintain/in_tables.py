"""Maintenance in the engine's tables, of changes that are not maintained in memory: insertion, DRed by joins, or
rematerialisation."""

from __future__ import annotations

from typing import Final

from triplestore.maintain import Outcome, Task, dred, dred_by_joins, insertion, rematerialise

LARGE_SHARE: Final = 0.5
"""New facts as a share of the closure beyond which computing it from scratch is cheaper than extending it."""

SMALL_SHARE: Final = 0.002
"""Deleted facts as a share of the closure up to which joins over its tables are less work than computing it."""


def maintain(task: Task, algorithm: str = "auto", reason: str = "", by_joins: bool = False) -> Outcome:
    """Bring the closure in the working tables up to date. reason: why it is not maintained in memory, if known.
    by_joins: that is for its size alone, so that deletions may be maintained by joins."""
    change = task.change
    if algorithm == rematerialise.NAME:
        return rematerialise.rematerialise(task, reason or "asked for")
    if change.minus:
        reason = reason or f"{change.minus:,} asserted facts are deleted"
        few = algorithm == "auto" and change.minus <= SMALL_SHARE * change.facts
        if by_joins and (few or algorithm == dred.NAME):
            return dred_by_joins.delete(task, reason)
        return rematerialise.rematerialise(task, reason)
    if change.plus > LARGE_SHARE * change.facts:
        return rematerialise.rematerialise(task, f"{change.plus:,} new facts against a closure of {change.facts:,}")
    if obstacle := insertion.obstacle(task):
        return rematerialise.rematerialise(task, obstacle)
    return insertion.insert(task, "nothing is deleted")
