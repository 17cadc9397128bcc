"""Spark, in this process or on a cluster."""

from triplestore.engine.spark.engine import SparkEngine
from triplestore.engine.spark.session import start_session

__all__ = ["SparkEngine", "start_session"]
