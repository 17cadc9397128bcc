"""Functions of SQL in a Spark session that are written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from triplestore.engine.arrow import of_arity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkFunctions:
    """The functions of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._names: set[str] = set()

    def add(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        from pyspark.sql.functions import arrow_udf

        if name not in self._names:
            self._spark.udf.register(name, arrow_udf(of_arity(columns, arity), returnType="string"))
            self._names.add(name)
