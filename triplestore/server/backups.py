"""Backups of a server's store, every so often and when somebody asks."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from triplestore.model.errors import TriplakeError
from triplestore.storage.backup import BackedUp, backup

log = logging.getLogger("triplake.server")


class Backups:
    """Brings the backup of a store at `dest` up to date every `every` seconds, the first when it is entered (`async
    with`); None: only when asked. A backup copies what is new since the last; one that fails is logged, and the next is
    tried all the same."""

    def __init__(self, store: str | Path, dest: str | Path, every: float | None) -> None:
        self._store, self.dest, self._every = store, dest, every
        self._one = asyncio.Lock()
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
            pass

    async def now(self) -> dict[str, Any]:
        """Make one: what was copied. Raises what `triplestore.storage.backup.backup` does."""
        done = asyncio.ensure_future(self._made())
        found = await asyncio.shield(done)
        return {"backup": str(self.dest), "versions": found.versions, "new": found.new, "bytes": found.bytes}

    async def _made(self) -> BackedUp:
        async with self._one:
            found = await asyncio.to_thread(backup, self._store, self.dest)
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
