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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from triplestore.engine import Columns, WrittenFile
from triplestore.engine.components import connected_components
from triplestore.engine.dialect import Dialect, SparkDialect
from triplestore.engine.duckdb import ROW_GROUP
from triplestore.engine.spark_components import GraphFramesMissing, by_graphframes, by_pointer_jumping
from triplestore.engine.spark_files import FileSystem
from triplestore.engine.spark_session import SESSION_SETTINGS, is_local, start_session
from triplestore.errors import EngineError, UnsupportedError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

SMALL_WRITE = 1_000_000
"""Up to so many rows `write` sorts in the driver (local files only): a second Spark job would cost more."""

ROWS_PER_FILE = 5_000_000
"""What `write` puts in one file, about."""

BATCH = 100_000
"""Rows of a batch of `batches`."""

_SELECT = "_select"
"""The column that says which SELECT of an `append` a row came from."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A working table: the rows of all Parquet files in `folders`."""

    schema: Any
    folders: tuple[str, ...]
    rows: int


class SparkEngine:
    """An `Engine` on a Spark session; see the protocol for the methods.

    spark: the session to work in; a sibling of it is used (its own views and settings, the same executors). Without
        one, the session that runs in this process, else a new one on `master` (see `spark_session`); it is left
        running for the next engine and ends with the process.
    scratch: folder for working tables; on a cluster one that driver and executors share (a URL is fine).
    memory_limit: of a new local session, as in "4GB".
    graphframes_from, collect_up_to: edges from which `components` uses GraphFrames where it is there, and up to which
        it otherwise works in the driver's memory; above, it is joins.
    """

    name = "spark"
    dialect: Dialect = SparkDialect()

    def __init__(
        self,
        spark: SparkSession | None = None,
        master: str | None = None,
        scratch: str | None = None,
        memory_limit: str | None = None,
        graphframes_from: int = 1_000_000,
        collect_up_to: int = 20_000_000,
    ) -> None:
        started = spark or start_session(master, memory_limit)
        self.spark: SparkSession = started.newSession()
        for key, value in SESSION_SETTINGS.items():
            self.spark.conf.set(key, value)
        self._graphframes_from, self._collect_up_to = graphframes_from, collect_up_to
        self._files = FileSystem(self.spark)
        self._scratch = self._scratch_folder(scratch)
        if self._files.local(self._scratch):  # also where nobody closes the engine
            weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        self._folders = (f"{self._scratch}/{number}" for number in itertools.count())
        self._tables: dict[str, _Table] = {}
        self._views: set[str] = set()

    def _scratch_folder(self, scratch: str | None) -> str:
        master = self.spark.sparkContext.master
        if scratch is None and not is_local(master):
            shared = self._files.default
            if self._files.local(shared):
                raise UsageError(
                    f"Spark on {master} needs a scratch folder that driver and executors share: give --scratch"
                )
            scratch = f"{shared}/tmp"
        if scratch is None or self._files.local(scratch):
            return tempfile.mkdtemp(prefix="triplake-", dir=self._files.local(scratch) if scratch else None)
        return f"{scratch.rstrip('/')}/triplake-{os.urandom(8).hex()}"

    # --- statements -------------------------------------------------------------------------------------------------

    @contextmanager
    def _running(self, sql: str) -> Iterator[None]:
        """Turns whatever Spark raises into an EngineError with the SQL."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            raise EngineError(_short(error), sql) from error

    def _frame(self, sql: str) -> DataFrame:
        return self.spark.sql(sql)

    def _read(self, schema: Any, paths: Sequence[str]) -> DataFrame:
        return self.spark.read.schema(schema).parquet(*paths)

    def _put(self, name: str, table: _Table) -> None:
        """Make `name` this table; folders that only its former self had are deleted."""
        key = name.lower()
        before = self._tables.get(key)
        self._read(table.schema, table.folders).createOrReplaceTempView(name)
        self._tables[key] = table
        self._views.discard(key)
        if before is not None:
            for folder in set(before.folders) - set(table.folders):
                self._files.delete(folder)

    def _written(self, frame: DataFrame) -> tuple[str, int]:
        """Evaluate into a new folder of the scratch: the folder and its rows."""
        folder = next(self._folders)
        frame.write.parquet(folder)
        return folder, self._count(folder)

    def _count(self, folder: str) -> int:
        files = self._files.parquet(folder)
        if self._files.local(folder):
            return sum(int(pq.read_metadata(file).num_rows) for file in files)
        return int(self.spark.read.parquet(folder).count()) if files else 0

    # --- the protocol -----------------------------------------------------------------------------------------------

    def load(self, name: str, table: pa.Table) -> int:
        from pyspark.sql.pandas.types import from_arrow_schema

        with self._running(f"(load of {name})"):
            schema = _nullable(from_arrow_schema(table.schema))
            folder = next(self._folders)
            if self._files.local(folder):
                Path(folder).mkdir()
                pq.write_table(table, f"{folder}/part-0.parquet", compression="lz4")
            else:
                self.spark.createDataFrame(table).write.parquet(folder)
            self._put(name, _Table(schema, (folder,), table.num_rows))
        return int(table.num_rows)

    def create(self, name: str, sql: str) -> int:
        with self._running(sql):
            frame = self._frame(sql)
            folder, rows = self._written(frame)
            self._put(name, _Table(_nullable(frame.schema), (folder,), rows))
        return rows

    def append(self, name: str, selects: Sequence[str]) -> list[int]:
        if not selects:
            return []
        table = self._table(name)
        names = ", ".join(f"`{field.name}`" for field in table.schema)
        casts = ", ".join(f"CAST(`{f.name}` AS {f.dataType.simpleString()}) AS `{f.name}`" for f in table.schema)
        sql = " UNION ALL ".join(
            f"SELECT {casts}, {number} AS {_SELECT} FROM ({select}) AS _rows({names})"
            for number, select in enumerate(selects)
        )
        with self._running(sql):
            folder, rows = self._written(self._frame(sql).coalesce(self._most_files()))
            counts = self._counts(folder, len(selects)) if len(selects) > 1 else [rows]
            if rows:
                self._put(name, _Table(table.schema, (*table.folders, folder), table.rows + rows))
            else:
                self._files.delete(folder)
        return counts

    def _counts(self, folder: str, selects: int) -> list[int]:
        """Rows of a folder by the SELECT they came from."""
        if self._files.local(folder):
            values = pa.chunked_array(
                [c for f in self._files.parquet(folder) for c in pq.read_table(f, columns=[_SELECT])[_SELECT].chunks],
                type=pa.int32(),
            )
            tallies = pc.value_counts(values).to_pylist()
            found = {tally["values"]: tally["counts"] for tally in tallies}
        else:
            rows = self.spark.read.parquet(folder).groupBy(_SELECT).count().collect()
            found = {row[0]: row[1] for row in rows}
        return [int(found.get(number, 0)) for number in range(selects)]

    def _most_files(self) -> int:
        return 2 * int(self.spark.sparkContext.defaultParallelism)

    def _table(self, name: str) -> _Table:
        try:
            return self._tables[name.lower()]
        except KeyError:
            raise EngineError(f"there is no working table {name}") from None

    def remove(self, name: str, sql: str) -> int:
        table = self._table(name)
        same = " AND ".join(f"_kept.`{field.name}` = _gone.`{field.name}`" for field in table.schema)
        kept = f"SELECT _kept.* FROM {name} _kept LEFT ANTI JOIN ({sql}) _gone ON {same}"
        return table.rows - self.create(name, kept)

    def drop(self, *names: str) -> None:
        for name in names:
            key = name.lower()
            self.spark.catalog.dropTempView(name)
            self._views.discard(key)
            table = self._tables.pop(key, None)
            for folder in table.folders if table else ():
                self._files.delete(folder)

    def view(self, name: str, sql: str) -> None:
        with self._running(sql):
            if name.lower() in self._tables:
                self.drop(name)
            self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {sql}")
            self._views.add(name.lower())

    def query(self, sql: str) -> pa.Table:
        with self._running(sql):
            table = self._frame(sql).toArrow()
        return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        with self._running(sql):
            frame = self._frame(sql)
            if not self._files.local(self._scratch):
                schema = self.query(f"SELECT * FROM ({sql}) _rows LIMIT 0").schema
                rows = frame.toLocalIterator(prefetchPartitions=True)
                while chunk := [row.asDict() for row in itertools.islice(rows, BATCH)]:
                    yield pa.RecordBatch.from_pylist(chunk, schema)
                return
            folder, _ = self._written(frame)
        try:
            for file in self._files.parquet(folder):
                yield from pq.ParquetFile(file).iter_batches(BATCH)
        finally:
            self._files.delete(folder)

    def attach(self, name: str, files: Sequence[str], columns: Columns) -> None:
        ddl = ", ".join(f"`{column}` {kind}" for column, kind in columns)
        with self._running(f"(attach of {name})"):
            if files:
                frame = self._read(ddl, [self._files.url(file) for file in files])
            else:
                frame = self.spark.createDataFrame([], ddl)
            self._show(name, frame)

    def _show(self, name: str, frame: DataFrame) -> None:
        """Make `name` a view of a data frame."""
        self.drop(name)
        frame.createOrReplaceTempView(name)
        self._views.add(name.lower())

    def lines(self, name: str, files: Sequence[str]) -> None:
        with self._running(f"(lines of {', '.join(files)})"):
            frames = [
                self.spark.read.text(self._files.url(self._readable(file))).selectExpr(
                    f"{index} AS file", "validate_utf8(value) AS line"
                )
                for index, file in enumerate(files)
            ]
            while len(frames) > 1:  # a balanced tree: a deep plan takes long
                frames = [
                    frames[i].unionAll(frames[i + 1]) if i + 1 < len(frames) else frames[i]
                    for i in range(0, len(frames), 2)
                ]
            self._show(name, frames[0] if frames else self.spark.createDataFrame([], "file INT, line STRING"))

    def _readable(self, file: str) -> str:
        """The file itself, or a copy that Spark can read. Spark skips hidden names in silence, and knows no zst."""
        local = self._files.local(file)
        hidden = Path(file).name.startswith(("_", "."))
        if not file.endswith(".zst") and not hidden:
            return file
        if local is None:
            reason = "has a name that Spark takes for hidden" if hidden else "is compressed with zstd"
            raise UnsupportedError(f"{file} {reason}: rename or recompress it (gz, bz2)")
        folder = Path(next(self._folders))
        folder.mkdir()
        copy = folder / ("lines-" + Path(local).name.removesuffix(".zst"))
        if not file.endswith(".zst"):
            copy.symlink_to(Path(local).resolve())
            return str(copy)
        import zstandard

        with open(local, "rb") as packed, open(copy, "wb") as plain:
            zstandard.ZstdDecompressor().copy_stream(packed, plain)
        return str(copy)

    def write(self, sql: str, folder: str, stem: str, order: Sequence[str]) -> list[WrittenFile]:
        with self._running(sql):
            frame = self._frame(sql)
            schema = _nullable(frame.schema)
            source, rows = self._written(frame)
            try:
                if rows == 0:
                    return []
                target = self._files.local(folder)
                if rows <= SMALL_WRITE and target is not None and self._files.local(source) is not None:
                    return [self._write_here(source, Path(target), stem, order)]
                return self._write_there(self._read(schema, [source]), rows, folder, stem, order)
            finally:
                self._files.delete(source)

    def _write_here(self, source: str, folder: Path, stem: str, order: Sequence[str]) -> WrittenFile:
        table = pa.concat_tables(pq.read_table(file) for file in self._files.parquet(source))
        if order:
            table = table.take(pc.sort_indices(table, sort_keys=[(column, "ascending") for column in order]))
        path = folder / f"{stem}.parquet"
        with open(path, "xb") as file:
            pq.write_table(table, file, compression="zstd", compression_level=1, row_group_size=ROW_GROUP)
            file.flush()
            os.fsync(file.fileno())
        return WrittenFile(path.name, table.num_rows, path.stat().st_size)

    def _write_there(
        self, frame: DataFrame, rows: int, folder: str, stem: str, order: Sequence[str]
    ) -> list[WrittenFile]:
        number = max(
            -(-rows // ROWS_PER_FILE), min(int(self.spark.sparkContext.defaultParallelism), rows // SMALL_WRITE)
        )
        if order:
            frame = frame.repartitionByRange(number, *order).sortWithinPartitions(*order)
        else:
            frame = frame.coalesce(number)
        draft = f"{folder.rstrip('/')}/_{stem}.draft"
        try:
            frame.write.option("parquet.block.row.count.limit", str(ROW_GROUP)).parquet(self._files.url(draft))
            return self._files.publish(draft, folder, stem)
        finally:
            self._files.delete(draft)

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

    def close(self) -> None:
        for name in self._views | set(self._tables):
            self.spark.catalog.dropTempView(name)
        self._views.clear()
        self._tables.clear()
        self._files.delete(self._scratch)


def _nullable(schema: Any) -> Any:
    """The schema with every column nullable: how Parquet is read back, whatever the SELECT promised."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, True) for field in schema])


def _short(error: Exception) -> str:
    """What went wrong, without Spark's stack trace and plan: the root cause where Java names one."""
    cause = getattr(error, "java_exception", None)
    if cause is not None:
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"
    else:
        text = str(error)
    text = re.split(r"\n\s*(?:JVM stacktrace|at [\w.$]+\(|Driver stacktrace|'?[A-Z]\w+ .*\n[ +:-]+)", text)[0]
    return text.strip()[:1000] or type(error).__name__
