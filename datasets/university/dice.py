"""Reproducible random draws, many at a time.

Only the raw 64-bit stream of PCG64 is used: numpy promises that stream for ever, which it does not for the methods of
its `Generator` (NEP 19). The same seed therefore gives the same data with any numpy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Dice:
    """A stream of draws that depends on its seeds and on nothing else."""

    def __init__(self, *seeds: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(seeds))

    def uniform(self, count: int) -> NDArray[np.float64]:
        """`count` numbers in [0, 1)."""
        raw: NDArray[np.uint64] = self._bits.random_raw(count)
        return (raw >> np.uint64(11)).astype(np.float64) * np.float64(2.0**-53)

    def below(self, bounds: int | Ints, count: int) -> Ints:
        """`count` integers, each from 0 up to and without its bound (one bound for all, or one for each)."""
        return (self.uniform(count) * bounds).astype(np.int64)

    def between(self, low: int, high: int, count: int) -> Ints:
        """`count` integers from `low` to `high`, both included."""
        return low + self.below(high - low + 1, count)

    def one(self, low: int, high: int) -> int:
        """One integer from `low` to `high`, both included."""
        return int(self.between(low, high, 1)[0])

    def distinct(self, bound: int, width: int, count: int) -> Ints:
        """`count` rows of `width` different integers below `bound`; any row, cut anywhere, is a fair sample.

        Draw j is a rank among the values not yet taken; stepping over the taken ones in ascending order turns it into
        a value.
        """
        if bound < width:
            raise ValueError(f"cannot draw {width} different numbers below {bound}")
        rows = np.empty((count, width), dtype=np.int64)
        for column in range(width):
            draw = self.below(bound - column, count)
            for taken in np.sort(rows[:, :column], axis=1).T:
                draw += draw >= taken
            rows[:, column] = draw
        return rows

    def sample(self, bound: int, size: int) -> Ints:
        """`size` different integers below `bound`, in random order."""
        return np.argsort(self.uniform(bound), kind="stable")[:size].astype(np.int64)
