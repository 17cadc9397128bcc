"""One store of a server: what reads and writes it, its continuous queries, its backups."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from triplestore.server.backups import Backups
from triplestore.server.broadcast import Broadcast
from triplestore.server.metrics import room
from triplestore.server.work import Service


@dataclass
class Served:
    """Enter it before use (`async with`), once."""

    service: Service
    broadcast: Broadcast | None = None
    backups: Backups | None = None

    async def __aenter__(self) -> Served:
        self._stack = AsyncExitStack()
        await self._stack.enter_async_context(self.service)
        if self.broadcast is not None:
            self.broadcast.start()
            self._stack.push_async_callback(asyncio.to_thread, self.broadcast.close)
        if self.backups is not None:
            await self._stack.enter_async_context(self.backups)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def shut(self) -> None:
        """Stop what is being read, and let nobody in any more. From any thread."""
        self.service.shut()
        if self.broadcast is not None:
            self.broadcast.shut()

    def discard(self) -> None:
        """Free all, entered or not."""
        self.shut()
        if self.broadcast is not None:
            self.broadcast.close()
        self.service.close()

    def figures(self) -> dict[str, float]:
        """What is so now, for `/metrics`."""
        service = self.service
        found: dict[str, Any] = {
            "version": service.readers.version,
            "reading": service.reads.inside,
            "waiting": service.reads.waiting + service.writes.waiting,
            "writing": service.writes.inside,
            "continuous_queries": len(self.broadcast.channels) if self.broadcast is not None else 0,
            "disk_free_bytes": room(service.path),
            "last_backup_timestamp_seconds": self.backups.ended if self.backups is not None else None,
        }
        return {name: float(value) for name, value in found.items() if value is not None}
