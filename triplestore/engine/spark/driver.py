"""Statements over few rows, run by DuckDB in the driver.

A job of Spark takes a tenth of a second before its first row, most statements of a small store or a small change have
nothing to do for longer than a few milliseconds, and there are hundreds of them. So a statement whose tables have few
rows, in files that the driver can read, is run there, over the same parts, and its rows are a part like any other. On
one machine (`local[..]`) it is whatever the number of its rows, as memory allows.

The SQL is the same wherever `SparkDialect` has no say in it; what it writes its own way is marked (`dialect.OWN`), and
is Spark's to run, as is whatever DuckDB cannot bind or has no memory for.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from triplestore.engine.dialect import OWN, string
from triplestore.engine.duckdb.engine import DuckDBEngine
from triplestore.engine.duckdb.workbench import parquet
from triplestore.engine.spark.filesystem import FileSystem
from triplestore.engine.spark.functions import SparkFunctions
from triplestore.engine.spark.tables import Part, Table, Tables
from triplestore.engine.sql import Spelled, Statement
from triplestore.engine.thresholds import THRESHOLDS
from triplestore.model.errors import EngineError, MemoryLimitError
from triplestore.model.thresholds import SIZES

log = logging.getLogger(__name__)

_TYPES: Final = {
    "bigint": "BIGINT",
    "int": "INTEGER",
    "string": "VARCHAR",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "decimal(38,18)": "DECIMAL(38,18)",
    "array<bigint>": "BIGINT[]",
}
"""Spark's types -> DuckDB's. Statements and tables with any other are Spark's."""

_BACK: Final = {duckdb: spark for spark, duckdb in _TYPES.items()}


class Driver:
    """A DuckDB engine over the tables and views of a Spark engine, started when it is needed. memory: its bytes; local:
    driver and executors are one machine."""

    def __init__(self, tables: Tables, files: FileSystem, functions: SparkFunctions, memory: int, local: bool) -> None:
        self._tables, self._files, self._functions = tables, files, functions
        self._memory, self._local = memory, local
        self._engine: DuckDBEngine | None = None
        self._shown: dict[str, Table | str] = {}

    def query(self, statement: Statement) -> pa.Table | None:
        """The rows of a statement, None where it is Spark's."""
        sql = self._text(statement)
        if self._types(sql) is None or self._engine is None:
            return None
        try:
            return self._engine.query(sql)
        except MemoryLimitError as error:
            return self._left(sql, error)

    def evaluated(self, statement: Statement, like: Table | None = None) -> Table | None:
        """The rows of a statement as a table of one part (or none), None where it is Spark's.

        like: a table whose columns and types the rows get, by place."""
        sql = self._text(statement)
        if like is not None:
            if not all(field.dataType.simpleString() in _TYPES for field in like.schema):
                return None
            sql = _typed(like, sql)
        types = self._types(sql)
        if types is None or self._engine is None:
            return None
        from pyspark.sql.types import StructType

        if not set(types.values()) <= _BACK.keys():
            return None
        schema = StructType.fromDDL(", ".join(f"`{name}` {_BACK[kind]}" for name, kind in types.items()))
        folder = self._tables.folder()
        Path(str(self._files.local(folder))).mkdir()
        target = string(f"{self._files.local(folder)}/part-0.parquet")
        try:
            form = f"FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {SIZES.rows}"
            ((rows,),) = self._engine.rows(f"COPY ({sql}) TO {target} ({form})")
        except MemoryLimitError as error:
            self._files.delete(folder)
            return self._left(sql, error)
        except BaseException:
            self._files.delete(folder)
            raise
        if not rows:
            self._files.delete(folder)
        return Table(schema, (Part(folder, int(rows)),) if rows else ())

    def interrupt(self) -> None:
        """From another thread: stop the statement that runs."""
        if self._engine is not None:
            self._engine.interrupt()

    def share(self) -> float | None:
        """From another thread: how much of the statement that runs here is done; None where none runs."""
        return None if self._engine is None else self._engine.share()

    def close(self) -> None:
        """Let the engine go."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
            self._shown.clear()

    def _types(self, sql: str) -> dict[str, str] | None:
        """The columns of a statement and their types, None where it is Spark's."""
        if OWN in sql:
            return None
        tables, views = self._tables.named(sql)
        if any(OWN in view for view in views.values()) or not all(map(self._here, tables.values())):
            return None
        few = sum(map(self._tables.rows, tables.values())) < THRESHOLDS.in_driver or (
            self._local and THRESHOLDS.in_driver > 0
        )
        if not few or self._files.local(self._tables.scratch) is None:
            return None
        if self._engine is None:
            self._engine = DuckDBEngine(f"{self._memory} B", self._files.local(self._tables.scratch))
        try:
            for name, made in self._functions.made.items():
                self._engine.functions.add(name, *made)
            for name, table in tables.items():
                if self._shown.get(name) is not table:
                    self._engine.view(name, self._source(table))
                    self._shown[name] = table
            for name, view in views.items():
                if self._shown.get(name) != view:
                    self._engine.view(name, view)
                    self._shown[name] = view
            described = self._engine.rows(f"DESCRIBE {sql}")
        except EngineError as error:
            log.debug("not for the driver: %s", error)
            return None
        types = {str(row[0]): str(row[1]) for row in described}
        return types if len(types) == len(described) else None

    def _here(self, table: Table) -> bool:
        return all(field.dataType.simpleString() in _TYPES for field in table.schema) and all(
            self._files.local(part.path) is not None for part in table.parts
        )

    def _source(self, table: Table) -> str:
        """The rows of a table, as SQL. Raises AlteredError where an attached file is not what was written."""
        self._tables.compare(table)
        files = [file for part in table.parts if part.rows != 0 for file in self._files.parquet(part.path)]
        if not files:
            kinds: list[Any] = [(field.name, _TYPES[field.dataType.simpleString()]) for field in table.schema]
            nulls = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in kinds)
            return f"SELECT {nulls} WHERE FALSE"
        names = ", ".join(f'"{name}"' for name in table.names)
        return f"SELECT {names} FROM {parquet(files, by_name=len(files) > 1)}"

    @staticmethod
    def _text(statement: Statement) -> str:
        return statement.text(DuckDBEngine.dialect) if isinstance(statement, Spelled) else str(statement)

    @staticmethod
    def _left(sql: str, error: MemoryLimitError) -> None:
        log.info("Spark runs what the driver has no memory for: %s (%s)", sql, error)


def _typed(table: Table, sql: str) -> str:
    """A SELECT of a table's columns, by place, in its types."""
    casts = ", ".join(
        f'CAST("{field.name}" AS {_TYPES[field.dataType.simpleString()]}) AS "{field.name}"' for field in table.schema
    )
    names = ", ".join(f'"{name}"' for name in table.names)
    return f"SELECT {casts} FROM ({sql}) AS _rows({names})"
