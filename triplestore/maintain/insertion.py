"""Insertion: semi-naive from the new facts, with rewriting (design: every algorithm inserts this way)."""

from __future__ import annotations

from triplestore.engine.queries import count
from triplestore.maintain import Outcome, Task
from triplestore.materialise.seminaive import SemiNaive

NAME = "semi-naive"


def insert(task: Task, reason: str) -> Outcome:
    """Extend the closure by what `plus` adds; see `triplestore.maintain` for the working tables.

    Facts that were rewritten to another representative count as deleted in their old form and added in the new one.
    """
    engine, reasoning = task.engine, task.reasoning
    run = SemiNaive(
        engine,
        reasoning.rules,
        reasoning.equality,
        reasoning.constants,
        track=True,
        report=task.report,
    )
    figures = run.insert("plus")
    added, removed = (count(engine, t) for t in ("added", "removed"))
    return Outcome(NAME, reason, figures, False, added, removed, figures.merged, 0)
