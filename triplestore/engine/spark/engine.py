"""The engine for scale: Spark, in this process (`local[*]`) or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triplestore.engine.protocol import Reader
from triplestore.engine.spark.files import SparkFiles
from triplestore.engine.spark.jobs import Jobs, StoppableJobs
from triplestore.engine.spark.queries import DRIVER
from triplestore.engine.spark.session import sibling, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkEngine(SparkFiles):
    """An `Engine` on a Spark session; see the protocol for the methods.

    spark: the session to work in; a sibling of it is used (its own views and settings, the same executors). Without
        one, the session that runs in this process, else a new one on `master` (see `session`); it is left running for
        the next engine and ends with the process.
    scratch: see `SparkQueries`. memory_limit: of a new local session, as in "4GB".
    """

    shared: Final = None

    def __init__(
        self,
        spark: SparkSession | None = None,
        master: str | None = None,
        scratch: str | None = None,
        memory_limit: str | None = None,
    ) -> None:
        own = sibling(spark or start_session(master, memory_limit))
        super().__init__(own, Jobs(own), scratch)

    def reader(self) -> Reader:
        return SparkReader(self.spark)


class SparkReader(SparkFiles):
    """A `Reader` on Spark: it has a session of its own on the same executors, and attaches files for itself.

    An interrupted reader raises at once. A task of Spark ends when it next checks, between two batches of what it
    reads: one in the middle of a product of three tables, which reads nothing for long, keeps its core until then.
    """

    shared: Final = None
    driver_memory = DRIVER // 8

    def __init__(self, spark: SparkSession, scratch: str | None = None) -> None:
        own = sibling(spark)
        self._reading = StoppableJobs(own)
        super().__init__(own, self._reading, scratch)

    def begin(self) -> None:
        self._reading.begin()

    def again(self) -> bool:
        self.begin()
        return True

    def end(self) -> None:
        """Nothing to let go: what was made stays until it is made again, or the reader is closed."""

    def reader(self) -> Reader:
        return SparkReader(self.spark)
