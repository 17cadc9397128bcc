"""Windows over chunks of streams, and the answers of queries to them.

A triple of time t is in the window of T, a multiple of the step, if T - width < t <= T. The window of T is complete
when a time after T + lateness has been read, or the stream has ended. What is later than that is counted and left out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplake.sparql import Graph
from triplake.sparql import query as run_query
from triplake.sparql.parser import parse_query
from triplestore.engine import Engine
from triplestore.engine.arrow import as_numpy
from triplestore.engine.sets import Ids
from triplestore.model.errors import InputError, TriplakeError, UsageError
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest
from triplestore.streams.answers import Answer, Row, StreamStats, labelled
from triplestore.streams.checkpoint import Place, State
from triplestore.streams.maintainers import Maintainer
from triplestore.streams.pending import Pending
from triplestore.streams.registration import StreamQuery, check_functions, streams_of
from triplestore.streams.source import FIRST, Chunk
from triplestore.streams.times import Window, duration
from triplestore.streams.tokens import tokens_of
from triplestore.streams.window_closure import WindowClosure

SHOWN: Final = 60
"""Bytes of a malformed triple that are shown."""

MakeMaintainer = Callable[[], Maintainer]


class _Part:
    """Windows that are seen together, with their closure, and what waits for them."""

    def __init__(
        self, windows: Sequence[tuple[str, Window]], streams: Sequence[str], make: MakeMaintainer, resumed: int | None
    ) -> None:
        only = len(streams) == 1
        self.pending = Pending({s: [w for name, w in windows if only or name == s] for s in streams}, resumed)
        self.maintainer = make()
        self._slides = bool(windows)  # else it is the background alone

    def slide(self, now: int) -> None:
        """Let the windows be those of a time."""
        if self._slides:
            self.maintainer.slide(now, self.pending.take(now))

    @property
    def closure(self) -> WindowClosure:
        """Of the windows and the background."""
        return self.maintainer.closure


class _Group:
    """Queries of the same windows: they share closures. parts: the windows by what the texts ask for them by, those of
    "" first, which patterns see that name none. resumed: the time for which a run before this one answered them.
    changed: the answer of that time is to be that of another version of the background, before this run's takes over.
    """

    def __init__(
        self,
        queries: Sequence[StreamQuery],
        streams: Sequence[str],
        make: MakeMaintainer,
        resumed: int | None,
        changed: bool,
    ) -> None:
        self.queries, self.resumed, self.changed = queries, resumed, changed
        windows = queries[0].windows
        self.steps = sorted({window.step for _, window in windows})
        self.widest = max(window.width for _, window in windows)
        self.answered: int | None = None
        self.before: dict[int, Counter[Row]] = {}
        self.parts: dict[str, _Part] = {}
        try:
            parts = queries[0].parts or [""] * len(windows)
            for name in dict.fromkeys(("", *parts)):
                own = [window for window, part in zip(windows, parts, strict=True) if part == name]
                self.parts[name] = _Part(own, streams, make, resumed)
        except BaseException:
            self.close()
            raise

    @property
    def waiting(self) -> bool:
        """Whether something waits for a window."""
        return any(part.pending.waiting for part in self.parts.values())

    @property
    def last(self) -> int:
        """When the last triple of the newest chunk leaves every window."""
        return max(part.pending.last for part in self.parts.values())

    def put(
        self, stream: str, times: Ids, triples: pa.Table, complete: int, lateness: int
    ) -> list[npt.NDArray[np.bool_]]:
        """See `Pending.put`; of each part."""
        return [
            part.pending.put(stream, times, triples, complete, lateness, self.answered) for part in self.parts.values()
        ]

    def graph(self) -> Graph:
        """What their texts read."""
        own, *others = self.parts.items()
        return replace(own[1].closure.graph(), beside={name: part.closure.graph() for name, part in others})

    def close(self) -> None:
        """Free what they hold."""
        for part in self.parts.values():
            part.closure.close()

    def next(self) -> int | None:
        """The next time at which the queries are to be answered, if anything is known of it: what waits enters, or what
        is in the window may leave."""
        first = min((time for part in self.parts.values() for time in part.pending.waiting), default=None)
        if self.resumed is not None and self.answered is None:
            return self.resumed
        if self.answered is None or not any(part.closure.size for part in self.parts.values()):
            return first
        after = min((self.answered // step + 1) * step for step in self.steps)
        return after if first is None else min(first, after)


class Windows:
    """The windows of some queries. Give them chunks by `feed`, then take the answers of what is complete; at the end
    those of `finish`."""

    def __init__(
        self,
        background: Session,
        queries: Sequence[StreamQuery],
        engine: Callable[[], Engine],
        algorithm: str = "auto",
        lateness: str | None = None,
        on_error: str = "skip",
        before: State | None = None,
    ) -> None:
        """lateness, on_error: see `Store.stream`. before: where a run stood that this one takes up."""
        if on_error not in ("skip", "stop"):
            raise UsageError(f"on_error is skip or stop, not {on_error}")
        if not queries:
            raise UsageError("no query: a stream is read for the answers of at least one")
        self.streams = streams_of(queries)
        parsed = [parse_query(query.text, None, background.manifest.prefixes) for query in queries]
        for algebra in parsed:
            check_functions(algebra)
        queries = [query.simplified(algebra) for query, algebra in zip(queries, parsed, strict=True)]
        self.stats = StreamStats()
        self._lateness, self._stop = duration(lateness) if lateness else 0, on_error == "stop"
        places = {} if before is None else before.places
        self.fault: InputError | None = None
        """The line that ends the run."""
        self._marks = {name: places.get(name, Place()).newest for name in self.streams}
        self._read = time.perf_counter()
        self.due: Callable[[int], float] = lambda now: self._read
        """Waits until windows of a time are to be answered; when that was, by `time.perf_counter`."""
        earlier = None if before is None else self._earlier(background, before, queries)
        groups: dict[tuple[object, ...], list[StreamQuery]] = {}
        for query in queries:
            together = sorted(query.windows, key=repr) if not any(query.parts) else [*query.windows, *query.parts]
            groups.setdefault(tuple(together), []).append(query)
        self._groups: list[_Group] = []
        try:
            for number, some in enumerate(groups.values()):
                resumed = before.answered[number] if before else None
                then = earlier if resumed is not None and any(q.operator != "rstream" for q in some) else None
                make = partial(Maintainer, background, algorithm, engine, then)
                group = _Group(some, self.streams, make, resumed, then is not None)
                self._groups.append(group)
                self._note(group)
        except BaseException:
            self.close()
            raise

    def _earlier(self, background: Session, before: State, queries: Sequence[StreamQuery]) -> Manifest | None:
        """The version of the store that a run before this one answered by, where it is another and what is new in
        answers depends on it."""
        if before.version == background.manifest.version or all(query.operator == "rstream" for query in queries):
            return None
        try:
            return background.versions.read(before.version)
        except TriplakeError:
            self.stats.notes.append(
                f"version {before.version} of the store, by which the run before answered, is no longer kept: what its "
                "last answers had or lacked only by that version is not reported as new or gone"
            )
            return None

    def close(self) -> None:
        """Free what they hold."""
        for group in self._groups:
            group.close()
        self._groups = []

    @property
    def answered(self) -> list[int | None]:
        """The newest time for which each group of queries was answered."""
        return [group.resumed if group.answered is None else group.answered for group in self._groups]

    @property
    def last(self) -> int:
        """When the last triple of the newest chunk leaves every window."""
        return max(group.last for group in self._groups)

    def newest(self, stream: str) -> int | None:
        """The newest time of a stream so far."""
        return self._marks[stream]

    def feed(self, stream: str, chunk: Chunk) -> None:
        """Take a chunk of a stream in. Malformed lines are left out before anything is made of their times. Where the
        first is to end the run, what comes before it is taken in, and `complete` raises the error once the windows
        that were complete by then are answered."""
        self._read = time.perf_counter()
        triples, wrong = tokens_of(
            self._engine, chunk.lines, -self.streams.index(stream)
        )  # files have numbers from 1 on
        faults = (
            InputError(
                f"{why}, in: {chunk.lines[at][:SHOWN].decode(errors='replace')}", chunk.source, chunk.numbers[at]
            )
            for at, why in islice(wrong.items(), FIRST)
        )
        first = sorted([*chunk.bad.first, *faults], key=lambda error: error.line or 0)
        if first and self._stop:
            self.fault = first[0]
            triples = triples.filter(pa.array(np.array(chunk.numbers)[as_numpy(triples["e"])] < (self.fault.line or 0)))
        self.stats.malformed += 1 if self._stop and first else chunk.bad.count + len(wrong)
        self.stats.bad += first[: max(0, FIRST - len(self.stats.bad))]
        times = np.array(chunk.times, dtype=np.int64)[as_numpy(triples["e"])]
        self.stats.triples += len(times)
        if len(times):
            mark = self._marks[stream]
            before = int(times.min()) if mark is None else mark
            late = (
                some for group in self._groups for some in group.put(stream, times, triples, before, self._lateness)
            )
            self.stats.late += int(np.logical_or.reduce(list(late)).sum())
            self._marks[stream] = max(before, int(times.max()))

    def end(self, stream: str) -> None:
        """Wait no longer for a stream."""
        del self._marks[stream]

    def complete(self) -> Iterator[list[Answer]]:
        """The answers for each window that is complete, in the order of their times. Raises InputError, see `feed`."""
        marks = [mark for mark in self._marks.values() if mark is not None]
        if marks and len(marks) == len(self._marks):
            yield from self._until(min(marks) - self._lateness)
        if self.fault is not None:
            raise self.fault

    def finish(self) -> Iterator[list[Answer]]:
        """The answers for the windows of what is left, when all streams have ended."""
        yield from self._until(None)

    def _until(self, end: int | None) -> Iterator[list[Answer]]:
        """The answers for all windows before a time (None: for all that something still enters)."""
        while True:
            due = [(now, group) for group in self._groups if (now := group.next()) is not None]
            due = [(now, g) for now, g in due if (g.waiting if end is None else now < end)]
            if not due:
                return
            now, group = min(due, key=lambda pair: pair[0])
            found = self._slide(group, now)
            if now != group.resumed:
                yield found

    def _slide(self, group: _Group, now: int) -> list[Answer]:
        """Let a group's windows be those of a time; the answers of its queries."""
        read = max(self._read, self.due(now))
        started = time.perf_counter()
        for part in group.parts.values():
            part.slide(now)
        group.answered = now
        found = [self._answer(group, place, query, now) for place, query in enumerate(group.queries)]
        if group.changed and now == group.resumed:
            for part in group.parts.values():
                part.maintainer.change_background(now)
        stats, closures = self.stats, [part.closure for g in self._groups for part in g.parts.values()]
        stats.windows += 1
        stats.size, stats.facts = sum(c.size for c in closures), sum(c.facts for c in closures)
        self._note(group)
        ended = time.perf_counter()
        stats.busy += ended - started
        stats.slowest = max(stats.slowest, ended - started)
        stats.lag = ended - read
        return found

    def _note(self, group: _Group) -> None:
        """Keep which algorithm has the closures, and why."""
        for part in group.parts.values():
            closure = part.closure
            self.stats.algorithm, self.stats.switched = closure.name, closure.switched or self.stats.switched

    def _answer(self, group: _Group, place: int, query: StreamQuery, now: int) -> Answer:
        result = run_query(group.graph(), query.text)
        variables: tuple[str, ...] = ()
        rows: list[Row] = [()] * bool(result) if result.kind == "ask" else []
        if result.kind != "ask":
            variables, rows = result.variables, [row for batch in result.token_batches(50_000) for row in batch]
        if result.kind == "construct":
            rows = labelled(rows)
        if query.operator != "rstream":
            new, old = Counter(rows), group.before.get(place, Counter())
            group.before[place] = new
            rows = list(((new - old) if query.operator == "istream" else (old - new)).elements())
        return Answer(query.name, result.kind, query.operator, now - group.widest, now, variables, rows)

    @property
    def _engine(self) -> Engine:
        """The engine that parses lines."""
        return next(iter(self._groups[0].parts.values())).closure.engine
