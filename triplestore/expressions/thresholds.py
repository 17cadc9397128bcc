"""When expressions become SQL, and when Python evaluates them. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of expressions."""

    short: int = 40
    """Characters of SQL that are repeated where they are read more than once."""

    long: int = 400
    """Characters of SQL from which a value becomes columns of its own."""

    cheap: int = 20
    """The weight from which Python evaluates an expression over few rows: a sum 20 deep takes 12 ms, by SQL 114."""

    heavy: int = 1_000
    """The weight from which Python evaluates an expression whatever the rows: DuckDB refuses SQL of 250 sums."""

    deepest: int = 150
    """Levels of an expression that Python evaluates: it calls itself for each."""

    operands: int = 100
    """Operands of a chain that are looked at one by one for those that may fail, or are of one kind."""

    programs: int = 1 << 18
    """Characters of expressions that are kept compiled: 75 MB of them at most."""

    patterns: int = 1 << 14
    """Characters of regular expressions that are kept compiled: 16 MB of character classes at most."""


THRESHOLDS: Final = Thresholds()
