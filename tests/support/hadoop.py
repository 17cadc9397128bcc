"""Hadoop for tests: HDFS in a process of this machine, and what lets Spark read S3. `make jars` fetches both."""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from tests import ROOT
from triplestore.engine.spark.java import java_home

CLASSPATH = ROOT / ".jars" / "classpath"

START = 90.0
"""Seconds that HDFS has to start."""

NEEDS_HADOOP = pytest.mark.skipif(
    not CLASSPATH.is_file() or not CLASSPATH.read_text(), reason="Hadoop's jars are not here: run `make jars`"
)


def jars(*names: str) -> list[str]:
    """Those jars whose names start with one of these."""
    found = CLASSPATH.read_text().strip().split(os.pathsep) if CLASSPATH.is_file() else []
    return [jar for jar in found if Path(jar).name.startswith(names)]


def of_s3a() -> str:
    """The class path that lets Spark read `s3a:`; empty without it."""
    return os.pathsep.join(jars("hadoop-aws-", "bundle-", "analyticsaccelerator-", "wildfly-openssl-"))


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """The URL of an HDFS of one data node, with nothing in it."""
    folder.mkdir(parents=True)
    own = jars("hadoop-client-", "junit-", "opentest4j-", "apiguardian-")
    logging = [
        jar
        for name in ("slf4j-api", "log4j", "jcl")
        for jar in glob.glob(str(Path(pyspark.__file__).parent / "jars" / f"{name}*.jar"))
    ]
    details, log = folder / "details.json", folder / "log"
    command = [
        f"{java_home()}/bin/java",
        "-Xmx512m",
        f"-Dtest.build.data={folder}",
        "-cp",
        os.pathsep.join([*own, *logging]),
        "org.apache.hadoop.mapreduce.MiniHadoopClusterManager",
        *("-nomr", "-datanodes", "1", "-format", "-nnport", "0", "-nnhttpport", "0", "-writeDetails", str(details)),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, start_new_session=True)
    try:
        deadline = time.monotonic() + START
        while not details.exists() or not details.read_text().endswith("}"):
            ended = process.poll() is not None or time.monotonic() > deadline
            assert not ended, log.read_text(errors="replace")[-2000:]
            time.sleep(0.1)
        yield f"hdfs://127.0.0.1:{json.loads(details.read_text())['namenode_port']}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
