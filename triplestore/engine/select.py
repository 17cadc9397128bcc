"""Which engine does the work, and making it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from triplestore.engine.protocol import Engine
from triplestore.model.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES: Final = ("auto", "duckdb", "spark")

_SIZE: Final = re.compile(r"\s*(?=[\d.]*[1-9])\d+(?:\.\d+)?\s*(?:[kmgt]i?b?|b|bytes|%)?\s*", re.IGNORECASE)


def make_engine(
    name: str = "auto",
    spark: SparkSession | None = None,
    master: str | None = None,
    memory_limit: str | None = None,
) -> Engine:
    """The engine of that name. `auto` is Spark where a session or a master is given (`SPARK_MASTER` counts) or
    `TRIPLAKE_ENGINE=spark` is set, DuckDB in this process otherwise.

    memory_limit: a size ("2GB"), or for DuckDB a share of the machine ("35%"). Raises UsageError for what is neither,
    and for an unknown name.
    """
    if memory_limit is not None and (not isinstance(memory_limit, str) or _SIZE.fullmatch(memory_limit) is None):
        raise UsageError(f"a memory limit is a size, as in 800MB or 2GB, or a share, as in 35%, not {memory_limit!r}")
    if _chosen(name, spark, master) == "spark":
        from triplestore.engine.spark import SparkEngine

        share = memory_limit is not None and memory_limit.endswith("%")  # Spark has a default of its own
        return SparkEngine(spark=spark, master=master, memory_limit=None if share else memory_limit)
    from triplestore.engine.duckdb import DuckDBEngine

    return DuckDBEngine(memory_limit=memory_limit)


def check_engine(name: str = "auto", master: str | None = None) -> None:
    """Raise UsageError where the engine that `make_engine` would make is not installed, or its name is unknown."""
    if _chosen(name, None, master) == "spark":
        from triplestore.engine.spark.java import java_home

        java_home()


def _chosen(name: str, spark: SparkSession | None, master: str | None) -> str:
    """The name of the engine that `make_engine` makes."""
    if name not in ENGINES:
        raise UsageError(f"no engine '{name}'; give one of {', '.join(ENGINES)}")
    if name == "duckdb" and (spark is not None or master is not None):
        raise UsageError(
            "a master, or a session of Spark, is for the engine 'spark' (or 'auto'): leave one of them out"
        )
    if name == "auto":
        name = os.environ.get("TRIPLAKE_ENGINE", "auto")
        if name not in ENGINES:
            raise UsageError(f"TRIPLAKE_ENGINE is '{name}'; give one of {', '.join(ENGINES)}")
    distributed = name == "auto" and (spark or master or os.environ.get("SPARK_MASTER"))
    return "spark" if name == "spark" or distributed else "duckdb"
