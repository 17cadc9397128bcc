"""Who is at work in a store: small files that say which process holds them, renewed while it does.

A lease is proof of life, which the age of a file is not: a load may take hours, a clock may jump. Of a process of this
machine it is known whether it runs; of any other, its lease is taken for dead when it has not been renewed for
`SILENCE` seconds by the clock of the place.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from errno import EACCES, ENOENT, ENOTDIR, EPERM, EROFS
from typing import Final

from triplestore.model import processes
from triplestore.model.errors import TriplakeError
from triplestore.model.processes import Process
from triplestore.storage.place import VERSIONS, Place

RENEWAL: Final = 30.0
"""Seconds between two renewals."""

SILENCE: Final = 600.0
"""Seconds without renewal after which a lease of another machine is dead."""

PREFIX: Final = ".lease-"
"""Of the leases of writers."""

READER: Final = ".reader-"
"""Of the leases of readers."""


@dataclass(frozen=True, slots=True)
class Holder(Process):
    """A process at work in a store. version: of the store, on which it works; mark: tells its leases apart."""

    version: int = 0
    mark: str = ""


_LEFT: Final = set[str]()
"""The marks of the leases that this process no longer needs, but could not remove."""


class Lease:
    """A lease that this process holds, until `end`."""

    def __init__(self, place: Place, name: str, text: str) -> None:
        self._place, self._name, self._text = place, name, text
        self.mark = json.loads(text)["mark"]
        self._over = False
        self._renewing = threading.Lock()  # what is renewed must not be there again after its end
        # A place that does not answer must not keep the leases of others waiting.
        self._renewer = _RENEWERS.setdefault(place.at("") if place.remote else "", _Renewer())
        self._renewer.add(self)

    def renew(self) -> None:
        """Show that this process is alive."""
        with suppress(OSError, TriplakeError), self._renewing:
            if not self._over:
                self._place.renew(self._name, self._text)

    def say(self, text: str) -> None:
        """Let it say something else."""
        with self._renewing:
            self._place.revise(self._name, text)
            self._text = text

    def end(self) -> None:
        """Give it up."""
        self._renewer.remove(self)
        self._over = True
        try:
            with self._renewing:
                self._place.remove(self._name)
        except (OSError, TriplakeError):
            _LEFT.add(self.mark)


class _Renewer:
    """Renews leases of this process in one thread, which ends when there are none for a while: a thread for each would
    cost every update its start."""

    def __init__(self) -> None:
        self._leases: dict[Lease, None] = {}
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, lease: Lease) -> None:
        """Renew a lease from now on."""
        self._leases[lease] = None
        with self._starting:
            if self._thread is None or not self._thread.is_alive():  # a forked process has none
                self._thread = threading.Thread(target=self._work, name="leases", daemon=True)
                self._thread.start()

    def remove(self, lease: Lease) -> None:
        """Renew it no longer."""
        self._leases.pop(lease, None)

    def _work(self) -> None:
        while True:
            time.sleep(RENEWAL)
            for lease in list(self._leases):
                lease.renew()
            with self._starting:
                if not self._leases:
                    self._thread = None
                    return


_RENEWERS: Final = dict[str, _Renewer]()
"""One for all folders, and one for each other place by its URL."""


def take(place: Place, name: str, version: int = 0) -> Lease | None:
    """The lease of this name, if no living process has it; None if one has. Raises FileNotFoundError without its
    folder."""
    held = holder_now(version)
    text = written(held)
    for _ in range(3):
        try:
            place.claim(name, text)
        except FileExistsError:
            with suppress(FileNotFoundError):
                found = place.read(name)
                if found == text:  # the answer to a first try was lost
                    return Lease(place, name, text)
                if living(place, name, place.now()):
                    return None
                place.bury(name, found)
        except TriplakeError:  # it may have been made nevertheless
            _LEFT.add(held.mark)
            with suppress(OSError, TriplakeError):
                place.bury(name, text)
            raise
        else:
            return Lease(place, name, text)
    return None


@contextmanager
def held(place: Place, version: int) -> Iterator[None]:
    """Hold a writer's lease, beside others. Where nothing can be written, or the store is gone, there is none, and
    nothing that would need one can be done."""
    try:
        lease = take(place, f"{VERSIONS}/{PREFIX}{uuid.uuid4().hex}", version)
    except OSError as error:
        if error.errno not in (EACCES, ENOENT, ENOTDIR, EPERM, EROFS):
            raise
        lease = None
    try:
        yield
    finally:
        if lease is not None:
            lease.end()


class Reading:
    """The lease of a reader, for the version that it reads (0: none yet). Where nothing can be written, there is none:
    then only the rule of what is kept protects the version."""

    def __init__(self, place: Place) -> None:
        self._place, self._name = place, f"{VERSIONS}/{READER}{uuid.uuid4().hex}"
        self._lease: Lease | None = None
        self._version = 0

    def at(self, version: int) -> None:
        """Read this version from now on."""
        if version == self._version:
            return
        with suppress(OSError):
            if self._lease is None:
                self._lease = take(self._place, self._name, version)
            else:
                self._lease.say(written(holder_now(version)))
            self._version = version

    def end(self) -> None:
        """Read no more."""
        if self._lease is not None:
            self._lease.end()
            self._lease, self._version = None, 0


def holder_now(version: int = 0) -> Holder:
    """This process."""
    this = processes.this()
    return Holder(this.host, this.pid, this.born, version, uuid.uuid4().hex)


def written(held: Holder) -> str:
    """What a lease says."""
    return json.dumps(asdict(held))


def holder(place: Place, name: str) -> Holder | None:
    """Who holds a lease; None where it is gone, or cannot be read."""
    try:
        return parsed(place.read(name))
    except OSError:
        return None


def parsed(text: str) -> Holder | None:
    """The holder that a lease names; None where the text is not that of a lease."""
    try:
        return Holder(**json.loads(text))
    except (ValueError, TypeError):
        return None


def living(place: Place, name: str, now: float) -> bool:
    """Whether a lease is held by a process that is alive. now: by the clock of the place."""
    entry = place.entry(name)
    if entry is None:
        return False
    found = holder(place, name)
    if found is not None and found.here:
        return not over(found)
    return now - entry.modified < SILENCE


def over(held: Holder) -> bool:
    """Whether the holder of a lease is known to have ended, or to hold it no longer. Of another machine it is not."""
    return held.here and (held.mark in _LEFT or not held.running())


def writing(place: Place) -> bool:
    """Whether a writer is alive, or may be: where nothing can be written, no clock tells how old a lease is."""
    found = [f"{VERSIONS}/{name}" for name in place.names(VERSIONS) if name.startswith(PREFIX)]
    try:
        now = place.now() if found else 0.0
    except (OSError, TriplakeError):
        return True
    return any(living(place, name, now) for name in found)
