"""How much faster two workers of a Spark cluster are than one: `python -m tests.bench.workers`.

A master and workers of one core each are processes of this machine, the driver another. Every statement is the
executors' (the driver's DuckDB has none), and so are the cutting of lines and the writing of files: what is measured is
how the work is shared, not how fast it is. The seconds are those of a load to a committed closure, once the session is
there and has run a first job.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.workload import universities
from tests.support.cluster import cluster

PROGRAM = """
import sys, time
from triplestore import Store
from triplestore.engine.spark import driver, output
from triplestore.engine.spark.session import start_session
driver.IN_DRIVER, output.SMALL_WRITE = 0, 1
start_session().range(1000).count()
began = time.monotonic()
with Store.create(sys.argv[1], ["owl2rl"], engine="spark") as store:
    store.load(*sys.argv[2:])
print(time.monotonic() - began)
"""


def seconds(workers: int, files: Sequence[str], megabytes: int) -> float:
    """What a load takes on so many workers. Raises RuntimeError where it fails."""
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder, "cluster"), workers, megabytes) as made:
        driver = made.run(PROGRAM, Path(folder, "kg"), *files)
        out, err = driver.communicate()
    if driver.returncode:
        raise RuntimeError(err[-2000:])
    return float(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--universities", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--megabytes", type=int, default=3000, help="memory of an executor")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, first = universities(options.universities, 0, Path(folder)), None
        for workers in options.workers:
            took = seconds(workers, data.files, options.megabytes)
            first = first or took
            print(f"{workers} workers: {took:.1f} s, {first / took:.2f} x", flush=True)


if __name__ == "__main__":
    main()
