"""What an engine does with a file that it has written: has it on disk, and takes its checksum."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine.disk import naming
from triplestore.engine.protocol import TURNED, WrittenFile
from triplestore.engine.verification import Digest, remember
from triplestore.model.thresholds import SIZES

AT_ONCE: Final = 2_048
"""Rows that an engine hands out at a time: those of DuckDB's vectors."""

DIFFERENCES: Final = "DELTA_BINARY_PACKED"
"""The encoding of Parquet for numbers that are sorted, or near their neighbours. Against plain numbers, or a
dictionary of them, the ids of a store take a quarter of the room, and a third of the time to write and to read."""


def gathered(
    batches: Iterable[pa.RecordBatch], most: int = SIZES.rows, size: int = SIZES.batch
) -> Iterator[pa.RecordBatch]:
    """Small batches as larger ones, of so many rows and bytes at most."""
    found: list[pa.RecordBatch] = []
    rows = held = 0
    for batch in batches:
        if found and (rows + batch.num_rows > most or held + batch.nbytes > size):
            yield pa.concat_batches(found)
            found, rows, held = [], 0, 0
        found.append(batch)
        rows, held = rows + batch.num_rows, held + batch.nbytes
    if found:
        yield pa.concat_batches(found)


def finished(path: Path, rows: int, name: str = "") -> WrittenFile:
    """A file that has been written, on disk on return. It is read once for its sum, from the system's cache. name: by
    which it will be known, where it is to be renamed."""
    with naming(path), open(path, "r+b") as file:  # not every platform syncs what is open to be read
        os.fsync(file.fileno())
        stat = os.fstat(file.fileno())
        digest = Digest(stat.st_size)
        while block := file.read(SIZES.block):
            digest.update(block)
        written = WrittenFile(name or path.name, rows, stat.st_size, digest.sha256, blocks=digest.blocks())
    remember(written, stat)
    return written


def write_rows(rows: pa.Table, folder: Path, stem: str, group: int, turned: Sequence[str] = ()) -> WrittenFile:
    """Write rows, as they are ordered, as one file of the name `stem`; see `Files.write` for the others."""
    written = _write(rows, folder / f"{stem}.parquet", group)
    if not turned or rows.num_rows <= group:
        return written
    other = rows.sort_by([(column, "ascending") for column in turned])
    return replace(written, turned=_write(other, folder / f"{stem}{TURNED}.parquet", group))


def _write(rows: pa.Table, path: Path, group: int) -> WrittenFile:
    numbers = {field.name for field in rows.schema if pa.types.is_int64(field.type)}
    with naming(path), open(path, "xb") as file:
        pq.write_table(
            rows,
            file,
            compression="zstd",
            compression_level=1,
            row_group_size=group,
            use_dictionary=[name for name in rows.schema.names if name not in numbers],
            column_encoding=dict.fromkeys(numbers, DIFFERENCES),
            write_page_checksum=True,
        )
    return finished(path, rows.num_rows)


def blocks_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file."""
    with open(path, "rb") as file:
        while block := file.read(SIZES.block):
            yield block


def sum_of(blocks: Iterable[bytes]) -> str:
    """The SHA-256 of bytes, in hexadecimal digits."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()
