"""Which files are compared whole, and how Spark divides tables. No value changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of engines and their files; at least 1 but `whole` and `in_driver`, which may be 0."""

    whole: int = 32 << 20
    """Bytes up to which a file is compared with its checksum before it is read: 9 ms. Of larger ones, the blocks that
    are read are compared, which begins with an import of 50 ms."""

    in_driver: int = 20_000_000
    """Rows of the tables of a statement up to which the driver of a cluster runs it by DuckDB: ten universities take 13
    s on two cores, by Spark 65 s. At 0 the driver runs none, on one machine either."""

    rows_per_file: int = 5_000_000
    """Rows of a file that executors write."""

    parts: int = 24
    """Parts of a table on Spark before the smaller half of them is merged."""


THRESHOLDS: Final = Thresholds()
