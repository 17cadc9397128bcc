"""The representative map pi in memory: classes of equal terms that merge and split.

Terms are codes (`triplestore.maintain.keys`). A `Partition` is small and all in dictionaries; `Classes` lays one over
the sorted arrays of a store's `same_as`, so that the cost of a change follows the terms that it changes.
`ExpiringClasses` are those of equalities that end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from triplestore.maintain.annotation import FOREVER
from triplestore.maintain.keys import NONE, Ids, Mask, distinct, member, places
from triplestore.model.thresholds import SIZES


class Map(Protocol):
    """A map of terms to representatives, and back."""

    def normalise(self, codes: Ids) -> Ids:
        """The representative of each term."""

    def large(self, codes: Ids) -> Mask:
        """Which of these representatives stand for two terms or more."""

    def expand(self, codes: Ids) -> tuple[Ids, Ids]:
        """(row, member) for every member of the class of each of these representatives."""


class Groups:
    """Some keys, and the values of each: arrays for looking many up at once."""

    def __init__(self, keys: Ids, values: Ids) -> None:
        order = np.lexsort((values, keys))
        self.keys, starts = np.unique(keys[order], return_index=True)
        self.values = values[order]
        self._ends = np.append(starts[1:], len(values)).astype(np.int64)
        self._starts = starts.astype(np.int64)

    @property
    def sizes(self) -> Ids:
        """The number of values of each key."""
        return self._ends - self._starts

    def expand(self, keys: Ids) -> tuple[Ids, Ids]:
        """(row, value) for the values of each key; none for an unknown one."""
        if not len(self.keys) or not len(keys):
            return NONE, NONE
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        known = self.keys[at] == keys
        counts = np.where(known, self._ends[at] - self._starts[at], 0)
        rows = np.repeat(np.arange(len(keys), dtype=np.int64), counts)
        ends = np.cumsum(counts)
        place = np.arange(len(rows), dtype=np.int64) + np.repeat(self._starts[at] - ends + counts, counts)
        return rows, self.values[place]


class Partition:
    """Classes of equal terms, by dictionaries: term -> representative, representative -> members (two or more)."""

    def __init__(self) -> None:
        self.representative: dict[int, int] = {}
        self.members: dict[int, tuple[int, ...]] = {}
        self._arrays: tuple[Ids, Ids] | None = None  # None: to be made again, at the price of all that there is
        self._groups: Groups | None = None

    def _few(self, codes: Ids, made: object) -> bool:
        """Whether looking codes up one by one costs less than making arrays of the whole partition."""
        return made is None and SIZES.look_ups * len(codes) < len(self.representative)

    def put(self, members: Iterable[int]) -> None:
        """Make one class of these terms; a single one becomes its own representative, by name."""
        ordered = tuple(sorted(members))
        for term in ordered:
            self.representative[term] = ordered[0]
            self.members.pop(term, None)
        if len(ordered) > 1:
            self.members[ordered[0]] = ordered
        self._arrays = self._groups = None

    def merge(self, pairs: Iterable[tuple[int, int]]) -> set[int]:
        """Merge the classes of pairs of terms; the representatives that lost their place."""
        above: dict[int, int] = {}  # lost representative -> a smaller one of its new class

        def least(term: int) -> int:
            while (up := above.get(term, term)) != term:
                above[term] = above.get(up, up)
                term = up
            return term

        for a, b in pairs:
            left, right = least(self.representative.get(a, a)), least(self.representative.get(b, b))
            if left != right:
                above[max(left, right)] = min(left, right)
        parts: dict[int, list[int]] = {}
        for one in above:
            parts.setdefault(least(one), []).append(one)
        for named, lost in parts.items():
            self.put(term for one in (named, *lost) for term in self.members.get(one, (one,)))
        return set(above)

    def forget(self, terms: Iterable[int]) -> None:
        """Forget these terms."""
        for term in terms:
            self.representative.pop(term, None)
            self.members.pop(term, None)
        self._arrays = self._groups = None

    def _sorted(self) -> tuple[Ids, Ids]:
        if self._arrays is None:
            terms = np.fromiter(self.representative, np.int64, len(self.representative))
            named = np.fromiter(self.representative.values(), np.int64, len(terms))
            order = np.argsort(terms)
            self._arrays = terms[order], named[order]
        return self._arrays

    def known(self, codes: Ids) -> Mask:
        """The terms that the partition knows."""
        if self._few(codes, self._arrays):
            return np.array([code in self.representative for code in codes.tolist()], dtype=np.bool_)
        return member(codes, self._sorted()[0])

    def normalise(self, codes: Ids) -> Ids:
        if self._few(codes, self._arrays):
            return np.array([self.representative.get(code, code) for code in codes.tolist()], dtype=np.int64)
        terms, named = self._sorted()
        return mapped(codes, terms, named)

    def large(self, codes: Ids) -> Mask:
        if self._few(codes, self._groups):
            return np.array([code in self.members for code in codes.tolist()], dtype=np.bool_)
        return member(codes, self._grouped().keys)

    def _grouped(self) -> Groups:
        if self._groups is None:
            pairs = [(r, m) for r, members in self.members.items() for m in members]
            columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            self._groups = Groups(columns[:, 0], columns[:, 1])
        return self._groups

    def expand(self, codes: Ids) -> tuple[Ids, Ids]:
        if self._few(codes, self._groups):
            members = [self.members.get(code, (code,)) for code in codes.tolist()]
            rows = np.repeat(np.arange(len(codes), dtype=np.int64), [len(some) for some in members])
            return rows, np.array([one for some in members for one in some], dtype=np.int64)
        return _expand(codes, self.large(codes), self._grouped())


class Classes:
    """pi: the classes of a store's `same_as` (arrays term, representative), and what has changed since (`over`).

    The invariant: a class of the arrays that has changed is in `over` with every one of its terms.
    """

    def __init__(self, terms: Ids, representatives: Ids) -> None:
        order = np.argsort(terms)
        self._terms, self._named = terms[order], representatives[order]
        self._groups = Groups(representatives, terms)
        self.over = Partition()
        self.before: dict[int, int] = {}
        """Of each term whose class changed since `mark`: its representative then (itself, if it was alone)."""

    @property
    def terms(self) -> Ids:
        """The terms of the stored classes, sorted."""
        return self._terms

    def mark(self) -> None:
        """Begin to note changes."""
        self.before = {}

    @property
    def none(self) -> bool:
        """Whether no two terms are equal, now or before."""
        return not len(self._terms) and not self.over.representative

    def normalise(self, codes: Ids) -> Ids:
        if self.none or not len(codes):
            return codes
        found = self._stored(codes)
        if self.over.representative:
            changed = self.over.known(codes)
            found = np.where(changed, self.over.normalise(codes), found)
        return found

    def _stored(self, codes: Ids) -> Ids:
        """The representatives in the arrays."""
        return mapped(codes, self._terms, self._named)

    def large(self, codes: Ids) -> Mask:
        if self.none:
            return np.zeros(len(codes), dtype=np.bool_)
        found = member(codes, self._groups.keys)
        if self.over.representative:
            found = np.where(self.over.known(codes), self.over.large(codes), found)
        return found

    def expand(self, codes: Ids) -> tuple[Ids, Ids]:
        if self.none:
            return np.arange(len(codes), dtype=np.int64), codes
        changed = self.over.known(codes) if self.over.representative else np.zeros(len(codes), dtype=np.bool_)
        rows, members = _expand(codes, member(codes, self._groups.keys) & ~changed, self._groups)
        if not changed.any():
            return rows, members
        kept = ~changed[rows]
        mine = np.flatnonzero(changed)
        more_rows, more_members = self.over.expand(codes[mine])
        return np.concatenate((rows[kept], mine[more_rows])), np.concatenate((members[kept], more_members))

    def of(self, term: int) -> tuple[int, ...]:
        """The members of a term's class."""
        if term in self.over.representative:  # one by one: the arrays of `over` are made again after every change
            named = self.over.representative[term]
            return self.over.members.get(named, (named,))
        at = int(np.searchsorted(self._terms, term))
        if at == len(self._terms) or self._terms[at] != term:
            return (term,)
        return tuple(self._groups.expand(self._named[at : at + 1])[1].tolist())

    def merge(self, pairs: Iterable[tuple[int, int]]) -> set[int]:
        """Merge the classes of pairs of terms; the representatives that lost their place."""
        pairs = list(pairs)
        self._open({t for pair in pairs for t in pair})
        return self.over.merge(pairs)

    def part(self, representative: int, into: Iterable[Iterable[int]]) -> None:
        """Split a class into these (together all its members)."""
        self._open([representative])
        for members in into:
            self.over.put(members)

    def dissolve(self, representatives: Sequence[int]) -> list[int]:
        """Split classes into single members; returns them."""
        self._open(representatives)
        alone = [member for named in representatives for member in self.of(named)]
        for term in alone:
            self.over.put((term,))
        return alone

    def _open(self, terms: Iterable[int]) -> None:
        """Copy the classes of terms to `over`, and note their state."""
        new: list[int] = []
        for term in terms:
            named = self.over.representative.get(term)
            if named is None:
                new.append(term)
            else:
                for one in self.over.members.get(named, (named,)):
                    self.before.setdefault(one, named)
        if not new:
            return
        codes = distinct(self._stored(np.array(new, dtype=np.int64)))
        rows, members = _expand(codes, member(codes, self._groups.keys), self._groups)
        ends = np.cumsum(np.bincount(rows, minlength=len(codes)))
        ordered = members[np.argsort(rows, kind="stable")].tolist()
        start = 0
        for named, end in zip(codes.tolist(), ends.tolist(), strict=True):
            for one in ordered[start:end]:
                self.before.setdefault(one, named)
            self.over.put(ordered[start:end])
            start = end

    def change(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Rows (term, representative) of `same_as` that were added and removed since `mark`."""
        shared = _counted(self.before)
        now = {term: self.over.representative[term] for term in self.before}
        sizes = {named: len(self.over.members.get(named, ())) for named in now.values()}
        new = {(t, r) for t, r in now.items() if sizes[r] > 1}
        old = {(t, r) for t, r in self.before.items() if shared[r] > 1}
        return sorted(new - old), sorted(old - new)

    def largest(self) -> int:
        """The number of members of the largest class; 0 without any."""
        sizes = self._groups.sizes[~self.over.known(self._groups.keys)]
        return max(int(sizes.max()) if len(sizes) else 0, *map(len, self.over.members.values()), 0)

    def revert(self) -> None:
        """Undo what happened since `mark`."""
        classes: dict[int, list[int]] = {}
        for term, named in self.before.items():
            classes.setdefault(named, []).append(term)
        for members in classes.values():
            self.over.put(members)
        self.before = {}


class ExpiringClasses(Classes):
    """Stored classes, which never end, and equalities of their representatives, each with its end.

    Two terms are equal until the end of the best way between them: the way whose first link to expire expires last.
    Those ways form a maximum-bottleneck spanning tree; from the representative it is found as Prim's algorithm finds a
    maximum spanning tree (Prim 1957), so what an expired link parts is known from the links of its class alone.
    """

    def __init__(self, terms: Ids, representatives: Ids) -> None:
        super().__init__(terms, representatives)
        self._members: dict[int, tuple[int, int]] = {}
        """Stored representative -> (its representative, until when they are equal), in classes of two or more."""
        self._links: dict[int, dict[int, int]] = {}  # term -> equal term -> end of the link
        self._expiring: list[tuple[int, int, int]] = []  # (end, a, b), a heap; of renewed links earlier ends too
        self._ends: tuple[Ids, Ids] | None = None  # of `_members`: terms, ends

    def link(self, now: int, links: Iterable[tuple[int, int, int]] = ()) -> tuple[Ids, Ids]:
        """Add links (a, b, end) of representatives, and drop those that end by `now`; a link that is there already
        counts until the later of its ends. Returns (the terms with another representative, or equal to it until
        another time, than before; the representatives that lost their place)."""
        touched = set[int]()
        while self._expiring and self._expiring[0][0] <= now:
            end, a, b = heapq.heappop(self._expiring)
            if self._links.get(a, {}).get(b) == end:
                for one, other in ((a, b), (b, a)):
                    del self._links[one][other]
                    if not self._links[one]:
                        del self._links[one]
                touched |= {a, b}
        for a, b, end in links:
            if a != b and end > max(now, self._links.get(a, {}).get(b, now)):
                self._links.setdefault(a, {})[b] = end
                self._links.setdefault(b, {})[a] = end
                if end < FOREVER:
                    heapq.heappush(self._expiring, (end, a, b))
                touched |= {a, b}
        changed = self._renewed(touched)
        return (NONE, NONE) if not changed else self._made_again(changed)

    def part_all(self) -> None:
        """Drop all links."""
        self._links.clear()
        self._expiring.clear()
        if changed := self._renewed(set(self._members)):
            self._made_again(changed)

    def until(self, codes: Ids) -> Ids:
        """Until when each term is equal to its representative."""
        found = np.full(len(codes), FOREVER, dtype=np.int64)
        if self._members and len(codes):
            if self._ends is None:
                terms = np.fromiter(self._members, np.int64, len(self._members))
                ends = np.fromiter((end for _, end in self._members.values()), np.int64, len(terms))
                order = np.argsort(terms)
                self._ends = terms[order], ends[order]
            at, known = places(self._stored(codes), self._ends[0])
            found[known] = self._ends[1][at[known]]
        return found

    def _renewed(self, touched: set[int]) -> set[int]:
        """Find the classes of stored representatives again; those of which something is new."""
        changed, done = set[int](), set[int]()
        for start in touched:
            if start in done:
                continue
            found = self._class(start)
            done |= found.keys()
            for term, entry in found.items():
                if len(found) == 1:
                    if self._members.pop(term, None) is not None:
                        changed.add(term)
                elif self._members.get(term) != entry:
                    self._members[term] = entry
                    changed.add(term)
        self._ends = None if changed else self._ends
        return changed

    def _class(self, start: int) -> dict[int, tuple[int, int]]:
        """The class of a stored representative, as in `_members`."""
        terms, waiting = {start}, [start]
        while waiting:
            new = self._links.get(waiting.pop(), {}).keys() - terms
            terms |= new
            waiting += new
        hub = min(terms)
        found, best = dict[int, tuple[int, int]](), [(-FOREVER, hub)]
        while best:
            end, term = heapq.heappop(best)
            if term not in found:
                found[term] = hub, -end
                for other, link in self._links.get(term, {}).items():
                    if other not in found:
                        heapq.heappush(best, (max(end, -link), other))
        return found

    def _made_again(self, changed: set[int]) -> tuple[Ids, Ids]:
        """Make the classes of `_members` those that the map has; as `link`. changed: stored representatives."""

        def hub(term: int) -> int:
            return self._members.get(term, (term, FOREVER))[0]

        affected = {*changed, *map(hub, changed)}
        members = {one for term in affected for one in self.of(term)}
        before = {self.over.representative.get(term, term) for term in affected}
        codes = np.fromiter(members, np.int64, len(members))
        self._open(members)
        groups: dict[int, list[int]] = {}
        for one, named in zip(codes.tolist(), self._stored(codes).tolist(), strict=True):
            groups.setdefault(hub(named), []).append(one)
        for group in groups.values():
            self.over.put(group)
        lost = [term for term in before if self.over.representative[term] != term]
        stored = np.array(sorted(changed), dtype=np.int64)
        own = _expand(stored, member(stored, self._groups.keys), self._groups)[1]
        return distinct(own), np.array(sorted(lost), dtype=np.int64)


def _counted(named: Mapping[int, int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for representative in named.values():
        counts[representative] = counts.get(representative, 0) + 1
    return counts


def mapped(codes: Ids, terms: Ids, named: Ids) -> Ids:
    """Map terms by two arrays, the first one sorted. A term that is not in it stays as it is."""
    if not len(terms) or not len(codes):
        return codes
    at, known = places(codes, terms)
    return np.where(known, named[at], codes)


def _expand(codes: Ids, large: Mask, groups: Groups) -> tuple[Ids, Ids]:
    """(row, member): a class's members for the large ones, the term itself for the others."""
    if not large.any():
        return np.arange(len(codes), dtype=np.int64), codes
    alone, many = np.flatnonzero(~large), np.flatnonzero(large)
    rows, members = groups.expand(codes[many])
    return np.concatenate((alone, many[rows])), np.concatenate((codes[alone], members))
