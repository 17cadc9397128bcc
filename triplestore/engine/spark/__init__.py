"""Spark, in this process or on a cluster. Importing this package without PySpark raises UsageError, which says how to
install it: its modules, and what else uses them, need not check."""

import importlib.util

from triplestore.model.errors import UsageError, how_to_install

if importlib.util.find_spec("pyspark") is None:
    raise UsageError(f"Spark and HDFS need PySpark (and Java 17 or newer): {how_to_install('spark')}")

from triplestore.engine.spark.engine import SparkEngine
from triplestore.engine.spark.session import start_session

__all__ = ["SparkEngine", "start_session"]
