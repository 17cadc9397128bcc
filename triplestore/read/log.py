"""The versions of a store that can be read, and what made them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from triplestore.model.errors import DamagedStoreError
from triplestore.model.report import JsonObject, Report, UpdateReport
from triplestore.model.tables import ASSERTED, FACT
from triplestore.read.differences import Difference, difference
from triplestore.read.session import Session
from triplestore.storage.manifest import Manifest
from triplestore.storage.versions import Versions

DAMAGED: Final = "damaged"
"""The operation of a version whose manifest cannot be read."""


@dataclass(frozen=True, slots=True, eq=False)
class LogEntry(Report):
    """A version: when and by which engine it was written, how many asserted and stored facts it has, its bytes, and the
    report of the operation that made it ("damaged": its manifest cannot be read, only the number is known)."""

    version: int
    created: str
    engine: str
    asserted: int
    facts: int
    bytes: int
    last: UpdateReport

    def as_dict(self) -> JsonObject:
        """See `Report`. The keys of `last` are beside the others."""
        found: JsonObject = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "last"}
        return found | ({"operation": DAMAGED} if self.last.operation == DAMAGED else self.last.as_dict())


def log(session: Session, version: int | None) -> list[LogEntry]:
    """See `Store.log`. The version at hand is known, and not read again."""
    if version == session.manifest.version:
        return [_entry(session.manifest)]
    return log_of(session.versions, version)


def log_of(versions: Versions, version: int | None) -> list[LogEntry]:
    """The log of a store that need not be open. A version whose manifest cannot be read is listed as "damaged"."""
    if version is not None:
        return [_entry(versions.read(version))]
    entries = list[LogEntry]()
    for number in versions.numbers() or [versions.read().version]:
        try:
            entries.append(_entry(versions.manifest(number)))
        except FileNotFoundError:  # it has been forgotten since
            continue
        except DamagedStoreError:
            entries.append(LogEntry(number, "", "", 0, 0, 0, UpdateReport(DAMAGED)))
    return entries


def _entry(manifest: Manifest) -> LogEntry:
    return LogEntry(
        manifest.version,
        manifest.created,
        manifest.engine,
        manifest.files_of(ASSERTED.name).rows,
        manifest.files_of(FACT.name).rows,
        manifest.bytes,
        UpdateReport.of(manifest.last),
    )


@contextmanager
def log_facts(session: Session, version: int | None, most: int | None = None) -> Iterator[Difference]:
    """See `Store.log_facts`."""
    with session.turns.turn():
        try:
            number = session.versions.read().version if version is None else version
            with difference(session.engine, session.versions, number, most) as found:
                yield found
        finally:
            session.workspace.forget()
