"""Making tables and views by Spark.

Every working table is a list of folders of Parquet files in the scratch folder, written when the statement is given
and read back with a known schema. That cuts the lineage (planning time grows exponentially with it), survives the loss
of an executor, and needs no job to learn a schema or a number of rows: rows are counted from the files' footers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from triplestore.engine.disk import naming
from triplestore.engine.spark.components import SparkComponents
from triplestore.engine.spark.jobs import Jobs
from triplestore.engine.spark.number import number_by_ranges
from triplestore.engine.spark.queries import SparkQueries
from triplestore.engine.spark.tables import Part, Table, nullable
from triplestore.engine.sql import Scratch, Select, Statement, places
from triplestore.engine.thresholds import THRESHOLDS
from triplestore.model.thresholds import SIZES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SELECT: Final = "_select"
"""The column that says which SELECT of an `append` gave a row."""


class SparkWorkbench(SparkQueries):
    """`Workbench` in a Spark session."""

    joint: Final = True

    def __init__(self, spark: SparkSession, jobs: Jobs, scratch: str | None) -> None:
        super().__init__(spark, jobs, scratch)

    @property
    def components(self) -> SparkComponents:
        return SparkComponents(self, self._tables, self._jobs, self.folder)

    def scratch(self) -> Scratch:
        return Scratch(self)

    def load(self, name: str, table: pa.Table) -> int:
        from pyspark.sql.pandas.types import from_arrow_schema

        with self._jobs.running(f"(load of {name})"):
            schema = nullable(from_arrow_schema(table.schema))
            folder = self._tables.folder()
            if table.num_rows == 0:
                self._put(name, Table(schema, ()))
                return 0
            if self._files.local(folder):
                Path(folder).mkdir()  # not LZ4: Parquet for Java fails on pages that PyArrow 26 writes
                with naming(folder):
                    pq.write_table(table, f"{folder}/part-0.parquet", compression="snappy")
            else:
                self.spark.createDataFrame(table).write.parquet(folder)
            self._put(name, Table(schema, (Part(folder, table.num_rows),)))
        return int(table.num_rows)

    def create(self, name: str, sql: Statement) -> int:
        text = str(sql)
        with self._jobs.running(text):
            table = self._shared(sql)
            if table is None:
                table = self._driver.evaluated(sql)
            if table is None:
                frame = self._select(text)
                table = Table(nullable(frame.schema), self._evaluated(frame, text))
            self._put(name, table)
            return self._tables.rows(table)

    def number(self, name: str, sql: str, by: str, most: int, select: str = "*") -> int:
        placed = places(sql, by, select)
        if most <= SIZES.one_thread:
            return self.create(name, placed)
        with self._jobs.running(sql):
            table = self._driver.evaluated(placed) if most <= THRESHOLDS.in_driver else None
            if table is None:
                return number_by_ranges(self, self._tables, name, sql, by, select)
            self._put(name, table)
            return self._tables.rows(table)

    def append(self, name: str, selects: Sequence[Statement]) -> list[int]:
        table = self._tables.get(name)
        counts: list[int] = [0] * len(selects)
        parts: tuple[Part, ...] = ()
        jobs: dict[int, str] = {}
        with self._jobs.running("; ".join(map(str, selects))):
            for number, select in enumerate(selects):
                shared = self._shared(select)
                if shared is not None and shared.schema == table.schema:
                    counts[number], parts = self._tables.rows(shared), parts + shared.parts
                elif (made := self._driver.evaluated(select, table)) is not None:
                    counts[number], parts = self._tables.rows(made), parts + made.parts
                else:
                    jobs[number] = str(select)
        sql = _marked(table, jobs)
        with self._jobs.running(sql):
            if jobs:
                most_files = 2 * int(self.spark.sparkContext.defaultParallelism)
                found = self._evaluated(self._select(sql).coalesce(most_files), sql)
                parts += found
                for part in found:
                    for number, rows in self._counts(part.path).items():
                        counts[number] = rows
            if parts:
                self._put(name, Table(table.schema, table.parts + parts))
        return counts

    def remove(self, name: str, sql: str) -> int:
        table = self._tables.get(name)
        same = " AND ".join(f'_kept."{field}" = _gone."{field}"' for field in table.names)
        kept = f"SELECT _kept.* FROM {name} _kept WHERE NOT EXISTS (SELECT 1 FROM ({sql}) _gone WHERE {same})"
        return self._tables.rows(table) - self.create(name, kept)

    def keep(self, name: str, condition: str) -> int:
        rows = self._tables.rows(self._tables.get(name))
        return rows - self.create(name, f"SELECT * FROM {name} WHERE {condition}")

    def settle(self) -> None:
        pass

    def view(self, name: str, sql: str) -> None:
        self._tables.view(name, sql)

    def drop(self, *names: str) -> None:
        for name in names:
            self._tables.forget(name)

    def close(self) -> None:
        """Drop all that was made, and delete the scratch folder."""
        self._driver.close()
        self.drop(*self._tables)
        self._files.delete(self.folder)

    def _put(self, name: str, table: Table) -> None:
        self._tables.put(name, table)

    def _show(self, name: str, frame: DataFrame) -> None:
        """Make `name` a view of a data frame."""
        self._tables.show(name, frame)

    def _shared(self, sql: Statement) -> Table | None:
        """The table that a statement yields, where it is no more than columns of a table that exists: parts are shared,
        and no job is needed."""
        table = self._tables.find(sql.table) if isinstance(sql, Select) else None
        if table is None or not isinstance(sql, Select):
            return None
        fields = {field.name.lower(): field for field in table.schema}
        if not {name.lower() for name in sql.columns} <= fields.keys():
            return None  # Spark says what is wrong
        chosen = nullable([fields[name.lower()] for name in sql.columns])
        return Table(chosen, table.parts)

    def _counts(self, folder: str) -> dict[int, int]:
        """Rows of a folder by the SELECT that gave them."""
        if self._files.local(folder):
            files = self._files.parquet(folder)
            column = pa.concat_tables(pq.read_table(file, columns=[_SELECT]) for file in files)[_SELECT]
            return {int(tally["values"]): int(tally["counts"]) for tally in pc.value_counts(column).to_pylist()}
        return dict(self.spark.read.parquet(folder).groupBy(_SELECT).count().collect())


def _marked(table: Table, selects: dict[int, str]) -> str:
    """The rows of several SELECTs in the columns of a table, each with the number of its SELECT."""
    names = ", ".join(f"`{field.name}`" for field in table.schema)
    casts = ", ".join(f"CAST(`{f.name}` AS {f.dataType.simpleString()}) AS `{f.name}`" for f in table.schema)
    return " UNION ALL ".join(
        f"SELECT {casts}, {number} AS {_SELECT} FROM ({select}) AS _rows({names})" for number, select in selects.items()
    )
