"""What keeps the closure of a window: IMaRS, or updates of a closure in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa

from triplake.sparql import Graph
from triplestore.engine import Engine
from triplestore.engine.queries import count
from triplestore.model.errors import UsageError
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest
from triplestore.streams.by_updates import ByUpdates
from triplestore.streams.imars import Imars, NotExpiringError
from triplestore.streams.window_closure import InTables, WindowClosure

ALGORITHMS: Final = ("auto", "imars", "dred", "naive")


class ByExpiry(InTables):
    """IMaRS."""

    name, switched = "imars", ""

    def __init__(self, background: Session, manifest: Manifest, engine: Engine) -> None:
        """Raises NotExpiringError; the engine is not closed then."""
        super().__init__(background, manifest, engine)
        self._imars = Imars(engine, self.known, self.terms)
        self.begin()

    @property
    def size(self) -> int:
        """See `WindowClosure`."""
        return self._imars.size

    @property
    def facts(self) -> int:
        """See `WindowClosure`."""
        return self._imars.facts

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`."""
        with self.engine.scratch() as scratch:
            self._imars.slide(now, None if arrived is None else scratch.load("raw", arrived))

    def graph(self) -> Graph:
        """See `WindowClosure`."""
        return self.read_by(replace(self.view, classes=count(self.engine, "same_as WHERE term = representative")))


class Maintainer:
    """Slides a window: `closure` is IMaRS for as long as that can, if it was not ruled out, then DRed."""

    def __init__(
        self, background: Session, algorithm: str, engine: Callable[[], Engine], earlier: Manifest | None = None
    ) -> None:
        """algorithm: one of ALGORITHMS. earlier: the version that is the background until `change_background`. Raises
        UsageError, also where only IMaRS is asked for and cannot."""
        if algorithm not in ALGORITHMS:
            raise UsageError(f"no algorithm '{algorithm}' for streams: give one of {', '.join(ALGORITHMS)}")
        self._background, self._newest, self._make = background, background.manifest, engine
        self._manifest = earlier or self._newest
        self._algorithm = algorithm
        self.closure = self._first()

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`."""
        try:
            self.closure.slide(now, arrived)
        except NotExpiringError as error:
            content = self.closure.window(now)
            self._move(self._other(error), now, content if arrived is None else pa.concat_tables([content, arrived]))

    def change_background(self, now: int) -> None:
        """Let the version at hand when this was made be the background. now: the time of the window."""
        self._manifest = self._newest
        self._move(self._first(), now, self.closure.window(now))

    def _move(self, to: WindowClosure, now: int, content: pa.Table) -> None:
        """Let another closure take over. content: of the window."""
        before, self.closure = self.closure, to
        before.close()
        self.slide(now, content)

    def _first(self) -> WindowClosure:
        """The closure of the background, by the algorithm that is asked for, or the first that can."""
        if self._algorithm in ("dred", "naive"):
            return self._by_updates(naive=self._algorithm == "naive")
        made = self._make()
        try:
            return ByExpiry(self._background, self._manifest, made)
        except NotExpiringError as error:
            made.close()
            return self._other(error)
        except BaseException:
            made.close()
            raise

    def _other(self, why: NotExpiringError) -> ByUpdates:
        if self._algorithm == "imars":
            raise UsageError(f"IMaRS cannot keep the windows: {why}; leave out --algorithm imars, or choose dred")
        return self._by_updates(naive=False, switched=str(why))

    def _by_updates(self, naive: bool, switched: str = "") -> ByUpdates:
        made = self._make()
        try:
            return ByUpdates(self._background, self._manifest, made, naive, switched)
        except BaseException:
            made.close()
            raise
