"""Updates that wait for their turn, and are carried out together: one transaction for all that have arrived meanwhile.

What becomes of the store is what it would be if each were carried out alone, in the order in which they were brought:
plain ones are netted (`pending`), and a request with patterns sees what those before it have made. So an addition and a
deletion of one triple that wait together cancel each other before any work is done, and one commit makes all of them
durable.

The queue only batches updates that wait. It cannot add to a transaction that has begun: an update that is submitted
during a long deletion waits until that deletion ends. Fully dynamic maintenance, which takes up new changes between the
rounds of a running one (Illich and Glimm), is not implemented.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from triplake.loaders.patch import Change
from triplestore.model.arguments import check_text
from triplestore.model.dataset import Quad
from triplestore.model.errors import StoppedError, StorageError, TriplakeError, UsageError
from triplestore.model.report import UpdateReport
from triplestore.model.thresholds import SIZES
from triplestore.read.session import Session
from triplestore.write.change import Request
from triplestore.write.transaction import RenumberError, repeated
from triplestore.write.update import sides
from triplestore.write.update_files import apply_all, requested

TRIPLE_BYTES: Final = 50
"""Characters of a request for each triple that it adds or deletes, about."""

WAITING: Final = 10_000
"""Updates that wait in a queue, beyond which whoever brings one more waits himself."""

T = TypeVar("T")

Outcome = UpdateReport | TriplakeError
"""What becomes of an update: the report of the transaction that it was part of, or why it was refused."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An update that waits: quads to add and to delete, or the text of a SPARQL Update request (base, default_graphs,
    named_graphs: see `Store.sparql_update`)."""

    add: Sequence[Quad] = ()
    delete: Sequence[Quad] = ()
    text: str | None = None
    base: str | None = None
    default_graphs: Sequence[str] = ()
    named_graphs: Sequence[str] = ()

    @classmethod
    def of(cls, add: Iterable[Any], delete: Iterable[Any]) -> Waiting:
        """Of rdflib triples or quads; one in both is added."""
        return cls(*sides(add, delete))

    def change(self, session: Session, number: int) -> Change | Request:
        """It as a transaction whose blank nodes have this file number. Raises InputError, UsageError."""
        if self.text is None:
            return Change([(False, self.delete), (True, self.add)])
        graphs = self.default_graphs, self.named_graphs
        return requested(self.text, number, self.base, session.manifest.prefixes, *graphs)

    @property
    def size(self) -> int:
        """Its triples, about."""
        return len(self.add) + len(self.delete) + len(self.text or "") // TRIPLE_BYTES


def carry_out(session: Session, waiting: Sequence[Waiting], load_folder: str | Path | None = None) -> list[Outcome]:
    """Carry out updates together; what becomes of each. One that cannot be read is refused alone; whatever else goes
    wrong is raised, and nothing has been changed. load_folder: see `Store.sparql_update`."""

    def once() -> list[Outcome]:
        session.turn()
        number, changes = session.manifest.counters.files, list[Change | Request]()
        faults = dict[int, TriplakeError]()
        for place, update in enumerate(waiting):
            try:
                changes.append(update.change(session, number + 1))
            except TriplakeError as error:
                faults[place] = error
                continue
            number = max(number, changes[-1].last if isinstance(changes[-1], Request) else 0)
        reports = apply_all(
            session, changes, max(1, len(changes)), number, "auto", False, load_folder, lambda report: None
        )
        return [faults.get(place) or reports[0] for place in range(len(waiting))]

    return repeated(session, once, RenumberError)


def fitting(waiting: Iterable[Waiting]) -> int:
    """How many of the updates that wait one transaction is made of: at least one, if there are any."""
    sizes = list(accumulate(update.size for update in waiting))
    return max(min(1, len(sizes)), sum(size <= SIZES.small for size in sizes))


def each(
    waiting: Sequence[Waiting],
    carry_out: Callable[[Sequence[Waiting]], Sequence[T]],
    refused: Callable[[Exception], T],
) -> list[T]:
    """What becomes of updates that are carried out together or, where that fails, one half after the other, and so on:
    so one that is refused spoils no other. What takes too long is tried alone next, since each may take its time. What
    the disk or the object store refuses, it would refuse each, after a minute perhaps.
    carry_out: raises TriplakeError where nothing has been changed, PublishedError or another one where something may
    be. refused: makes what becomes of one of its error."""
    try:
        return [*carry_out(waiting)]
    except Exception as error:
        if len(waiting) == 1 or isinstance(error, StorageError) or not isinstance(error, TriplakeError):
            return [refused(error) for _ in waiting]
        size = 1 if isinstance(error, StoppedError) else -(-len(waiting) // 2)
    parts = [waiting[start : start + size] for start in range(0, len(waiting), size)]
    return [outcome for part in parts for outcome in each(part, carry_out, refused)]


class UpdateQueue:
    """Carries updates out in a thread of its own, those that wait together; see `Store.updates`. Any thread may bring
    some."""

    def __init__(self, carry_out: Callable[[Sequence[Waiting]], Sequence[Outcome]]) -> None:
        """carry_out: see `each`."""
        self._carry_out = carry_out
        self._waiting: deque[tuple[Waiting, Future[UpdateReport]]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="triplake-updates", daemon=True)
        self._thread.start()

    def __enter__(self) -> UpdateQueue:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def submit(self, add: Iterable[Any] = (), delete: Iterable[Any] = ()) -> Future[UpdateReport]:
        """Let triples be added and deleted, as `Store.update` does. The future has the report of the transaction once
        it is durable, or the error of this update. It may be cancelled until its transaction begins."""
        return self._put(Waiting.of(add, delete))

    def sparql_update(self, text: str, base: str | None = None) -> Future[UpdateReport]:
        """Let a SPARQL 1.1 Update request be carried out, as `Store.sparql_update` does; the future as of `submit`.
        Raises UsageError for what is no text."""
        check_text("an update", text)
        check_text("a base", "" if base is None else base)
        return self._put(Waiting(text=text, base=base))

    def close(self) -> None:
        """Carry out what waits, and take no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _put(self, update: Waiting) -> Future[UpdateReport]:
        future: Future[UpdateReport] = Future()
        own = threading.current_thread() is self._thread  # a callback of a future, whose wait nobody would end
        with self._changed:
            self._changed.wait_for(lambda: own or self._closed or len(self._waiting) < WAITING)
            if self._closed or not self._thread.is_alive():  # a forked process has it without its thread
                raise UsageError("the queue of updates is closed: make another with Store.updates")
            self._waiting.append((update, future))
            self._changed.notify_all()
        return future

    def _work(self) -> None:
        while taken := self._taken():
            try:
                outcomes = each([update for update, _ in taken], self._carry_out, lambda error: error)
            except BaseException as error:  # a fault of ours: who waits must not wait for ever
                for _, future in taken:
                    future.set_exception(error)
                continue
            for (_, future), outcome in zip(taken, outcomes, strict=True):
                if isinstance(outcome, UpdateReport):
                    future.set_result(outcome)
                else:
                    future.set_exception(outcome)

    def _taken(self) -> list[tuple[Waiting, Future[UpdateReport]]]:
        """The updates that are next, once there are some; none when the queue is closed and empty."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._closed or bool(self._waiting))
                many = fitting(update for update, _ in self._waiting)
                taken = [self._waiting.popleft() for _ in range(many)]
                self._changed.notify_all()
                running = [pair for pair in taken if pair[1].set_running_or_notify_cancel()]
                if running or not taken:
                    return running
