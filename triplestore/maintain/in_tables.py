"""Changes that are not maintained over sorted keys: tables extend the closure, or compute it from scratch."""

from __future__ import annotations

from triplestore.engine.sql import count
from triplestore.maintain import Outcome, Task, rematerialise
from triplestore.maintain.extend import INSERTION


def maintain(task: Task, algorithm: str = "auto", reason: str = "") -> Outcome:
    """Bring the closure in the working tables up to date. reason: why it is not maintained over sorted keys, if that is
    known."""
    change = task.change
    if algorithm == rematerialise.NAME:
        return rematerialise.rematerialise(task, reason or "asked for")
    if change.minus:
        return rematerialise.rematerialise(task, reason or f"{change.minus:,} asserted facts are deleted")
    if obstacle := _obstacle(task):
        return rematerialise.rematerialise(task, obstacle)
    return insert(task, "nothing is deleted")


def insert(task: Task, reason: str) -> Outcome:
    """Extend the closure by what `plus` adds, semi-naively; see `triplestore.maintain` for the working tables.

    Facts that were rewritten to another representative count as deleted in their old form and added in the new one.
    """
    run = task.evaluation(track=True)
    figures = run.insert("plus")
    added, removed = (count(task.engine, table) for table in ("added", "removed"))
    return Outcome(INSERTION, reason, figures, False, added, removed, figures.merged, 0)


def _obstacle(task: Task) -> str | None:
    """Why the closure cannot be extended by what `plus` adds, or nothing: rules with NOT or AGGREGATE may object."""
    if not task.reasoning.negative:
        return None
    return task.evaluation(track=True).obstacle("plus")
