"""The work of a server, off its event loop: reads in threads, each on a reader of its own and cut at its limit; writes
one after the other in a thread of theirs. Who finds too many waiting is turned away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from triplestore.model.errors import ConflictError, StoppedError, TriplakeError
from triplestore.model.stopping import Stop, heeding
from triplestore.server.faults import HttpError
from triplestore.server.gate import Gate
from triplestore.server.guard import asked_by
from triplestore.server.jobs import INSIST, Answer, Job, Read, Streamed
from triplestore.server.readers import Readers
from triplestore.server.settings import Settings
from triplestore.server.updates import Figures, Updates, outcomes
from triplestore.store import Store
from triplestore.write.queue import Waiting

log = logging.getLogger("triplake.server")

T = TypeVar("T")

ATTEMPTS: Final = 5
"""How often a write is tried while other processes commit first."""

LOOK: Final = 1.0
"""Seconds between two looks for versions that other processes have published."""

MEMORY: Final = 35
"""Per cent of the machine's memory that all reads take before they spill, by default; and as much the writer."""

UNHEEDED: Final = 0.5
"""Seconds after its limit at which a request is answered, though the engine has not heeded that it was stopped."""

ENDING: Final = "the server is shutting down"


class Service:
    """The store at `path`, read and written for the requests of a server. Enter it before use (`async with`)."""

    def __init__(self, path: str | Path, settings: Settings, verify: bool = False, **options: Any) -> None:
        if options.get("memory_limit") is None:
            options["memory_limit"] = f"{MEMORY}%"
        self.path, self.settings, self._options = path, settings, options
        limits = settings.limits
        self.readers = Readers(path, limits.concurrent, verify=verify, services=settings.services, **options)
        self.reads, self.writes = Gate(limits.concurrent, limits.queue), Gate(1, limits.queue, shared=False)
        self._threads = ThreadPoolExecutor(limits.concurrent + 2, "triplake-read")
        self._writing = ThreadPoolExecutor(1, "triplake-write")
        self._writer: Store | None = None
        self._write = Stop()  # of the write that runs
        self._kept: dict[str, tuple[object, Any]] = {}
        self._updates = Updates(self.writes, limits.queue, self._writing, self._together)
        self._jobs: set[Job] = set()
        self._closing = False
        self._unread = ""  # why the newest version cannot be read
        self._loop: asyncio.AbstractEventLoop | None = None
        if settings.shapes:
            try:
                self._writer = self._opened()  # what is wrong with them ends it before anybody waits
            except BaseException:
                self.close()
                raise

    async def __aenter__(self) -> Service:
        self._loop = asyncio.get_running_loop()
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.shut()
        self._looking.cancel()
        await asyncio.to_thread(self.close)

    def shut(self) -> None:
        """Stop what is being read, and let nobody in any more; a running write goes on to its end. From any thread."""
        self._closing = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended, and with it all jobs
                self._loop.call_soon_threadsafe(self._stop_all)

    def _stop_all(self) -> None:
        for job in list(self._jobs):
            self._stop(job, ENDING)

    def running(self) -> list[Job]:
        """The reads that run, the oldest first."""
        return sorted(self._jobs, key=lambda job: job.number)

    def stop(self, number: int, reason: str) -> bool:
        """Stop the read with a number; whether there was one. On the event loop."""
        found = [job for job in self._jobs if job.number == number]
        for job in found:
            self._stop(job, reason)
        return bool(found)

    def stop_writing(self) -> None:
        """Stop the write that runs, unless it is publishing. From any thread."""
        self._write.stop(ENDING)

    def close(self) -> None:
        """Wait for what runs, and free what it holds. Once is enough."""
        self._threads.shutdown()
        self._writing.shutdown()
        self.readers.close()
        if self._writer is not None:
            self._writer.close()

    async def _look(self) -> None:
        """Follow the versions that other processes publish."""
        while True:
            await asyncio.sleep(LOOK)
            await asyncio.to_thread(self._follow)

    def _follow(self) -> None:
        """Let who reads from now on read the newest version. Where that cannot be read, the log says so, once: what
        has been published stays published, and the next look may succeed."""
        try:
            self.readers.refresh()
            self._unread = ""
        except Exception as error:
            if str(error) != self._unread:
                self._unread = str(error)
                log.warning("the newest version cannot be read: %s", error)

    # -- reading -----------------------------------------------------------------------------------------------------

    async def read(self, request: Request, work: Read, seconds: float | None = None) -> Response:
        """Do `work` on a store at the newest version, and answer with what it finds.

        seconds: the time limit, if shorter than the server's; it counts from here, waiting included, to the last byte.
        """
        limit = self.settings.limits.query_seconds
        limit = min(seconds, limit) if seconds else limit
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._open()
        address = asked_by(request.scope)
        await self.reads.enter(address, limit)
        if self._closing:
            self.reads.leave(address)
            self._open()
        job = Job(self.readers, work, request.scope)
        self._jobs.add(job)
        late = loop.call_later(max(limit - loop.time() + started, 0.0), self._stop, job, _late(limit))
        gone = asyncio.create_task(self._watch(request, job))

        def over(done: asyncio.Future[Any] | None = None) -> None:
            if done is not None and not done.cancelled():
                done.exception()  # it is looked at, if only to be left alone
            late.cancel()
            gone.cancel()
            self._jobs.discard(job)
            self.reads.leave(address)

        begun = loop.run_in_executor(self._threads, job.start)
        try:
            await asyncio.wait({begun}, timeout=max(limit - loop.time() + started, 0.0) + UNHEEDED)
            if not begun.done():
                begun.add_done_callback(over)
                raise StoppedError(job.reason or _late(limit))
        except asyncio.CancelledError:
            job.stop("the request was cancelled")
            begun.add_done_callback(over)
            raise
        try:
            answer, first = begun.result()
        except BaseException:
            over()
            raise
        headers = {"Triplake-Version": str(job.version), "Vary": "Accept", **answer.headers}
        if job.finished:
            over()
            return Response(first, headers=headers, media_type=answer.media)
        return Streamed(job, self._threads, first, over, headers=headers, media_type=answer.media)

    def _stop(self, job: Job, reason: str) -> None:
        job.stop(reason)
        if job.sending is not None and job.sending.when() is None:
            with suppress(RuntimeError):  # it has ended
                job.sending.reschedule(0.0)
        if job in self._jobs:
            asyncio.get_running_loop().call_later(INSIST, self._stop, job, reason)

    async def _watch(self, request: Request, job: Job) -> None:
        """Stop a job whose client has gone before there was an answer."""
        while (await request.receive())["type"] != "http.disconnect":
            pass
        self._stop(job, "the client has gone")

    async def find(self, request: Request, work: Callable[[Store], T]) -> T:
        """Do `work` as `read` does, for a value rather than an answer."""
        found: list[T] = []

        def keep(store: Store) -> Answer:
            found.append(work(store))
            return Answer("text/plain", iter(()))

        await self.read(request, keep)
        return found[0]

    async def kept(self, request: Request, name: str, work: Callable[[Store], T]) -> T:
        """As `find`, found once for each version."""
        state = self.readers.state
        if name not in self._kept or self._kept[name][0] is not state:
            self._kept[name] = state, await self.find(request, work)
        value: T = self._kept[name][1]
        return value

    # -- writing -----------------------------------------------------------------------------------------------------

    async def write(self, work: Callable[[Store], T], limited: bool = False) -> T:
        """Do `work`, which changes the store; readers that begin after it see the new version. It is done to its end,
        even if nobody waits for it any more.

        limited: it may take as long as a query, from its turn on until it publishes; else it changes nothing.
        """
        self._writable()
        await self.writes.enter()
        if self._closing:
            self.writes.leave()
            self._open()
        seconds = self.settings.limits.query_seconds
        stop = self._write = Stop(seconds, _late(seconds, "update")) if limited else Stop()
        done = asyncio.get_running_loop().run_in_executor(self._writing, self._change, work, stop)
        done.add_done_callback(lambda _: self.writes.leave())
        return await asyncio.shield(done)

    async def update(self, update: Waiting) -> Figures:
        """Carry out an update, with those that wait for the writer as well: what the log says of the version that they
        made, and what the report does. One that is refused is refused alone. It may take as long as a query."""
        self._writable()
        return await self._updates.carry_out(update)

    def _together(self, waiting: Sequence[Waiting]) -> list[Figures | TriplakeError]:
        """In the writer's thread: see `Updates`."""
        seconds = self.settings.limits.query_seconds
        stop = self._write = Stop(seconds, _late(seconds, "update"))
        return self._change(lambda store: outcomes(store, waiting, self.settings.load_folder), stop)

    def _opened(self) -> Store:
        opened = Store.open(self.path, **self._options)
        opened.services, opened.limits = self.settings.services, self.settings.rules
        try:
            opened.shapes = self.settings.shapes
        except BaseException:
            opened.close()
            raise
        return opened

    def _change(self, work: Callable[[Store], T], stop: Stop) -> T:
        if self._writer is None:
            self._writer = self._opened()
        for attempt in range(ATTEMPTS):
            try:
                with heeding(stop):
                    return work(self._writer)
            except ConflictError:
                if attempt == ATTEMPTS - 1:
                    raise
            finally:
                self._follow()
        raise AssertionError("unreachable")

    def _writable(self) -> None:
        if self.settings.access.read_only:
            raise HttpError(403, "this server is read-only")
        self._open()

    def _open(self) -> None:
        if self._closing:
            raise HttpError(503, ENDING, {"Retry-After": "10"})


def _late(seconds: float, what: str = "query") -> str:
    return (
        f"the {what} took longer than {seconds:g} s, its limit here, and was stopped: ask for less (LIMIT, a closer "
        "pattern), or ask whoever runs this server to raise --timeout"
    )
