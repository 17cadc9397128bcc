"""A table's rows as sorted Parquet files of a store.

DuckDB sorts and writes them in the driver where these files are local and the driver does all work anyway, or the rows
are few: out of core, on all cores, in a fraction of Spark's time. On a cluster, Spark sorts and writes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from triplestore.engine.duckdb.engine import DuckDBEngine
from triplestore.engine.duckdb.workbench import parquet
from triplestore.engine.protocol import TURNED, WrittenFile
from triplestore.engine.spark.filesystem import FileSystem
from triplestore.engine.spark.queries import DRIVER
from triplestore.engine.spark.session import is_local
from triplestore.engine.spark.tables import Table, Tables
from triplestore.engine.thresholds import THRESHOLDS
from triplestore.model.thresholds import SIZES

SIDE: Final = "side"
"""The column, and so the folders, that tell the rows of the two orders apart while they are written."""


@dataclass(frozen=True, slots=True)
class Sorting:
    """How files are written: what their names start with, and what `Files.write` takes."""

    stem: str
    order: Sequence[str]
    turned: Sequence[str]
    group: int


def write(tables: Tables, files: FileSystem, table: Table, folder: str, sorting: Sorting) -> list[WrittenFile]:
    """Write a table, which has rows, to files in `folder`; durable on return."""
    rows, context, target = tables.rows(table), tables.spark.sparkContext, files.local(folder)
    local = all(files.local(part.path) is not None for part in table.parts)
    if target is not None and local and (rows <= SIZES.one_thread or is_local(context.master)):
        tables.compare(table)
        sources = [file for part in table.parts for file in files.parquet(part.path)]
        return _by_duckdb(sources, table.names, target, files.local(tables.scratch), sorting)
    tasks = int(context.defaultParallelism)
    frame, number = tables.frame(table), pieces(rows, tasks)
    order, turned = sorting.order, sorting.turned if rows > sorting.group else ()
    if not order:
        frame = frame.coalesce(number)
    elif turned:
        frame = _both_orders(frame.repartitionByRange(number, *order), order, turned)
    else:
        frame = frame.repartitionByRange(number, *order).sortWithinPartitions(*order)
    draft = f"{folder.rstrip('/')}/_{sorting.stem}.draft"
    writer = frame.write.options(
        **{
            "compression": "zstd",
            "parquet.writer.version": "v2",  # numbers as differences, and texts
            **{f"parquet.enable.dictionary#{name}": "false" for name, kind in frame.dtypes if kind == "bigint"},
            "parquet.block.row.count.limit": str(sorting.group),
            "parquet.page.write-checksum.enabled": "true",
        }
    )
    try:
        if not turned:
            writer.parquet(files.url(draft))
            return files.publish(draft, folder, sorting.stem)
        writer.partitionBy(SIDE).parquet(files.url(draft))
        first, second = (
            files.publish(f"{draft}/{SIDE}={side}", folder, sorting.stem, suffix)
            for side, suffix in enumerate(("", TURNED))
        )
        return [replace(file, turned=other) for file, other in zip(first, second, strict=True)]
    finally:
        files.delete(draft)


def pieces(rows: int, tasks: int) -> int:
    """How many files so many rows are cut into: one a task where they are many, or as many rounds of tasks as make no
    file too large, so that no task is left with a file of its own at the end."""
    if rows <= THRESHOLDS.rows_per_file * tasks:
        return max(-(-rows // THRESHOLDS.rows_per_file), min(tasks, rows // SIZES.one_thread))
    return -(-rows // (THRESHOLDS.rows_per_file * tasks)) * tasks


def _both_orders(frame: DataFrame, order: Sequence[str], turned: Sequence[str]) -> DataFrame:
    """Every row twice within its partition, with the side (0, 1) that it is on: sorted by the side, and in each side by
    its own order. So the partition's two files have the same rows."""
    sides = sql.array(sql.lit(0), sql.lit(1))
    both = frame.select("*", sql.explode(sides).alias(SIDE))
    keys = (sql.when(sql.col(SIDE) == 0, sql.col(a)).otherwise(sql.col(b)) for a, b in zip(order, turned, strict=True))
    return both.sortWithinPartitions(SIDE, *keys)


def _by_duckdb(
    sources: Sequence[str], columns: Sequence[str], folder: str, scratch: str | None, sorting: Sorting
) -> list[WrittenFile]:
    rows = f"SELECT {', '.join(columns)} FROM {parquet(sources, by_name=True)}"
    engine = DuckDBEngine(f"{DRIVER} B", scratch)
    try:
        return engine.write(rows, folder, sorting.stem, sorting.order, sorting.group, sorting.turned)
    finally:
        engine.close()
