"""Sets of triples that are searched by prefix: (p, s, ?), (p, ?, o), (p, ?, ?) and whole triples.

A join that scans a table makes the cost of every update follow the store; here the cost of a lookup is the logarithm of
the set and the matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from triplestore.maintain.keys import NONE, Ids, Layout, Mask, merged, minus, union
from triplestore.maintain.runs import ALL, ArrayRun, Run

__all__ = ["ALL", "Relation"]

_PATCH: Final = 20_000
"""Changed triples up to which a relation keeps them beside its large arrays (or an eighth of those)."""

_LEVEL: Final = 8_192
"""Added triples that are one array whatever is added to them: a look-up searches each array."""

_RATIO: Final = 4
"""A larger array of added triples is left alone unless it has at most so many times what comes after it: to add n
triples a few at a time takes n log n steps then (Bentley and Saxe 1980)."""


class Relation:
    """A set of triples: large sorted runs that never change, triples added since, and triples removed.

    The triples of the runs but for those of `dead`, which are some of them, are the base. The invariant: it and
    `_added` are disjoint, `_removed` is part of it; all are sorted keys. The second order, by (p, o, s), is made when a
    lookup first needs it. `_added` is kept in arrays of geometrically decreasing sizes.
    """

    def __init__(self, layout: Layout, keys: Ids = NONE, runs: Sequence[Run] = (), dead: Sequence[Run] = ()) -> None:
        """keys: one more run. runs, dead: of triples that are in no other run."""
        self.layout = layout
        self._runs = [*runs, ArrayRun(layout, keys)] if len(keys) else [*runs]
        self._dead = [*dead]
        self._added: list[ArrayRun] = []
        self._removed = ArrayRun(layout, NONE)

    def __len__(self) -> int:
        base = sum(map(len, self._runs)) - sum(map(len, self._dead)) - len(self._removed)
        return base + sum(map(len, self._added))

    @property
    def keys(self) -> Ids:
        """Every triple, sorted; read whole."""
        base = union(*(run.all() for run in self._runs)) if len(self._runs) != 1 else self._runs[0].all()
        for gone in (*(run.all() for run in self._dead), self._removed.keys):
            base = minus(base, gone)
        for level in reversed(self._added):
            base = merged(base, level.keys)
        return base

    def copy(self) -> Relation:
        """One that changes by itself."""
        found = Relation(self.layout, runs=self._runs, dead=self._dead)
        found._added, found._removed = [*self._added], self._removed
        return found

    @property
    def outgrown(self) -> bool:
        """Whether the changes that are kept beside the runs are many."""
        changed = sum(map(len, self._added)) + len(self._removed)
        return bool(self._runs) and changed > max(_PATCH, sum(map(len, self._runs)) // 8)

    def sample(self, wanted: int) -> Ids:
        """Some triples, spread over the set evenly: about so many."""
        every = max(1, sum(map(len, self._runs)) // wanted)
        some = union(*(run.sample(every) for run in (*self._runs, *self._added)))
        return some[self.contains(some)]

    def contains(self, keys: Ids) -> Mask:
        """Which of the keys are in the set."""
        return self._in_added(keys) | self._in_base(keys)

    def _in_added(self, keys: Ids) -> Mask:
        found = np.zeros(len(keys), dtype=np.bool_)
        for level in self._added:
            found |= level.member(keys)
        return found

    def _in_base(self, keys: Ids) -> Mask:
        found = np.zeros(len(keys), dtype=np.bool_)
        for run in self._runs:
            found |= run.member(keys)
        return self._left(keys, found)

    def _left(self, keys: Ids, found: Mask) -> Mask:
        """Which keys of the runs, being `found`, are not gone."""
        if len(self._removed):
            found &= ~self._removed.member(keys)
        for run in self._dead:
            found &= ~run.member(keys)
        return found

    def add(self, keys: Ids) -> Ids:
        """Add triples; returns those that were new, sorted."""
        keys = union(keys)
        new = keys[~self.contains(keys)]
        self.add_new(new)
        return new

    def add_new(self, new: Ids) -> None:
        """Add triples of which none is in the set, sorted. Nothing is read for it."""
        if not len(new):
            return
        back = self._removed.member(new)
        if back.any():
            self._removed = ArrayRun(self.layout, minus(self._removed.keys, new[back]))
        if not back.all():
            new = new[~back]
            while self._added and len(self._added[-1]) <= max(_LEVEL, _RATIO * len(new)):
                new = merged(self._added.pop().keys, new)
            self._added.append(ArrayRun(self.layout, new))
        self._settle()

    def remove(self, keys: Ids) -> Ids:
        """Remove triples; returns those that were in the set, sorted."""
        keys = union(keys)
        there = keys[self.contains(keys)]
        self.remove_old(there)
        return there

    def remove_old(self, there: Ids) -> None:
        """Remove triples that are all in the set, sorted. Nothing is read for it."""
        if not len(there):
            return
        late = self._in_added(there)
        if late.any():
            left = (ArrayRun(self.layout, minus(level.keys, there[late])) for level in self._added)
            self._added = [level for level in left if len(level)]
        if not late.all():
            self._removed = ArrayRun(self.layout, merged(self._removed.keys, there[~late]))
        self._settle()

    def _settle(self) -> None:
        """Merge the patch into the large array once it is large; one on files stays beside them."""
        if self.outgrown and all(isinstance(run, ArrayRun) for run in (*self._runs, *self._dead)):
            self._runs, self._dead = [ArrayRun(self.layout, self.keys)], []
            self._added, self._removed = [], ArrayRun(self.layout, NONE)

    def match(self, p: Ids, s: Ids | None, o: Ids | None, most: int = ALL, room: int = ALL) -> tuple[Ids, Ids, bool]:
        """For each row of predicate numbers (-1: none), and of subject and object codes where given, the triples that
        match: (row of each, its key, whether some were left out because a row had more than `most` of them). Raises
        TooManyError where these are more than `room` in all."""
        layout = self.layout
        if s is not None and o is not None:
            asked = layout.pack(p, s, o)
            there = self.contains(asked) & (p >= 0)
            return np.flatnonzero(there), asked[there], False
        low, last, turned = self._bounds(p, s, o)
        rows: list[Ids] = []
        keys: list[Ids] = []
        cut = False
        for run in self._runs:
            at, found, more = _in_order(run, turned).ranges(low, last, most, room)
            room -= len(found)
            if turned:
                found = layout.turned(found)
            if len(found) and (len(self._removed) or self._dead):
                left = self._left(found, np.ones(len(found), dtype=np.bool_))
                at, found = at[left], found[left]
            rows.append(at)
            keys.append(found)
            cut |= more
        for level in self._added:
            at, found, more = _in_order(level, turned).ranges(low, last, most, room)
            room -= len(found)
            rows.append(at)
            keys.append(layout.turned(found) if turned else found)
            cut |= more
        if len(rows) == 1:
            return rows[0], keys[0], cut
        return (np.concatenate(rows), np.concatenate(keys), cut) if rows else (NONE, NONE, False)

    def count(self, p: Ids, s: Ids | None, o: Ids | None) -> int:
        """How many triples `match` would find for all rows; an estimate where many rows look into many pages of a file.
        Of whole triples, at most one a row, which are not looked for."""
        if s is not None and o is not None:
            return len(p)
        low, last, turned = self._bounds(p, s, o)
        there, gone = (
            sum(_in_order(run, turned).count(low, last) for run in runs if len(run))
            for runs in ((*self._runs, *self._added), (*self._dead, self._removed))
        )
        return max(0, there - gone)

    def _bounds(self, p: Ids, s: Ids | None, o: Ids | None) -> tuple[Ids, Ids, bool]:
        """The first and the last key that the triples may have that match each row, and whether in the second order."""
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
        return low, np.where(p >= 0, low + (span - 1), low - 1), turned


def _in_order(run: Run, turned: bool) -> Run:
    return run.turned() if turned else run
