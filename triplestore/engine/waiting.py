"""Waiting for a statement so that signals are heard meanwhile.

DuckDB's client holds the interpreter's main thread until the statement yields, which a large join may do only after
hours; Python runs handlers of signals in the main thread alone. A command line lets another thread run the statement.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

T = TypeVar("T")

INSIST: Final = 0.1
"""Seconds between two attempts to interrupt a statement after a signal."""

GRACE: Final = 3.0
"""Seconds that an interrupted statement is given to end; after them it is left to end with the process."""

_HEEDED: Final = threading.Event()

_left: list[threading.Event] = []  # of the statements that a signal did not end: whether they have ended since


def left() -> bool:
    """Whether a statement still runs that an interruption did not end. Its connection can do nothing else, and Python
    cannot end in order: a thread that it stops within native code aborts the process."""
    return any(not ended.is_set() for ended in _left)


@contextmanager
def heeding_signals() -> Iterator[None]:
    """Inside, let statements of the main thread run beside it. For programs that end when a signal comes."""
    _HEEDED.set()
    try:
        yield
    finally:
        _HEEDED.clear()


def waited(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """What `work` returns or raises. Where a signal's handler raises meanwhile, the statement is interrupted first."""
    if not _HEEDED.is_set() or threading.current_thread() is not threading.main_thread():
        return work()
    found: list[Any] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

        ended.set()

    threading.Thread(target=run, name="triplake-statement", daemon=True).start()
    try:
        ended.wait()
    except BaseException:
        for _ in range(round(GRACE / INSIST)):
            interrupt()
            if ended.wait(INSIST):
                break
        else:
            _left.append(ended)
        raise
    if failed:
        raise failed[0]
    value: T = found[0]
    return value
