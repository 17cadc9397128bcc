"""Triples as single integers, so that a set of triples is one sorted array.

A term's *code* is its id without the gaps between the kinds of term (order is kept, so the smallest code of a class is
its representative too). A triple's *key* is predicate number, subject code and object code in one int64: sorted keys
are sorted by (p, s, o), a prefix is a range, and set operations are merges. A layout has room for a store to grow to
twice its terms; beyond that it is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from triplestore.engine.sets import NONE, Ids, Mask, distinct, member, merged, minus, places, union
from triplestore.model.terms import KIND_BITS, Kind

__all__ = [
    "NONE",
    "Ids",
    "Layout",
    "LayoutFullError",
    "Mask",
    "distinct",
    "member",
    "merged",
    "minus",
    "places",
    "union",
]

_ROOM: Final = 4096
"""Terms of each kind that a layout has room for at least, beyond twice those that are there."""


class LayoutFullError(Exception):
    """A term or predicate has no place in the layout: it must be made again, or the keys do not fit 63 bits."""


class Layout:
    """How ids become codes and triples become keys. `counts`: terms of each kind (built-in, IRI, blank, literal,
    triple term)."""

    def __init__(self, counts: Sequence[int]) -> None:
        room = [2 * n + _ROOM for n in counts]
        self._starts = np.concatenate(([0], np.cumsum(room))).astype(np.int64)
        self._ends = self._starts[1:]
        self._inner = self._starts[1:-1]  # where all kinds but the first begin
        self._offsets = self._starts[:-1] - (np.arange(len(room), dtype=np.int64) << KIND_BITS)
        self.bits = max(int(self._starts[-1]).bit_length(), 1)
        self._most_predicates = 1 << min(63 - 2 * self.bits, 24) if self.bits < 31 else 0
        self._numbers: dict[int, int] = {}  # code of a predicate -> its number
        self._predicates = NONE  # codes by number
        self._sorted: tuple[Ids, Ids] = (NONE, NONE)  # codes ascending, their numbers

    # -- terms -----------------------------------------------------------------------------------------------------

    def encode(self, ids: Ids) -> Ids:
        """Codes of ids. Raises LayoutFullError for an id beyond the layout."""
        kinds = ids >> KIND_BITS
        codes: Ids = ids + self._offsets[kinds]
        if (codes >= self._ends[kinds]).any():
            raise LayoutFullError
        return codes

    def decode(self, codes: Ids) -> Ids:
        """Ids of codes."""
        return codes - self._offsets[self._inner.searchsorted(codes, side="right")]

    def code(self, number: int) -> int:
        """The code of one id."""
        return int(number + self._offsets[number >> KIND_BITS])

    def id(self, code: int) -> int:
        """The id of one code."""
        return int(self.decode(np.array([code], dtype=np.int64))[0])

    @property
    def first_literal(self) -> int:
        """The smallest code of a literal."""
        return int(self._starts[Kind.LITERAL])

    # -- predicates ------------------------------------------------------------------------------------------------

    @property
    def predicates(self) -> Ids:
        """Codes of the predicates, by number."""
        return self._predicates

    def register(self, codes: Iterable[int]) -> None:
        """Give predicates numbers. Raises LayoutFullError where there are none left."""
        fresh = sorted(set(codes) - self._numbers.keys())
        if not fresh:
            return
        for code in fresh:
            self._numbers[code] = len(self._numbers)
        if len(self._numbers) > self._most_predicates:
            raise LayoutFullError
        self._predicates = np.concatenate((self._predicates, np.array(fresh, dtype=np.int64)))
        order = np.argsort(self._predicates)
        self._sorted = self._predicates[order], order.astype(np.int64)

    def numbers(self, codes: Ids) -> Ids:
        """Numbers of predicates, -1 for a term that is none."""
        known, numbers = self._sorted
        if not len(known):
            return np.full(len(codes), -1, dtype=np.int64)
        at, there = places(codes, known)
        return np.where(there, numbers[at], -1)

    # -- triples ---------------------------------------------------------------------------------------------------

    def keys(self, s: Ids, p: Ids, o: Ids) -> Ids:
        """Keys of triples of codes; their predicates get numbers."""
        numbers = self.numbers(p)
        if len(numbers) and numbers.min() < 0:
            self.register(distinct(p[numbers < 0]).tolist())
            numbers = self.numbers(p)
        return self.pack(numbers, s, o)

    def sorted_keys(self, s: Ids, p: Ids, o: Ids) -> Ids:
        """The sorted keys of triples of ids; their predicates get numbers. Raises LayoutFullError."""
        keys = self.keys(*(self.encode(ids) for ids in (s, p, o)))
        keys.sort()
        return keys

    def keys_of(self, facts: Iterable[tuple[int, int, int]]) -> Ids:
        """The sorted, distinct keys of triples of ids; their predicates get numbers. Raises LayoutFullError."""
        ids = list(facts)
        if not ids:
            return NONE
        codes = self.encode(np.array(ids, dtype=np.int64).T)
        return distinct(self.keys(*codes))

    def ids_of(self, keys: Ids) -> tuple[Ids, Ids, Ids]:
        """(s, p, o) ids of keys."""
        s, p, o = self.decode(np.stack(self.unpack(keys)))
        return s, p, o

    def pack(self, number: Ids, a: Ids, b: Ids) -> Ids:
        """Predicate numbers and two codes as one integer each."""
        return ((number << self.bits) | a) << self.bits | b

    def unpack(self, keys: Ids) -> tuple[Ids, Ids, Ids]:
        """(s, p, o) codes of keys."""
        mask = (1 << self.bits) - 1
        return (keys >> self.bits) & mask, self._predicates[keys >> (2 * self.bits)], keys & mask

    def predicates_of(self, keys: Ids) -> Ids:
        """The codes of the predicates of keys, distinct and sorted."""
        return distinct(self._predicates[distinct(keys >> (2 * self.bits))])

    def turned(self, keys: Ids) -> Ids:
        """Keys with subject and object exchanged: (p, s, o) to (p, o, s) and back."""
        mask = (1 << self.bits) - 1
        return (keys & ~((1 << (2 * self.bits)) - 1)) | (keys & mask) << self.bits | (keys >> self.bits) & mask
