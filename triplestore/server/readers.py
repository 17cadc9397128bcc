"""Reading the newest version of a store by many threads at once, while it changes.

Each request gets a `Store` for itself that stays at one version. Where the engine's readers share its tables (DuckDB),
the tables are in memory once for all, and a new version is its difference, applied in one transaction: those who began
before go on reading what they began with. Where they do not (Spark), each reader attaches the files of the version.

A reader that is free holds on to the version that it has read, until there is another (or something was made that has
to be freed): so the next request begins at once. What queries have looked up in a version is known to all its readers,
and what stays true to those of the next.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from triplake.sparql.constants import Known
from triplestore.engine import Engine, Reader, Shared
from triplestore.engine.arrow import int64s
from triplestore.engine.select import make_engine
from triplestore.expressions.vectorised import register
from triplestore.model.errors import EngineError, TriplakeError
from triplestore.model.tables import STORED
from triplestore.read.query import KNOWN, known_of
from triplestore.read.session import Session
from triplestore.read.workspace import Workspace
from triplestore.storage import segments
from triplestore.storage.leases import Reading
from triplestore.storage.manifest import Manifest
from triplestore.storage.verify import examine, look_for_damage
from triplestore.storage.versions import Versions
from triplestore.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VERSION: Final = "version_at_hand"
"""The table that says which version the shared tables hold, as the number of moves that led there: so a reader's
transaction knows what it sees."""

_REMEMBERED: Final = 16
"""Versions kept for readers that began before the newest."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A version that readers read, and what queries have looked up in it."""

    manifest: Manifest
    known: Known


@dataclass
class _Slot:
    """One reader's engine and the store over it, from one request to the next. at: what they hold on to.

    used: held by who reads, and for a moment while the version is let go of.
    """

    engine: Reader
    session: Session
    store: Store
    at: _Version | None = None
    used: threading.Lock = field(default_factory=threading.Lock)


