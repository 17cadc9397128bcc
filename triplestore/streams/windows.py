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

import pyarrow as pa

from triplake.sparql import Graph
from triplake.sparql import query as run_query
from triplake.sparql.parser import parse_query
from triplestore.engine import Engine
from triplestore.model.errors import UsageError
from triplestore.read.session import Session
from triplestore.streams.answers import Answer, Row, StreamStats, labelled
from triplestore.streams.checkpoint import Place, State
from triplestore.streams.maintainers import Maintainer, WindowClosure
from triplestore.streams.pending import Pending
from triplestore.streams.registration import StreamQuery, streams_of
from triplestore.streams.source import FIRST, Chunk, LeftOut
from triplestore.streams.times import Window, duration
from triplestore.streams.tokens import tokens_of

MakeMaintainer = Callable[[], Maintainer]


class _Part:
    """Windows that are seen together, with their closure, and what waits for them."""

    def __init__(
        self, windows: Sequence[tuple[str, Window]], streams: Sequence[str], make: MakeMaintainer, resumed: int | None
    ) -> None:
        only = len(streams) == 1
        self.pending = Pending({s: [w for name, w in windows if only or name == s] for s in streams}, resumed)
        self.maintainer = make()

    @property
    def closure(self) -> WindowClosure:
        """Of the windows and the background."""
        return self.maintainer.closure


class _Group:
    """Queries of the same windows: they share closures. parts: the windows by what the texts ask for them by, those of
    "" first, which patterns see that name none. resumed: the time for which a run before this one answered them."""

    def __init__(
        self, queries: Sequence[StreamQuery], streams: Sequence[str], make: MakeMaintainer, resumed: int | None
    ) -> None:
        self.queries, self.resumed = queries, resumed
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

    def put(self, stream: str, chunk: Chunk, complete: int, lateness: int) -> int:
        """See `Pending.put`."""
        parts = self.parts.values()
        return max(part.pending.put(stream, chunk, complete, lateness, self.answered) for part in parts)

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
        for query in queries:
            parse_query(query.text, None, background.manifest.prefixes)
        self.stats = StreamStats()
        self._lateness, self._stop = duration(lateness) if lateness else 0, on_error == "stop"
        self._scope = background.manifest.counters.files + 1
        places = {} if before is None else before.places
        self._marks = {name: places.get(name, Place()).newest for name in self.streams}
        self._read = time.perf_counter()
        self.due: Callable[[int], float] = lambda now: self._read
        """Waits until windows of a time are to be answered; when that was, by `time.perf_counter`."""
        groups: dict[tuple[object, ...], list[StreamQuery]] = {}
        for query in queries:
            together = sorted(query.windows, key=repr) if not any(query.parts) else [*query.windows, *query.parts]
            groups.setdefault(tuple(together), []).append(query)
        self._groups: list[_Group] = []
        try:
            for number, some in enumerate(groups.values()):
                resumed = before.answered[number] if before else None
                group = _Group(some, self.streams, partial(Maintainer, background, algorithm, engine), resumed)
                self._groups.append(group)
                self._note(group)
        except BaseException:
            self.close()
            raise

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
        """Take a chunk of a stream in. Raises InputError."""
        self._left_out(chunk.bad)
        self.stats.triples += len(chunk.times)
        self._read = time.perf_counter()
        if chunk.times:
            mark = self._marks[stream]
            before = min(chunk.times) if mark is None else mark
            self.stats.late += max(group.put(stream, chunk, before, self._lateness) for group in self._groups)
            self._marks[stream] = max(before, *chunk.times)

    def end(self, stream: str) -> None:
        """Wait no longer for a stream."""
        del self._marks[stream]

    def complete(self) -> Iterator[list[Answer]]:
        """The answers for each window that is complete, in the order of their times."""
        marks = [mark for mark in self._marks.values() if mark is not None]
        if marks and len(marks) == len(self._marks):
            yield from self._until(min(marks) - self._lateness)

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
            tables = list[pa.Table]()
            for stream, (lines, ends) in part.pending.take(now).items():
                table, bad = tokens_of(part.closure.engine, lines, ends, self._scope + self.streams.index(stream))
                tables.append(table)
                self._left_out(bad)
            part.maintainer.slide(now, pa.concat_tables(tables) if tables else None)
        group.answered = now
        found = [self._answer(group, place, query, now) for place, query in enumerate(group.queries)]
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

    def _left_out(self, lines: LeftOut) -> None:
        self.stats.malformed += lines.count
        self.stats.bad += lines.first[: max(0, FIRST - len(self.stats.bad))]
        if lines.count and self._stop:
            raise lines.first[0]
