"""Running the jobs of one engine of a Spark session: they carry a tag, and Spark's errors are raised as ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from triplestore.engine.sql import Statement
from triplestore.model.errors import EngineError, StoppedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Jobs:
    """The jobs of one engine."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._tag = f"triplake-{os.urandom(8).hex()}"

    @contextmanager
    def running(self, sql: Statement) -> Iterator[None]:
        """A statement: it raises whatever Spark raises as an EngineError with the SQL. Jobs inside carry the tag."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            with self._tagged():
                yield
        except (PySparkException, Py4JError, pa.ArrowException, OSError) as error:
            from triplestore.engine.spark.errors import failure

            raise failure(error, str(sql)) from error

    def check(self) -> None:
        """Raise StoppedError where no more jobs are to be run."""

    def cancel(self) -> None:
        """From another thread: cancel the jobs of this engine, and of no other of the session."""
        self._context.cancelJobsWithTag(self._tag)

    def share(self) -> float | None:
        """From another thread: how many of the tasks of the session's stages that run have ended, from 0 to 1; None
        where no stage runs, or Java has ended."""
        from py4j.protocol import Py4JError

        tracker = self._context.statusTracker()
        with suppress(Py4JError, OSError):
            stages = [found for stage in tracker.getActiveStageIds() if (found := tracker.getStageInfo(stage))]
            tasks = sum(stage.numTasks for stage in stages)
            return sum(stage.numCompletedTasks for stage in stages) / tasks if tasks else None
        return None

    @contextmanager
    def _tagged(self) -> Iterator[None]:
        from py4j.protocol import Py4JError

        context = self._context
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


class StoppableJobs(Jobs):
    """The jobs of an engine that runs none once it was cancelled, until it begins again."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._stopped = False

    def begin(self) -> None:
        """Run jobs again."""
        self._stopped = False

    def cancel(self) -> None:
        self._stopped = True
        super().cancel()

    @contextmanager
    def running(self, sql: Statement) -> Iterator[None]:
        self.check()
        try:
            with super().running(sql):
                yield
        except EngineError:
            self.check()
            raise

    def check(self) -> None:
        if self._stopped:
            raise StoppedError("the work was stopped before its end")
