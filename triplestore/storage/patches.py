"""Small changes of a table, from Arrow to files: what they cost follows the change, not the table.

The added rows become one more file, the removed rows one more tombstone file. When files get many, the small ones are
merged, each file being kept that is larger than all smaller ones together: so a row is rewritten a logarithmic number
of times. The invariant of `triplestore.storage.segments` holds: files are disjoint, tombstones a subset of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine import WrittenFile
from triplestore.engine.written import finished
from triplestore.model.tables import Table
from triplestore.storage.manifest import TableFiles, Versions
from triplestore.storage.verify import checked

MANY: Final = 16
"""Files (or tombstone files) beyond which the small ones are merged."""


ROWS: Final = 122_880
"""Rows of a group, each with the least and greatest of its columns: what a scan can skip."""


def small_files(files: Sequence[WrittenFile], rows: int) -> list[WrittenFile]:
    """Of a table's files, those to be merged into the next one, which brings so many rows: none where there are not
    many; else all but those that are larger than all smaller ones together."""
    if len(files) < MANY:
        return []
    falling = sorted(files, key=lambda f: -f.rows)
    smaller = sum(f.rows for f in falling) + rows
    for place, file in enumerate(falling):
        smaller -= file.rows
        if file.rows <= smaller:
            return falling[place:]
    return []


def write_rows(versions: Versions, stem: str, rows: pa.Table) -> tuple[WrittenFile, ...]:
    """Rows as one file whose name starts with `stem`, durable on return; none for no rows."""
    if not rows.num_rows:
        return ()
    path = Path(versions.data, f"{versions.new_stem(stem)}.parquet")
    with open(path, "wb") as file:
        pq.write_table(rows, file, compression="zstd", row_group_size=ROWS, write_page_checksum=True)
    return (finished(path, rows.num_rows),)


def patched(
    versions: Versions, table: Table, before: TableFiles, added: pa.Table, removed: pa.Table, dead: pa.Table | None
) -> TableFiles:
    """The files of a table after a change. added, removed: rows that truly came and went, none in both; added rows that
    are in a tombstone file are not among `added`, but missing in `dead`: the tombstones that are left then (None: those
    that there are)."""
    tombstones = before.tombstones if dead is None else write_rows(versions, "dead", dead)
    return TableFiles(
        _with(versions, table.name, table.order, before.files, added),
        _with(versions, "dead", table.order, tombstones, removed),
    )


def _with(
    versions: Versions, stem: str, order: Sequence[str], files: tuple[WrittenFile, ...], rows: pa.Table
) -> tuple[WrittenFile, ...]:
    """The files with one more for these rows, the small ones being merged into it where there are many."""
    small = small_files(files, rows.num_rows)
    if not small or not rows.num_rows:
        return (*files, *write_rows(versions, stem, rows))
    # Writers differ in whether a column may hold nulls; none does.
    read = [checked(versions, f).cast(rows.schema) for f in small]
    merged = pa.concat_tables([*read, rows]).sort_by([(column, "ascending") for column in order])
    return (*(f for f in files if f not in small), *write_rows(versions, stem, merged))
