"""`python -m tests.bench maintain`: every data set in a process of its own, then the tables and the plot."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench import measure as processes
from tests.bench.maintain import report
from tests.bench.maintain.data import DATA_SETS
from tests.bench.report import machine


def main(arguments: list[str]) -> int:
    names = [data.name for data in DATA_SETS]
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench maintain",
        description="Deletions of every size by every maintenance algorithm, and by `auto`, on each data set.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data", default=",".join(names), help="data sets, by name")
    parser.add_argument("--minutes", type=float, default=8, help="for all data sets together")
    parser.add_argument("--out", type=Path, default=Path("bench-maintain.json"), help="the figures")
    parser.add_argument("--write", action="store_true", help="put tables and plot into docs/ (a run of all data sets)")
    given = parser.parse_args(arguments)
    chosen = given.data.split(",")
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"no data set '{unknown[0]}'; give some of {', '.join(names)}")
    results: dict[str, Any] = {}
    end = time.monotonic() + 60 * given.minutes
    for number, name in enumerate(chosen):
        share = max(20.0, (end - time.monotonic()) / (len(chosen) - number))
        print(f"{name}, for {share:.0f} s at most", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="bench-maintain-") as folder:
            job = {"job": "maintain", "name": name, "folder": folder, "seconds": share}
            outcome = processes.run(job, 2 * share + 60)
        results[name] = (
            outcome.result if outcome.status == "ok" else {"message": f"{outcome.status}: {outcome.message}"}
        )
        given.out.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")
    text = report.markdown(results, machine(), ())
    given.out.with_suffix(".md").write_text(text)
    if given.write:
        report.into_page(text)
        report.plot(results)
    print(text)
    worst = [
        w for r in results.values() if "cells" in r for row in report.rows_of(r).values() if (w := report.regret(row))
    ]
    print(f"the worst regret of auto: {max(worst, default=0):.2f}")
    return 0 if all("cells" in result for result in results.values()) else 1
