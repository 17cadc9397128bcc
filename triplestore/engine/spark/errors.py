"""What the errors of Spark, Py4J and Arrow are to Triplake: a full disk and a limit are reported as such, all else with
the statement."""

from __future__ import annotations

import re
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from triplestore.engine.dialect import beyond
from triplestore.engine.disk import disk_failure
from triplestore.engine.spark.session import java_has_ended
from triplestore.model.errors import EngineError, LimitError

_NO_READER: Final = re.compile(r"Class org\.apache\.hadoop\.fs\.\S+ not found|No FileSystem for scheme")


def failure(error: Exception, sql: str) -> BaseException:
    """The error to raise for one of Spark's, of the connection to it, or of Arrow's."""
    message = _short(error)
    if (full := disk_failure(f"{message}\n{error}")) is not None:
        return full
    if (limit := beyond(message)) is not None:
        return LimitError(limit)
    if not isinstance(error, PySparkException | Py4JJavaError) and java_has_ended():
        return EngineError(
            "Spark's Java process has ended, most likely out of memory: give it more with --memory-limit", sql
        )
    if _NO_READER.search(message):
        message += (
            "; give Spark what reads it (spark.jars.packages, or --packages of spark-submit), for s3: "
            "org.apache.hadoop:hadoop-aws in the version of PySpark's Hadoop"
        )
    return EngineError(message, sql)


def _short(error: Exception) -> str:
    """The message, without Spark's stack trace and plan: the root cause where Java names one."""
    cause = getattr(error, "java_exception", None)
    if cause is not None:
        while cause.getCause() is not None:
            cause = cause.getCause()
        text = f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"
    else:
        text = str(error)
    text = re.split(r"\n\s*(?:JVM stacktrace|at [\w.$]+\(|Driver stacktrace|'?[A-Z]\w+ .*\n[ +:-]+)", text)[0]
    return text.strip()[:1000] or type(error).__name__
