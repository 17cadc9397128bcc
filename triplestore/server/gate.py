"""How many requests work at a time, and how many wait for their turn."""

from __future__ import annotations

import asyncio

from triplestore.server.faults import HttpError


def busy() -> HttpError:
    """The answer to who would have to wait behind too many others."""
    return HttpError(503, "the server is busy: too many requests wait already; try again", {"Retry-After": "1"})


class Gate:
    """Lets `width` in at a time, and `queue` more wait."""

    def __init__(self, width: int, queue: int) -> None:
        self._places, self._queue = asyncio.Semaphore(width), queue
        self.waiting = self.inside = 0

    async def enter(self, timeout: float | None = None) -> None:
        """Raises HttpError (503) where too many wait, or no place became free in time."""
        if not self._places.locked():
            await self._places.acquire()  # at once
        elif self.waiting >= self._queue:
            raise busy()
        else:
            await self._wait(timeout)
        self.inside += 1

    async def _wait(self, timeout: float | None) -> None:
        self.waiting += 1
        try:
            await asyncio.wait_for(self._places.acquire(), timeout)
        except TimeoutError:
            raise HttpError(503, "the server was busy for too long; try again", {"Retry-After": "5"}) from None
        finally:
            self.waiting -= 1

    def leave(self) -> None:
        self.inside -= 1
        self._places.release()
