"""How joins are put in order, and which terms are kept. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of queries; at least 1."""

    ranks: int = 100_000
    """Comparisons of patterns for their order: 490 patterns take 1 s from one start, minutes from every one."""

    unknown: float = 1000.0
    """The estimate for solutions of which nothing is known."""

    nodes: int = 1 << 18
    """Terms of rdflib that are kept from one answer to the next."""


THRESHOLDS: Final = Thresholds()
