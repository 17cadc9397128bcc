"""Writers of a store take turns, in the order in which they arrived.

The lease of a writer that means to publish is also its ticket: `_versions/.lease-<number>`, where the number is higher
than any other that is there. The writer with the lowest number among the living has the turn; each of the others
watches the one just before it. A writer that dies leaves a ticket that the next one recognises as dead and removes.

Correctness does not rest on this: a version is published by creating its manifest if it is absent, whoever tries. The
queue spares writers the work that a conflict throws away, and makes sure that each of them gets its turn.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from errno import EACCES, ENOENT, ENOTDIR, EPERM, EROFS
from typing import Final

from triplestore.model.errors import StoppedError
from triplestore.model.stopping import check
from triplestore.storage import leases
from triplestore.storage.leases import PREFIX, Holder, Lease
from triplestore.storage.place import VERSIONS, Place

OVERDUE: Final = 90.0
"""Seconds without a renewal (three have been missed) after which others go past a writer, though its process may exist:
one that was suspended must not block the store. It may still publish when it resumes, unless somebody else has done so
first."""

LOOK: Final = 10.0
"""Seconds between two checks of whether the writer in front is overdue."""

SHORTEST: Final = 0.001
LONGEST: Final = 0.03
"""Seconds between two looks at the ticket in front, the first and the last ones."""

REMOTE: Final = 20.0
"""How many times longer those pauses are where each look is a request to another machine."""

TOLD: Final = 1.0
"""Seconds of waiting after which the writer ahead is named."""

_TICKET: Final = re.compile(re.escape(PREFIX) + r"(\d{10})")


class _Thread(threading.local):
    """What one thread holds. marks: of the leases of its tickets."""

    def __init__(self) -> None:
        self.marks: set[str] = set()


_THREAD: Final = _Thread()


class Ticket:
    """A place in the queue of the writers of a store, held from now until `end`.

    version: the version that the writer has read, which `vacuum` keeps for it. Raises OSError where nothing can be
    written, StorageError.
    """

    def __init__(self, place: Place, version: int) -> None:
        self._place = place
        self._number, self._lease, self._found = _drawn(place, version)
        self._passed = set[str]()
        _THREAD.marks.add(self._lease.mark)

    @classmethod
    def drawn(cls, place: Place, version: int) -> Ticket | None:
        """A new ticket; None where nothing can be written, or the store is gone: then nothing can be published
        either."""
        try:
            return cls(place, version)
        except OSError as error:
            if error.errno not in (EACCES, ENOENT, ENOTDIR, EPERM, EROFS):
                raise
            return None

    def wait(self, notify: Callable[[str], None]) -> None:
        """Return once it is this writer's turn. notify: told whom it waits for, if that takes a while. Raises
        StoppedError where the time limit of this thread is over, StorageError."""
        since, told = time.monotonic(), False
        while (ahead := self._ahead()) is not None:
            name, text, holder = ahead
            pause, looked = SHORTEST, time.monotonic()
            while self._place.entry(name) is not None and not _dead(holder):
                _check(holder)
                now = time.monotonic()
                if now - looked > LOOK:
                    looked = now
                    if self._overdue(name):
                        self._passed.add(text)
                        break
                if not told and now - since > TOLD:
                    told = True
                    notify(f"waiting for {_described(holder)}, which is writing to the store")
                time.sleep(pause * (REMOTE if self._place.remote else 1.0))
                pause = min(pause * 1.2, LONGEST)

    def end(self) -> None:
        """Give the turn, or the place in the queue, to the next writer."""
        _THREAD.marks.discard(self._lease.mark)
        self._lease.end()

    def _ahead(self) -> tuple[str, str, Holder | None] | None:
        """The living writer just before this one: its ticket's name, what that says, and who it is. Tickets of the dead
        are removed on the way. A transaction that this very thread has begun is not waited for: it cannot end
        first."""
        while True:
            found, self._found = self._found or set(_tickets(self._place)), set()
            complete = True  # of a number that is gone by now, the next one may be there now
            for number in sorted((n for n in found if n < self._number), reverse=True):
                name = _name(number)
                try:
                    text = self._place.read(name)
                except FileNotFoundError:
                    complete = False
                    continue
                holder = leases.parsed(text)
                if _dead(holder):
                    self._place.bury(name, text)
                    complete = False
                elif text not in self._passed and not _own(holder) and not self._seems_overdue(name, text):
                    return name, text, holder
            if complete:
                return None

    def _seems_overdue(self, name: str, text: str) -> bool:
        """Whether a ticket is overdue by this machine's clock, and by that of the place, which is asked only then."""
        entry = self._place.entry(name)
        if entry is not None and time.time() - entry.modified > OVERDUE and self._overdue(name):
            self._passed.add(text)
            return True
        return False

    def _overdue(self, name: str) -> bool:
        entry = self._place.entry(name)
        return entry is not None and self._place.now() - entry.modified > OVERDUE


def _drawn(place: Place, version: int) -> tuple[int, Lease, set[int]]:
    """The number of a new ticket, its lease, and the numbers of all tickets that are there now.

    Between looking for the highest number and taking the next, all writers may have left, and others may have started
    again with lower numbers. So a ticket counts only if none is higher once it is taken, or if the ticket before it is
    still there, which rules that out. (It must be the same one: its number may have been taken again.)
    """
    while True:
        before = _tickets(place)
        last = max(before, default=0)
        lease = leases.take(place, _name(last + 1), version)
        if lease is None:  # another writer has just taken this number
            check()
            continue
        try:
            found = _tickets(place)
        except BaseException:
            lease.end()
            raise
        if (last and found.get(last) == before[last]) or max(found, default=0) <= last + 1:
            return last + 1, lease, set(found)
        lease.end()


def _tickets(place: Place) -> dict[int, float]:
    """The numbers of all tickets, each with the time when it was made or renewed."""
    listed = place.listed(VERSIONS, PREFIX)
    return {int(found[1]): entry.modified for entry in listed if (found := _TICKET.fullmatch(entry.name))}


def _name(number: int) -> str:
    return f"{VERSIONS}/{PREFIX}{number:010d}"


def _check(holder: Holder | None) -> None:
    """`stopping.check`, with what it was waiting for."""
    try:
        check()
    except StoppedError as error:
        raise StoppedError(
            f"{error} (it was waiting for {_described(holder)}, which is writing to the store)"
        ) from None


def _dead(holder: Holder | None) -> bool:
    """Whether the process of a ticket is known to have ended. Of another machine that is not known; its ticket is
    overdue after a while."""
    return holder is not None and leases.over(holder)


def _own(holder: Holder | None) -> bool:
    """Whether this very thread holds a ticket."""
    return holder is not None and holder.pid == os.getpid() and holder.mark in _THREAD.marks


def _described(holder: Holder | None) -> str:
    if holder is None:
        return "another process"
    if holder.here:
        return f"process {holder.pid}"
    return f"process {holder.pid} on {holder.host.partition(' ')[0] or 'another machine'}"
