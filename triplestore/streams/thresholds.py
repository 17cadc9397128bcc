"""When another algorithm is tried for the windows of a stream. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of the choice between IMaRS and updates; at least 1."""

    compared: int = 5
    """Slides of two algorithms that are compared."""

    patience: int = 10
    """How many times as long as a trial took the next one waits."""


THRESHOLDS: Final = Thresholds()
