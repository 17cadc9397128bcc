"""What one large class of equal terms costs on Spark, and whether one task does the work of all: `python -m
tests.bench.skew`.

Two data sets: n subjects that share a value of an inverse functional property, and n equal resources with facts of
their own; ten subjects first, twice, for what Spark takes anyhow. Each is loaded, closed and committed; then Spark's
own figures are read. A stage's share is what its busiest task had of the shuffled records that the stage read: 1/p of
them where the work is spread over p tasks, all where one has it. Stages of one task are those that number rows in order
(`triplestore.engine.spark`), and are only counted. The intermediate rows are the most that any operator of any plan put
out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from datasets.clique.generate import clique
from triplestore import Store
from triplestore.engine.spark.session import start_session
from triplestore.model.terms import OWL, RDF

EX = "http://example.org/shared/"


def shared(n: int) -> Iterator[str]:
    """n subjects with one value of an inverse functional property, as N-Triples text."""
    yield f"<{EX}mail> <{RDF}type> <{OWL}InverseFunctionalProperty> .\n"
    for i in range(n):
        yield f"<{EX}s{i}> <{EX}mail> <{EX}m> .\n"


class Watch:
    """The figures of the stages and plans that a Spark context has run since this was made."""

    def __init__(self, spark: Any) -> None:
        self._stages = spark.sparkContext._jsc.sc().statusStore()
        self._plans = spark._jsparkSession.sharedState().statusStore()
        self._seen_stages, self._seen_plans = set(self._stage_keys()), set(self._plan_keys())

    def _stage_keys(self) -> list[tuple[int, int]]:
        defaults = [getattr(self._stages, f"stageList$default${place}")() for place in range(2, 6)]
        found = self._stages.stageList(None, *defaults)
        return [(found.apply(i).stageId(), found.apply(i).attemptId()) for i in range(found.size())]

    def _plan_keys(self) -> list[int]:
        found = self._plans.executionsList()
        return [found.apply(i).executionId() for i in range(found.size())]

    def shares(self) -> list[tuple[int, int, int]]:
        """(records of the busiest task, of the stage, tasks) of each new stage that read shuffled ones."""
        found = []
        for stage, attempt in set(self._stage_keys()) - self._seen_stages:
            tasks = self._stages.taskList(stage, attempt, 10_000)
            read = []
            for i in range(tasks.size()):
                if (metrics := tasks.apply(i).taskMetrics()).isDefined():
                    read.append(metrics.get().shuffleReadMetrics().recordsRead())
            if any(read):
                found.append((max(read), sum(read), len(read)))
        return found

    def rows(self) -> int:
        """The most rows that an operator of a new plan put out."""
        most = 0
        for key in set(self._plan_keys()) - self._seen_plans:
            values, metrics = self._plans.executionMetrics(key), self._plans.execution(key).get().metrics()
            for i in range(metrics.size()):
                metric = metrics.apply(i)
                if metric.name() == "number of output rows" and values.contains(metric.accumulatorId()):
                    most = max(most, int(str(values.apply(metric.accumulatorId())).replace(",", "")))
        return most


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.skew", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=100_000, help="members of the class")
    parser.add_argument("--facts", type=int, default=2, help="of each of the equal resources")
    parser.add_argument("--partitions", type=int, default=8, help="of a shuffle; never put together")
    parser.add_argument("--memory-limit", default="4GB", help="of Spark")
    given = parser.parse_args()
    spark = start_session("local[2]", given.memory_limit)
    conf = spark.sparkContext._jsc.sc().conf()  # what each engine's own session starts from
    conf.set("spark.sql.shuffle.partitions", str(given.partitions))
    conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    kinds: list[tuple[str, Callable[[], Iterator[str]]]] = [
        ("ten subjects, cold", lambda: shared(10)),
        ("ten subjects", lambda: shared(10)),
        ("shared value", lambda: shared(given.size)),
        ("equal resources", lambda: clique(given.size, given.facts)),
    ]
    for name, triples in kinds:
        with tempfile.TemporaryDirectory(prefix="bench-skew-") as folder:
            source = Path(folder, "data.nt")
            source.write_text("".join(triples()))
            with Store.create(Path(folder, "kg"), engine="spark", spark=spark) as store:
                watch, started = Watch(spark), time.perf_counter()
                store.load(source)
                seconds = time.perf_counter() - started
                stats = store.stats()
                large = [s for s in watch.shares() if s[1] >= given.size // 2]
                spread = [s for s in large if s[2] > 1]
                busiest, read, tasks = max(spread, key=lambda s: s[0] / s[1], default=(0, 1, 0))
                told = [
                    f"{seconds:.1f} s, {stats['last']['seconds']:.1f} s of it the transaction",
                    f"{stats['asserted']:,} asserted, {stats['facts']:,} facts stored",
                    f"the largest class has {stats['largest_class']:,} members",
                    f"{watch.rows():,} rows at most out of an operator",
                    f"{len(large)} stages read {given.size // 2:,} shuffled records or more, {len(spread)} in tasks",
                    f"the busiest of {tasks} tasks had {busiest:,} of {read:,}, {busiest / read:.0%}",
                ]
                print(f"{name}: {'; '.join(told)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
