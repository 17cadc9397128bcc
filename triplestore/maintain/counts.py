"""Derivation counts of facts, kept from one update to the next (Hu, Motik and Horrocks 2018, section 4.2).

A fact's *nonrecursive* count is the number of nonrecursive rule instances that derive it from facts of the closure,
plus one where it is asserted; its *recursive* count that of recursive ones (`triplestore.maintain.recursion`). What
holds by the schema alone is not counted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy
from triplestore.maintain.annotation import Annotated
from triplestore.maintain.keys import NONE, Ids, Layout, member
from triplestore.model.thresholds import SIZES

NONRECURSIVE: Final = 0
RECURSIVE: Final = 1


class Counts:
    """Keys of facts, and an array of two rows: nonrecursive and recursive counts.

    The invariant: the counts of a fact are in `_over` if they have changed since the large arrays were made, else in
    those, and 0 if they are in neither; all keys are sorted. `_before` has the counts that have changed, as they were
    at `begin`; `_over_before` is `_over` as it was then.
    """

    def __init__(self, keys: Ids = NONE, counts: Ids | None = None) -> None:
        self._base = Annotated(keys, _zeros(len(keys)) if counts is None else counts)
        self._over = Annotated.none(2)
        self.begin()

    @classmethod
    def read(cls, engine: Engine, layout: Layout) -> Counts:
        """Those in `count`."""
        rows = engine.query("SELECT s, p, o, nonrecursive, recursive FROM count")
        s, p, o = (layout.encode(as_numpy(rows.column(i))) for i in range(3))
        keys = layout.keys(s, p, o)
        order = np.argsort(keys)
        return cls(keys[order], np.stack([as_numpy(rows.column(i))[order] for i in (3, 4)]))

    def begin(self) -> None:
        """Begin to note changes."""
        if len(self._over.keys) > max(SIZES.loose, len(self._base.keys) // 8):
            self._base, self._over = Annotated(*self.rows()), Annotated.none(2)
        self._before, self._over_before = Annotated.none(2), self._over

    def of(self, keys: Ids) -> Ids:
        """The counts of facts: two rows."""
        return self._over.of(keys, self._base.of(keys, _zeros(len(keys))))

    def add(self, found: Ids, kind: int, times: int) -> None:
        """Count derivations of facts (a fact occurs once for each), `times` being 1 or -1."""
        if not len(found):
            return
        keys, number = np.unique(found, return_counts=True)
        now = self.of(keys)
        fresh = ~member(keys, self._before.keys)
        self._before = self._before.put(keys[fresh], now[:, fresh])
        now[kind] += times * number
        assert (now[kind] >= 0).all(), "a derivation has been taken off that was not counted"
        self._over = self._over.put(keys, now)

    def change(self) -> tuple[Ids, Ids, Ids, Ids]:
        """The changes since `begin`: keys and counts before, keys and counts now. Facts without derivations are in
        neither."""
        keys, before = self._before.keys, self._before.values
        now = self.of(keys)
        other = (before != now).any(axis=0)
        was, is_ = other & before.any(axis=0), other & now.any(axis=0)
        return keys[was], before[:, was], keys[is_], now[:, is_]

    def revert(self) -> None:
        """Undo the changes since `begin`."""
        self._before, self._over = Annotated.none(2), self._over_before

    def rows(self) -> tuple[Ids, Ids]:
        """Every fact with a derivation: keys, counts."""
        keys = np.union1d(self._base.keys, self._over.keys)
        counts = self.of(keys)
        there = counts.any(axis=0)
        return keys[there], counts[:, there]


def _zeros(size: int) -> Ids:
    return np.zeros((2, size), dtype=np.int64)
