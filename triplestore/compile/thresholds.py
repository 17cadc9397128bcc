"""When joins of rules are put in order, and how far rules are searched backwards. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of compiled rules; at least 1."""

    ways: int = 64
    """Ways through the lists of a rule, or derivations of a fact, that are tried for a proof at first."""

    together: int = 8
    """Elements about one variable that the engine may join in any order. Three keys of 12 properties take 4 s in the
    order of DuckDB, 0.4 s in ours."""


THRESHOLDS: Final = Thresholds()
