"""Spark Structured Streaming: micro-batches become windows, and a run is taken up after a crash."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rdflib import RDFS, Namespace

from tests.support.streams import EVERYTHING, random_case, store_of
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.model.terms import to_ntriples
from triplestore.streams.answers import Answer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

E = Namespace("http://example.org/")
ASK = "SELECT ?x FROM STREAM <s> [RANGE 5 STEP 1] { ?x a <http://example.org/Room> } ORDER BY ?x"
LINE = "{}\t<http://example.org/r{}>\t<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>\t<http://example.org/HotRoom>\n"
AT_ONCE = {"availableNow": True}


def frame(spark: SparkSession, folder: Path) -> DataFrame:
    reader = spark.readStream.format("csv").option("sep", "\t").option("quote", "").option("maxFilesPerTrigger", 1)
    return reader.schema("time BIGINT, s STRING, p STRING, o STRING").load(str(folder))


def write(folder: Path, name: str, text: str) -> None:
    """A file, a second newer than the one before: Spark reads them in the order of their times."""
    folder.mkdir(exist_ok=True)
    (folder / f".{name}").write_text(text)
    number = 1_000_000_000 + len(list(folder.iterdir()))
    os.utime(folder / f".{name}", (number, number))
    os.replace(folder / f".{name}", folder / name)


def wait(run: object) -> None:
    run.query.awaitTermination()  # type: ignore[attr-defined]
    assert run.query.exception() is None  # type: ignore[attr-defined]


@pytest.mark.spark
def test_answers_are_exact(tmp_path: Path, spark: SparkSession) -> None:
    """Those of a store of just the window's facts; two runs, the second takes up the first."""
    case = random_case(2, 8)
    rows = ["\t".join([str(time), *map(to_ntriples, triple)]) + "\n" for time, triple in case.stream]
    wrong = [f"{2**62}\t<{E.a}>\t<{E.b}>\t<{E.c}>\n", "1\t\t\t\n"]  # too far from 0; nothing but a time
    answers: list[Answer] = []
    with store_of(case, tmp_path / "kg", engine="duckdb") as store:
        options = {"width": str(case.window.width), "step": str(case.window.step), "trigger": AT_ONCE}
        for number, part in enumerate((wrong + rows[:5], rows[5:])):
            write(tmp_path / "s", f"{number}.tsv", "".join(part))
            with store.stream_dataframe(
                frame(spark, tmp_path / "s"), EVERYTHING, answers.append, tmp_path / "c", **options
            ) as run:
                wait(run)
                assert number or run.stats.malformed == len(wrong)
    times = [case.look_at(answer) for answer in answers]
    assert times == sorted(set(times))
    assert times


@pytest.mark.spark
def test_wrong_frames(tmp_path: Path, spark: SparkSession) -> None:
    with Store.create(tmp_path / "kg", "rdfs", engine="duckdb") as store:
        still = spark.createDataFrame([(1, "a")], "time INT, triple STRING")
        for wrong, message in (
            (still, "not a streaming one"),
            (spark.readStream.format("rate").load(), "needs time"),
            (spark.readStream.format("rate").load().selectExpr("'x' AS time", "'y' AS triple"), "of type string"),
        ):
            with pytest.raises(UsageError, match=message):
                store.stream_dataframe(wrong, ASK, print, tmp_path / "c")


PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from tests.unit.streams.test_structured import ASK, frame, wait
from triplestore import Store
from triplestore.engine.spark import SparkEngine
kg, folder, out, state = map(Path, sys.argv[1:])
spark = SparkEngine(master="local[1]").spark
with Store.open(kg, engine="duckdb") as store:
    with store.stream_dataframe(frame(spark, folder), ASK, out, state, trigger={"availableNow": True}) as run:
        wait(run)
"""


@pytest.mark.long
@pytest.mark.spark
def test_killed_at_random(tmp_path: Path) -> None:
    """Ten times: each window that is complete is in the file once."""
    with Store.create(tmp_path / "kg", "rdfs-plus", engine="duckdb") as store:
        store.update(add=[(E.HotRoom, RDFS.subClassOf, E.Room)])
    for part in range(8):
        text = "".join(LINE.format(i, i) for i in range(5 * part + 1, 5 * part + 6))
        write(tmp_path / "s", f"{part}.tsv", text)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    command += [str(tmp_path / name) for name in ("kg", "s", "out", "state")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}
    rng = random.Random(1)
    for _ in range(10):
        with subprocess.Popen(command, env=environment, start_new_session=True) as process:
            time.sleep(10 + rng.random() * 12)
            os.killpg(process.pid, signal.SIGKILL)
    subprocess.run(command, env=environment, check=True, timeout=300)
    found = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [(row["time"], len(row["rows"])) for row in found] == [(i, min(i, 5)) for i in range(1, 40)]
