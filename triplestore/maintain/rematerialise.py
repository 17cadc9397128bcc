"""Rematerialisation: compute the closure anew, then compare. Right for any change; the measure of all others."""

from __future__ import annotations

from triplestore.engine import Engine
from triplestore.maintain import Outcome, Task
from triplestore.materialise.seminaive import SemiNaive

NAME = "rematerialise"

WHOLE_SHARE = 0.2
"""Changed asserted facts as a share of the closure beyond which the closure is written whole."""


def rematerialise(task: Task, reason: str) -> Outcome:
    """Replace the closure by that of `asserted`; see `triplestore.maintain` for the working tables.

    Where the change is large the closure is to be written whole: `added` and `removed` are counted, not made.
    """
    engine, reasoning, change = task.engine, task.reasoning, task.change
    engine.create("before_fact", "SELECT s, p, o FROM fact")
    engine.create("before_same_as", "SELECT term, representative FROM same_as")
    run = SemiNaive(engine, reasoning.rules, reasoning.equality, reasoning.constants, report=task.report)
    figures = run.materialise()
    whole = change.plus + change.minus > WHOLE_SHARE * change.facts
    if whole:
        removed = _count(engine, f"({_minus('before_fact', 'fact')}) gone")
        added = _count(engine, "fact") - change.facts + removed
    else:
        removed = engine.create("removed", _minus("before_fact", "fact"))
        added = engine.create("added", _minus("fact", "before_fact"))
    merged, split = lost(engine, "before_same_as", "same_as"), lost(engine, "same_as", "before_same_as")
    engine.drop("before_fact", "before_same_as")
    return Outcome(NAME, reason, figures, whole, added, removed, merged, split)


def lost(engine: Engine, before: str, after: str) -> int:
    """How many terms represented themselves under the map `before` and no longer do under `after`."""
    return _count(
        engine,
        f"{after} a LEFT JOIN {before} b ON b.term = a.term "
        "WHERE a.term <> a.representative AND coalesce(b.representative, a.term) = a.term",
    )


def _minus(left: str, right: str) -> str:
    same = " AND ".join(f"a.{c} = b.{c}" for c in "spo")
    return f"SELECT a.s, a.p, a.o FROM {left} a WHERE NOT EXISTS (SELECT 1 FROM {right} b WHERE {same})"


def _count(engine: Engine, source: str) -> int:
    return int(engine.query(f"SELECT count(*) AS n FROM {source}").column(0)[0].as_py())
