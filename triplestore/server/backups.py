"""Backups of a server's store, every so often and when somebody asks."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from triplestore.model.errors import TriplakeError
from triplestore.storage.backup import BackedUp, backup

log = logging.getLogger("triplake.server")


class Backups:
    """Brings the backup of a store at `dest` up to date every `every` seconds, the first when it is entered (`async
    with`); None: only when asked. A backup copies what is new since the last; one that fails is logged, as are versions
    that it leaves out since they are damaged, and the next is tried all the same. It takes hours, maybe: in a thread of
    its own, which others do not wait for."""

    def __init__(self, store: str | Path, dest: str | Path, every: float | None) -> None:
        self._store, self.dest, self._every = store, dest, every
        self._one = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "triplake-backup")
        self.ended = 0.0
        """When the newest ended, in seconds since 1970; 0: there was none yet."""

    async def __aenter__(self) -> Backups:
        self._task = asyncio.create_task(self._again()) if self._every is not None else None
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        async with self._one:  # one that runs is waited for: whatever ends it, the versions in it are whole
            self._thread.shutdown()

    async def now(self) -> dict[str, Any]:
        """Make one: what was copied. Raises what `triplestore.storage.backup.backup` does."""
        done = asyncio.ensure_future(self._made())
        found = await asyncio.shield(done)
        damaged = [{"version": number, "what": what} for number, what in found.damaged]
        told = {"versions": found.versions, "new": found.new, "bytes": found.bytes, "damaged": damaged}
        return {"backup": str(self.dest), **told}

    async def _made(self) -> BackedUp:
        async with self._one:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._thread, backup, self._store, self.dest)
            for number, what in found.damaged:
                log.warning("version %d of %s is left out of its backup: %s", number, self._store, what)
            self.ended = time.time()
            return found

    async def _again(self) -> None:
        assert self._every is not None
        while True:
            try:
                found = await self.now()
                log.info("backup of %s at %s: %d new versions", self._store, self.dest, found["new"])
            except Exception as error:
                ours = None if isinstance(error, TriplakeError | OSError) else error
                log.error("the backup of %s at %s failed: %s", self._store, self.dest, error, exc_info=ours)
            await asyncio.sleep(self._every)
