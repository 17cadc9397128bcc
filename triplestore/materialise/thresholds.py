"""When the rounds of a run leave the tables, and how closures of graphs are made. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of runs of rules."""

    first: int = 3
    """Small rounds for which every run stays in tables: most runs end with two or three."""

    round: int = 50_000
    """Facts that are read into memory in the time of one small round in tables."""

    successors: int = 8
    """Successors of a node up to which all that they reach is put together with those of others."""


THRESHOLDS: Final = Thresholds()
