"""Functions of SQL in a Spark session that are written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from triplestore.engine.arrow import of_arity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkFunctions:
    """The functions of a session: Spark hears of them before the first statement that it runs itself, the driver before
    its first."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.made: dict[str, tuple[int, Callable[..., pa.Array]]] = {}
        self._registered = 0
        self.ready = False

    def add(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        self.made.setdefault(name, (arity, columns))

    def register(self) -> None:
        """Let Spark know those that it does not."""
        from pyspark.sql.functions import arrow_udf

        for name, (arity, columns) in list(self.made.items())[self._registered :]:
            self._spark.udf.register(name, arrow_udf(of_arity(columns, arity), returnType="string"))
            self._registered += 1
