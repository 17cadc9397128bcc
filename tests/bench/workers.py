"""How much faster two workers of a Spark cluster are than one: `python -m tests.bench.workers`.

A master and workers of one core each are processes of this machine, the driver another. Every statement is the
executors' (the driver's DuckDB has those of few rows alone, with `--driver-rows`), and so are the cutting of lines and
the writing of files: what is measured is how the work is shared, not how fast it is. The seconds are those of a load
to a committed closure, once the session is there and has run a first job.

A machine of few cores has none left for the driver and for Java's collectors of garbage, so that two workers share what
one has to itself. `--cores 0.66` gives each worker, with its executor and the executor's Python, and the driver a
control group of two thirds of a core: on two cores that is a cluster of three slower machines. It needs root, on Linux.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.bench.workload import universities
from tests.support.cluster import cluster

PROGRAM = """
import sys, time
from triplestore import Store
from triplestore.engine.thresholds import Thresholds
from triplestore.model.thresholds import Sizes
from triplestore.engine.spark.session import start_session
Thresholds.in_driver, Sizes.one_thread = int(sys.argv[2]), 1
start_session().range(1000).count()
began = time.monotonic()
with Store.create(sys.argv[1], ["owl2rl"], engine="spark") as store:
    store.load(*sys.argv[3:])
print(time.monotonic() - began)
"""


CONTROL_GROUPS = Path("/sys/fs/cgroup/cpu")
"""Where version 1 of control groups has those of processors; version 2 has one tree, the folder above."""


@contextmanager
def confined(process: subprocess.Popen[bytes] | subprocess.Popen[str], cores: float) -> Iterator[None]:
    """A process and all that it starts, with so many cores and no more.

    Raises OSError where this user may not make control groups, or the kernel has none of processors.
    """
    quota, period = int(cores * 100_000), 100_000
    if CONTROL_GROUPS.is_dir():
        group, limits = CONTROL_GROUPS, {"cpu.cfs_period_us": f"{period}", "cpu.cfs_quota_us": f"{quota}"}
    else:
        group, limits = CONTROL_GROUPS.parent, {"cpu.max": f"{quota} {period}"}
    group /= f"triplake-{process.pid}"
    group.mkdir()
    try:
        for name, limit in limits.items():
            (group / name).write_text(limit)
        (group / "cgroup.procs").write_text(str(process.pid))
        yield
    finally:
        while pids := (group / "cgroup.procs").read_text().split():
            for pid in pids:
                with suppress(ProcessLookupError):  # it has ended since
                    (group.parent / "cgroup.procs").write_text(pid)
        group.rmdir()


def seconds(workers: int, files: Sequence[str], megabytes: int, rows: int, cores: float | None) -> float:
    """What a load takes on so many workers. Raises RuntimeError where it fails."""
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(Path(folder, "cluster"), workers, megabytes) as made,
        ExitStack() as limits,
    ):
        driver = made.run(PROGRAM, Path(folder, "kg"), rows, *files)
        if cores:
            limits.enter_context(confined(driver, cores))
            for worker in made.workers:
                limits.enter_context(confined(worker, cores))
        out, err = driver.communicate()
    if driver.returncode:
        raise RuntimeError(err[-2000:])
    return float(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--universities", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--megabytes", type=int, default=3000, help="memory of an executor")
    parser.add_argument("--driver-rows", type=int, default=0, help="up to which the driver runs a statement itself")
    parser.add_argument("--cores", type=float, help="of a worker, and of the driver; default: what the machine gives")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, first = universities(options.universities, 0, Path(folder)), None
        for workers in options.workers:
            took = seconds(workers, data.files, options.megabytes, options.driver_rows, options.cores)
            first = first or took
            print(f"{workers} workers: {took:.1f} s, {first / took:.2f} x", flush=True)


if __name__ == "__main__":
    main()
