"""The engine for scale: Spark, in this process (`local[*]`) or on a cluster.

Every working table is a list of folders of Parquet files in the scratch folder, written when the statement is given
and read back with a known schema. That cuts the lineage (planning time grows exponentially with it), survives the loss
of an executor, and needs no job to learn a schema or a number of rows: rows are counted from the files' footers.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from triplestore.engine import Columns, Reader, WrittenFile, queries
from triplestore.engine.arrow import of_arity
from triplestore.engine.components import connected_components
from triplestore.engine.dialect import Dialect, SparkDialect
from triplestore.engine.plan import PlanStep
from triplestore.engine.spark_components import GraphFramesMissing, by_graphframes, by_pointer_jumping
from triplestore.engine.spark_files import FileSystem
from triplestore.engine.spark_input import lines
from triplestore.engine.spark_number import number_by_ranges
from triplestore.engine.spark_output import write
from triplestore.engine.spark_plan import plan_of
from triplestore.engine.spark_session import SESSION_SETTINGS, is_local, start_session
from triplestore.engine.spark_tables import Part, Table, Tables, nullable
from triplestore.model.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

BATCH = 100_000
"""Rows of a batch of `batches`."""

DRIVER = 1 << 31
"""Bytes of memory for what is kept in this process, beside Java."""

_SELECT = "_select"
"""The column that says which SELECT of an `append` a row came from."""


_PLAIN = re.compile(r"\s*SELECT\s+([\w\s,]+|\*)\s+FROM\s+(\w+)\s*", re.IGNORECASE)
_COUNT = re.compile(r"\s*SELECT\s+COUNT\(\*\)\s+AS\s+(\w+)\s+FROM\s+(\w+)\s*", re.IGNORECASE)
"""Statements that need no job: parts are shared, and rows are known."""


class SparkEngine:
    """An `Engine` on a Spark session; see the protocol for the methods.

    spark: the session to work in; a sibling of it is used (its own views and settings, the same executors). Without
        one, the session that runs in this process, else a new one on `master` (see `spark_session`); it is left
        running for the next engine and ends with the process.
    scratch: folder for working tables; on a cluster one that driver and executors share (a URL is fine). Without one,
        TRIPLAKE_SCRATCH, else a temporary folder, or /tmp of a cluster's own file system.
    memory_limit: of a new local session, as in "4GB".
    graphframes_from, collect_up_to: edges from which `components` uses GraphFrames where it is there, and up to which
        it otherwise works in the driver's memory; above, it is joins.
    one_task_up_to: rows up to which `number` sorts them in one task; by ranges, more jobs are needed.
    """

    name = "spark"
    joint = True
    resident = False
    dialect: Dialect = SparkDialect()

    def __init__(
        self,
        spark: SparkSession | None = None,
        master: str | None = None,
        scratch: str | None = None,
        memory_limit: str | None = None,
        graphframes_from: int = 1_000_000,
        collect_up_to: int = 20_000_000,
        one_task_up_to: int = 20_000_000,
    ) -> None:
        started = spark or start_session(master, memory_limit)
        self.spark: SparkSession = started.newSession()
        for key, value in SESSION_SETTINGS.items():
            self.spark.conf.set(key, value)
        self._graphframes_from, self._collect_up_to = graphframes_from, collect_up_to
        self._one_task_up_to = one_task_up_to
        self._files = FileSystem(self.spark)
        self.scratch = self._made_scratch(scratch)
        if self._files.local(self.scratch):  # also where nobody closes the engine
            weakref.finalize(self, shutil.rmtree, self.scratch, ignore_errors=True)
        self._tables = Tables(self.spark, self._files, self.scratch)
        self._views: set[str] = set()
        self._functions: set[str] = set()
        self._tag = f"triplake-{os.urandom(8).hex()}"

    def _made_scratch(self, scratch: str | None) -> str:
        master = self.spark.sparkContext.master
        scratch = scratch or os.environ.get("TRIPLAKE_SCRATCH")
        if scratch is None and not is_local(master):
            shared = self._files.default
            if self._files.local(shared):
                raise UsageError(
                    f"Spark on {master} needs a scratch folder that all its machines share: set TRIPLAKE_SCRATCH"
                )
            scratch = f"{shared}/tmp"
        if scratch is None or self._files.local(scratch):
            return tempfile.mkdtemp(prefix="triplake-", dir=self._files.local(scratch) if scratch else None)
        return f"{scratch.rstrip('/')}/triplake-{os.urandom(8).hex()}"

    # --- statements -------------------------------------------------------------------------------------------------

    @contextmanager
    def _running(self, sql: str) -> Iterator[None]:
        """Turns whatever Spark raises into an EngineError with the SQL. The jobs inside carry this engine's tag."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            with self._tagged():
                yield
        except (PySparkException, Py4JError, pa.ArrowException, OSError) as error:
            from triplestore.engine.spark_errors import failure

            raise failure(error, sql) from error

    @contextmanager
    def _tagged(self) -> Iterator[None]:
        from py4j.protocol import Py4JError

        context = self.spark.sparkContext
        if self._tag in context.getJobTags():
            yield
            return
        context.addJobTag(self._tag)
        context.setInterruptOnCancel(True)
        try:
            yield
        finally:
            with suppress(Py4JError, OSError):  # Java may have ended
                context.removeJobTag(self._tag)

    def _frame(self, sql: str) -> DataFrame:
        return self.spark.sql(sql)

    def _is_empty(self, frame: DataFrame, sql: str) -> bool:
        """Whether Spark's optimiser sees that there are no rows; asked only where it names an empty table."""
        names = {name.lower() for name in re.findall(r"\w+", sql)}
        if not any(table is not None and not table.parts for table in map(self._tables.find, names)):
            return False
        most = frame._jdf.queryExecution().optimizedPlan().maxRows()
        return bool(most.isDefined() and most.get() == 0)

    def _evaluated(self, frame: DataFrame, sql: str) -> tuple[Part, ...]:
        """The rows of a statement as parts: none or one."""
        if self._is_empty(frame, sql):
            return ()
        part = self._tables.evaluated(frame)
        return (part,) if part.rows else ()

    def _shared(self, sql: str) -> Table | None:
        """The table that a statement yields, where it is no more than columns of a table that is there."""
        plain = _PLAIN.fullmatch(sql)
        table = self._tables.find(plain.group(2)) if plain else None
        if plain is None or table is None:
            return None
        fields = {field.name.lower(): field for field in table.schema}
        names = table.names if plain.group(1) == "*" else [name.strip() for name in plain.group(1).split(",")]
        if len(set(names)) < len(names) or not all(name.lower() in fields for name in names):
            return None
        chosen = nullable([fields[name.lower()] for name in names])
        return Table(chosen, tuple(Part(p.path, self._tables.rows(Table(chosen, (p,)))) for p in table.parts))

    # --- the protocol -----------------------------------------------------------------------------------------------

    def load(self, name: str, table: pa.Table) -> int:
        from pyspark.sql.pandas.types import from_arrow_schema

        with self._running(f"(load of {name})"):
            schema = nullable(from_arrow_schema(table.schema))
            folder = self._tables.folder()
            if table.num_rows == 0:
                self._put(name, Table(schema, ()))
                return 0
            if self._files.local(folder):
                Path(folder).mkdir()  # not LZ4: Parquet for Java fails on pages that PyArrow 26 writes
                pq.write_table(table, f"{folder}/part-0.parquet", compression="snappy")
            else:
                self.spark.createDataFrame(table).write.parquet(folder)
            self._put(name, Table(schema, (Part(folder, table.num_rows),)))
        return int(table.num_rows)

    def create(self, name: str, sql: str) -> int:
        with self._running(sql):
            table = self._shared(sql)
            if table is None:
                frame = self._frame(sql)
                table = Table(nullable(frame.schema), self._evaluated(frame, sql))
            self._put(name, table)
            return self._tables.rows(table)

    def _put(self, name: str, table: Table) -> None:
        self._tables.put(name, table)
        self._views.discard(name.lower())

    def number(self, name: str, sql: str, by: str, most: int) -> int:
        if most <= self._one_task_up_to:
            return self.create(name, queries.places(sql, by))
        with self._running(sql):
            return number_by_ranges(self, name, sql, by)

    def append(self, name: str, selects: Sequence[str]) -> list[int]:
        table = self._tables.get(name)
        counts: list[int] = [0] * len(selects)
        parts: tuple[Part, ...] = ()
        jobs = {}
        with self._running("; ".join(selects)):
            for number, select in enumerate(selects):
                shared = self._shared(select)
                if shared is not None and shared.schema == table.schema:
                    counts[number], parts = self._tables.rows(shared), parts + shared.parts
                else:
                    jobs[number] = select
        names = ", ".join(f"`{field.name}`" for field in table.schema)
        casts = ", ".join(f"CAST(`{f.name}` AS {f.dataType.simpleString()}) AS `{f.name}`" for f in table.schema)
        sql = " UNION ALL ".join(
            f"SELECT {casts}, {number} AS {_SELECT} FROM ({select}) AS _rows({names})"
            for number, select in jobs.items()
        )
        with self._running(sql):
            if jobs:
                made = self._evaluated(self._frame(sql).coalesce(self._most_files()), sql)
                parts += made
                for part in made:
                    for number, rows in self._counts(part.path).items():
                        counts[number] = rows
            if parts:
                self._put(name, Table(table.schema, table.parts + parts))
        return counts

    def _counts(self, folder: str) -> dict[int, int]:
        """Rows of a folder by the SELECT they came from."""
        if self._files.local(folder):
            files = self._files.parquet(folder)
            column = pa.concat_tables(pq.read_table(file, columns=[_SELECT]) for file in files)[_SELECT]
            return {int(tally["values"]): int(tally["counts"]) for tally in pc.value_counts(column).to_pylist()}
        return dict(self.spark.read.parquet(folder).groupBy(_SELECT).count().collect())

    def _most_files(self) -> int:
        return 2 * int(self.spark.sparkContext.defaultParallelism)

    def remove(self, name: str, sql: str) -> int:
        table = self._tables.get(name)
        same = " AND ".join(f"_kept.`{field}` = _gone.`{field}`" for field in table.names)
        kept = f"SELECT _kept.* FROM {name} _kept LEFT ANTI JOIN ({sql}) _gone ON {same}"
        return self._tables.rows(table) - self.create(name, kept)

    def drop(self, *names: str) -> None:
        for name in names:
            self._tables.forget(name)
            self._views.discard(name.lower())

    def view(self, name: str, sql: str) -> None:
        with self._running(sql):
            if self._tables.find(name):
                self.drop(name)
            self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {sql}")
            self._views.add(name.lower())

    def query(self, sql: str) -> pa.Table:
        counted = _COUNT.fullmatch(sql)
        named = self._tables.find(counted.group(2)) if counted else None
        if counted and named:
            return pa.table({counted.group(1): pa.array([self._tables.rows(named)], pa.int64())})
        with self._running(sql):
            table = self._frame(sql).toArrow()
        return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.query(sql).columns), strict=True))

    def plan(self, sql: str) -> PlanStep:
        conf, partitions = self.spark.conf, "spark.sql.shuffle.partitions"
        usual = conf.get(partitions)
        conf.set(partitions, "1")  # sorting into more looks for bounds first: what is below runs, and counts, twice
        try:
            with self._running(sql):
                frame = self._frame(sql)
                frame.toArrow()
                return plan_of(frame._jdf.queryExecution().executedPlan())
        finally:
            conf.set(partitions, usual)

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        with self._running(sql):
            frame = self._frame(sql)
            if not self._files.local(self.scratch):
                schema = self.query(f"SELECT * FROM ({sql}) _rows LIMIT 0").schema
                rows = frame.toLocalIterator(prefetchPartitions=True)
                while chunk := [row.asDict() for row in itertools.islice(rows, BATCH)]:
                    yield pa.RecordBatch.from_pylist(chunk, schema)
                return
            parts = self._evaluated(frame, sql)
        for part in parts:
            try:
                for file in self._files.parquet(part.path):
                    yield from pq.ParquetFile(file).iter_batches(BATCH)
            finally:
                self._files.delete(part.path)

    def attach(self, name: str, files: Sequence[str], columns: Columns) -> None:
        from pyspark.sql.types import StructType

        schema = StructType.fromDDL(", ".join(f"`{column}` {kind}" for column, kind in columns))
        with self._running(f"(attach of {name})"):
            self._put(name, Table(schema, tuple(Part(file, None) for file in files)))

    def _show(self, name: str, frame: DataFrame) -> None:
        """Make `name` a view of a data frame."""
        self.drop(name)
        frame.createOrReplaceTempView(name)
        self._views.add(name.lower())

    def lines(self, name: str, files: Sequence[str]) -> None:
        with self._running(f"(lines of {', '.join(files)})"):
            self._show(name, lines(self.spark, self._files, files, self._tables.folder()))

    def write(self, sql: str, folder: str, stem: str, order: Sequence[str]) -> list[WrittenFile]:
        with self._running(sql):
            frame = self._frame(sql)
            for source in self._evaluated(frame, sql):
                try:
                    table = Table(nullable(frame.schema), (source,))
                    tasks = int(self.spark.sparkContext.defaultParallelism)
                    return write(self._tables, self._files, table, folder, stem, order, tasks)
                finally:
                    self._files.delete(source.path)
        return []

    def components(self, sql: str) -> pa.Table:
        edges = "_edges"
        rows = self.create(edges, f"SELECT CAST(a AS BIGINT) AS a, CAST(b AS BIGINT) AS b FROM ({sql}) AS _rows(a, b)")
        try:
            if rows >= self._graphframes_from:
                try:
                    with self._running(sql):
                        return by_graphframes(self, edges)
                except GraphFramesMissing as missing:
                    log.info("components of %d edges without GraphFrames: %s", rows, missing)
            if rows <= self._collect_up_to:
                log.info("components of %d edges in the driver's memory", rows)
                return connected_components(self.query(f"SELECT a, b FROM {edges}"))
            log.info("components of %d edges by pointer jumping", rows)
            return by_pointer_jumping(self, edges)
        finally:
            self.drop(edges)

    def function(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        from pyspark.sql.functions import arrow_udf

        if name not in self._functions:
            self.spark.udf.register(name, arrow_udf(of_arity(columns, arity), returnType="string"))
            self._functions.add(name)

    def index(self, name: str, column: str) -> None:
        """Nothing: Spark has no indexes."""

    def transaction(self) -> AbstractContextManager[None]:
        return nullcontext()  # no reader shares these tables

    def memory(self) -> int:
        return DRIVER

    def interrupt(self) -> None:
        """Cancel the jobs of this engine, and of no other of the session."""
        self.spark.sparkContext.cancelJobsWithTag(self._tag)

    def reader(self) -> Reader:
        from triplestore.engine.spark_reader import SparkReader

        return SparkReader(self.spark)

    def close(self) -> None:
        self.drop(*self._views, *self._tables)
        self._files.delete(self.scratch)
