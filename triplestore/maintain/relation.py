"""Sets of triples that are searched by prefix: (p, s, ?), (p, ?, o), (p, ?, ?) and whole triples.

A join that scans a table makes the cost of every update follow the store; here the cost of a lookup is the logarithm of
the set and the matches.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from triplestore.maintain.keys import NONE, Ids, Layout, Mask, member, merged, minus, union

ALL: Final = 1 << 62
"""No bound on the matches of a lookup."""

_PATCH: Final = 20_000
"""Changed triples up to which a relation keeps them beside its large arrays (or an eighth of those)."""


class Relation:
    """A set of triples: large sorted arrays that never change, triples added since, and triples removed.

    The invariant: `_base` and `_added` are disjoint, `_removed` is part of `_base`; all are sorted keys. The second
    order, by (p, o, s), is made when a lookup first needs it.
    """

    def __init__(self, layout: Layout, keys: Ids = NONE) -> None:
        self.layout = layout
        self._base, self._turned_base = keys, NONE
        self._added, self._turned_added = NONE, NONE
        self._removed = NONE

    def __len__(self) -> int:
        return len(self._base) + len(self._added) - len(self._removed)

    @property
    def keys(self) -> Ids:
        """Every triple, sorted."""
        return merged(minus(self._base, self._removed), self._added)

    def contains(self, keys: Ids) -> Mask:
        """Which of the keys are in the set."""
        found = member(keys, self._added)
        if len(self._base):
            base = member(keys, self._base)
            if len(self._removed):
                base &= ~member(keys, self._removed)
            found |= base
        return found

    def add(self, keys: Ids) -> Ids:
        """Add triples; returns those that were new, sorted."""
        keys = union(keys)
        new = keys[~self.contains(keys)]
        if not len(new):
            return new
        back = member(new, self._removed)
        if back.any():
            self._removed = minus(self._removed, new[back])
        self._added = merged(self._added, new[~back])
        self._turned_added = NONE
        self._settle()
        return new

    def remove(self, keys: Ids) -> Ids:
        """Remove triples; returns those that were in the set, sorted."""
        keys = union(keys)
        there = keys[self.contains(keys)]
        if not len(there):
            return there
        late = member(there, self._added)
        if late.any():
            self._added = minus(self._added, there[late])
            self._turned_added = NONE
        self._removed = merged(self._removed, there[~late])
        self._settle()
        return there

    def _settle(self) -> None:
        """Merge the patch into the large arrays once it is large."""
        if len(self._base) and len(self._added) + len(self._removed) > max(_PATCH, len(self._base) // 8):
            self._base, self._turned_base = self.keys, NONE
            self._added, self._turned_added, self._removed = NONE, NONE, NONE

    def match(self, p: Ids, s: Ids | None, o: Ids | None, most: int = ALL) -> tuple[Ids, Ids, bool]:
        """For each row of predicate numbers (-1: none), and of subject and object codes where given, the triples that
        match: (row of each, its key, whether some were left out because a row had more than `most` of them)."""
        layout = self.layout
        if s is not None and o is not None:
            keys = layout.pack(p, s, o)
            found = self.contains(keys) & (p >= 0)
            return np.flatnonzero(found), keys[found], False
        low, high, turned = self._bounds(p, s, o)
        rows, keys, cut = NONE, NONE, False
        for part in self._parts(turned):
            if len(part):
                more_rows, more_keys, more_cut = _ranges(part, low, high, most)
                rows = np.concatenate((rows, more_rows)) if len(rows) else more_rows
                keys = np.concatenate((keys, more_keys)) if len(keys) else more_keys
                cut |= more_cut
        if turned:
            keys = layout.turned(keys)
        if len(self._removed) and len(keys):
            kept = ~member(keys, self._removed)
            rows, keys = rows[kept], keys[kept]
        return rows, keys, cut

    def count(self, p: Ids, s: Ids | None, o: Ids | None) -> int:
        """How many triples `match` would find for all rows, removed ones included."""
        if s is not None and o is not None:
            return len(p)
        low, high, turned = self._bounds(p, s, o)
        parts = (part for part in self._parts(turned) if len(part))
        return sum(int((np.searchsorted(part, high) - np.searchsorted(part, low)).sum()) for part in parts)

    def _bounds(self, p: Ids, s: Ids | None, o: Ids | None) -> tuple[Ids, Ids, bool]:
        """The keys from which and before which the triples are that match each row, and whether in the second order."""
        layout = self.layout
        span = 1 << layout.bits
        if s is not None or o is not None:
            bound = s if s is not None else o
            assert bound is not None
            low = layout.pack(p, bound, np.zeros_like(p))
            turned = s is None
        else:
            span <<= layout.bits
            low = p << (2 * layout.bits)
            turned = False
        return low, np.where(p >= 0, low + span, low), turned

    def _parts(self, turned: bool) -> tuple[Ids, Ids]:
        if not turned:
            return self._base, self._added
        if len(self._turned_base) != len(self._base):
            self._turned_base = np.sort(self.layout.turned(self._base))
        if len(self._turned_added) != len(self._added):
            self._turned_added = np.sort(self.layout.turned(self._added))
        return self._turned_base, self._turned_added


def _ranges(values: Ids, low: Ids, high: Ids, most: int) -> tuple[Ids, Ids, bool]:
    """For each row the values from `low` to before `high`, at most so many: (row, value, whether some were cut)."""
    start = np.searchsorted(values, low)
    found = np.searchsorted(values, high) - start
    counts = np.minimum(found, most)
    total = int(counts.sum())
    if not total:
        return NONE, NONE, False
    rows = np.repeat(np.arange(len(low), dtype=np.int64), counts)
    ends = np.cumsum(counts)
    at = np.arange(total, dtype=np.int64) + np.repeat(start - ends + counts, counts)
    return rows, values[at], bool((found > most).any())
