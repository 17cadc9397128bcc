"""Numbering the rows of a large table in order, without sorting them all in one task, as an unpartitioned window does.

The rows are sorted by ranges, one range a task; each task marks its rows with its own number and theirs in it. The
rows of the ranges are counted then, and the places of a range begin where those before it end.
"""

from __future__ import annotations

from typing import Final

from triplestore.engine.arrow import as_numpy
from triplestore.engine.protocol import Workbench
from triplestore.engine.spark.tables import Tables

_RANGE_BITS: Final = 33
"""Spark's monotonically_increasing_id: the number of the task above so many bits, that of the row in it below."""


def number_by_ranges(bench: Workbench, tables: Tables, name: str, sql: str, by: str, select: str) -> int:
    """See `Workbench.number`."""
    from pyspark.sql.functions import expr, monotonically_increasing_id

    with bench.scratch() as scratch:
        frame, view = tables.select(sql), scratch.table("_sorted")
        columns = frame.columns
        frame.orderBy(expr(by)).withColumn("_mark", monotonically_increasing_id()).createOrReplaceTempView(view)
        marked = scratch.create("_marked", f"SELECT * FROM {view}")
        counted = bench.query(
            f"SELECT shiftright(_mark, {_RANGE_BITS}) AS part, count(*) AS n FROM {marked} GROUP BY 1 ORDER BY 1"
        )
        sizes = as_numpy(counted["n"])
        starts = sizes.cumsum() - sizes
        shifts = [
            f"{part}L, {start - (part << _RANGE_BITS) + 1}L"
            for part, start in zip(counted["part"].to_pylist(), starts.tolist(), strict=True)
        ]
        place = f"_mark + element_at(map({', '.join(shifts)}), shiftright(_mark, {_RANGE_BITS}))" if shifts else "_mark"
        numbered = f"SELECT {', '.join(columns)}, {place} AS n FROM {marked}"
        return bench.create(name, f"SELECT {select} FROM ({numbered}) numbered")
