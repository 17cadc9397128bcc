"""Reading on Spark from one more thread: a session of its own on the same executors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from triplestore.engine.spark import SparkEngine
from triplestore.model.errors import EngineError, StoppedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkReader(SparkEngine):
    """A `Reader` on Spark: it attaches files for itself, and `interrupt` cancels its jobs.

    The reader is told at once. A task of Spark ends when it next asks, between two batches of what it reads: one in the
    middle of a product of three tables, which reads nothing for long, keeps its core until then.
    """

    shares = False

    def __init__(self, spark: SparkSession, scratch: str | None = None) -> None:
        super().__init__(spark, scratch=scratch)
        self._stopped = False

    def begin(self) -> None:
        self._stopped = False

    def again(self) -> bool:
        self.begin()
        return True

    def end(self) -> None:
        """Nothing to let go: what was made stays until it is made again, or the reader is closed."""

    def interrupt(self) -> None:
        self._stopped = True
        super().interrupt()

    @contextmanager
    def _running(self, sql: str) -> Iterator[None]:
        self._check()
        try:
            with super()._running(sql):
                yield
        except EngineError:
            self._check()
            raise

    def _check(self) -> None:
        if self._stopped:
            raise StoppedError("the work was stopped before its end")
