"""The updates of a server's clients: those that wait for the writer are carried out together (group commit)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from triplestore.model.errors import TriplakeError
from triplestore.server.faults import HttpError
from triplestore.server.gate import Gate, busy
from triplestore.store import Store
from triplestore.write.queue import Waiting, each, fitting

Figures = dict[str, Any]
"""What an update did, as its client reads it."""


class Updates:
    """Carries updates out in the writer's thread, when the gate lets it in: all that have come until then.

    queue: how many may wait. together: carries some out, and raises TriplakeError where nothing has been changed."""

    def __init__(
        self,
        gate: Gate,
        queue: int,
        thread: Executor,
        together: Callable[[Sequence[Waiting]], list[Figures | TriplakeError]],
    ) -> None:
        self._gate, self._queue, self._thread, self._together = gate, queue, thread, together
        self._waiting: list[tuple[Waiting, asyncio.Future[Figures]]] = []
        self._work: asyncio.Task[None] | None = None

    async def carry_out(self, update: Waiting) -> Figures:
        """Carry out an update, to its end, even if nobody waits for it any more. Raises its own error, or HttpError
        (503) where too many wait."""
        if len(self._waiting) >= self._queue:
            raise busy()
        done: asyncio.Future[Figures] = asyncio.get_running_loop().create_future()
        done.add_done_callback(lambda found: found.cancelled() or found.exception())  # though nobody may look at it
        self._waiting.append((update, done))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._all())
        return await asyncio.shield(done)

    async def _all(self) -> None:
        """Carry out what waits, until nothing does."""
        while self._waiting:
            try:
                await self._gate.enter()
            except HttpError as error:
                taken, self._waiting = self._waiting, []
                found: Sequence[Figures | BaseException] = [error] * len(taken)
            else:
                many = fitting(update for update, _ in self._waiting)
                taken, self._waiting = self._waiting[:many], self._waiting[many:]
                found = await self._carried_out([update for update, _ in taken])
            for (_, done), outcome in zip(taken, found, strict=True):
                if isinstance(outcome, BaseException):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome)

    async def _carried_out(self, updates: Sequence[Waiting]) -> Sequence[Figures | BaseException]:
        """What becomes of updates."""

        def work() -> Sequence[Figures | Exception]:
            return each(updates, self._together, lambda error: error)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except Exception as error:  # who waits must not wait for ever
            return [error] * len(updates)
        finally:
            self._gate.leave()


def outcomes(store: Store, waiting: Sequence[Waiting], load_folder: str | None) -> list[Figures | TriplakeError]:
    """Carry out updates together: what the log says of the version that they made, and what the report does."""
    found = store.update_together(waiting, load_folder)
    entry = store.log(store.version)[0]
    return [
        outcome if isinstance(outcome, TriplakeError) else {"version": store.version, **entry, **outcome.as_dict()}
        for outcome in found
    ]
