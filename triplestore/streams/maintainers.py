"""What keeps the closure of a window: IMaRS, or updates of a closure in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from triplestore.engine import Engine
from triplestore.maintain import imars
from triplestore.maintain.keys import LayoutFullError
from triplestore.maintain.program import NotMaintainableError
from triplestore.model.errors import UsageError
from triplestore.model.thresholds import SIZES
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest
from triplestore.streams.by_expiry import ByExpiry
from triplestore.streams.by_updates import ByUpdates
from triplestore.streams.choice import Choice
from triplestore.streams.window_closure import WindowClosure

ALGORITHMS: Final = ("auto", "imars", "dred", "naive")


class Maintainer:
    """Slides a window by the algorithm that is asked for; `auto` begins with IMaRS, and changes to DRed and back as
    `Choice` says, or stays with DRed once IMaRS cannot go on. `closure` is that of the window."""

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
        self._choice: Choice | None = None
        self.closure = self._first()
        if algorithm == "auto" and self.closure.name == "imars":
            self._choice = Choice("imars", "dred")

    def slide(self, now: int, arrived: pa.Table | None) -> None:
        """See `WindowClosure`."""
        started = time.perf_counter()
        self._slide(now, arrived)
        closure, seconds = self.closure, time.perf_counter() - started
        if self._choice is None or not closure.engine.resident or closure.facts > SIZES.resident:
            return
        if self._choice.move(seconds, 0 if arrived is None else arrived.num_rows, closure.restated, closure.size):
            self._try(self._choice, now)

    def _try(self, choice: Choice, now: int) -> None:
        """Let the other algorithm of a choice take over."""
        started = time.perf_counter()
        try:
            to = self._by_name(choice.at_hand)
        except NotMaintainableError:
            self._choice = None
            return
        self._move(to, now, self.closure.window(now))
        choice.moved(time.perf_counter() - started)

    def _slide(self, now: int, arrived: pa.Table | None) -> None:
        try:
            self.closure.slide(now, arrived)
        except (NotMaintainableError, LayoutFullError) as error:
            content = self.closure.window(now)
            content = content if arrived is None else pa.concat_tables([content, arrived])
            if isinstance(error, LayoutFullError):  # the stream has brought many terms, most of which are gone
                self._move(self._by_name(imars.NAME, terms=3 * content.num_rows), now, content)
            else:
                self._move(self._other(error), now, content)

    def change_background(self, now: int) -> None:
        """Let the version at hand when this was made be the background. now: the time of the window."""
        self._manifest = self._newest
        self._move(self._first(), now, self.closure.window(now))

    def _move(self, to: WindowClosure, now: int, content: pa.Table) -> None:
        """Let another closure take over. content: of the window."""
        before, self.closure = self.closure, to
        before.close()
        self._slide(now, content)

    def _first(self) -> WindowClosure:
        """The closure of the background, by the algorithm that is asked for, or the first that can."""
        try:
            return self._by_name("imars" if self._algorithm == "auto" else self._algorithm)
        except NotMaintainableError as error:
            return self._other(error)

    def _other(self, why: NotMaintainableError) -> WindowClosure:
        if self._algorithm == "imars":
            raise UsageError(f"IMaRS cannot keep the windows: {why}; leave out --algorithm imars, or choose dred")
        self._choice = None
        return self._by_name("dred", str(why))

    def _by_name(self, name: str, switched: str = "", terms: int = 0) -> WindowClosure:
        """The closure of the background by an algorithm. terms: see `ByExpiry`. Raises NotMaintainableError."""
        made = self._make()
        try:
            if name == imars.NAME:
                return ByExpiry(self._background, self._manifest, made, terms)
            return ByUpdates(self._background, self._manifest, made, name == "naive", switched)
        except BaseException:
            made.close()
            raise
