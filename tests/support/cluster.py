"""A Spark cluster of this machine: a master and workers, each a process, as `spark-class` starts them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark

from tests.support.hadoop import of_s3a
from triplestore.engine.spark.java import java_home

START = 60.0
"""Seconds that a process of the cluster has to start."""


@dataclass(frozen=True)
class Cluster:
    """master: its URL. folder: of its files, scratch among them. workers: their processes."""

    master: str
    folder: Path
    workers: tuple[subprocess.Popen[bytes], ...]

    @property
    def environment(self) -> dict[str, str]:
        """For a program that works on the cluster."""
        return os.environ | {
            "JAVA_HOME": java_home(),
            "SPARK_MASTER": self.master,
            "SPARK_CONF_DIR": str(self.folder),
            "TRIPLAKE_SCRATCH": str(self.folder / "scratch"),
            "PYSPARK_PYTHON": sys.executable,
        }

    def run(self, program: str, *arguments: object) -> subprocess.Popen[str]:
        """A Python program with its arguments as a driver."""
        command = [sys.executable, "-c", program, *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=self.environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def executors(self) -> list[psutil.Process]:
        """The processes of executors that live."""
        found = []
        for worker in self.workers:
            for child in psutil.Process(worker.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):  # it has ended since
                    if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline()):
                        found.append(child)
        return found


@contextmanager
def cluster(folder: Path, workers: int = 2, megabytes: int = 600) -> Iterator[Cluster]:
    """A cluster of workers with a core each, and an executor of so much memory on each for each driver."""
    (folder / "scratch").mkdir(parents=True)
    (folder / "spark-defaults.conf").write_text(
        f"spark.executor.memory {megabytes}m\nspark.executor.cores 1\n"
        "spark.driver.memory 900m\nspark.driver.host 127.0.0.1\n"
        "spark.driver.bindAddress 127.0.0.1\nspark.deploy.maxExecutorRetries -1\n"
        f"spark.sql.shuffle.partitions {2 * workers}\n"
        f"spark.driver.extraClassPath {of_s3a()}\nspark.executor.extraClassPath {of_s3a()}\n"
    )
    with (
        _started(folder, "master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0") as (_, url),
        _all(folder, url, workers, megabytes + 100) as processes,
    ):
        yield Cluster(url, folder, processes)


@contextmanager
def _all(folder: Path, url: str, workers: int, megabytes: int) -> Iterator[tuple[subprocess.Popen[bytes], ...]]:
    with ExitStack() as stack:
        rest = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", f"{megabytes}m")
        yield tuple(
            stack.enter_context(_started(folder, "worker", *rest, "--work-dir", str(folder / f"work{n}"), url))[0]
            for n in range(workers)
        )


@contextmanager
def _started(folder: Path, kind: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A process of the cluster, and the URL of the master that it names in its log once it runs."""
    home = Path(pyspark.__file__).parent
    name = f"org.apache.spark.deploy.{kind}.{kind.title()}"
    environment = os.environ | {"JAVA_HOME": java_home(), "SPARK_HOME": str(home), "SPARK_CONF_DIR": str(folder)}
    environment |= {"SPARK_DAEMON_MEMORY": "300m", "SPARK_LOCAL_DIRS": str(folder)}
    log = folder / f"{kind}{len(list(folder.glob('*.log')))}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), name, *arguments],
            env=environment,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    said = (
        r"Starting Spark master at (spark://\S+)"
        if kind == "master"
        else r"Successfully registered with master (spark://\S+)"
    )
    try:
        deadline = time.monotonic() + START
        while not (found := re.search(said, log.read_text(errors="replace"))):
            ended = process.poll() is not None or time.monotonic() > deadline
            assert not ended, log.read_text(errors="replace")[-2000:]
            time.sleep(0.1)
        yield process, found[1]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
