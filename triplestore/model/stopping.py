"""Limits of time that every step of a request heeds: those in Python by `check`, statements by being interrupted.

A step does not get its limit as an argument: it belongs to the thread that works on the request.

A statement is `waited` for so that signals are heard meanwhile. DuckDB's client holds the interpreter's main thread
until the statement yields, which a large join may do only after hours, and Python runs handlers of signals in the main
thread alone. A command line lets another thread run the statement.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, Protocol, TypeVar

from triplestore.model.errors import StoppedError, TriplakeError

INSIST: Final = 0.1
"""Seconds between two attempts to stop a statement: the work may be between two of them."""


class _Engine(Protocol):
    def interrupt(self) -> None: ...


class Stop:
    """When work is to stop: after some seconds from now, or as soon as any thread says so. late: the reason to give
    when the seconds are over."""

    def __init__(self, seconds: float | None = None, late: str = "the time limit is over") -> None:
        self.ends = None if seconds is None else time.monotonic() + seconds
        self._late = late
        self._reason: str | None = None
        self._finishing = False
        self._lock = threading.Lock()

    @property
    def reason(self) -> str | None:
        """Why to stop, or None: go on."""
        with self._lock:
            if self._finishing:
                return None
            if self._reason is None and self.ends is not None and time.monotonic() >= self.ends:
                self._reason = self._late
            return self._reason

    def stop(self, reason: str) -> None:
        """Stop, for this reason unless there is one."""
        with self._lock:
            self._reason = self._reason or reason

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """What makes work visible to others: it is not stopped within, nor after it if it succeeds. Raises StoppedError
        where it is time before."""
        self.check()
        self._finishing = True
        try:
            yield
        except BaseException:
            self._finishing = False
            raise

    def check(self) -> None:
        """Raises StoppedError where it is time."""
        if self.reason is not None:
            raise StoppedError(self.reason)


_HERE: Final = threading.local()

_HEEDED: Final[dict[object, tuple[Stop, float]]] = {}
"""All that are heeded, each with the time since when, by a mark of its own."""


@contextmanager
def heeding(stop: Stop) -> Iterator[None]:
    """What this thread does inside heeds a limit."""
    before, _HERE.stop = getattr(_HERE, "stop", None), stop
    mark = object()
    _HEEDED[mark] = stop, time.monotonic()
    try:
        yield
    finally:
        del _HEEDED[mark]
        _HERE.stop = before


def check() -> None:
    """Raises StoppedError where the limit that this thread heeds is over. Cheap: steps call it as they go."""
    stop: Stop | None = getattr(_HERE, "stop", None)
    if stop is not None:
        stop.check()


def check_for(began: float) -> None:
    """As `check`, in a thread of an engine's, which does not know whose work it does: raises where all whose it may be,
    those who heed a limit since before it `began` (by the monotonic clock), are to stop."""
    if getattr(_HERE, "stop", None) is not None:
        check()
        return
    found = [stop for stop, since in list(_HEEDED.values()) if since <= began]
    if found and all(stop.reason is not None for stop in found):
        raise StoppedError(str(found[0].reason))


@contextmanager
def finishing() -> Iterator[None]:
    """`Stop.finishing` of the limit that this thread heeds."""
    stop: Stop | None = getattr(_HERE, "stop", None)
    with stop.finishing() if stop is not None else nullcontext():
        yield


@contextmanager
def interrupting(engine: _Engine) -> Iterator[None]:
    """Interrupt the statements of an engine inside once the limit is over; they raise StoppedError then."""
    stop: Stop | None = getattr(_HERE, "stop", None)
    if stop is None:
        yield
        return
    over = threading.Event()

    def insist() -> None:
        while not over.wait(INSIST):
            if stop.reason is not None:
                engine.interrupt()

    watching = threading.Thread(target=insist, name="triplake-limit", daemon=True)
    watching.start()
    try:
        yield
        stop.check()
    except TriplakeError:
        stop.check()
        raise
    finally:
        over.set()
        watching.join()


T = TypeVar("T")

GRACE: Final = 3.0
"""Seconds that an interrupted statement is given to end; after them it is left to end with the process."""

_SIGNALS_HEEDED: Final = threading.Event()

_left: list[threading.Event] = []  # of the statements that a signal did not end: whether they have ended since


def left() -> bool:
    """Whether a statement still runs that an interruption did not end. Its connection can do nothing else, and Python
    cannot end in order: a thread that it stops within native code aborts the process."""
    return any(not ended.is_set() for ended in _left)


@contextmanager
def heeding_signals() -> Iterator[None]:
    """Inside, let statements of the main thread run beside it. For programs that end when a signal comes."""
    _SIGNALS_HEEDED.set()
    try:
        yield
    finally:
        _SIGNALS_HEEDED.clear()


def waited(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """What `work` returns or raises. Where a signal's handler raises meanwhile, the statement is interrupted first."""
    if not _SIGNALS_HEEDED.is_set() or threading.current_thread() is not threading.main_thread():
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
