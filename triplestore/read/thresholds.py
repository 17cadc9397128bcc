"""When what is queried often is held in memory. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of queries of one version."""

    often: int = 2
    """Queries that are answered from the files."""

    very_often: int = 20
    """Queries before the tables are indexed, which takes 1 s for two million facts; of more facts, more queries."""


THRESHOLDS: Final = Thresholds()
