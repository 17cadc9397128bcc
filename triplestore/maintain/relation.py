"""Sets of triples that are searched by prefix: (p, s, ?), (p, ?, o), (p, ?, ?) and whole triples.

A join that scans a table makes the cost of every update follow the store; here the cost of a lookup is the logarithm of
the set and the matches. A relation is made of sorted runs of keys, in memory, or in a sorted file that is read by the
page. A run in a file is a component of a log-structured merge tree (O'Neil, Cheng, Gawlick and O'Neil 1996): it never
changes, and what has changed since is in memory beside it.

A stored table is read by the page (`StoredTables`): what a look-up costs does not follow the table. Files of one page
at most, as those of small changes are, are read whole and become one run; so are those that are not sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from triplestore.engine import WrittenFile
from triplestore.engine.arrow import as_numpy
from triplestore.maintain.keys import NONE, Ids, Layout, Mask, member, merged, minus, places, union
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.model.tables import FACT, Table
from triplestore.model.terms import KIND_BITS
from triplestore.model.thresholds import SIZES
from triplestore.storage.manifest import TableFiles
from triplestore.storage.pages import PageCache, PagedFile
from triplestore.storage.verify import checked
from triplestore.storage.versions import Versions


class StoredTables:
    """Makes relations of tables of one version, with one cache of their pages. files_of: the files of a table, by name.
    small: rows of a file up to which it is read whole. large: the paths of the files that are read by the page, as long
    as the relations live. dead: table -> the triples of its tombstones, for whoever writes a change down: it notes in
    `dead_now` which are added and which removed, None where there are none any more."""

    def __init__(self, versions: Versions, files_of: Callable[[str], TableFiles], layout: Layout, small: int) -> None:
        self._versions, self._files_of, self._layout, self._small = versions, files_of, layout, small
        self.pages = PageCache()
        self.large: set[str] = set()
        self.dead: dict[str, Relation] = {}
        self.dead_now: dict[str, tuple[Ids, Ids] | None] = {}

    def relation(self, table: Table) -> Relation:
        """The triples of a table."""
        files = self._files_of(table.name)
        dead = self._runs(table, files.tombstones)
        self.dead[table.name] = Relation(self._layout, runs=dead)
        return Relation(self._layout, runs=self._runs(table, files.files), dead=dead)

    def commit(self) -> None:
        """The change that was written down is kept."""
        for table, changed in self.dead_now.items():
            if changed is None:
                self.dead[table] = Relation(self._layout)
            else:
                added, removed = changed
                self.dead[table].remove(removed)
                self.dead[table].add(added)
        self.dead_now = {}

    def revert(self) -> None:
        """It is not."""
        self.dead_now = {}

    def _runs(self, table: Table, files: Sequence[WrittenFile]) -> list[Run]:
        runs, whole = list[Run](), list[Ids]()
        for file in files:
            paged = self._paged(table, file) if file.rows > self._small else None
            if paged is None:
                whole.append(self._whole(file))
            else:
                runs.append(paged)
                self.large.update(_paths(file))
        small = union(*whole)
        return [*runs, ArrayRun(self._layout, small)] if len(small) else runs

    def _whole(self, file: WrittenFile) -> Ids:
        rows = checked(self._versions, file)
        s, p, o = (self._layout.encode(as_numpy(rows.column(name))) for name in FACT.names)
        return self._layout.keys(s, p, o)

    def _paged(self, table: Table, file: WrittenFile) -> FileRun | None:
        """The file, read by the page; None for one that is not sorted, which is read whole."""
        read = PagedFile(self._versions.place, file, table.order)
        if not read.is_sorted:
            return None
        other = None
        if file.turned is not None:
            other = partial(PagedFile, self._versions.place, file.turned, FACT.turned)
        return FileRun(self._layout, read, self.pages, other)


def _paths(file: WrittenFile) -> Iterable[str]:
    return (file.path,) if file.turned is None else (file.path, file.turned.path)


Found = tuple[Ids, Ids, bool]
"""Of a search: (row, key) of each match, and whether some were left out."""

ALL: Final = 1 << 62
"""No bound on the matches of a lookup."""

_NEAR: Final = 3
"""Pages that hold more matches of one row than are asked for, wherever in the first one they begin."""


class TooManyError(Exception):
    """A search has more matches than there is room for. total: how many, if it is known."""

    def __init__(self, total: int | None = None) -> None:
        super().__init__(total)
        self.total = total


class Run(Protocol):
    """A set of keys in an order of theirs."""

    def __len__(self) -> int:
        """How many."""

    def member(self, keys: Ids) -> Mask:
        """Which of these are in it."""

    def ranges(self, low: Ids, last: Ids, most: int, room: int = ALL) -> Found:
        """For each row the keys from `low` to `last`, at most so many (in each of a few pages). Raises TooManyError
        where these are more than `room` in all; they are not made then."""

    def count(self, low: Ids, last: Ids) -> int:
        """How many keys all ranges have, a range that is there twice counting twice; of a file an estimate where they
        begin and end in many pages."""

    def all(self) -> Ids:
        """Every key, sorted."""

    def sample(self, every: int) -> Ids:
        """About one of so many keys, sorted: of a file from some of its pages."""

    def turned(self) -> Run:
        """The same triples by (p, o, s)."""


class ArrayRun:
    """A run in memory."""

    def __init__(self, layout: Layout, keys: Ids) -> None:
        self._layout, self.keys = layout, keys
        self._turned: ArrayRun | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def member(self, keys: Ids) -> Mask:
        """See `Run`."""
        return member(keys, self.keys)

    def ranges(self, low: Ids, last: Ids, most: int, room: int = ALL) -> Found:
        """See `Run`."""
        return _ranges(self.keys, low, last, most, room)

    def count(self, low: Ids, last: Ids) -> int:
        """See `Run`."""
        return _count(self.keys, low, last)

    def all(self) -> Ids:
        """See `Run`."""
        return self.keys

    def sample(self, every: int) -> Ids:
        """See `Run`."""
        return self.keys[::every]

    def turned(self) -> ArrayRun:
        """See `Run`. Made when it is first asked for."""
        if self._turned is None:
            self._turned = ArrayRun(self._layout, np.sort(self._layout.turned(self.keys)))
        return self._turned


class FileRun:
    """A run in a file. other: opens the file of the same triples in the other order, if there is one."""

    def __init__(
        self, layout: Layout, file: PagedFile, cache: PageCache, other: Callable[[], PagedFile] | None = None
    ) -> None:
        self._layout, self._file, self._cache, self._other = layout, file, cache, other
        self._turned: Run | None = None
        low, high = (layout.encode(bounds.reshape(-1)).reshape(-1, 3) for bounds in (file.low, file.high))
        self._low_p, self._high_p = low[:, 0], high[:, 0]
        self._least, self._greatest = (bounds[:, 1] << layout.bits | bounds[:, 2] for bounds in (low, high))
        self._least_rows = max(
            1, int(file.rows[: max(1, len(file.rows) - 1)].min())
        )  # the last page may have any number
        self._own = self._predicates()
        layout.register(self._own.tolist())
        shift = 2 * layout.bits
        lower, upper = (
            np.searchsorted(self._own, p) << shift | bounds
            for p, bounds in zip((self._low_p, self._high_p), _bounds(low, high, layout.bits), strict=True)
        )
        self._lower = np.maximum.accumulate(lower)  # by places in `_own`, so that they ascend from page to page
        self._upper = np.minimum.accumulate(upper[::-1])[::-1]

    def _predicates(self) -> Ids:
        """Those in the file: a page with two may have others between."""
        mixed = np.flatnonzero(self._low_p != self._high_p).tolist()
        between = [self._codes([page], (0,))[0][0] for page in mixed]
        return union(self._low_p, self._high_p, *between)

    def __len__(self) -> int:
        return len(self._file)

    def member(self, keys: Ids) -> Mask:
        """See `Run`."""
        found = np.zeros(len(keys), dtype=np.bool_)
        for page, at in self._by_page(*self._pages(keys, keys)) if len(keys) else ():
            found[at] |= member(keys[at], page)
        return found

    def ranges(self, low: Ids, last: Ids, most: int, room: int = ALL) -> Found:
        """See `Run`."""
        first, end = self._pages(low, last)
        enough = _NEAR + most // self._least_rows
        cut = end - first > enough
        end = np.where(cut, first + enough, end)
        rows, keys, some = [NONE], [NONE], bool(cut.any())
        for page, at in self._by_page(first, end):
            found, matched, more = _ranges(page, low[at], last[at], most, room)
            room -= len(found)
            rows.append(at[found])
            keys.append(matched)
            some |= more
        return np.concatenate(rows), np.concatenate(keys), some

    def count(self, low: Ids, last: Ids) -> int:
        """See `Run`. A page that lies wholly within a range counts by the footer. Of the others, which have the ends of
        ranges, at most `THRESHOLDS.pages` are read, those that most ranges share above all: the answer is exact where
        there are no more, and an estimate from what the ranges find in these where there are."""
        low, last, times = _distinct_ranges(low, last)
        first, end = self._pages(low, last)
        before = np.append(0, np.cumsum(self._file.rows))
        wide = end - first > 2
        inner = before[np.where(wide, end - 1, first)] - before[np.where(wide, first + 1, first)]
        total = int((inner * times).sum())
        rows = np.concatenate((np.flatnonzero(end > first), np.flatnonzero(end - first > 1)))
        pages = np.concatenate((first[end > first], end[end - first > 1] - 1))
        mask = (1 << (2 * self._layout.bits)) - 1
        whole = (self._low_p == self._high_p)[pages]
        whole &= (self._least[pages] >= (low[rows] & mask)) & (self._greatest[pages] <= (last[rows] & mask))
        total += int((self._file.rows[pages[whole]] * times[rows[whole]]).sum())
        return total + self._count_within(pages[~whole], low[rows[~whole]], last[rows[~whole]], times[rows[~whole]])

    def _count_within(self, pages: Ids, low: Ids, last: Ids, times: Ids) -> int:
        """How many keys ranges have in a page each, counted so many times: see `count`."""
        if not len(pages):
            return 0
        order = np.argsort(pages, kind="stable")
        pages, low, last, times = pages[order], low[order], last[order], times[order]
        some, starts = np.unique(pages, return_index=True)
        ends = np.append(starts[1:], len(pages))
        weights = np.add.reduceat(times, starts)
        chosen, shares = _spread(weights)
        found = 0.0
        for keys, at, share in zip(self._keys(some[chosen].tolist()), chosen.tolist(), shares.tolist(), strict=True):
            part = slice(int(starts[at]), int(ends[at]))
            counts = np.searchsorted(keys, last[part], "right") - np.searchsorted(keys, low[part])
            found += int((counts * times[part]).sum()) * share
        return round(found)

    def all(self) -> Ids:
        """See `Run`."""
        pages = range(len(self._file.rows))
        return union(
            *(
                keys
                for start in pages[:: THRESHOLDS.pages]
                for _, keys in self._made(pages[start : start + THRESHOLDS.pages])
            )
        )

    def sample(self, every: int) -> Ids:
        """See `Run`."""
        pages = range(0, len(self._file.rows), -(-len(self._file.rows) // THRESHOLDS.pages))
        size = max(1, len(self) // (every * len(pages)))  # neighbours, whose joins read the same pages
        return union(*(keys[:size] for keys in self._keys(pages)))

    def turned(self) -> Run:
        """See `Run`. Without a second file each predicate is read, and turned, when it is first looked up."""
        if self._turned is None:
            if self._other is None:
                self._turned = TurnedRun(self._layout, self)
            else:
                self._turned = FileRun(self._layout, self._other(), self._cache)
        return self._turned

    def _pages(self, low: Ids, last: Ids) -> tuple[Ids, Ids]:
        """The pages that may have keys of each range: from the first, before the end."""
        shift = 2 * self._layout.bits
        codes = self._layout.predicates[low >> shift]
        at, own = places(codes, self._own)
        base, mask = at << shift, (1 << shift) - 1
        first = np.searchsorted(self._upper, base | (low & mask))
        end = np.searchsorted(self._lower, base | (last & mask), "right")
        return first, np.where(own & (low <= last) & (low >= 0), np.maximum(end, first), first)

    def _by_page(self, first: Ids, end: Ids) -> Iterator[tuple[Ids, Ids]]:
        """(the keys of a page, the rows whose ranges it may have), for every such page."""
        counts = end - first
        rows = np.repeat(np.arange(len(first), dtype=np.int64), counts)
        pages = np.arange(len(rows), dtype=np.int64) + np.repeat(end - np.cumsum(counts), counts)
        if (pages[1:] < pages[:-1]).any():
            order = np.argsort(pages, kind="stable")
            rows, pages = rows[order], pages[order]
        starts = np.flatnonzero(np.append(True, pages[1:] != pages[:-1])[: len(pages)]).tolist()
        parts = (rows[start:stop] for start, stop in pairwise([*starts, len(rows)]))
        return zip(self._keys(pages[starts].tolist()), parts, strict=True)

    def _keys(self, pages: Sequence[int]) -> Iterator[Ids]:
        """The keys of pages, sorted, one page after the other; those that are not kept are read some at a time."""
        for start in range(0, len(pages), THRESHOLDS.pages):
            part = pages[start : start + THRESHOLDS.pages]
            found = {page: self._cache.get((self._file.name, page)) for page in part}
            for page, made in self._made([page for page, kept in found.items() if kept is None]):
                self._cache.put((self._file.name, page), made)
                found[page] = made
            yield from (keys for keys in found.values() if keys is not None)

    def _made(self, pages: Sequence[int]) -> Iterator[tuple[int, Ids]]:
        """(page, its keys, sorted) of some pages. Raises DamagedStoreError where they are not sorted in the file."""
        layout = self._layout
        mixed = [page for page in pages if self._low_p[page] != self._high_p[page]]
        for page, (a, b, p) in zip(mixed, self._codes(mixed, (1, 2, 0)), strict=True):
            yield page, np.sort(layout.numbers(p) << (2 * layout.bits) | a << layout.bits | b)
        plain = [page for page in pages if self._low_p[page] == self._high_p[page]]
        found = self._file.read(plain, (1, 2)) if plain else []
        numbers = layout.numbers(self._low_p[plain]).tolist()
        for page, number, (a, b) in zip(plain, numbers, found, strict=True):
            keys = self._packed(page, number, a, b)
            if not (keys[1:] > keys[:-1]).all():
                raise self._file.damaged(f"row group {page} is not sorted")
            yield page, keys

    def _packed(self, page: int, number: int, a: Ids, b: Ids) -> Ids:
        """The keys of a page of one predicate. What makes codes of ids is added to the keys, all at once: the ids are
        large, and shifted they overflow, but modulo 2 ** 64 the sums are right."""
        bits = self._layout.bits
        (a, of_a), (b, of_b) = self._coded(page, 1, a), self._coded(page, 2, b)
        rest = (((number << bits) + of_a) << bits) + of_b
        keys: Ids = a << bits
        keys += b
        keys += (rest + (1 << 63)) % (1 << 64) - (1 << 63)
        return keys

    def _codes(self, pages: Sequence[int], places: Sequence[int]) -> list[list[Ids]]:
        """The codes of columns of pages."""
        found = self._file.read(pages, places) if pages else []
        for page, columns in zip(pages, found, strict=True):
            for number, place in enumerate(places):
                ids, more = self._coded(page, place, columns[number])
                columns[number] = ids + more
        return found

    def _coded(self, page: int, place: int, ids: Ids) -> tuple[Ids, int]:
        """(ids of a column of a page, what to add to them): the codes. Those of several kinds are codes already."""
        low, high = int(self._file.low[page, place]), int(self._file.high[page, place])
        if low >> KIND_BITS == high >> KIND_BITS:
            return ids, self._layout.code(low) - low
        return self._layout.encode(ids), 0


class TurnedRun:
    """A run by (p, o, s) of one by (p, s, o) in a file: of the predicates that were looked up, in memory."""

    def __init__(self, layout: Layout, run: FileRun) -> None:
        self._layout, self._run = layout, run
        self._by_predicate: dict[int, ArrayRun] = {}

    def __len__(self) -> int:
        return len(self._run)

    def member(self, keys: Ids) -> Mask:
        """See `Run`."""
        return self._run.member(self._layout.turned(keys))

    def ranges(self, low: Ids, last: Ids, most: int, room: int = ALL) -> Found:
        """See `Run`."""
        rows, keys, cut = [NONE], [NONE], False
        for run, at in self._parts(low, last):
            found, matched, some = run.ranges(low[at], last[at], most, room)
            room -= len(found)
            rows.append(at[found])
            keys.append(matched)
            cut |= some
        return np.concatenate(rows), np.concatenate(keys), cut

    def count(self, low: Ids, last: Ids) -> int:
        """See `Run`."""
        return sum(run.count(low[at], last[at]) for run, at in self._parts(low, last))

    def all(self) -> Ids:
        """See `Run`."""
        return np.sort(self._layout.turned(self._run.all()))

    def sample(self, every: int) -> Ids:
        """See `Run`."""
        return np.sort(self._layout.turned(self._run.sample(every)))

    def turned(self) -> Run:
        """See `Run`."""
        return self._run

    def _parts(self, low: Ids, last: Ids) -> list[tuple[ArrayRun, Ids]]:
        """(the run of a predicate, the rows that ask for it)."""
        shift = 2 * self._layout.bits
        wanted = np.flatnonzero(low <= last)
        numbers = low[wanted] >> shift
        return [(self._of(number), wanted[numbers == number]) for number in np.unique(numbers).tolist()]

    def _of(self, number: int) -> ArrayRun:
        if number not in self._by_predicate:
            start = np.array([number << (2 * self._layout.bits)], dtype=np.int64)
            keys = self._run.ranges(start, start | ((1 << (2 * self._layout.bits)) - 1), len(self._run) + 1)[1]
            self._by_predicate[number] = ArrayRun(self._layout, keys).turned()
        return self._by_predicate[number]


def _bounds(low: Ids, high: Ids, bits: int) -> tuple[Ids, Ids]:
    """For each page of a file of sorted rows (p, a, b): a lower and an upper bound of its keys, without p. low, high:
    the least and the greatest value of each column in each page, arrays of (page, column).

    The lower bounds hold for keys of the first predicate of a page, the upper bounds for keys of its last one.

    Rows are sorted, so the first key of a page of one predicate has the least a of the page, and a b between the least
    and the greatest; the last key likewise. No key of the page before is greater than the first key, and none of the
    page after is less than the last one: that bounds pages of several predicates, whose own columns say little.
    """
    single = low[:, 0] == high[:, 0]
    one = low[:, 1] == high[:, 1]  # then the columns are the first and the last key
    least, greatest = (bounds[:, 1] << bits | bounds[:, 2] for bounds in (low, high))
    before = np.where(one, greatest, high[:, 1] << bits | low[:, 2])  # of pages of one predicate: <= the last key
    after = np.where(one, least, low[:, 1] << bits | high[:, 2])  # and >= the first one
    least[~single], greatest[~single] = 0, (1 << 2 * bits) - 1
    joined = high[:-1, 0] == low[1:, 0]
    lower, upper = least.copy(), greatest.copy()
    lower[1:] = np.where(joined & single[:-1], np.maximum(least[1:], before[:-1]), least[1:])
    upper[:-1] = np.where(joined & single[1:], np.minimum(greatest[:-1], after[1:]), greatest[:-1])
    return lower, upper


def _distinct_ranges(low: Ids, last: Ids) -> tuple[Ids, Ids, Ids]:
    """The ranges that are not empty, each once, and how often it was there. Those with one beginning have one end."""
    some = np.flatnonzero((low <= last) & (low >= 0))
    order = some[np.argsort(low[some], kind="stable")]
    low, last = low[order], last[order]
    starts = np.flatnonzero(np.append(True, low[1:] != low[:-1])[: len(low)])
    return low[starts], last[starts], np.diff(np.append(starts, len(low)))


def _spread(weights: Ids) -> tuple[Ids, npt.NDArray[np.float64]]:
    """(which of some things to look at, ascending, and how many of the others each stands for, itself included): all of
    them if they are few, else `THRESHOLDS.pages` picks at equal steps of weight, so that the heavy ones are among
    them."""
    if len(weights) <= THRESHOLDS.pages:
        return np.arange(len(weights), dtype=np.int64), np.ones(len(weights))
    ends = np.cumsum(weights)
    step = int(ends[-1]) / THRESHOLDS.pages
    picks = np.searchsorted(ends, (np.arange(THRESHOLDS.pages) + 0.5) * step)
    chosen, picked = np.unique(picks, return_counts=True)
    return chosen, picked * step / weights[chosen]


def _count(values: Ids, low: Ids, last: Ids) -> int:
    """How many of the values all ranges have."""
    return int((np.searchsorted(values, last, "right") - np.searchsorted(values, low)).sum())


def _ranges(values: Ids, low: Ids, last: Ids, most: int, room: int) -> Found:
    """For each row the values from `low` to `last`, at most so many. Raises TooManyError for more than `room`."""
    start = np.searchsorted(values, low)
    found = np.maximum(np.searchsorted(values, last, "right") - start, 0)
    counts = np.minimum(found, most)
    total = int(counts.sum())
    if total > room:
        raise TooManyError
    if not total:
        return NONE, NONE, bool((found > most).any())
    rows = np.repeat(np.arange(len(low), dtype=np.int64), counts)
    ends = np.cumsum(counts)
    at = np.arange(total, dtype=np.int64) + np.repeat(start - ends + counts, counts)
    return rows, values[at], bool((found > most).any())


__all__ = ["ALL", "Relation"]


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
        return bool(self._runs) and changed > max(SIZES.loose, sum(map(len, self._runs)) // 8)

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
            while self._added and len(self._added[-1]) <= max(SIZES.small, SIZES.much * len(new)):
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
