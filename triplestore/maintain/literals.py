"""The literals of a closure in memory that have equal values, or are ill-typed.

The reasoner reads the asserted facts as *given* ones, each literal as the first met of equal value (`tables.GIVEN`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from triplestore.maintain.keys import NONE, Ids, Layout, member, union


@dataclass(frozen=True, slots=True)
class Literals:
    """Codes. equal_valued: literals, sorted; firsts: for each, the first literal of its value; ill_typed: sorted."""

    equal_valued: Ids
    firsts: Ids
    ill_typed: Ids

    @classmethod
    def none(cls) -> Literals:
        """No such literals."""
        return cls(NONE, NONE, NONE)

    def extended(self, equal_valued: Ids, firsts: Ids, ill_typed: Ids) -> Literals:
        """These and more literals; some may be among these already."""
        fresh = ~member(equal_valued, self.equal_valued)
        if not fresh.any() and not len(ill_typed):
            return self
        every = np.concatenate((self.equal_valued, equal_valued[fresh]))
        order = np.argsort(every)
        return Literals(
            every[order], np.concatenate((self.firsts, firsts[fresh]))[order], union(self.ill_typed, ill_typed)
        )

    def with_new(self, layout: Layout, values: Mapping[int, int], ill_typed: Iterable[int]) -> Literals:
        """These and new literals, by their ids: those of equal values with the first ones, and the ill-typed ones."""
        equal_valued, firsts, ill = (
            np.array([*ids], dtype=np.int64) for ids in (values.keys(), values.values(), ill_typed)
        )
        return self.extended(layout.encode(equal_valued), layout.encode(firsts), layout.encode(ill))

    def by_value(self, codes: Ids) -> Ids:
        """Terms, with each literal replaced by the first one of its value."""
        if not len(self.equal_valued) or not len(codes):
            return codes
        at = np.minimum(np.searchsorted(self.equal_valued, codes), len(self.equal_valued) - 1)
        return np.where(self.equal_valued[at] == codes, self.firsts[at], codes)

    def given(self, layout: Layout, keys: Ids) -> Ids:
        """Asserted facts, normalised by value, sorted."""
        if not len(self.equal_valued):
            return keys
        mask = (1 << layout.bits) - 1
        return union((keys & ~mask) | self.by_value(keys & mask))
