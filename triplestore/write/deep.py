"""Whether a version is what a store must be, beyond its checksums: its layout, and its closure, computed again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from triplestore.dictionary import encoding
from triplestore.engine import Engine, temporary
from triplestore.engine.sql import count, minus
from triplestore.model.dataset import UNNAMED
from triplestore.model.tables import ASSERTED, FACT, QUAD, SAME_AS, TERM, VIOLATION, Table, token_sql
from triplestore.model.terms import to_ntriples
from triplestore.read.session import Session
from triplestore.read.version import StoreVersion
from triplestore.storage import segments
from triplestore.storage.verify import to_read
from triplestore.storage.versions import Versions
from triplestore.write import admin

SHOWN: Final = 3
"""Rows that are shown of each fault."""

_IDS: Final = {
    TERM: (),
    ASSERTED: ("s", "p", "o"),
    QUAD: ("g", "s", "p", "o"),
    FACT: ("s", "p", "o"),
    SAME_AS: ("term", "representative"),
    VIOLATION: (),
}
"""The tables that are looked at, and which of their columns are ids of terms."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a table of a version: in how many rows, and the first of these, as text."""

    table: str
    what: str
    rows: int
    shown: tuple[str, ...] = ()


def deep(store: StoreVersion) -> list[Fault]:
    """The faults of the version that a store reads. It is copied to a temporary folder, where its closure is computed
    from scratch: that takes as long as `materialise`, and room for a copy. A closure that is not up to date is not
    compared. Raises DamagedStoreError where a file is not what was written."""
    session = store._session
    engine, manifest = session.engine, session.manifest
    found = [fault for table in _IDS for fault in _layout(session, table)]
    if found or not manifest.materialised:  # what would be computed tells nothing, or there is nothing to compare with
        return found
    with temporary.folder("verify") as folder:
        admin.copy(session, Path(folder, "copy"))
        versions = Versions(Path(folder, "copy"))
        copied = Session(versions, engine, versions.read(), pinned=False)
        copied.notify = session.notify
        copied.workspace.limits = session.workspace.limits
        try:
            admin.materialise(copied, None)
            copied.workspace.views(FACT, SAME_AS, VIOLATION, TERM)
            for table in (FACT, SAME_AS, VIOLATION):
                segments.attach(engine, session.versions, manifest, table, f"kept_{table.name}")
                for what, one, other in (
                    ("that should not be there", f"kept_{table.name}", table.name),
                    ("missing", table.name, f"kept_{table.name}"),
                ):
                    found += _rows(engine, table, f"closure: rows {what}", minus(one, other, table.names))
                engine.drop(f"kept_{table.name}", f"kept_{table.name}_added", f"kept_{table.name}_dead")
        finally:
            copied.reading.end()
            copied.workspace.forget()
            session.workspace.forget()
    return found


def _layout(session: Session, table: Table) -> Iterator[Fault]:
    """Faults of a table by itself: rows twice, deletions of rows that are not there, ids of no term, other rows in the
    second order than in the first."""
    engine, stored = session.engine, session.manifest.files_of(table.name)
    session.workspace.views(table, TERM)
    rows = count(engine, table.name)
    if rows != stored.rows:
        yield Fault(table.name, f"{rows:,} rows where the version says {stored.rows:,}", abs(rows - stored.rows))
    for what, keys in (("rows", "id"), ("terms", token_sql())) if table is TERM else (("rows", table.select),):
        twice = f"SELECT {keys} FROM {table.name} t GROUP BY {keys} HAVING count(*) > 1"
        if many := count(engine, f"({twice}) d"):
            yield Fault(table.name, f"{what} that are there twice", many)
    for column in _IDS[table]:
        unknown = f"SELECT {column} FROM {table.name} t WHERE NOT EXISTS (SELECT 1 FROM term d WHERE d.id = t.{column})"
        if column == "g":
            unknown += f" AND g <> {UNNAMED}"
        if many := count(engine, f"({unknown}) t"):
            first = engine.rows(f"SELECT DISTINCT {column} FROM ({unknown}) t ORDER BY 1 LIMIT {SHOWN}")
            yield Fault(table.name, f"ids in {column} that no term has", many, tuple(str(i) for (i,) in first))
    yield from _turned(session, table)


def _turned(session: Session, table: Table) -> Iterator[Fault]:
    """Faults of the files in a table's second order, by the first file of each."""
    engine, place = session.engine, session.versions.place
    for file in session.manifest.files_of(table.name).files:
        if (other := file.turned) is None:
            continue
        with engine.scratch() as scratch:
            first, second = scratch.table("first_order"), scratch.table("second_order")
            engine.attach(first, to_read(place, engine, [file]), table.columns)
            engine.attach(second, to_read(place, engine, [other]), table.columns)
            missing, more = minus(first, second, table.names), minus(second, first, table.names)
            yield from _rows(engine, table, f"closure: rows of {file.path} missing in {other.path}", missing)
            yield from _rows(engine, table, f"closure: rows of {other.path} that are not in {file.path}", more)


def _rows(engine: Engine, table: Table, what: str, sql: str) -> Iterator[Fault]:
    """A fault of the rows of a SELECT, if there are any."""
    if not (many := count(engine, f"({sql}) t")):
        return
    first = engine.rows(f"SELECT * FROM ({sql}) t ORDER BY {', '.join(table.names)} LIMIT {SHOWN}")
    flat = [[c for cell in row for c in (cell if isinstance(cell, list) else [cell])] for row in first]
    tokens = encoding.decode(engine, {cell for row in flat for cell in row if isinstance(cell, int)})
    shown = (" ".join(to_ntriples(tokens[cell]) if cell in tokens else str(cell) for cell in row) for row in flat)
    yield Fault(table.name, what, many, tuple(shown))
