"""Running continuous queries over sources that are read here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from triplestore.engine import Engine
from triplestore.model.errors import UsageError
from triplestore.model.stopping import check
from triplestore.read.session import Session
from triplestore.streams.answers import Answer, StreamStats
from triplestore.streams.checkpoint import Checkpoint, Place, Trail
from triplestore.streams.registration import StreamQuery, by_stream
from triplestore.streams.source import POLL, Chunk, chunks
from triplestore.streams.windows import Windows


def queries_of(
    given: Any, width: str | None, step: str | None, operator: str | None, prefixes: Mapping[str, str]
) -> list[StreamQuery]:
    """Queries as `Store.stream` takes them. prefixes: the store's. Raises UsageError."""
    several = [given] if isinstance(given, str | StreamQuery) else list(given)
    return [q if isinstance(q, StreamQuery) else StreamQuery.of(q, width, step, operator, prefixes) for q in several]


class StreamRun:
    """One run; iterate to read the answers, once. `stats` is what has become of the stream so far.

    written: is called before a checkpoint is saved, to make the answers so far durable; how many bytes they are of a
    file, if they are in one.
    """

    def __init__(
        self,
        background: Session,
        source: Any,
        queries: Sequence[StreamQuery],
        engine: Callable[[], Engine],
        *,
        algorithm: str = "auto",
        lateness: str | None = None,
        on_error: str = "skip",
        follow: bool = False,
        pace: float | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        """See `Store.stream`."""
        if pace is not None and not pace > 0:
            raise UsageError(f"the pace is a number of units a second, more than 0: not {pace}")
        self._follow, self._pace = follow, pace
        self._began: tuple[int, float] | None = None  # the first time of the stream, and when it was read
        self.written: Callable[[], int] = lambda: 0
        sources = source if isinstance(source, Mapping) else {"": source}
        self.checkpoint: Checkpoint | None = None
        if checkpoint is not None:
            if any(not isinstance(source, str | Path) or source == "-" for source in sources.values()):
                raise UsageError("a checkpoint needs streams that can be read again: files or folders")
            self.checkpoint = Checkpoint(checkpoint, background.manifest.version, queries)
        before = self.checkpoint.state if self.checkpoint is not None else None
        self._windows = Windows(background, queries, engine, algorithm, lateness, on_error, before)
        if pace is not None:
            self._windows.due = self._due
        names = self._windows.streams
        try:
            self._sources = by_stream(sources, queries)
            if missing := [name for name in names if name not in self._sources]:
                raise UsageError(
                    f"the queries read the streams {', '.join(names)}: say where each comes from "
                    f"(missing: {', '.join(missing)})"
                )
        except UsageError:
            self.close()
            raise
        self._places = {name: before.places.get(name, Place()) if before else Place() for name in names}
        self._files = {name: before.files.get(name, []) if before else [] for name in names}
        self._trails = {name: Trail() for name in names}

    @property
    def stats(self) -> StreamStats:
        """What has become of the stream so far."""
        return self._windows.stats

    def close(self) -> None:
        """Free what the run holds."""
        self._windows.close()

    def __enter__(self) -> StreamRun:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Answer]:
        """The answers, in the order of their times."""
        windows = self._windows
        readers = {
            name: chunks(source, self._follow, place.read, place.file, tuple(self._files[name]), place.lines)
            for name, source in self._sources.items()
            for place in [self._places[name]]
        }
        while readers:
            marks = {name: windows.newest(name) for name in readers}
            name = min(readers, key=lambda n: (marks[n] is not None, marks[n] or 0))
            chunk = next(readers[name], None)
            if chunk is None:
                del readers[name]
                windows.end(name)
            else:
                self._feed(name, chunk)
                if self._pace is not None and self._began is None and chunk.times:
                    self._began = min(chunk.times), time.perf_counter()
            for answers in windows.complete() if readers else windows.finish():
                yield from answers
                self._save()

    def _feed(self, name: str, chunk: Chunk) -> None:
        before, files = self._places[name], self._files[name]
        if chunk.file != before.file:
            before = Place(0, before.newest, chunk.file)
            files += [chunk.file] * (chunk.file not in files)
        self._windows.feed(name, chunk)
        if self._windows.fault is None:  # else the chunk was read up to a line that is to be read again
            self._places[name] = Place(chunk.read, self._windows.newest(name), chunk.file, chunk.ended)
        if chunk.times:
            self._trails[name].add(before, self._windows.last)

    def _due(self, now: int) -> float:
        """Wait until the windows of a time are due in a replay; when that was. Raises StoppedError."""
        first, read = self._began or (now, time.perf_counter())
        due = read + (now - first) / (self._pace or 1)
        while (left := due - time.perf_counter()) > 0:
            check()
            time.sleep(min(left, POLL))
        return due

    def _save(self) -> None:
        """Have it on record that the windows so far are answered."""
        if self.checkpoint is not None:
            answered = self._windows.answered
            least = min((time for time in answered if time is not None), default=0)
            places = {name: self._trails[name].place(least, place) for name, place in self._places.items()}
            self.checkpoint.save(places, answered, self.written(), files=self._files)
