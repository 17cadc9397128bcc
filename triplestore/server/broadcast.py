"""Continuous queries of a server: one run over their streams, the answers of which anybody may follow.

The newest answers are kept once for all who follow; each of them has nothing but a place in these. Who takes them too
slowly gets an event that says so, and goes on with the oldest that is left.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from triplestore.materialise.limits import Limits
from triplestore.model.errors import StoppedError, TriplakeError, UsageError
from triplestore.model.stopping import Stop, heeding
from triplestore.model.thresholds import SIZES
from triplestore.server.settings import StreamSettings
from triplestore.store import Store
from triplestore.streams.answers import Answer
from triplestore.streams.posted import Posted
from triplestore.streams.registration import StreamQuery, by_stream, stream_called, streams_of
from triplestore.streams.source import there

log = logging.getLogger("triplake.server")

KEPT: Final = 1_000
"""Answers of a query that are kept, at most."""

KEPT_BYTES: Final = 16 << 20
"""Bytes of them; the newest is kept whatever its size."""

BEAT: Final = 1.0
"""Seconds after which a client gets the figures again, if they have changed."""

SILENCE: Final = 15.0
"""Seconds after which a client is sent something in any case: proxies cut what is silent."""

RATE: Final = 10.0
"""Seconds over which the rate of triples is taken."""


@dataclass(slots=True)
class Channel:
    """The answers of a query. kept: by their times their texts, of `size` bytes in all; missed: the time of the newest
    that is not kept any more. changed: is set, and replaced, when there is another."""

    query: StreamQuery
    kept: dict[int, bytes] = field(default_factory=dict)
    size: int = 0
    answers: int = 0
    rows: int = 0
    missed: int | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, answer: Answer, text: bytes) -> None:
        """Take in the next answer, and let go of the oldest."""
        self.kept[answer.time] = text
        self.size += len(text)
        self.answers += 1
        self.rows = len(answer.rows)
        while len(self.kept) > KEPT or (self.size > KEPT_BYTES and len(self.kept) > 1):
            self.missed = next(iter(self.kept))
            self.size -= len(self.kept.pop(self.missed))
        self.wake()

    def wake(self) -> None:
        """Let those who wait look."""
        before, self.changed = self.changed, asyncio.Event()
        before.set()

    def after(self, time: int | None) -> int | None:
        """The time of the first answer that is kept of those after a time; None: of the newest."""
        if time is None:
            return next(reversed(self.kept), None)
        return next((found for found in self.kept if found > time), None)

    def piece(self, time: int, start: int) -> bytes | None:
        """Some of the answer of a time, from a byte on; None: it is not kept any more."""
        text = self.kept.get(time)
        return None if text is None else text[start : start + SIZES.piece]


class Broadcast:
    """The queries of a server. `start` it in the server's loop, `shut` it when the server ends, `close` it then.

    path, options: of `Store.open`; rules: see `Store.limits`. Raises what that and `Store.stream` raise.
    """

    def __init__(self, path: str | Path, settings: StreamSettings, rules: Limits | None = None, **options: Any) -> None:
        self._store = Store.open(path, **options)
        try:
            self._store.limits = rules or self._store.limits
            self.queries = _named(settings.queries, self._store.prefixes.known)
            sources = by_stream(dict(settings.sources), self.queries)
            for source in sources.values():
                if source != "-":
                    there(source)
            self.posted = {name: Posted() for name in streams_of(self.queries) if name not in sources}
            self._run = self._store.stream(
                {**sources, **self.posted}, self.queries,
                algorithm=settings.algorithm, lateness=settings.lateness, follow=True, pace=settings.pace,
            )  # fmt: skip
        except BaseException:
            self._store.close()
            raise
        self.channels = {query.name: Channel(query) for query in self.queries}
        self.state, self.fault = "running", ""
        self.closing = False
        self._stop = Stop()
        self._rates: deque[tuple[float, int]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="triplake-streams", daemon=True)

    def posted_to(self, name: str) -> Posted | None:
        """What clients post to the stream of this name, if they may."""
        return self.posted.get(stream_called(name, self.queries) or "") if name else self.posted.get("")

    @property
    def ended(self) -> bool:
        """Whether there will be no more answers."""
        return self.closing or self.state != "running"

    def start(self) -> None:
        """Begin to read the streams; the answers are handed on in the loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def shut(self) -> None:
        """End the run, and what clients follow. From any thread."""
        self.closing = True
        self._stop.stop("the server is shutting down")
        self._later(self._wake)

    def close(self) -> None:
        """Wait for the run to end, and free what it holds."""
        self.shut()
        if self._thread.is_alive():
            self._thread.join()
        self._run.close()
        self._store.close()

    def figures(self) -> dict[str, Any]:
        """What has become of the streams so far."""
        stats, now = self._run.stats, time.monotonic()
        if not self._rates or self._rates[-1][0] < now - BEAT:
            self._rates.append((now, stats.triples))
        while len(self._rates) > 2 and self._rates[1][0] < now - RATE:
            self._rates.popleft()
        then, before = self._rates[0]
        spent = now - then
        found: dict[str, Any] = {"state": self.state} | ({"fault": self.fault} if self.fault else {})
        return found | {
            "version": self._store.version,
            "algorithm": stats.algorithm,
            "triples": stats.triples,
            "rate": round((stats.triples - before) / spent) if spent > 0 else 0,
            "window": stats.size,
            "closure": stats.facts,
            "windows": stats.windows,
            "late": stats.late,
            "malformed": stats.malformed,
            "lag": round(stats.lag, 3),
            "slowest": round(stats.slowest, 3),
            "busy": round(stats.busy, 3),
        }

    async def events(self, channel: Channel, since: int | None) -> AsyncIterator[bytes]:
        """A query's answers as server-sent events, those kept after the time `since`, and as they come: `answer`
        (its id is its time), `missed` where some are not kept any more, `figures`, and at the end `end`."""
        told, at = "", 0.0
        loop = asyncio.get_running_loop()
        yield b"retry: 2000\n\n"
        while True:
            changed = channel.changed
            if since is not None and channel.missed is not None and since < channel.missed:
                yield _event("missed", json.dumps({"after": since, "until": channel.missed}))
                since = channel.missed
            while (found := channel.after(since)) is not None:
                since, start = found, 0
                yield f"id: {since}\nevent: answer\ndata: ".encode()
                while piece := channel.piece(since, start):
                    yield piece
                    start += len(piece)
                if piece is None:  # who reads so slowly holds no answer in memory: it is cut off
                    return
                yield b"\n\n"
                if channel.missed is not None and since < channel.missed:
                    break
            figures = json.dumps(self.figures())
            if (figures != told and loop.time() - at >= BEAT) or self.ended:
                told, at = figures, loop.time()
                yield _event("figures", figures)
            elif loop.time() - at >= SILENCE:
                at = loop.time()
                yield b":\n\n"
            if self.ended:
                yield _event("end", json.dumps({"state": "closed" if self.closing else self.state}))
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT):
                    await changed.wait()

    def _work(self) -> None:
        """In a thread: the run."""
        try:
            with heeding(self._stop):
                for answer in self._run:
                    text = json.dumps(answer.as_json(), ensure_ascii=False).encode()
                    self._later(self.channels[answer.query].add, answer, text)
            self.state = "ended"
        except StoppedError:
            self.state = "ended"
        except TriplakeError as error:
            self.state, self.fault = "failed", str(error)
            log.error("the streams have failed: %s", error)
        except Exception as error:
            self.state, self.fault = "failed", f"a fault of the server's: {error}"
            log.exception("the streams have failed")
        self._later(self._wake)

    def _later(self, work: Any, *arguments: Any) -> None:
        """In the server's loop."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(work, *arguments)

    def _wake(self) -> None:
        for channel in self.channels.values():
            channel.wake()


def _named(given: Sequence[tuple[str, str]], prefixes: Mapping[str, str]) -> list[StreamQuery]:
    """Queries with names of their own: as they say, else as they were given. prefixes: the store's. Raises UsageError,
    InputError."""
    found: dict[str, StreamQuery] = {}
    for name, text in given:
        query = StreamQuery.of(text, prefixes=prefixes)
        if not query.name:
            query = replace(query, name=name)
        if query.name in found:
            raise UsageError(f"two queries are called {query.name}: give them names, as in --stream NAME=FILE")
        found[query.name] = query
    return list(found.values())


def _event(kind: str, text: str) -> bytes:
    return f"event: {kind}\ndata: {text}\n\n".encode()
