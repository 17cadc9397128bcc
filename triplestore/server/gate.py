"""How many requests work at a time, and how many wait for their turn: no address takes all places, nor all turns."""

from __future__ import annotations

import asyncio
from collections import Counter

from triplestore.server.faults import HttpError


def busy() -> HttpError:
    """The answer to who would have to wait behind too many others."""
    return HttpError(503, "the server is busy: too many requests wait already; try again", {"Retry-After": "1"})


def _share(of: int) -> int:
    """What one address may have of some places: a quarter is kept for others."""
    return of - of // 4


class Gate:
    """Lets `width` in at a time, and `queue` more wait, of one address three quarters of either. The next is of the
    address that has the fewest inside. shared: False: one address may have all."""

    def __init__(self, width: int, queue: int, shared: bool = True) -> None:
        self._width, self._queue = width, queue
        self._places, self._turns_of_one = (_share(width), _share(queue)) if shared else (width, queue)
        self._of: Counter[str] = Counter()
        self._turns: list[tuple[str, asyncio.Future[None]]] = []
        self.inside = 0

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._turns)

    async def enter(self, address: str = "", timeout: float | None = None) -> None:
        """Raises HttpError (503) where too many wait, or no place became free in time."""
        if self._may(address):
            self._take(address)
            return
        own = sum(other == address for other, _ in self._turns)
        if len(self._turns) >= self._queue or own >= self._turns_of_one:
            raise busy()
        await self._wait(address, timeout)

    def leave(self, address: str = "") -> None:
        """Give the place to the next."""
        self.inside -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]
        fitting = [turn for turn in self._turns if self._may(turn[0])]
        if fitting:
            turn = min(fitting, key=lambda turn: self._of[turn[0]])
            self._turns.remove(turn)
            self._take(turn[0])
            turn[1].set_result(None)

    def _may(self, address: str) -> bool:
        return self.inside < self._width and self._of[address] < self._places

    def _take(self, address: str) -> None:
        self.inside += 1
        self._of[address] += 1

    async def _wait(self, address: str, timeout: float | None) -> None:
        turn = (address, asyncio.get_running_loop().create_future())
        self._turns.append(turn)
        try:
            await asyncio.wait({turn[1]}, timeout=timeout)
        except asyncio.CancelledError:
            if turn[1].done():
                self.leave(address)
            raise
        finally:
            if turn in self._turns:
                self._turns.remove(turn)
        if not turn[1].done():
            raise HttpError(503, "the server was busy for too long; try again", {"Retry-After": "5"})
