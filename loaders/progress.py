"""How far the reading of files has got, for those who wait: other threads may ask while one reads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final

from triplake.loaders.sources import Source

TICK: Final = 0.5
"""Seconds between two reports of a file that is being read."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where reading stands: what is being done, to which file (or how many), triples so far, seconds so far; of the
    bytes of all files, as they lie on the disk, how many are read; and how many a second, in this step."""

    stage: str
    file: str
    done_triples: int
    seconds: float
    done_bytes: int = 0
    all_bytes: int = 0
    rate: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this rate; None where nothing is read yet."""
        return (self.all_bytes - self.done_bytes) / self.rate if self.rate else None

    @property
    def line(self) -> str:
        """It in a line: parse data.nt: 41% of 1.2 GB, 120 MB/s, 8 s left."""
        left = self.seconds_left
        parts = [f"{self.done_bytes / self.all_bytes:.0%} of {_text(self.all_bytes)}"] if self.all_bytes else []
        parts += [f"{_text(self.rate)}/s", f"{left:,.0f} s left"] if left is not None else []
        parts += [f"{self.done_triples:,} triples"] if self.done_triples else []
        return f"{self.stage} {self.file}: {', '.join(parts)}" if parts else f"{self.stage} {self.file}"


def _text(number: float) -> str:
    """Bytes, as people read them: 1.2 GB."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"


class Meter:
    """Measures the reading of sources. share: how much of its statement the engine has done, from 0 to 1, or None.

    Invariant: `_done` are the bytes of the files that are read to their end; of those that are being read Python holds
    `_file` open, or the engine reads all `_size` bytes. `_most` is how many of either were last known to be read."""

    def __init__(self, sources: Sequence[Source], share: Callable[[], float | None]) -> None:
        self._share = share
        self._sizes = {source.path: _size(source.path) for source in sources}
        self._all = sum(self._sizes[source.path] for source in sources)
        self._began = self._step = time.monotonic()
        self._stage, self._label = "", ""
        self._done = self._size = self._most = 0
        self._file: IO[bytes] | None = None

    def begin(self, stage: str, label: str, sources: Sequence[Source]) -> None:
        """A step begins: something is done to sources."""
        self._stage, self._label, self._file, self._step = stage, label, None, time.monotonic()
        self._most = 0
        self._size = sum(self._sizes[source.path] for source in sources)

    def watch(self, file: IO[bytes]) -> None:
        """Python reads this file, as it lies on the disk."""
        self._file, self._most = file, 0

    def end(self) -> None:
        """The sources of the step are read."""
        self._done += self._size
        self._size, self._most, self._file = 0, 0, None

    def at(self, triples: int) -> Progress:
        """Where reading stands. triples: those read so far."""
        now, reached = time.monotonic(), self._reached()
        done = min(self._done + reached, self._all)
        rate = reached / (now - self._step) if now > self._step else 0.0
        return Progress(self._stage, self._label, triples, now - self._began, done, self._all, rate)

    def _reached(self) -> int:
        """Bytes of the files that are being read."""
        if self._file is not None:
            try:
                found = self._file.tell()  # amid a read by another thread it may be off by a buffer
            except ValueError:  # closed since
                found = self._size
        else:
            share = self._share() if self._size else None
            found = int((share or 0) * self._size)  # a short statement follows the long one
        self._most = max(self._most, found)
        return self._most


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:  # reading it will say why
        return 0


@contextmanager
def ticking(tick: Callable[[], None]) -> Iterator[None]:
    """Inside, `tick` is called by another thread now and then."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(TICK):
            tick()

    thread = threading.Thread(target=run, name="triplake-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
