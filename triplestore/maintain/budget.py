"""The work and the memory that a maintenance run may take.

Work is counted in derivations, not in seconds, so that a run stops at the same point on every machine: where computing
the closure from scratch is cheaper. A join does not get its meter as an argument: like a time limit
(`triplestore.model.stopping`), it belongs to the thread that works on the update.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Final

import numpy as np

from triplestore.maintain.keys import NONE, Ids
from triplestore.model.errors import MemoryLimitError
from triplestore.model.thresholds import SIZES

_MIX: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
"""Odd multipliers that spread ids over 64 bits."""


class BudgetExceededError(Exception):
    """A run has done, or will do, more work than its budget allows."""


@dataclass(slots=True)
class Budget:
    """limit: the work that deletion, and then what follows it, may each take (None: any). fact: the work that a fact in
    question stands for, of which a quarter is the search for another derivation of it. sample: one in so many facts is
    overdeleted first. rules: the work of running the rules over a fact; None: FP-update is not considered. facts: those
    of the closure. most: the work of overdeleting all of them (None: not known); within the limit, deletion is not
    watched.

    The invariant: work beyond `_allowed` raises; that is the limit except while the sample is overdeleted.
    """

    limit: int | None = None
    fact: int = 40
    sample: int = 16
    rules: float | None = None
    facts: int = 0
    most: int | None = None
    _begin: int = 0
    _allowed: int = -1
    _sampled: bool = False

    def check(self, derived: int, facts: int) -> None:
        """Raise BudgetExceededError if so many derivations, and facts in question, are over the budget."""
        if self.limit is None or self._unwatched:
            return
        allowed = self._begin + self.limit if self._allowed < 0 else self._allowed
        if self.work(derived, facts) > allowed:
            raise BudgetExceededError

    def work(self, derived: int, facts: int) -> int:
        """The work that so many derivations and facts in question stand for: either each fact is searched for, or, by
        FP-update, the rules run over the kept facts."""
        work = derived + self.fact * facts
        return work - self._searches(facts) + self._rerun(facts) if self.prefers_rules(facts) else work

    def begin(self, derived: int) -> None:
        """Deletion is done: what follows may cost the limit again."""
        self._begin, self._allowed, self.rules, self.most = derived, -1, None, None

    def prefers_rules(self, overdeleted: int) -> bool:
        """Whether running the rules over the kept facts is less work than searching for the overdeleted ones."""
        return self.rules is not None and self._searches(overdeleted) > self._rerun(overdeleted)

    def _searches(self, overdeleted: int) -> int:
        return self.fact * overdeleted // 4

    def _rerun(self, overdeleted: int) -> int:
        return int((self.rules or 0) * max(0, self.facts - overdeleted))

    @property
    def _unwatched(self) -> bool:
        return self.limit is not None and self.most is not None and self.most <= self.limit

    def first(self, frontier: tuple[Ids, Ids, Ids], derived: int, facts: int, unforeseen: bool = False) -> Ids | None:
        """The positions in a frontier (s, p, o) of the sample that is to be deleted before the rest; None: all of it.
        There is one sample, once the frontier would take the work past that part of the limit; at once where the work
        of a fact is `unforeseen`.

        Sets of facts share what they lead to, so the work of all is less than in proportion; but hardly less than by
        the square root, and by half where it is searches (`unforeseen`). The run stops where the sample costs so much
        that all would cost the limit.
        """
        size = len(frontier[0])
        if self.limit is None or self._unwatched or self._sampled or size < self.sample:
            return None
        if not unforeseen and self.work(derived, facts + size) <= self.limit // self.sample:
            return None
        self._sampled = True
        work = self.work(derived, facts)
        growth = self.sample // 2 if unforeseen else isqrt(self.sample)
        self._allowed = min(self._begin + self.limit, work + self.limit // growth)
        mixed = np.zeros(size, dtype=np.uint64)
        for column, multiplier in zip(frontier, _MIX, strict=True):
            mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(multiplier)
            mixed ^= mixed >> np.uint64(29)
        return np.argsort(mixed, kind="stable")[: size // self.sample]

    def rest(self) -> None:
        """The sample is overdeleted: allow the limit for all."""
        self._allowed = -1


def split(frontier: Ids, chosen: Ids | None) -> tuple[Ids, Ids]:
    """A sorted frontier as (what is chosen by position, the rest)."""
    if chosen is None:
        return frontier, NONE
    mask = np.zeros(len(frontier), dtype=np.bool_)
    mask[chosen] = True
    return frontier[mask], frontier[~mask]


_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Meter:
    """Counts the rows that joins make. memory: bytes that the process may take (None: any). afford: is called after
    each step, and raises where the work is over the budget."""

    def __init__(self, memory: int | None = None, afford: Callable[[], None] | None = None) -> None:
        self.rows = 0
        self._afford = afford
        self._memory = memory
        self._most: int | None = None  # what the process may take, once that has been asked for

    def made(self, rows: int) -> None:
        """A step of a join has made so many rows."""
        self.rows += rows
        if self._afford is not None:
            self._afford()

    def need(self, size: int) -> None:
        """Arrays of so many bytes are made next. Raises MemoryLimitError where the process would take too much."""
        if self._memory is None or size < SIZES.block:
            return
        taken = resident()
        if self._most is None:
            self._most = max(self._memory, taken + self._memory // SIZES.part)
        if taken + size > self._most:
            raise MemoryLimitError(
                f"out of memory: a join needs {_megabytes(size)} more, {_megabytes(taken)} is in use and "
                f"{_megabytes(self._memory)} is the limit. Give more with --memory-limit, or let the closure be "
                "computed from scratch with --maintain rematerialise"
            )


_HERE: Final = threading.local()


def meter() -> Meter:
    """That of this thread."""
    found: Meter | None = getattr(_HERE, "meter", None)
    if found is None:
        found = _HERE.meter = Meter()
    return found


@contextmanager
def metered(by: Meter) -> Iterator[None]:
    """The joins of this thread inside are counted by this meter."""
    before, _HERE.meter = getattr(_HERE, "meter", None), by
    try:
        yield
    finally:
        _HERE.meter = before


def resident() -> int:
    """Bytes of memory that this process takes now; where the system does not say (it is not Linux), the most that it
    has taken so far, or 0."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except OSError:
        try:
            import resource
        except ImportError:
            return 0
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
