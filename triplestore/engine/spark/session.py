"""Starting Spark as this project wants it: quiet, quick to start, and exact.

Figures behind the local settings (two cores, Spark 4.3): `spark.buffer.pageSize` at its default reserves so much per
broadcast that a fixpoint of six rounds held 2.2 GB and died; Java's optimising compiler costs more than it gains in
runs of a minute or two (see `_java_options`).
"""

from __future__ import annotations

import atexit
import glob
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triplestore.engine import temporary
from triplestore.engine.spark.java import java_home
from triplestore.model.errors import EngineError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

SESSION_SETTINGS: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.variable.substitute": "false",  # a text that holds ${x} is a text
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.parquet.compression.codec": "snappy",  # of scratch files: half the time of zstd
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.sources.fileCompressionFactor": "30",  # a row of these files is 1 or 2 bytes, and 50 when broadcast
    "spark.sql.debug.maxToStringFields": "100",
    "spark.sql.analyzer.maxIterations": "1000",  # of nested queries, it resolves a level or less in each
    "parquet.page.verify-checksum.enabled": "true",  # of pages that have one: a flipped bit is an error, no other data
}
"""What every session of an engine sets, its own or a sibling of the user's: what the SQL means, and cheap listing."""


_WITHOUT_OPTIMISER: Final = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+ExitOnOutOfMemoryError"
"""Of Java: see `_java_options`."""


def start_session(master: str | None = None, memory_limit: str | None = None) -> SparkSession:
    """The running Spark session, or a new one on `master` (default: SPARK_MASTER, else every core of this machine).

    memory_limit ("4GB"): of the driver, which does all the work of a local master; part of it goes to the JVM's heap.
    Raises UsageError where Java is missing, EngineError where Spark does not start.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return _with_this_python(running)
    _start(_master(master), memory_limit)
    session: SparkSession = SparkSession.builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    logging.getLogger().addFilter(_raised_as_well)
    return _with_this_python(session)


def java() -> Any:
    """Py4J's gateway to the Java of this process, started as for Spark where there is none yet. Raises UsageError where
    Java is missing, EngineError where it does not start."""
    from pyspark import SparkContext

    if SparkContext._gateway is None:
        _start(_master(None), None, with_spark=False)
    return SparkContext._gateway


def _master(given: str | None) -> str:
    return given or os.environ.get("SPARK_MASTER") or "local[*]"


def sibling(session: SparkSession) -> SparkSession:
    """A session with views and settings of its own, on the executors of another. Raises UsageError for one of Spark
    Connect, which lacks the context that jobs are cancelled and files are listed by."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise UsageError(
            "this is a session of Spark Connect, which has no SparkContext: give a classic session "
            "(SparkSession.builder.master(..)), or open the store on DuckDB, which needs none"
        )
    made: SparkSession = session.newSession()
    for key, value in SESSION_SETTINGS.items():
        made.conf.set(key, value)
    return made


def _with_this_python(session: SparkSession) -> SparkSession:
    """A local session, its vectorised functions run by this Python, not the path's `python3`, which lacks Arrow."""
    context = session.sparkContext
    if is_local(context.master) and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    return session


def _start(master: str, memory_limit: str | None, with_spark: bool = True) -> None:
    """Start Java, where this process has none yet, and Spark in it."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    folder = Path(tempfile.mkdtemp(prefix=temporary.prefix("spark")))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings, chatter = _settings(master, memory_limit, folder), folder / "spark.log"
    conf = SparkConf().setAppName("triplake").setMaster(master).setAll(list(settings.items()))
    environment: dict[str, str] = {}
    try:
        if SparkContext._gateway is None:
            if "PYSPARK_GATEWAY_PORT" not in os.environ:  # which spark-submit sets: then Java runs already
                environment["JAVA_HOME"] = java_home()
                log.info("starting Java for %s: that of %s", master, environment["JAVA_HOME"])
            with chatter.open("wb") as stderr, _environment(environment):
                SparkContext._ensure_initialized(gateway=launch_gateway(conf, {"stderr": stderr}))
        if with_spark and SparkContext._active_spark_context is None:
            SparkContext(conf=conf)
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        message = chatter.read_text(errors="replace").strip()[-2000:] if chatter.exists() else ""
        raise EngineError(f"Spark did not start on {master}: {str(error)[:500]}\n{message}".strip()) from error


@contextmanager
def _environment(changed: dict[str, str]) -> Iterator[None]:
    """Variables of this process's environment that PySpark passes on to Java, restored afterwards: which Java the rest
    of the program uses is not for us to change."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def java_has_ended() -> bool:
    """Whether the Java process that was started for Spark is gone; it is given a second to go."""
    from pyspark import SparkContext

    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        return False
    return True


