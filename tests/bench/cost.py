"""What a store costs by its size, and what that says of larger ones: `python -m tests.bench.cost`.

Each size is a cold `triplake load` of so many universities to a committed closure, in a process of its own. Fitted is
``seconds = start + rate * n * log2(n)``, n the asserted triples: everything is read and written once, but what numbers
terms and orders files sorts. The curve is that of the first two sizes; the others are what it is held against.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measure import supervise
from tests.bench.workload import universities
from triplestore import Store


@dataclass(frozen=True)
class Measured:
    """A load: asserted and inferred triples, its seconds, its highest memory in megabytes."""

    universities: int
    asserted: int
    inferred: int
    seconds: float
    peak_mb: float


def measure(count: int, options: list[str], folder: Path) -> Measured:
    """Load so many universities with these options of `triplake load`, cold. Raises RuntimeError where it fails."""
    data, store = universities(count, 0, folder), folder / "kg"
    load = [sys.executable, "-m", "triplestore.cli", "load", str(store), *data.files, "--quiet", *options]
    status, seconds, peak, message = supervise(load, 7_200)
    if status != "ok":
        raise RuntimeError(message)
    with Store.open(store) as opened:
        stats = opened.stats()
    return Measured(count, stats.asserted, stats.inferred, seconds, peak)


def fitted(one: Measured, other: Measured) -> tuple[float, float]:
    """(start, rate) of the curve through two loads."""
    rate = (other.seconds - one.seconds) / (work(other.asserted) - work(one.asserted))
    return one.seconds - rate * work(one.asserted), rate


def work(triples: int) -> float:
    return triples * math.log2(triples)


def main() -> None:
    """Print a table: a row for each size, with what the curve of the first two says of the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--universities", default="1,10,30,100", metavar="N,N..")
    parser.add_argument("--engine", default="spark", choices=["duckdb", "spark"])
    parser.add_argument("--master", default="local[2]", help="of Spark")
    parser.add_argument("--memory-limit", metavar="SIZE")
    given = parser.parse_args()
    options = ["--engine", "duckdb"] if given.engine == "duckdb" else ["--master", given.master]
    options += ["--memory-limit", given.memory_limit] if given.memory_limit else []
    rows: list[Measured] = []
    print("| universities | asserted | inferred | seconds | by the curve | off | peak memory |")
    print("|---|---|---|---|---|---|---|")
    for number in map(int, given.universities.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            found = measure(number, options, Path(folder))
        rows.append(found)
        said, off = "", ""
        if len(rows) > 2:
            start, rate = fitted(*rows[:2])
            predicted = start + rate * work(found.asserted)
            said, off = f"{predicted:.1f}", f"{predicted / found.seconds - 1:+.0%}"
        sizes = f"{found.universities} | {found.asserted:,} | {found.inferred:,}"
        print(f"| {sizes} | {found.seconds:.1f} | {said} | {off} | {found.peak_mb / 1000:.1f} GB |", flush=True)
    start, rate = fitted(*rows[:2])
    print(f"\nseconds = {start:.2f} + {rate:.3e} * n * log2(n)")
    for billions in (1, 10, 100):
        print(f"{billions} billion triples: {(start + rate * work(billions * 10**9)) / 3600:.1f} hours")


if __name__ == "__main__":
    main()
