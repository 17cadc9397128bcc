"""Reading and writing files by Spark."""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.engine.protocol import Columns, OverLines, WrittenFile
from triplestore.engine.spark.input import cut_lines, lines
from triplestore.engine.spark.output import Sorting, write
from triplestore.engine.spark.tables import Part, Table, nullable
from triplestore.engine.spark.workbench import SparkWorkbench
from triplestore.engine.sql import Statement


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

    def cut_lines(
        self, name: str, files: Sequence[str], columns: Sequence[str], sql: OverLines, add: bool = False
    ) -> int:
        from pyspark.sql.types import StringType, StructField, StructType

        schema = StructType([StructField(column, StringType()) for column in columns])
        with self._jobs.running(f"(lines of {', '.join(files)})"):
            part = cut_lines(self._tables, self._files, files, schema, sql)
            before = self._tables.get(name).parts if add else ()
            self._put(name, Table(schema, (*before, part) if part.rows else before))
        return part.rows or 0

    def write(
        self, sql: Statement, folder: str, stem: str, order: Sequence[str], group: int, turned: Sequence[str] = ()
    ) -> list[WrittenFile]:
        text, sorting = str(sql), Sorting(stem, order, turned, group)
        with self._jobs.running(text):
            table = self._shared(sql)
            if table is not None:
                return write(self._tables, self._files, table, folder, sorting) if self._tables.rows(table) else []
            frame = self.spark.sql(text)
            for source in self._evaluated(frame, text):
                try:
                    table = Table(nullable(frame.schema), (source,))
                    return write(self._tables, self._files, table, folder, sorting)
                finally:
                    self._files.delete(source.path)
        return []
