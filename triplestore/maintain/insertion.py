"""Insertion: semi-naive from the new facts, with rewriting (design: every algorithm inserts this way)."""

from __future__ import annotations

from triplestore.engine.queries import count
from triplestore.maintain import Outcome, Task

NAME = "semi-naive"


def insert(task: Task, reason: str) -> Outcome:
    """Extend the closure by what `plus` adds; see `triplestore.maintain` for the working tables.

    Facts that were rewritten to another representative count as deleted in their old form and added in the new one.
    """
    engine = task.engine
    run = task.evaluation(track=True)
    figures = run.insert("plus")
    added, removed = (count(engine, t) for t in ("added", "removed"))
    return Outcome(NAME, reason, figures, False, added, removed, figures.merged, 0)


def obstacle(task: Task) -> str | None:
    """Why the closure cannot be extended by what `plus` adds, or nothing: rules with NOT or AGGREGATE may object."""
    if not any(rule.negative for rule in task.reasoning.rules):
        return None
    return task.evaluation(track=True).obstacle("plus")
