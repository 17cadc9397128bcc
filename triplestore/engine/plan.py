"""The plan by which an engine ran a statement, with the rows it counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One operator of a plan. detail: what it does, as the engine puts it. rows: how many it gave; estimated:
    how many the engine had reckoned with; None where it does not say. inputs: where its rows come from."""

    operation: str
    detail: str
    rows: int | None
    estimated: int | None
    inputs: tuple[PlanStep, ...]

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The plan as text, inputs indented below what reads them."""
        counted = [f"{self.rows:,} rows"] if self.rows is not None else []
        counted += [f"{self.estimated:,} expected"] if self.estimated is not None else []
        numbers = f"  ({', '.join(counted)})" if counted else ""
        yield f"{'  ' * depth}{self.operation}{numbers}{f'  {self.detail}' if self.detail else ''}"
        for step in self.inputs:
            yield from step.lines(depth + 1)
