"""Tables, files and functions of a DuckDB database: reading, making and writing them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from triplestore.engine.arrow import of_arity
from triplestore.engine.components import connected_components
from triplestore.engine.dialect import Dialect, string
from triplestore.engine.duckdb.checked import CheckedFiles
from triplestore.engine.duckdb.connection import Connection
from triplestore.engine.protocol import TURNED, Columns, OverLines, PlanStep, StoredFile, WrittenFile
from triplestore.engine.sql import Scratch, Statement, places
from triplestore.engine.verification import AlteredError, compare, is_large
from triplestore.engine.written import finished
from triplestore.model.errors import EngineError


class DuckDBFunctions:
    """The functions of a database, by the connection that owns it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.names: set[str] = set()
        self.ready = False

    def add(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        if name not in self.names:
            kinds: Any = ["VARCHAR"] * arity
            how: Any = {"type": "arrow", "null_handling": "special"}
            self._connection.raw.create_function(name, of_arity(columns, arity), kinds, "VARCHAR", **how)
            self.names.add(name)


class ReadersFunctions:
    """The functions of a database for one of its readers. It calls those that its engine has made; one made by the
    reader would be dropped at the end of its transaction."""

    def __init__(self, made: DuckDBFunctions) -> None:
        self.made = made
        self.ready = made.ready

    def add(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        if name not in self.made.names:
            raise EngineError(f"function {name} is unknown: add it to the engine before its readers begin")


_UNITS: Final = ("bytes", "kib", "mib", "gib", "tib")


class DuckDBQueries:
    """`Queries` over one connection, all but the functions."""

    name: Final = "duckdb"
    resident: Final = True
    dialect: Final = Dialect()

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._memory: int | None = None

    def query(self, sql: Statement) -> pa.Table:
        return self._connection.arrow(str(sql))

    def rows(self, sql: Statement) -> list[tuple[Any, ...]]:
        return self._connection.rows(str(sql))

    def batches(self, sql: Statement) -> Iterator[pa.RecordBatch]:
        return self._connection.stream(str(sql))

    def plan(self, sql: str) -> PlanStep:
        found = json.loads(self.rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")[0][1])["operator"][0]
        while found["type"] in ("RESULT_COLLECTOR", "EXPLAIN_ANALYZE"):
            found = found["children"][0]
        return _step(found)

    def interrupt(self) -> None:
        self._connection.interrupt()

    def share(self) -> float | None:
        return self._connection.share()

    def memory(self) -> int:
        if self._memory is None:
            ((text,),) = self.rows("SELECT current_setting('memory_limit')")  # as in 3.7 GiB
            number, unit = text.split()
            self._memory = int(float(number) * 1024 ** _UNITS.index(unit.lower()))
        return self._memory


def _step(found: dict[str, Any]) -> PlanStep:
    """An operator of DuckDB's profile in JSON."""
    details = dict(found["extra_info"])
    estimated = details.pop("Estimated Cardinality", None)
    listed = (f"{name}: {', '.join(value) if isinstance(value, list) else value}" for name, value in details.items())
    return PlanStep(
        found["type"].replace("_", " ").strip().title(),
        "; ".join(" ".join(text.split()) for text in listed)[:200],
        int(found["intermediate_rows"]),
        None if estimated is None else int(estimated),
        tuple(map(_step, found.get("children", ()))),
    )


class DuckDBWorkbench(DuckDBQueries):
    """`Workbench` over one connection. temporary: its tables are seen by this connection alone.

    views: the names that are views, which DuckDB drops and replaces by other statements than tables.
    """

    joint: Final = False

    def __init__(self, connection: Connection, temporary: bool) -> None:
        super().__init__(connection)
        self._kind, self._schema = ("TEMP ", "temp.") if temporary else ("", "")
        self.views: set[str] = set()

    def scratch(self) -> Scratch:
        return Scratch(self)

    def load(self, name: str, table: pa.Table) -> int:
        with self._connection.registered("_arriving", table):
            return self.create(name, "SELECT * FROM _arriving")

    def create(self, name: str, sql: Statement) -> int:
        if name not in self.views:
            return self._connection.changed(f"CREATE OR REPLACE {self._kind}TABLE {name} AS {sql}")
        rows = self._connection.changed(f"CREATE OR REPLACE {self._kind}TABLE {name}_new AS {sql}")  # may read the view
        self._drop_view(name)
        self._connection.execute(f"ALTER TABLE {self._schema}{name}_new RENAME TO {name}")
        return rows

    def number(self, name: str, sql: str, by: str, most: int, select: str = "*") -> int:
        return self.create(name, places(sql, by, select))

    def append(self, name: str, selects: Sequence[Statement]) -> list[int]:
        return [self._connection.changed(f"INSERT INTO {name} {select}") for select in selects]

    def remove(self, name: str, sql: str) -> int:
        columns = [row[0] for row in self.rows(f"DESCRIBE {name}")]
        same = " AND ".join(f"t.{column} = gone.{column}" for column in columns)
        return self._connection.changed(f"DELETE FROM {name} t USING ({sql}) gone WHERE {same}")

    def keep(self, name: str, condition: str) -> int:
        return self._connection.changed(f"DELETE FROM {name} WHERE NOT coalesce({condition}, FALSE)")

    def settle(self) -> None:
        self._connection.execute("CHECKPOINT")

    def view(self, name: str, sql: str) -> None:
        if name not in self.views:
            self._connection.execute(f"DROP TABLE IF EXISTS {self._schema}{name}")
            self.views.add(name)
        self._connection.execute(f"CREATE OR REPLACE {self._kind}VIEW {name} AS {sql}")

    def drop(self, *names: str) -> None:
        for name in names:
            self._drop_view(name)
            self._connection.execute(f"DROP TABLE IF EXISTS {self._schema}{name}")

    def components(self, sql: str) -> pa.Table:
        return connected_components(self.query(sql))

    def _drop_view(self, name: str) -> None:
        if name in self.views:
            self._connection.execute(f"DROP VIEW IF EXISTS {self._schema}{name}")
            self.views.discard(name)


MAX_LINE: Final = 16 << 20
"""Bytes of the longest line of text that `lines` reads."""


class DuckDBFiles(DuckDBWorkbench):
    """`Workbench` and `Files` over one connection. checked: the large files of its database."""

    checked: CheckedFiles

    @property
    def elsewhere(self) -> bool:
        return False

    def attach(self, name: str, files: Sequence[StoredFile], columns: Columns) -> None:
        if files:
            names = ", ".join(column for column, _ in columns)
            self.view(name, f"SELECT {names} FROM {parquet(list(map(self._readable, files)))}")
        else:
            nulls = ", ".join(f"CAST(NULL AS {self.dialect.type(kind)}) AS {column}" for column, kind in columns)
            self.view(name, f"SELECT {nulls} WHERE FALSE")

    def _readable(self, file: StoredFile) -> str:
        """The path by which DuckDB reads a file: its own, once it was compared with its checksums, or for a large one a
        path by which each block is compared when it is read."""
        if is_large(file.written):
            return self.checked.path(file)
        try:
            compare(file.path, file.written)
        except FileNotFoundError:
            pass  # DuckDB says so
        except AlteredError as error:
            raise EngineError(str(error), f"(attach of {file.path})") from error
        return file.path

    def keep_footers(self) -> None:
        self._connection.execute("SET GLOBAL parquet_metadata_cache = true")

    def lines(self, name: str, files: Sequence[str]) -> None:
        # One column, no quoting, no delimiter (DuckDB takes none for NUL): each line is one value, read in parallel.
        # Strict: a NUL, a stray CR, bytes that are not UTF-8 or a line over the limit are errors, never altered text.
        if not files:
            self.view(name, "SELECT CAST(NULL AS INTEGER) AS file, '' AS line WHERE FALSE")
            return
        listed = ", ".join(map(of_path, files))
        self.view(
            name,
            f"SELECT CAST(file_index AS INTEGER) AS file, coalesce(line, '') AS line FROM read_csv([{listed}], "
            "columns = {'line': 'VARCHAR'}, delim = '', quote = '', escape = '', header = false, auto_detect = false, "
            "null_padding = false, hive_partitioning = false, "
            f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})",
        )

    def cut_lines(
        self, name: str, files: Sequence[str], columns: Sequence[str], sql: OverLines, add: bool = False
    ) -> int:
        with self.scratch() as scratch:
            view = scratch.table("lines")
            self.lines(view, files)
            select = f"SELECT {', '.join(columns)} FROM ({sql(self.dialect, view)}) cut"
            return self.append(name, [select])[0] if add else self.create(name, select)

    def write(
        self, sql: Statement, folder: str, stem: str, order: Sequence[str], group: int, turned: Sequence[str] = ()
    ) -> list[WrittenFile]:
        path = Path(folder, f"{stem}.parquet")
        rows = self._copied(f"({sql})", path, order, group)
        if rows == 0:
            path.unlink()
            return []
        second = None
        if turned and rows > group:
            other = Path(folder, f"{stem}{TURNED}.parquet")
            self._copied(parquet([str(path)]), other, turned, group)
            second = finished(other, rows)
        return [replace(finished(path, rows), turned=second)]

    def _copied(self, source: str, path: Path, order: Sequence[str], group: int) -> int:
        """Write the rows of what stands after FROM; rows."""
        sorting = f" ORDER BY {', '.join(order)}" if order else ""
        return self._connection.changed(
            f"COPY (SELECT * FROM {source} t{sorting}) TO {string(_homeless(str(path)))} "
            f"(FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {group})"
        )


def parquet(files: Sequence[str], by_name: bool = False) -> str:
    """Parquet files as what stands after FROM: these alone, with their own columns, whatever their paths are like.
    by_name: the columns of one may be in another order."""
    listed = ", ".join(map(of_path, files))
    return f"read_parquet([{listed}], union_by_name = {by_name}, hive_partitioning = false)"


def of_path(path: str) -> str:
    """A path to be read as an SQL literal: as a pattern that matches only itself."""
    return string("".join(f"[{character}]" if character in "*?[" else character for character in _homeless(path)))


def _homeless(path: str) -> str:
    """A path that begins with no ~, which DuckDB takes for the user's home folder."""
    return os.path.abspath(path) if path.startswith("~") else path
