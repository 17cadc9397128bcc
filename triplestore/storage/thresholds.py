"""How files are kept. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of a store's files; at least 1."""

    parallel: int = 8
    """Files that are brought, sent, asked for one by one, or verified at a time."""

    files: int = 16
    """Files of a table beyond which small ones are merged. 1,000 updates of one triple take 72 ms each with 100, 70 ms
    with 1,000."""

    cached: int = 128 << 20
    """Bytes of pages that are kept in memory."""

    every: int = 64
    """Versions between two vacuums by the store itself."""


THRESHOLDS: Final = Thresholds()
