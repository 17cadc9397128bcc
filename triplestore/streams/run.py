"""Running continuous queries: chunks of a stream become windows, and each window's closure answers the queries.

A triple of time t is in the window of T, a multiple of the step, if T - width < t <= T. The window of T is complete
when a time after T + lateness has come, or the stream has ended. What comes later than that is counted and left out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from triplake.sparql import query as run_query
from triplake.sparql.parser import parse_query
from triplestore.engine import Engine
from triplestore.model.errors import InputError, UsageError
from triplestore.read.session import Session
from triplestore.streams.checkpoint import Checkpoint, Place, Trail
from triplestore.streams.maintainers import WindowClosure, maintainer
from triplestore.streams.pending import Pending
from triplestore.streams.registration import StreamQuery, streams_of
from triplestore.streams.source import Chunk, chunks
from triplestore.streams.times import Window
from triplestore.streams.tokens import tokens_of

Row = tuple[str | None, ...]

FIRST: Final = 5
"""Malformed lines that are told one by one."""


@dataclass(slots=True)
class StreamStats:
    """What has become of a stream so far. windows: answered, by all queries. late: left out since their window was
    answered before they came. malformed: lines left out; bad: the first of them. size: triples in the windows now.
    facts: of the closures. busy: seconds of work. slowest: seconds of the slowest slide. switched: why IMaRS is not (or
    no longer) used, if that is so."""

    triples: int = 0
    late: int = 0
    malformed: int = 0
    windows: int = 0
    size: int = 0
    facts: int = 0
    algorithm: str = ""
    switched: str = ""
    busy: float = 0.0
    slowest: float = 0.0
    bad: list[InputError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a query at a time. kind: select, construct, describe or ask. begin, time: the window has the times
    after `begin` up to `time`, of the widest window where there are several. rows: tokens, None where a variable is
    unbound; of ASK there is one row if the answer is yes."""

    query: str
    kind: str
    operator: str
    begin: int
    time: int
    variables: tuple[str, ...]
    rows: list[Row]

    def bindings(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries of rdflib terms, of the variables that are bound."""
        from triplestore.model.terms import to_rdflib

        for row in self.rows:
            yield {v: to_rdflib(token) for v, token in zip(self.variables, row, strict=True) if token is not None}


class _Group:
    """Queries of the same windows: they share a closure."""

    def __init__(
        self, queries: Sequence[StreamQuery], streams: Sequence[str], closure: WindowClosure, resumed: int | None
    ) -> None:
        """resumed: the time for which a run before this one answered them."""
        self.queries, self.closure, self.resumed = queries, closure, resumed
        windows = queries[0].windows
        self.steps = sorted({window.step for _, window in windows})
        self.widest = max(window.width for _, window in windows)
        only = len(streams) == 1
        self.pending = Pending({s: [w for name, w in windows if only or name == s] for s in streams}, resumed)
        self.answered: int | None = None
        self.before: dict[int, Counter[Row]] = {}

    def next(self) -> int | None:
        """The next time at which the queries are to be answered, if anything is known of it: what waits enters, or what
        is in the window may leave."""
        first = min(self.pending.waiting, default=None)
        if self.resumed is not None and self.answered is None:
            return self.resumed
        if self.answered is None or self.closure.size == 0:
            return first
        after = min((self.answered // step + 1) * step for step in self.steps)
        return after if first is None else min(first, after)


class StreamRun:
    """One run; iterate to read the answers. `stats` is what has become of the stream so far."""

    def __init__(
        self,
        background: Session,
        sources: Mapping[str, Any],
        queries: Sequence[StreamQuery],
        engine: Callable[[], Engine],
        algorithm: str = "auto",
        lateness: int = 0,
        on_error: str = "skip",
        follow: bool = False,
        pace: float | None = None,
        checkpoint: str | Path | None = None,
        written: Callable[[], int] = lambda: 0,
    ) -> None:
        """sources: of each stream (see `streams_of`), or "" of the only one. on_error: "skip" or "stop". pace: so many
        of the stream's units go by in a second (None: as fast as it can be read). checkpoint: see
        `triplestore.streams.checkpoint`. written: makes the answers so far durable, and says how many bytes they are of
        a file, if they are in one."""
        names = streams_of(queries)
        if not queries:
            raise UsageError("no query: a stream is read for the answers of at least one")
        if set(sources) != set(names) and not (len(sources) == 1 and len(names) == 1):
            raise UsageError(
                f"the queries read the streams {', '.join(names)}: say where each comes from "
                f"(given: {', '.join(sources) or 'none'})"
            )
        for query in queries:
            parse_query(query.text, None, background.manifest.prefixes)
        self._sources = dict(zip(names, sources.values(), strict=True)) if len(names) == 1 else dict(sources)
        self.stats = StreamStats()
        self._lateness, self._stop, self._follow, self._pace = lateness, on_error == "stop", follow, pace
        self._scope = background.manifest.counters.files + 1
        self.checkpoint: Checkpoint | None = None
        if checkpoint is not None:
            if any(not isinstance(source, str | Path) or source == "-" for source in self._sources.values()):
                raise UsageError("a checkpoint needs streams that can be read again: files or folders")
            self.checkpoint = Checkpoint(checkpoint, background.manifest.version, queries)
        before = self.checkpoint.state if self.checkpoint is not None else None
        self._written = written
        self._places = {name: before.places.get(name, Place()) if before else Place() for name in self._sources}
        self._trails = {name: Trail(place) for name, place in self._places.items()}
        groups: dict[tuple[tuple[str, Window], ...], list[StreamQuery]] = {}
        for query in queries:
            groups.setdefault(tuple(sorted(query.windows, key=repr)), []).append(query)
        self._groups: list[_Group] = []
        try:
            for number, some in enumerate(groups.values()):
                closure = maintainer(background, algorithm, engine)
                self._groups.append(_Group(some, names, closure, before.answered[number] if before else None))
                self.stats.algorithm, self.stats.switched = closure.name, closure.switched or self.stats.switched
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free what the run holds."""
        for group in self._groups:
            group.closure.close()
        self._groups = []

    def __enter__(self) -> StreamRun:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Answer]:
        """The answers, in the order of their times."""
        places = self._places
        readers = {name: chunks(source, self._follow, places[name].read) for name, source in self._sources.items()}
        marks: dict[str, int | None] = {name: place.newest for name, place in places.items()}
        began: tuple[int, float] | None = None
        while readers:
            name = min(readers, key=lambda n: (marks[n] is not None, marks[n] or 0))
            chunk = next(readers[name], None)
            if chunk is None:
                del readers[name], marks[name]
            else:
                self._note(name, chunk, marks[name])
                if chunk.times:
                    newest = max(chunk.times)
                    mark = marks[name]
                    marks[name] = newest if mark is None else max(mark, newest)
                    if self._pace is not None:
                        began = began or (min(chunk.times), time.monotonic())
                        due = began[1] + (newest - began[0]) / self._pace
                        time.sleep(max(0.0, due - time.monotonic()))
            known = [mark for mark in marks.values() if mark is not None]
            if not readers:
                yield from self._answers(None)
            elif len(known) == len(marks):
                yield from self._answers(min(known) - self._lateness)

    def _note(self, name: str, chunk: Chunk, mark: int | None) -> None:
        """Take a chunk in. mark: the newest time before it."""
        self._bad(chunk.bad)
        before, newest = self._places[name], max(chunk.times, default=None)
        known = [time for time in (before.newest, newest) if time is not None]
        self._places[name] = Place(chunk.read, max(known, default=None))
        self.stats.triples += len(chunk.times)
        if chunk.times:
            complete = min(chunk.times) if mark is None else mark
            self.stats.late += max(
                group.pending.put(name, chunk, complete, self._lateness, group.answered) for group in self._groups
            )
            self._trails[name].add(before, max(group.pending.last for group in self._groups))

    def _bad(self, errors: Sequence[InputError]) -> None:
        self.stats.malformed += len(errors)
        self.stats.bad += errors[: max(0, FIRST - len(self.stats.bad))]
        if errors and self._stop:
            raise errors[0]

    def _answers(self, before: int | None) -> Iterator[Answer]:
        """The answers at all times before one (None: at all times that have anything to enter)."""
        while True:
            due = [(now, group) for group in self._groups if (now := group.next()) is not None]
            if before is None:
                due = [(now, group) for now, group in due if group.pending.waiting]
            else:
                due = [(now, group) for now, group in due if now < before]
            if not due:
                return
            now, group = min(due, key=lambda pair: pair[0])
            yield from self._slide(group, now)

    def _slide(self, group: _Group, now: int) -> Iterator[Answer]:
        """Let a group's windows be those of a time; the answers of its queries."""
        started = time.perf_counter()
        lines, ends = group.pending.take(now)
        arrived = None
        if lines:
            arrived, bad = tokens_of(group.closure.engine, lines, ends, self._scope)
            self._bad(bad)
        group.closure.slide(now, arrived)
        group.answered = now
        found = [self._answer(group, place, query, now) for place, query in enumerate(group.queries)]
        stats, closures = self.stats, [g.closure for g in self._groups]
        stats.windows += 1
        stats.size, stats.facts = sum(c.size for c in closures), sum(c.facts for c in closures)
        stats.algorithm = group.closure.name
        stats.switched = group.closure.switched or stats.switched
        spent = time.perf_counter() - started
        stats.busy += spent
        stats.slowest = max(stats.slowest, spent)
        if now != group.resumed:
            yield from found
            self._save()

    def _save(self) -> None:
        """Have it on record that the windows so far are answered."""
        if self.checkpoint is not None:
            answered = [group.answered for group in self._groups]
            least = min((time for time in answered if time is not None), default=0)
            places = {name: self._trails[name].place(least, place) for name, place in self._places.items()}
            self.checkpoint.save(places, answered, self._written(), self.stats.triples)

    def _answer(self, group: _Group, place: int, query: StreamQuery, now: int) -> Answer:
        result = run_query(group.closure.graph(), query.text)
        rows: list[Row]
        if result.kind == "ask":
            variables: tuple[str, ...] = ()
            rows = [()] * bool(result)
        else:
            variables, rows = result.variables, [row for batch in result.token_batches(50_000) for row in batch]
        if query.operator != "rstream":
            now_rows, old = Counter(rows), group.before.get(place, Counter())
            group.before[place] = now_rows
            rows = list(((now_rows - old) if query.operator == "istream" else (old - now_rows)).elements())
        return Answer(query.name, result.kind, query.operator, now - group.widest, now, variables, rows)
