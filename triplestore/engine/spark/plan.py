"""The plan of a Spark statement that has run, from its metrics."""

from __future__ import annotations

from typing import Any, Final

from triplestore.engine.protocol import PlanStep

_INSIDE: Final = ("WholeStageCodegen", "InputAdapter", "ColumnarToRow", "AQEShuffleRead")
"""Nodes that do nothing to the rows of their one input."""


def plan_of(node: Any) -> PlanStep:
    """A physical plan (a SparkPlan of the JVM) and the rows that its operators counted."""
    name = str(node.nodeName())
    if name == "AdaptiveSparkPlan":
        return plan_of(node.executedPlan())
    if name.endswith("QueryStage"):
        return plan_of(node.plan())
    children = node.children()
    inputs = tuple(plan_of(children.apply(number)) for number in range(children.size()))
    if name.startswith(_INSIDE):
        return inputs[0]
    counted = node.metrics().get("numOutputRows")
    rows = int(counted.get().value()) if counted.isDefined() else None
    return PlanStep(name, str(node.simpleString(25))[:200], rows, None, inputs)
