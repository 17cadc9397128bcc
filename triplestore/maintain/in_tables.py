"""Maintenance in the engine's tables, of changes that are not maintained in memory: insertion, or rematerialisation."""

from __future__ import annotations

from typing import Final

from triplestore.maintain import Outcome, Task, insertion, rematerialise

LARGE_SHARE: Final = 0.5
"""New facts as a share of the closure beyond which computing it from scratch is cheaper than extending it."""


def maintain(task: Task, algorithm: str = "auto", reason: str = "") -> Outcome:
    """Bring the closure in the working tables up to date. reason: why it is not maintained in memory, if known."""
    change = task.change
    if algorithm == rematerialise.NAME:
        return rematerialise.rematerialise(task, reason or "asked for")
    if change.minus:
        return rematerialise.rematerialise(task, reason or f"{change.minus:,} asserted facts are deleted")
    if change.plus > LARGE_SHARE * change.facts:
        return rematerialise.rematerialise(task, f"{change.plus:,} new facts against a closure of {change.facts:,}")
    if obstacle := insertion.obstacle(task):
        return rematerialise.rematerialise(task, obstacle)
    return insertion.insert(task, "nothing is deleted")
