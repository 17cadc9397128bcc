"""What the joins of an update make: counted, and held to the memory that the process may take.

A join does not get its meter as an argument: like a time limit (`triplestore.model.stopping`), it belongs to the thread
that works on the update.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from triplestore.model.errors import MemoryLimitError

_LEAST: Final = 4
"""The joins of an update may take one part in so many of the memory limit, however much else the process has taken."""

_SMALL: Final = 1 << 20
"""Bytes of an array up to which the process is not measured: that takes about ten microseconds."""

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
        if self._memory is None or size < _SMALL:
            return
        taken = resident()
        if self._most is None:
            self._most = max(self._memory, taken + self._memory // _LEAST)
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
