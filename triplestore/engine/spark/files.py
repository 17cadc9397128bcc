"""Reading and writing files by Spark."""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.engine.protocol import Columns, WrittenFile
from triplestore.engine.spark.input import lines
from triplestore.engine.spark.output import Sorting, write
from triplestore.engine.spark.tables import Part, Table, nullable
from triplestore.engine.spark.workbench import SparkWorkbench


class SparkFiles(SparkWorkbench):
    """`Workbench` and `Files` in a Spark session."""

    def attach(self, name: str, files: Sequence[str], columns: Columns) -> None:
        from pyspark.sql.types import StructType

        schema = StructType.fromDDL(", ".join(f"`{column}` {kind}" for column, kind in columns))
        with self._jobs.running(f"(attach of {name})"):
            self._put(name, Table(schema, tuple(Part(file, None) for file in files)))

    def lines(self, name: str, files: Sequence[str]) -> None:
        with self._jobs.running(f"(lines of {', '.join(files)})"):
            self._show(name, lines(self.spark, self._files, files, self._tables.folder()))

    def write(
        self, sql: str, folder: str, stem: str, order: Sequence[str], group: int, turned: Sequence[str] = ()
    ) -> list[WrittenFile]:
        with self._jobs.running(sql):
            frame = self.spark.sql(sql)
            for source in self._evaluated(frame, sql):
                try:
                    table = Table(nullable(frame.schema), (source,))
                    tasks = int(self.spark.sparkContext.defaultParallelism)
                    return write(self._tables, self._files, table, folder, Sorting(stem, order, turned, group), tasks)
                finally:
                    self._files.delete(source.path)
        return []
