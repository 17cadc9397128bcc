"""What maintenance is to cost on university data with axioms that merge: warm and cold, by size, and on Spark.

Each is a job of its own (`tests.bench.jobs`); facts to delete are drawn at random from the data, axioms are named.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from datasets.university.dice import Dice
from datasets.university.generate import UB
from tests import ROOT
from tests.bench.maintain.data import universities
from triplestore import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALIASES: Final = 0.05
AXIOM: Final = f"<{UB}AssistantProfessor> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{UB}Professor> ."
"""A subclass axiom near the leaves of the ontology."""
RUNS: Final = 5

Seconds = dict[str, float]


def prepared(count: int, folder: Path, memory: str | None = None) -> tuple[Path, list[str]]:
    """A store with so many universities, and 1,000 of its asserted facts at random, as N-Triples lines."""
    files, store = folder / "files", folder / "store"
    files.mkdir()
    universities(count, ALIASES)(files, 0)
    with Store.create(store, engine="duckdb", memory_limit=memory) as made:
        made.load(*sorted(files.iterdir()))
    data = files / "data.nt"
    with open(data, encoding="utf-8") as lines:
        total = sum(1 for _ in lines)
    chosen = {int(n) for n in Dice(0, 30).below(total, 1_000)}
    with open(data, encoding="utf-8") as lines:
        return store, sorted({line.strip() for number, line in enumerate(lines) if number in chosen})


def _file(folder: Path, lines: Sequence[str]) -> Path:
    file = folder / "change.nt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _timed(work: Callable[..., Any], *arguments: Any, **named: Any) -> float:
    start = time.perf_counter()
    work(*arguments, **named)
    return time.perf_counter() - start


def warm(store: Store, folder: Path, lines: Sequence[str], size: int, runs: int = RUNS) -> Seconds:
    """Seconds to delete so many facts and to add them again, in a process that has done so before: medians."""
    found: dict[str, list[float]] = {"delete": [], "add": []}
    for run in range(runs + 1):
        file = _file(folder, [lines[(run * size + i) % len(lines)] for i in range(size)])
        found["delete"].append(_timed(store.update_files, delete=[file]))
        found["add"].append(_timed(store.update_files, add=[file]))
    return {name: statistics.median(times[1:]) for name, times in found.items()}


def embedded(job: dict[str, Any]) -> dict[str, Any]:
    """Ten universities, or as many as the job says, on DuckDB."""
    folder = Path(job["folder"])
    path, lines = prepared(job["universities"], folder, job.get("memory"))
    found: dict[str, Any] = {}
    with Store.open(path, engine="duckdb", memory_limit=job.get("memory")) as store:
        stats = store.stats()
        found |= {key: stats[key] for key in ("asserted", "facts", "classes")}
        for size in (1, 100):
            found[f"{size}"] = warm(store, folder, lines, size)
        if not job["all"]:
            return found
        file = _file(folder, [AXIOM])
        axiom: dict[str, list[float]] = {"delete": [], "add": []}
        for _ in range(3):
            axiom["delete"].append(_timed(store.update_files, delete=[file]))
            found["axiom_by"] = store.stats()["last"]["algorithm"]
            axiom["add"].append(_timed(store.update_files, add=[file]))
        found["axiom"] = {name: statistics.median(times) for name, times in axiom.items()}
        found["materialise"] = min(_timed(store.materialise) for _ in range(3))
        draw = _file(folder, lines[:100])
        found["anew"] = min(
            _timed(store.update_files, **{side: [draw]}, maintain="rematerialise") for side in ("delete", "add")
        )
    cold = []
    for _ in range(3):
        for side in ("--delete", "--add"):
            command = [sys.executable, "-m", "triplestore.cli", "update", str(path), side, str(draw), "--quiet"]
            cold.append(_timed(subprocess.run, command, cwd=ROOT, check=True))
    return {**found, "cold": statistics.median(cold)}


def _plans(spark: SparkSession) -> list[str]:
    """The physical plan of each query that the session has run."""
    status = spark._jsparkSession.sharedState().statusStore()
    found = status.executionsList()
    return [found.apply(number).physicalPlanDescription() for number in range(found.size())]


def _reads_facts(plan: str) -> bool:
    return "/fact-" in plan


def _shuffles(plan: str) -> bool:
    return _reads_facts(plan) and "hashpartitioning" in plan


def on_spark(job: dict[str, Any]) -> dict[str, Any]:
    """100 deletions on Spark, then the same on DuckDB: seconds; queries that Spark ran, how many of them read files of
    `fact`, and how many of those shuffle; whether all is equal."""
    folder = Path(job["folder"])
    path, lines = prepared(job["universities"], folder)
    other = folder / "other"
    with Store.open(path, engine="duckdb") as store:
        store.copy(other)
    draw = _file(folder, lines[:100])
    found: dict[str, Any] = {}
    with Store.open(path, engine="spark", master="local[2]", memory_limit="3GB") as store:
        spark = store.facts_df().sparkSession
        for step, side in (("first", "delete"), ("again", "add"), ("third", "delete")):
            before = len(_plans(spark))
            found[step] = _timed(store.update_files, **{side: [draw]})
            plans = _plans(spark)[before:]
            found[f"{step}_queries"] = [len(plans), *(sum(map(test, plans)) for test in (_reads_facts, _shuffles))]
        found["by"] = store.stats()["last"]["algorithm"]
    with Store.open(other, engine="duckdb") as reference:
        reference.update_files(delete=[draw], maintain="rematerialise")
        wanted = sorted(line for batch in reference.lines(same_as="canonical") for line in batch)
    with Store.open(path, engine="auto") as store:
        got = sorted(line for batch in store.lines(same_as="canonical") for line in batch)
        found["equal"] = got == wanted
        found["engine"] = store.engine_name
        found["auto"] = warm(store, folder, lines[100:], 100)
    return found
