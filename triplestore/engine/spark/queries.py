"""Reading tables by Spark."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine import temporary, written
from triplestore.engine.dialect import Dialect, SparkDialect
from triplestore.engine.protocol import PlanStep
from triplestore.engine.spark.driver import Driver
from triplestore.engine.spark.filesystem import FileSystem
from triplestore.engine.spark.functions import SparkFunctions
from triplestore.engine.spark.jobs import Jobs
from triplestore.engine.spark.plan import plan_of
from triplestore.engine.spark.session import is_local
from triplestore.engine.spark.tables import Part, Tables
from triplestore.engine.sql import Count, Statement
from triplestore.model.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DRIVER: Final = 1 << 31
"""Bytes of memory for what is kept, and for the statements that are run, in this process, beside Java."""


class SparkQueries:
    """`Queries` in a Spark session.

    spark: a session of this engine's own. jobs: which run its statements. scratch: folder for working tables; on a
    cluster one that driver and executors share (a URL is fine). Without one, TRIPLAKE_SCRATCH, else a temporary folder,
    or /tmp of a cluster's own file system.
    """

    name: Final = "spark"
    resident: Final = False
    dialect: Final[Dialect] = SparkDialect()
    driver_memory: int = DRIVER // 2

    def __init__(self, spark: SparkSession, jobs: Jobs, scratch: str | None) -> None:
        self.spark, self._jobs = spark, jobs
        self.functions = SparkFunctions(spark)
        self._files = FileSystem(spark)
        self.folder = self._made_folder(scratch)
        if self._files.local(self.folder):  # also where nobody closes the engine
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._tables = Tables(spark, self._files, self.folder)
        self._driver = Driver(
            self._tables, self._files, self.functions, self.driver_memory, is_local(self.spark.sparkContext.master)
        )

    def query(self, sql: Statement) -> pa.Table:
        if isinstance(sql, Count) and (counted := self._tables.find(sql.source)):
            return pa.table({"n": pa.array([self._tables.rows(counted)], pa.int64())})
        with self._jobs.running(sql):
            if (found := self._driver.query(sql)) is not None:
                return found
            table = self._select(sql).toArrow()
        return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))

    def rows(self, sql: Statement) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.query(sql).columns), strict=True))

    def batches(self, sql: Statement) -> Iterator[pa.RecordBatch]:
        with self._jobs.running(sql):
            table = self._driver.evaluated(sql)
            parts = () if table is None else table.parts
            if table is None:
                text = str(sql)
                frame = self._select(text)
                if not self._files.local(self.folder):
                    schema = self.query(f"SELECT * FROM ({text}) _rows LIMIT 0").schema
                    rows = frame.toLocalIterator(prefetchPartitions=True)
                    chunks = iter(lambda: [row.asDict() for row in itertools.islice(rows, written.AT_ONCE)], [])
                    yield from written.gathered(pa.RecordBatch.from_pylist(chunk, schema) for chunk in chunks)
                    return
                parts = self._evaluated(frame, text)
        for part in parts:
            try:
                for file in self._files.parquet(part.path):
                    yield from written.gathered(pq.ParquetFile(file).iter_batches(written.AT_ONCE))
            finally:
                self._files.delete(part.path)

    def plan(self, sql: str) -> PlanStep:
        conf, partitions = self.spark.conf, "spark.sql.shuffle.partitions"
        usual = conf.get(partitions)
        conf.set(partitions, "1")  # sorting into more looks for bounds first: what is below runs, and counts, twice
        try:
            with self._jobs.running(sql):
                frame = self._select(sql)
                frame.toArrow()
                return plan_of(frame._jdf.queryExecution().executedPlan())
        finally:
            conf.set(partitions, usual)

    def frame(self, sql: str) -> DataFrame:
        """A statement as a data frame of this engine's session."""
        return self._select(sql)

    def interrupt(self) -> None:
        self._jobs.cancel()
        self._driver.interrupt()

    def share(self) -> float | None:
        found = self._driver.share()
        return self._jobs.share() if found is None else found

    def memory(self) -> int:
        return DRIVER

    def _select(self, sql: Statement) -> DataFrame:
        self._jobs.check()  # the driver may have been stopped, which leaves what it cannot run to Spark
        self.functions.register()
        return self._tables.select(str(sql))

    def _evaluated(self, frame: DataFrame, sql: str) -> tuple[Part, ...]:
        """The rows of a statement as parts: none or one."""
        if self._is_empty(frame, sql):
            return ()
        part = self._tables.evaluated(frame)
        return (part,) if part.rows else ()

    def _is_empty(self, frame: DataFrame, sql: str) -> bool:
        """Whether Spark's optimiser sees that there are no rows; asked only where an empty table is named."""
        text = sql.lower()
        if not any(name in text for name in self._tables.empty()):
            return False
        most = frame._jdf.queryExecution().optimizedPlan().maxRows()
        return bool(most.isDefined() and most.get() == 0)

    def _made_folder(self, scratch: str | None) -> str:
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
            inside = self._files.local(scratch) if scratch else None
            return tempfile.mkdtemp(prefix=temporary.prefix("tables", inside), dir=inside)
        return f"{scratch.rstrip('/')}/triplake-{os.urandom(8).hex()}"