def _raised_as_well(record: logging.LogRecord) -> bool:
    """False for what Py4J writes to the root logger, with a traceback, when Java is gone: it raises that, too."""
    return Path(record.pathname).parent.name != "py4j"


def is_local(master: str) -> bool:
    """Whether driver and executors are one process of this machine."""
    return master == "local" or master.startswith("local[")


def _settings(master: str, memory_limit: str | None, folder: Path) -> dict[str, str]:
    """Of a new context. SESSION_SETTINGS are not among them: they are for siblings, and a program that asks Spark for
    its session gets one with Spark's own defaults."""
    settings = {
        "spark.ui.enabled": str(os.environ.get("TRIPLAKE_SPARK_UI") == "1").lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.log.level": "ERROR",
        "spark.driver.maxResultSize": "0",
    }
    settings |= _of_s3()
    jars = graphframes_jars()
    if jars:
        settings["spark.jars"] = ",".join(jars)
    if not is_local(master):
        return settings | {"spark.driver.defaultJavaOptions": _planner_options()}
    cores = _cores(master)
    return settings | {
        "spark.local.dir": str(folder),
        "spark.driver.memory": f"{_heap(memory_limit)}m",
        "spark.driver.extraJavaOptions": _java_options(cores),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.buffer.pageSize": "1m",
        "spark.locality.wait": "0",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.shuffle.compress": "true",
        "spark.io.compression.codec": "lz4",
        "spark.cleaner.periodicGC.interval": "5min",
    }


def _of_s3() -> dict[str, str]:
    """What `s3a:` needs to read what `s3:` of this environment is: Spark itself takes the keys from it."""
    settings: dict[str, str] = {}
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        settings |= {"spark.hadoop.fs.s3a.endpoint": endpoint, "spark.hadoop.fs.s3a.path.style.access": "true"}
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings


def _cores(master: str) -> int:
    wanted = re.search(r"\[(\d+)", master)
    if wanted:
        return int(wanted.group(1))
    return 1 if master == "local" else len(os.sched_getaffinity(0))


def _heap(memory_limit: str | None) -> int:
    """Megabytes for the JVM's heap: three quarters of the limit, or 6 GB but at most half of the machine."""
    if memory_limit is None:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
        return max(1024, min(6144, machine // 2))
    parsed = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", memory_limit.lower())
    if parsed is None:
        raise UsageError(f"memory limit {memory_limit!r} is not a size: write it as 800MB or 4GB")
    number, unit = parsed.groups()
    megabytes = float(number) * {"": 1 / 1024**2, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}[unit]
    if megabytes < 900:
        raise UsageError(f"memory limit {memory_limit!r} is too little for Spark: give it 900MB or more")
    return max(700, int(megabytes * 0.75))


def _java_options(cores: int) -> str:
    """TRIPLAKE_SPARK_JAVA_OPTIONS, else a collector that fits the cores and no optimising compiler.

    Measured on two cores, seconds of CPU from start to committed closure: 100,000 triples 29 (with the optimising
    compiler 55, with the parallel collector 35, and 1.9 GB resident instead of 0.85); 1.4 million triples 99, 108, 101.
    Java ends when it is out of memory: a task that dies of it can otherwise leave its query waiting for ever.
    Without the optimising compiler Java reserves 48 MB for compiled code. A few hundred statements fill these (each
    generates classes), and Java then interprets all that is new: so it gets what it reserves with that compiler.
    """
    collector = "-XX:+UseSerialGC" if cores <= 2 else "-XX:+UseParallelGC"
    return os.environ.get("TRIPLAKE_SPARK_JAVA_OPTIONS", f"{collector} {_WITHOUT_OPTIMISER}")


def _planner_options() -> str:
    """The same for a driver that only plans, of a cluster. Its collector is left to the user, whose
    `spark.driver.extraJavaOptions` come after these and must not name a second one.

    A load on executors with two thirds of a core each: ten universities 97 s instead of 117.
    """
    return os.environ.get("TRIPLAKE_SPARK_JAVA_OPTIONS", _WITHOUT_OPTIMISER)


def graphframes_jars() -> list[str]:
    """GraphFrames' jars where there are any: TRIPLAKE_GRAPHFRAMES_JARS (paths, commas), else Maven's local ones."""
    named = os.environ.get("TRIPLAKE_GRAPHFRAMES_JARS")
    if named is not None:
        return [jar for jar in re.split(r"[,:]", named) if jar]
    folder = Path.home() / ".m2" / "repository" / "io" / "graphframes"
    return sorted(glob.glob(str(folder / "graphframes*-spark4_2.13" / "0.12.3" / "*-0.12.3.jar")))
