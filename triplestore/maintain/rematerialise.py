"""Rematerialisation: compute the closure from scratch, then compare. It is right for any change."""

from __future__ import annotations

from triplestore.engine import Engine
from triplestore.engine.sql import Select, count, minus
from triplestore.maintain import Outcome, Task
from triplestore.model.thresholds import SIZES

NAME = "rematerialise"


def rematerialise(task: Task, reason: str) -> Outcome:
    """Replace the closure by that of `given`; see `triplestore.maintain` for the working tables.

    Where the change is large the closure is to be written whole: `added` and `removed` are counted, not made.
    """
    engine, change = task.engine, task.change
    engine.create("before_fact", Select("fact", "spo"))
    engine.create("before_same_as", Select("same_as", ("term", "representative")))
    figures = task.evaluation().materialise()
    whole = change.plus + change.minus > SIZES.share * change.facts
    if whole:
        removed = count(engine, f"({minus('before_fact', 'fact', 'spo')}) gone")
        added = count(engine, "fact") - change.facts + removed
    else:
        removed = engine.create("removed", minus("before_fact", "fact", "spo"))
        added = engine.create("added", minus("fact", "before_fact", "spo"))
    merged, split = lost(engine, "before_same_as", "same_as"), lost(engine, "same_as", "before_same_as")
    engine.drop("before_fact", "before_same_as")
    return Outcome(NAME, reason, figures, whole, added, removed, merged, split)


def lost(engine: Engine, before: str, after: str) -> int:
    """How many terms represented themselves under the map `before` and no longer do under `after`."""
    return count(
        engine,
        f"{after} a LEFT JOIN {before} b ON b.term = a.term "
        "WHERE a.term <> a.representative AND coalesce(b.representative, a.term) = a.term",
    )
