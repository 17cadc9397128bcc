"""What a run did: rounds, derivations, rows and seconds per shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class ShapeFigures:
    """What one statement of a round did. seconds: its share, where the engine runs a round's statements as one job."""

    shape: str
    focus: str
    rows: int
    seconds: float


@dataclass(slots=True)
class RoundFigures:
    """What one round did: rows read as delta, derivations, facts new to `fact`, terms merged, seconds."""

    delta: int
    derivations: int = 0
    merged: int = 0
    rewritten: int = 0
    seconds: float = 0.0
    shapes: list[ShapeFigures] = field(default_factory=list)


@dataclass(slots=True)
class Figures:
    """What a run did. `derived` counts derivations (rule instances fired), once each.

    Of a maintenance run also: facts doubted (overdeleted), checked and proved, and seconds by phase.
    """

    rounds: list[RoundFigures] = field(default_factory=list)
    seconds: float = 0.0
    doubted: int = 0
    checked: int = 0
    proved: int = 0
    phases: dict[str, float] = field(default_factory=dict)

    @property
    def derived(self) -> int:
        return sum(r.derivations for r in self.rounds)

    @property
    def merged(self) -> int:
        return sum(r.merged for r in self.rounds)


Report = Callable[[RoundFigures], None]
"""Where the figures of a round go as soon as it is done."""
