"""One read of a server: it works in threads, is stopped from any, and its answer is sent as it is made."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from triplestore.engine import Reader
from triplestore.model.errors import StoppedError, TriplakeError
from triplestore.model.stopping import Stop, heeding
from triplestore.model.thresholds import SIZES
from triplestore.server.faults import HttpError
from triplestore.server.guard import client_of
from triplestore.server.readers import Readers
from triplestore.server.spooled import made
from triplestore.store import Store

log = logging.getLogger("triplake.server")

INSIST: Final = 0.1
"""Seconds between two attempts to stop a job: it may be between two statements."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a read found: a media type and the text, in pieces made as the rows are found.

    whole: the format may not hold some term, so no piece is sent before all are made.
    """

    media: str
    pieces: Iterator[str]
    headers: dict[str, str] = field(default_factory=dict)
    whole: bool = False


Read = Callable[[Store], Answer]


class Job:
    """One read: its methods but `stop` run in threads, one at a time."""

    _numbers = itertools.count(1)

    def __init__(self, readers: Readers, work: Read, scope: Scope) -> None:
        self._readers, self._work, self._scope = readers, work, scope
        self.number, self._began = next(self._numbers), time.monotonic()
        self._lock = threading.Lock()
        self._interrupting = threading.Lock()  # an engine that another job may have by then is not interrupted
        self._context: AbstractContextManager[tuple[Store, Reader]] | None = None
        self._engine: Reader | None = None
        self._pieces: Iterator[str] = iter(())
        self._stop = Stop()
        self.sending: asyncio.Timeout | None = None  # what ends when it is stopped, though its client takes no more
        self.finished = False
        self.version = 0

    @property
    def reason(self) -> str | None:
        """Why it was stopped."""
        return self._stop.reason

    def as_dict(self) -> dict[str, Any]:
        """What is asked, by whom, and for how many seconds already."""
        notes = self._scope["triplake.log"]
        return {
            "number": self.number,
            "seconds": round(time.monotonic() - self._began, 3),
            "client": client_of(self._scope),
            "user": notes.get("user"),
            "path": self._scope["path"],
            "query": notes.get("query"),
            "stopped": self.reason,
        }

    def start(self) -> tuple[Answer, bytes]:
        """Find a reader, do the work, and the first of its text; all of it, where it `finished`."""
        try:
            with self._lock:
                self._context = self._readers.reading(timeout=INSIST)
                store, self._engine = self._context.__enter__()
                self._check()
                self.version = store.version
                with heeding(self._stop):
                    answer = self._work(store)
                self._pieces = made(answer.pieces) if answer.whole else answer.pieces
            return answer, self.more()
        except BaseException as error:
            self.end()
            if self.reason is not None and not isinstance(error, HttpError):
                raise StoppedError(self.reason) from error
            raise

    def more(self) -> bytes:
        """The next text; the last where it `finished`."""
        with self._lock:
            gathered: list[str] = []
            size = 0
            try:
                with heeding(self._stop):
                    for piece in self._pieces:
                        self._check()
                        gathered.append(piece)
                        size += len(piece)
                        if size >= SIZES.piece:
                            return "".join(gathered).encode()
            except TriplakeError:
                self._check()
                raise
            self._check()
        self.finished = True
        self.end()
        return "".join(gathered).encode()

    def end(self) -> None:
        """Give the reader back."""
        with self._lock:
            if close := getattr(self._pieces, "close", None):
                close()
            with self._interrupting:
                context, self._context, self._engine = self._context, None, None
            if context is not None:
                context.__exit__(None, None, None)

    def stop(self, reason: str) -> None:
        """From any thread: make it raise StoppedError."""
        self._stop.stop(reason)
        with self._interrupting:
            if self._engine is not None:
                with suppress(TriplakeError):
                    self._engine.interrupt()

    def _check(self) -> None:
        self._stop.check()


class Streamed(Response):
    """The answer of a job that has not finished: chunks as they are made. If it fails, the connection is cut without
    the end that a whole answer has."""

    def __init__(
        self,
        job: Job,
        threads: ThreadPoolExecutor,
        first: bytes,
        over: Callable[[asyncio.Future[Any]], None],
        **more: Any,
    ) -> None:
        super().__init__(**more)
        del self.headers["content-length"]
        self._job, self._threads, self._first, self._over = job, threads, first, over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop, job = asyncio.get_running_loop(), self._job
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        try:
            async with asyncio.timeout(None) as job.sending:
                await send(start)
                chunk = self._first
                while not job.finished:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    chunk = await loop.run_in_executor(self._threads, job.more)
                await send({"type": "http.response.body", "body": chunk})
        except (StoppedError, TimeoutError) as error:
            scope["triplake.log"]["error"] = job.reason or str(error)
        except TriplakeError as error:
            scope["triplake.log"]["error"] = str(error).splitlines()[0]
            log.error("an answer was cut: %s", error)
        finally:
            if not job.finished:
                job.stop("the answer was cut")
            loop.run_in_executor(self._threads, job.end).add_done_callback(self._over)