class Readers:
    """The newest version of the store at `path`, for up to `size` readers at once. Close it.

    engine, spark, master, memory_limit, verify: as for `Store.open`; services: of `Store`. Raises what `Store.open`
    raises.
    """

    def __init__(
        self,
        path: str | Path,
        size: int,
        engine: str = "auto",
        spark: SparkSession | None = None,
        master: str | None = None,
        memory_limit: str | None = None,
        verify: bool = False,
        services: Sequence[str] = (),
    ) -> None:
        self._services = services
        self._versions = Versions(path)
        self._versions.check()
        manifest = self._versions.read()
        self._versions.verify(manifest)
        if verify:
            examine(self._versions, manifest, sums=True)
        self._engine: Engine = make_engine(engine, spark, master, memory_limit)
        self._reading = Reading(self._versions.place)
        self._reading.at(manifest.version)
        self._newest = _Version(manifest, Known())
        self._moves = 0  # how often they have moved on: the store may be replaced by one with the same numbers
        self._remembered = {self._moves: self._newest}
        self._moving = threading.Lock()
        register(self._engine)  # a reader cannot
        self._shared = self._engine.shared
        if self._shared is not None:
            self._fill(self._shared, manifest)
            self._index(manifest)
        self._all = [self._slot(self._engine.reader()) for _ in range(size)]
        self._free: queue.LifoQueue[_Slot] = queue.LifoQueue()  # the last used is the warmest
        for slot in self._all:
            self._free.put(slot)

    @property
    def version(self) -> int:
        """The version that a reader gets now."""
        return self._newest.manifest.version

    @property
    def state(self) -> object:
        """A mark of what a reader gets now: another one, once that is another version, or one of another store."""
        return self._newest

    @property
    def engine_name(self) -> str:
        """ "duckdb" or "spark"."""
        return self._engine.name

    def refresh(self) -> int:
        """Move on to the newest version that has been published, by whatever process; its number."""
        with self._moving:
            before = self._newest
            if self._versions.is_newest(before.manifest):
                return self.version
            manifest = self._versions.read()
            newest = _Version(manifest, known_of(manifest, (before.manifest, before.known)))
            self._moves += 1
            self._remembered[self._moves] = newest
            if self._shared is not None:
                self._advance(self._shared, before.manifest, manifest)
            self._newest = newest  # what comes now may fail: the tables are those of this version already
            self._reading.at(manifest.version)
            self._versions.place.keep_here(manifest.paths)
            for old in sorted(self._remembered)[:-_REMEMBERED]:
                del self._remembered[old]
            self._let_go()
            if self._shared is not None:
                self._index(manifest)
            return manifest.version

    @contextmanager
    def reading(self, timeout: float | None = None) -> Iterator[tuple[Store, Reader]]:
        """A store at one version, for one thread at a time, and its engine, by which another thread may interrupt it.

        Raises `queue.Empty` where no reader is free within `timeout` seconds.
        """
        slot = self._free.get(timeout=timeout) if timeout is None or timeout > 0 else self._free.get_nowait()
        try:
            with slot.used:
                try:
                    if slot.at is not self._newest or not slot.engine.again():
                        slot.engine.begin()
                        self._move(slot)
                    yield slot.store, slot.engine
                finally:
                    if slot.at is not self._newest or not slot.engine.again():
                        slot.engine.end()  # and free what was made
        finally:
            self._free.put(slot)

    def close(self) -> None:
        """Free the engines."""
        for slot in self._all:
            slot.session.reading.end()
            slot.engine.close()
        self._reading.end()
        self._engine.close()

    def _slot(self, engine: Reader) -> _Slot:
        manifest = self._newest.manifest
        workspace = Workspace(engine, self._versions, manifest)
        session = Session(
            self._versions, engine, manifest, pinned=True, workspace=workspace, in_memory=self._shared is not None
        )
        store = Store.from_session(session)
        store.services = self._services
        return _Slot(engine, session, store)

    def _move(self, slot: _Slot) -> None:
        """Bring the store of a reader that has begun to the version that it sees."""
        before, workspace = slot.at, slot.session.workspace
        if self._shared is not None:
            ((seen,),) = slot.engine.rows(f"SELECT number FROM {_VERSION}")
            slot.at = self._remembered[seen]
            workspace.adopt(slot.at.manifest, STORED)
        else:
            slot.at = self._newest
            if slot.at is not before:
                workspace.forget(slot.at.manifest)
                slot.session.reading.at(slot.at.manifest.version)
        workspace.cache.put(KNOWN, slot.at.manifest, slot.at.known)

    def _let_go(self) -> None:
        """Let readers that are free let go of the version before, of which the engine keeps the rows for them."""
        for slot in self._all:
            if slot.used.acquire(blocking=False):
                try:
                    slot.engine.end()
                finally:
                    slot.used.release()

    def _fill(self, shared: Shared, manifest: Manifest) -> None:
        try:
            with shared.transaction():
                Workspace(self._engine, self._versions, manifest).tables(*STORED)
                self._engine.load(_VERSION, pa.table({"number": int64s([self._moves])}))
        except EngineError:
            look_for_damage(self._versions, manifest)
            raise

    def _advance(self, shared: Shared, before: Manifest, after: Manifest) -> None:
        try:
            with shared.transaction():
                for table in STORED:
                    segments.advance(self._engine, self._versions, before, after, table)
                self._engine.load(_VERSION, pa.table({"number": int64s([self._moves])}))
        except EngineError:  # files of the version before may be gone since
            self._fill(shared, after)

    def _index(self, manifest: Manifest) -> None:
        """Of the tables that have none yet, or were made again. Where there is no memory for it, queries take longer,
        and the next version's are tried."""
        tables = Workspace(self._engine, self._versions, manifest)
        tables.adopt(manifest, STORED)
        with suppress(TriplakeError):
            tables.indexed()
