"""Several threads, one open store: its calls take turns, since an engine's working tables serve one call at a time.

A call holds the turn from its start to its end. An answer that is read piece by piece holds it for each piece only, so
that one which is never read to its end keeps nobody waiting; between pieces it stays at what it began to read.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from triplestore.model.errors import EngineError, TriplakeError, UsageError, out_of_memory

P = ParamSpec("P")
T = TypeVar("T")


class Turns:
    """The turns of the threads that call the store at `path`; none after `close`.

    examine: called where a call fails and neither its caller nor the system is to blame; it raises a better error where
    the store's files are damaged."""

    def __init__(self, path: Path | str, examine: Callable[[], None] = lambda: None) -> None:
        self._path, self._examine = path, examine
        self._lock = threading.RLock()
        self._depth = 0  # calls within calls of the thread whose turn it is
        self._closed = False
        self._process = os.getpid()  # its threads, and the engine's, are in no process that is forked from it
        self._read: WeakSet[Iterator[object]] = WeakSet()  # answers that are being read
        self._left: deque[Iterator[object]] = deque()  # those that nobody reads any more

    @contextmanager
    def turn(self) -> Generator[None]:
        """Wait for the turn and hold it; the thread that has it gets it at once. Raises UsageError when closed, and in
        a process that was forked from the one that opened the store, where it might wait for ever."""
        if self._forked:
            raise UsageError(
                f"the store {self._path} was opened by a process from which this one was forked: open it here, or "
                'start processes by multiprocessing.set_start_method("spawn")'
            )
        with self._lock:
            if self._closed:
                raise UsageError(f"the store {self._path} is closed: open it again with Store.open")
            self._depth += 1
            try:
                yield
            except EngineError:
                self._look_for_damage()
                raise
            except (TriplakeError, OSError):
                raise  # it tells already what is wrong
            except Exception:
                self._look_for_damage()
                raise
            finally:
                self._depth -= 1
                self._tidy()

    @property
    def _forked(self) -> bool:
        return os.getpid() != self._process

    def call(self, function: Callable[[], T]) -> T:
        """What a function gives, found in a turn."""
        with self.turn():
            return function()

    def _look_for_damage(self) -> None:
        if self._depth == 1:  # else the outermost call does
            self._examine()

    def pieces(self, answer: Iterator[T]) -> Iterator[T]:
        """The pieces of an answer, each found in a turn. Raises UsageError after `close`, at the next piece too."""
        with self.turn():
            self._read.add(answer)
        return self._pieces(answer)

    def _pieces(self, answer: Iterator[T]) -> Iterator[T]:
        try:
            while True:
                with self.turn():
                    try:
                        piece = next(answer)
                    except StopIteration:
                        return
                yield piece
        finally:
            # The collector of garbage may be here, in any thread, amid a statement: then the next turn ends the answer.
            self._left.append(answer)
            if not self._forked and self._lock.acquire(blocking=False):
                try:
                    self._tidy()
                finally:
                    self._lock.release()

    def close(self, free: Callable[[], None]) -> None:
        """Wait for the turn, end what is being read, `free`; then nothing is answered any more. Again does nothing; nor
        in a forked process, where all belongs to the one that it was forked from."""
        if self._forked:
            return
        with self._lock:
            if self._closed:
                return
            self._left.extend(self._read)
            self._tidy()
            self._closed = True
            free()

    def _tidy(self) -> None:
        """End the answers that nobody reads any more, unless a call runs."""
        if self._depth == 0:
            self._depth = 1
            try:
                while self._left:
                    if end := getattr(self._left.popleft(), "close", None):
                        end()
            finally:
                self._depth = 0


class _Open(Protocol):
    """What is called by turns: a store."""

    @property
    def _turns(self) -> Turns: ...


S = TypeVar("S", bound=_Open)


def in_turn(call: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method of a store that holds the turn from its start to its end. Raises MemoryLimitError where numpy, Arrow or
    Python run out of memory."""

    @wraps(call)
    def held(store: S, /, *args: P.args, **options: P.kwargs) -> T:
        try:
            with store._turns.turn():
                return call(store, *args, **options)
        except MemoryError as error:
            raise out_of_memory(error) from error

    return held
