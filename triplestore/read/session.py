"""A store that is open: the version at hand in an engine, and what is kept from one call to the next.

Several threads may call one open store: its calls take `Turns`, since an engine's working tables serve one call at a
time. A call holds the turn from its start to its end. An answer that is read piece by piece holds it for each piece
only, so that one which is never read to its end keeps nobody waiting; between pieces it stays at what it began to read.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Concatenate, Final, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from triplestore.closure.view import ClosureView
from triplestore.engine import Engine
from triplestore.model.errors import EngineError, TriplakeError, UsageError, out_of_memory
from triplestore.read.lookup import Lookups
from triplestore.read.workspace import Workspace
from triplestore.storage.leases import Reading
from triplestore.storage.manifest import Manifest
from triplestore.storage.verify import look_for_damage
from triplestore.storage.versions import Versions

if TYPE_CHECKING:
    from triplake.loaders import Progress
    from triplestore.materialise.figures import RoundFigures
    from triplestore.shapes.model import Shape


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


Notify = Callable[[str], None]
"""Where progress goes: one readable line at a time."""


RETRIES: Final = 10
"""How often a change is carried out again where another process was first, if nobody says otherwise."""

Name = TypeVar("Name", str, str | Path)


def several(given: Name | Sequence[Name]) -> tuple[Name, ...]:
    """What was given, one text (or path) or several of them, as several. Raises UsageError for what is neither."""
    if isinstance(given, str | Path):
        return (given,)
    found = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(one, str | Path) for one in found):
        raise UsageError(f"{given!r} is neither a text or a path nor a list of these: give [] for none")
    return found


class Session:
    """What every part of an open store works with. `watch`: what `live` is at first, of each.

    pinned: the version is an older one, or a reader's: nothing can be written. workspace: a reader's, which finds its
    tables made; it makes no indexes of its own. in_memory: those tables are no files. retries: how often a change is
    carried out again where another process was first. notify, verbose: where progress goes. live: how far files are
    read, from another thread (None: nobody asks). rounds: what gets the figures of each round of a materialisation.
    """

    watch: ClassVar[Callable[[Progress], None] | None] = None

    def __init__(
        self,
        versions: Versions,
        engine: Engine,
        manifest: Manifest,
        pinned: bool,
        workspace: Workspace | None = None,
        in_memory: bool = False,
    ) -> None:
        self.versions, self.engine, self.pinned = versions, engine, pinned
        self.turns = Turns(versions.path) if in_memory else Turns(versions.path, self.examine)
        self.workspace = workspace or Workspace(engine, versions, manifest)
        self.asked = 0  # queries of the version at hand
        self.lookups = Lookups(self.workspace.cache) if workspace is None else None
        self.retries = RETRIES
        self.reading = Reading(versions.place)
        if not in_memory:
            self.reading.at(manifest.version)
        self.services: tuple[str, ...] = ()  # endpoints that queries may ask
        self.shapes: tuple[Shape, ...] = ()  # that what is published has to conform to
        self.notify: Notify = lambda line: None
        self.verbose: Notify = lambda line: None
        self.live = Session.watch
        self.rounds: Callable[[RoundFigures], None] = lambda figures: None

    @property
    def manifest(self) -> Manifest:
        """The version at hand."""
        return self.workspace.manifest

    @property
    def view(self) -> ClosureView:
        """How the closure of that version is to be read."""
        return self.workspace.cache.get("view", self.manifest, lambda: ClosureView.of(self.manifest))

    @property
    def path(self) -> Path | str:
        """The store's folder, or its URL."""
        return self.versions.path

    def examine(self) -> None:
        """See `triplestore.storage.verify.look_for_damage`, of the version at hand."""
        look_for_damage(self.versions, self.manifest)

    def newest(self) -> None:
        """Move on to the version that another writer may have published since."""
        if not self.versions.is_newest(self.manifest):
            self.workspace.forget(self.versions.read())
            self.versions.place.keep_here(self.manifest.paths)
            self.reading.at(self.manifest.version)

    def writable(self) -> None:
        """Raise UsageError where an older version is open."""
        if self.pinned:
            version = self.manifest.version
            raise UsageError(f"version {version} was opened to read (--at); open the newest version to change it")

    def turn(self) -> None:
        """Wait until it is this writer's turn, which ends with the transaction that comes next, or with the call that
        is being repeated. For what has to read the newest version before its transaction begins."""
        self.writable()
        self.versions.take_turn(self.manifest.version, self.notify)
        self.newest()

    def readable(self) -> None:
        """Raise UsageError where the closure is not up to date."""
        if not self.manifest.materialised:
            raise UsageError(
                f"the closure of {self.path} is not up to date (files were loaded with --no-materialise); "
                f"run `triplake materialise {self.path}` first"
            )
