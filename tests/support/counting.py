"""The rows of a stored table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from triplestore.storage.versions import Versions

if TYPE_CHECKING:
    pass


def stored(path: Path, name: str) -> list[tuple[int, ...]]:
    """The rows of a table of the newest version, from its files."""
    table = Versions(path).read().files_of(name)

    def rows(files: tuple[object, ...]) -> list[tuple[int, ...]]:
        read = (pq.read_table(path / "data" / f.path).to_pylist() for f in files)  # type: ignore[attr-defined]
        return [tuple(row.values()) for part in read for row in part]

    dead = rows(table.tombstones)
    found = [row for row in rows(table.files) if row not in dead]
    assert len(found) == len(set(found)) == table.rows
    return found
