"""The embedded engine: DuckDB in this process, spilling to disk under its memory limit."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from triplestore.engine import Columns, Reader, WrittenFile, queries
from triplestore.engine.arrow import of_arity
from triplestore.engine.components import connected_components
from triplestore.engine.dialect import Dialect, string
from triplestore.engine.duckdb_errors import failure
from triplestore.engine.plan import PlanStep
from triplestore.engine.waiting import waited
from triplestore.engine.written import finished
from triplestore.model.errors import UsageError

ROW_GROUP = 122_880
"""Rows per Parquet row group: small enough for zone maps to skip, large enough to compress."""

BATCH: Final = 100_000
"""Rows of a batch of `batches`, at most."""

MEMORY: Final = "50%"
"""Of the machine's memory (or the container's) that an engine takes before it spills, by default."""

MAX_LINE: Final = 16 << 20
"""Bytes of the longest line of text that `lines` reads."""


_UNITS: Final = ("bytes", "kib", "mib", "gib", "tib")


def _literal_glob(path: str) -> str:
    """A path as a pattern that matches only itself."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)


REMOVALS: Final = 20
PAUSE: Final = 0.05
"""How often the removal of spilled data is tried, and the seconds between two attempts."""


class DuckDBEngine:
    """An `Engine` on one in-memory DuckDB database; see the protocol for the methods.

    memory_limit: as DuckDB writes it ("2GB", "40%"); None is half of the machine's. scratch: folder for spilled data; a
    temporary one by default, removed on close. What is spilled takes half of what is free there at most.
    """

    name = "duckdb"
    joint = False
    resident = True
    dialect = Dialect()

    def __init__(self, memory_limit: str | None = None, scratch: str | None = None, threads: int | None = None) -> None:
        self._scratch = tempfile.mkdtemp(prefix="triplake-", dir=scratch)
        self._tidy = weakref.finalize(self, removed, self._scratch)
        self._connection = duckdb.connect(":memory:")
        self._statement(f"SET temp_directory = {string(self._scratch)}")
        self._statement(f"SET max_temp_directory_size = '{shutil.disk_usage(self._scratch).free // 2} B'")
        self._statement("SET preserve_insertion_order = false")
        self._statement("SET allocator_background_threads = true")  # what a statement freed goes back to the system
        self._statement("SET enable_progress_bar = false")
        self._statement("SET TimeZone = 'UTC'")
        # It writes the columns of subqueries into the aggregates that read them, and theirs into these: the SUM of four
        # sums of 200,000 rows took 44 s, of five ten times as much.
        self._statement("SET disabled_optimizers = 'partial_aggregate_pushdown'")
        try:
            self._connection.execute(f"SET memory_limit = {string(memory_limit or MEMORY)}")
        except duckdb.Error as error:
            self.close()
            raise UsageError(f"a memory limit is a size, as in 2GB, not {memory_limit!r}") from error
        if threads is not None:
            self._statement(f"SET threads = {threads}")
        self._views: set[str] = set()
        self._functions: set[str] = set()

    def _statement(self, sql: str) -> Any:
        try:
            return waited(lambda: self._connection.execute(sql), self._connection.interrupt)
        except (duckdb.Error, RuntimeError) as error:
            raise failure(error, sql) from error

    def _changed(self, sql: str) -> int:
        row = self._statement(sql).fetchone()
        return int(row[0]) if row else 0

    def _forget_view(self, name: str) -> None:
        if name in self._views:
            self._statement(f"DROP VIEW IF EXISTS {name}")
            self._views.discard(name)

    def load(self, name: str, table: pa.Table) -> int:
        self._connection.register("_arriving", table)
        try:
            return self.create(name, "SELECT * FROM _arriving")
        finally:
            self._connection.unregister("_arriving")

    def create(self, name: str, sql: str) -> int:
        if name not in self._views:
            return self._changed(f"CREATE OR REPLACE TABLE {name} AS {sql}")
        rows = self._changed(f"CREATE OR REPLACE TABLE {name}_new AS {sql}")  # the statement may read the view
        self._forget_view(name)
        self._statement(f"ALTER TABLE {name}_new RENAME TO {name}")
        return rows

    def number(self, name: str, sql: str, by: str, most: int) -> int:
        return self.create(name, queries.places(sql, by))

    def append(self, name: str, selects: Sequence[str]) -> list[int]:
        return [self._changed(f"INSERT INTO {name} {select}") for select in selects]

    def remove(self, name: str, sql: str) -> int:
        columns = [row[0] for row in self._statement(f"DESCRIBE {name}").fetchall()]
        same = " AND ".join(f"t.{column} = gone.{column}" for column in columns)
        return self._changed(f"DELETE FROM {name} t USING ({sql}) gone WHERE {same}")

    def drop(self, *names: str) -> None:
        for name in names:
            self._forget_view(name)
            self._statement(f"DROP TABLE IF EXISTS {name}")

    def view(self, name: str, sql: str) -> None:
        if name not in self._views:
            self._statement(f"DROP TABLE IF EXISTS {name}")
            self._views.add(name)
        self._statement(f"CREATE OR REPLACE VIEW {name} AS {sql}")

    def query(self, sql: str) -> pa.Table:
        try:
            return waited(lambda: self._connection.sql(sql).to_arrow_table(), self._connection.interrupt)
        except (duckdb.Error, RuntimeError) as error:
            raise failure(error, sql) from error

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            # a relation would have it bound three times
            return waited(lambda: self._connection.execute(sql).fetchall(), self._connection.interrupt)
        except (duckdb.Error, RuntimeError) as error:
            raise failure(error, sql) from error

    def plan(self, sql: str) -> PlanStep:
        found = json.loads(self._statement(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}").fetchall()[0][1])["operator"][0]
        while found["type"] in ("RESULT_COLLECTOR", "EXPLAIN_ANALYZE"):
            found = found["children"][0]
        return _step(found)

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        cursor = self._connection.cursor()
        try:
            yield from streamed(cursor, sql)
        finally:
            cursor.close()

    def attach(self, name: str, files: Sequence[str], columns: Columns) -> None:
        if files:
            listed = ", ".join(string(file) for file in files)
            names = ", ".join(column for column, _ in columns)
            self.view(name, f"SELECT {names} FROM read_parquet([{listed}])")
        else:
            nulls = ", ".join(f"CAST(NULL AS {self.dialect.type(kind)}) AS {column}" for column, kind in columns)
            self.view(name, f"SELECT {nulls} WHERE FALSE")

    def lines(self, name: str, files: Sequence[str]) -> None:
        # One column, no quoting, no delimiter (DuckDB takes none for NUL): each line is one value, read in parallel.
        # Strict: a NUL, a stray CR, bytes that are not UTF-8 or a line over the limit are errors, never altered text.
        if not files:
            self.view(name, "SELECT CAST(NULL AS INTEGER) AS file, '' AS line WHERE FALSE")
            return
        listed = ", ".join(string(_literal_glob(file)) for file in files)
        self.view(
            name,
            f"SELECT CAST(file_index AS INTEGER) AS file, coalesce(line, '') AS line FROM read_csv([{listed}], "
            "columns = {'line': 'VARCHAR'}, delim = '', quote = '', escape = '', header = false, auto_detect = false, "
            "null_padding = false, hive_partitioning = false, "
            f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})",
        )

    def write(self, sql: str, folder: str, stem: str, order: Sequence[str]) -> list[WrittenFile]:
        path = Path(folder, f"{stem}.parquet")
        sorting = f" ORDER BY {', '.join(order)}" if order else ""
        rows = self._changed(
            f"COPY (SELECT * FROM ({sql}) t{sorting}) TO {string(str(path))} "
            f"(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {ROW_GROUP})"
        )
        if rows == 0:
            path.unlink()
            return []
        return [finished(path, rows)]

    def components(self, sql: str) -> pa.Table:
        return connected_components(self.query(sql))

    def function(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        if name not in self._functions:
            kinds: Any = ["VARCHAR"] * arity
            how: Any = {"type": "arrow", "null_handling": "special"}
            self._connection.create_function(name, of_arity(columns, arity), kinds, "VARCHAR", **how)
            self._functions.add(name)

    def index(self, name: str, column: str) -> None:
        self._statement(f"CREATE INDEX IF NOT EXISTS {name}_by_{column} ON {name} ({column})")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        views = set(self._views)
        self._statement("BEGIN TRANSACTION")
        try:
            yield
        except BaseException:
            self._views = views
            self._statement("ROLLBACK")
            raise
        self._statement("COMMIT")

    def memory(self) -> int:
        ((said,),) = self.rows("SELECT current_setting('memory_limit')")  # as in 3.7 GiB
        number, unit = said.split()
        return int(float(number) * 1024 ** _UNITS.index(unit.lower()))

    def interrupt(self) -> None:
        with suppress(duckdb.ConnectionException):  # closed: nothing runs
            self._connection.interrupt()

    def reader(self) -> Reader:
        from triplestore.engine.duckdb_reader import DuckDBReader

        return DuckDBReader(self._connection.cursor(), self._functions)

    def close(self) -> None:
        self._connection.close()
        self._tidy()


def removed(folder: str) -> None:
    """Remove a folder of spilled data; again, where a statement that was interrupted still writes there, or the removal
    itself is interrupted."""
    try:
        for _ in range(REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not Path(folder).exists():
                return
            time.sleep(PAUSE)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _step(found: dict[str, Any]) -> PlanStep:
    """An operator of DuckDB's profile in JSON."""
    said = dict(found["extra_info"])
    estimated = said.pop("Estimated Cardinality", None)
    listed = (f"{name}: {', '.join(value) if isinstance(value, list) else value}" for name, value in said.items())
    return PlanStep(
        found["type"].replace("_", " ").strip().title(),
        "; ".join(" ".join(text.split()) for text in listed)[:200],
        int(found["intermediate_rows"]),
        None if estimated is None else int(estimated),
        tuple(map(_step, found.get("children", ()))),
    )


def streamed(connection: duckdb.DuckDBPyConnection, sql: str) -> Generator[pa.RecordBatch]:
    """The rows of a SELECT as they come; the connection is free again when the last is read, or this is closed."""
    try:
        reader = waited(lambda: connection.sql(sql).to_arrow_reader(BATCH), connection.interrupt)
        try:
            while (batch := waited(lambda: next(reader, None), connection.interrupt)) is not None:
                yield batch
        finally:
            reader.close()
    except (duckdb.Error, RuntimeError) as error:
        raise failure(error, sql) from error
    except OSError as error:  # so Arrow reports what happens in DuckDB between two batches
        raise failure(error, sql) from error
