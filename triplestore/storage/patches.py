"""How the files of a table follow a change: what it costs follows the change, not the table.

The added rows become one more file, the removed rows one more tombstone file. When files get many, the small ones are
merged, each file being kept that is larger than all smaller ones together: so a row is rewritten a logarithmic number
of times. When tombstones get many, the table is written whole. The invariant of `triplestore.storage.segments` holds:
files are disjoint, tombstones a subset of their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from triplestore.engine import Engine, WrittenFile
from triplestore.engine.sql import Select, Statement, count, unique
from triplestore.engine.written import write_rows
from triplestore.model.tables import Table
from triplestore.model.thresholds import SIZES
from triplestore.storage.manifest import TableFiles
from triplestore.storage.place import to_write
from triplestore.storage.thresholds import THRESHOLDS
from triplestore.storage.verify import checked, to_read
from triplestore.storage.versions import Versions

DEAD: Final = "dead"
"""How the names of tombstone files start."""


class Rows(Protocol):
    """Rows that are to be written, in memory or in a working table."""

    def __len__(self) -> int:
        """How many."""

    def write(
        self, versions: Versions, table: Table, stem: str, merged: Sequence[WrittenFile] = ()
    ) -> tuple[WrittenFile, ...]:
        """Write them, and those of some files, as files whose names start with `stem`, durable on return; none for no
        rows. Raises DamagedStoreError where one of the files is not what was written."""


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """Rows in memory."""

    rows: pa.Table

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def write(
        self, versions: Versions, table: Table, stem: str, merged: Sequence[WrittenFile] = ()
    ) -> tuple[WrittenFile, ...]:
        """See `Rows`."""
        rows = self.rows
        if merged:
            # Writers differ in whether a column may hold nulls; none does.
            read = [checked(versions, file).cast(rows.schema) for file in merged]
            rows = pa.concat_tables([*read, rows]).sort_by([(column, "ascending") for column in table.order])
        if not rows.num_rows:
            return ()
        return (write_rows(rows, versions.data, versions.new_stem(stem), table.page, _turned(table, stem)),)


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a working table. rows: how many there are, where that is known."""

    engine: Engine
    name: str
    rows: int | None = None

    def __len__(self) -> int:
        return count(self.engine, self.name) if self.rows is None else self.rows

    def write(
        self, versions: Versions, table: Table, stem: str, merged: Sequence[WrittenFile] = ()
    ) -> tuple[WrittenFile, ...]:
        """See `Rows`."""
        rows: Statement = Select(self.name, table.names)
        merging = unique(f"merging_{stem}")
        if merged:
            self.engine.attach(merging, to_read(versions.place, self.engine, merged), table.columns)
            rows = f"SELECT {table.select} FROM {merging} UNION ALL {rows}"
        name, turned = versions.new_stem(stem), _turned(table, stem)
        folder = to_write(versions.place, self.engine)
        written = self.engine.write(rows, folder, name, table.order, table.page, turned)
        if merged:
            self.engine.drop(merging)
        return tuple(written)


def _turned(table: Table, stem: str) -> Sequence[str]:
    """The second order of the files of a table; tombstones are looked up by their whole triples."""
    return () if stem == DEAD else table.turned


def small_files(files: Sequence[WrittenFile], rows: int) -> list[WrittenFile]:
    """Of a table's files, those to be merged into the next one, which brings so many rows: none where there are not
    many; else all but those that are larger than all smaller ones together."""
    if len(files) < THRESHOLDS.files:
        return []
    falling = sorted(files, key=lambda f: -f.rows)
    smaller = sum(f.rows for f in falling) + rows
    for place, file in enumerate(falling):
        smaller -= file.rows
        if file.rows <= smaller:
            return falling[place:]
    return []


def whole(versions: Versions, table: Table, rows: Rows) -> TableFiles:
    """The files of a table that holds these rows and no others."""
    return TableFiles(rows.write(versions, table, table.name))


def extended(versions: Versions, table: Table, before: TableFiles, added: Rows) -> TableFiles:
    """The files of a table without tombstones after rows have been added, none of which it held."""
    return TableFiles(_with(versions, table, table.name, before.files, added), before.tombstones)


def patched(
    versions: Versions,
    table: Table,
    before: TableFiles,
    added: Rows,
    removed: Rows,
    left: Rows | None,
    after: Callable[[], Rows],
) -> TableFiles:
    """The files of a table after a change. removed: rows that it held. added: rows that none of its files holds; where
    rows are added that a file holds and a tombstone had removed, `left` are the tombstones without them (None: there
    are no such rows). after: the rows of the table after the change, asked for where it is written whole."""
    dead = sum(f.rows for f in before.tombstones) if left is None else len(left)
    if dead + len(removed) > SIZES.share * (sum(f.rows for f in before.files) + len(added)):
        return whole(versions, table, after())
    tombstones = before.tombstones if left is None else left.write(versions, table, DEAD)
    return TableFiles(
        _with(versions, table, table.name, before.files, added),
        _with(versions, table, DEAD, tombstones, removed),
    )


def _with(
    versions: Versions, table: Table, stem: str, files: tuple[WrittenFile, ...], rows: Rows
) -> tuple[WrittenFile, ...]:
    """The files with one more for these rows, the small ones being merged into it where there are many."""
    if not len(rows):
        return files
    small = small_files(files, len(rows))
    return (*(f for f in files if f not in small), *rows.write(versions, table, stem, small))
