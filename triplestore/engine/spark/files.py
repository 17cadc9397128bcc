"""Reading and writing files by Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence

from triplestore.engine.protocol import Columns, OverLines, StoredFile, WrittenFile
from triplestore.engine.spark.input import cut_lines, lines
from triplestore.engine.spark.output import Sorting, write
from triplestore.engine.spark.session import is_local
from triplestore.engine.spark.tables import Part, Table, nullable
from triplestore.engine.spark.workbench import SparkWorkbench
from triplestore.engine.sql import Statement
from triplestore.model.errors import EngineError


class SparkFiles(SparkWorkbench):
    """`Workbench` and `Files` in a Spark session."""

    @property
    def elsewhere(self) -> bool:
        return not is_local(self.spark.sparkContext.master)

    def attach(self, name: str, files: Sequence[StoredFile], columns: Columns) -> None:
        from pyspark.sql.types import StructType

        schema = StructType.fromDDL(", ".join(f"`{column}` {kind}" for column, kind in columns))
        table = Table(schema, tuple(Part(file.path, file.written.rows, file.written) for file in files))
        with self._jobs.running(f"(attach of {name})"):
            for file in files:
                if (local := self._files.local(file.path)) is None:
                    self._tables.unread(table)
                    break
                if not os.path.exists(local):
                    raise EngineError(f"there is no file {local}", f"(attach of {name})")
            self._put(name, table)

    def keep_footers(self) -> None:
        pass

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
            if (shared := self._shared(sql)) is not None:
                return write(self._tables, self._files, shared, folder, sorting) if self._tables.rows(shared) else []
            if (table := self._driver.evaluated(sql)) is None:
                frame = self._select(text)
                table = Table(nullable(frame.schema), self._evaluated(frame, text))
            try:
                return write(self._tables, self._files, table, folder, sorting) if table.parts else []
            finally:
                for part in table.parts:
                    self._files.delete(part.path)
