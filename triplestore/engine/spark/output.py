"""A table's rows as sorted Parquet files of a store: by the driver where they are few, else by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from triplestore.engine.protocol import WrittenFile
from triplestore.engine.spark.filesystem import FileSystem
from triplestore.engine.spark.tables import Table, Tables
from triplestore.engine.written import ROW_GROUP, finished

SMALL_WRITE: Final = 1_000_000
"""Up to so many rows are sorted in the driver (local files only): a second Spark job would cost more."""

ROWS_PER_FILE: Final = 5_000_000
"""What goes into one file, about."""


def write(
    tables: Tables, files: FileSystem, table: Table, folder: str, stem: str, order: Sequence[str], tasks: int
) -> list[WrittenFile]:
    """Write a table of one part, sorted by the columns of `order`, to files in `folder`; durable on return.

    tasks: how many run at once.
    """
    (part,) = table.parts
    rows, target = tables.rows(table), files.local(folder)
    if rows <= SMALL_WRITE and target is not None and files.local(part.path) is not None:
        return [_by_the_driver(files.parquet(part.path), Path(target), stem, order)]
    frame, number = tables.frame(table), max(-(-rows // ROWS_PER_FILE), min(tasks, rows // SMALL_WRITE))
    if order:
        frame = frame.repartitionByRange(number, *order).sortWithinPartitions(*order)
    else:
        frame = frame.coalesce(number)
    draft = f"{folder.rstrip('/')}/_{stem}.draft"
    layout = {
        "compression": "zstd",
        "parquet.block.row.count.limit": str(ROW_GROUP),
        "parquet.page.write-checksum.enabled": "true",
    }
    try:
        frame.write.options(**layout).parquet(files.url(draft))
        return files.publish(draft, folder, stem)
    finally:
        files.delete(draft)


def _by_the_driver(sources: Sequence[str], folder: Path, stem: str, order: Sequence[str]) -> WrittenFile:
    table = pa.concat_tables(pq.read_table(file) for file in sources)
    if order:
        table = table.take(pc.sort_indices(table, sort_keys=[(column, "ascending") for column in order]))
    path = folder / f"{stem}.parquet"
    with open(path, "xb") as file:
        pq.write_table(
            table, file, compression="zstd", compression_level=1, row_group_size=ROW_GROUP, write_page_checksum=True
        )
    return finished(path, table.num_rows)
