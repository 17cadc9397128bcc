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
from tests.bench.maintain.data import DATA_SETS, FRESH
from tests.bench.report import machine

SCALES = {
    "ten": {"job": "maintain_embedded", "universities": 10, "all": True},
    "hundred": {"job": "maintain_embedded", "universities": 100, "all": False},
    "spark": {"job": "maintain_spark", "universities": 10},
}
"""Measurements on university data of one size each, with the time they may take in seconds."""
LIMITS = {"ten": 240.0, "hundred": 900.0, "spark": 400.0}


def main(arguments: list[str]) -> int:
    names, fresh = ([data.name for data in several] for several in (DATA_SETS, FRESH))
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench maintain",
        description="Deletions of every size by every maintenance algorithm, and by `auto`, on each data set; and what "
        "small updates cost at ten and at a hundred universities, and on Spark.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data", default=None, help="data sets, by name, or none; without it: all of the table")
    parser.add_argument("--minutes", type=float, default=13.0, help="for all data sets together")
    parser.add_argument("--fresh", action="store_true", help="the data sets that the policy was not written by")
    parser.add_argument("--seed", type=int, default=0, help="of the data and of the deletions")
    parser.add_argument("--scales", default="ten,spark", help=f"of {','.join(SCALES)}, or none")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("bench-maintain.json"),
        help="the figures; what is there and not measured anew stays",
    )
    parser.add_argument("--write", action="store_true", help="put the tables and the plot into docs/")
    given = parser.parse_args(arguments)
    wanted = ",".join(fresh if given.fresh else names) if given.data is None else given.data
    chosen, scales = ([name for name in text.split(",") if name not in ("", "none")] for text in (wanted, given.scales))
    if unknown := [name for name in chosen if name not in (*names, *fresh)]:
        parser.error(f"no data set '{unknown[0]}'; give some of {', '.join((*names, *fresh))}")
    if unknown := [name for name in scales if name not in SCALES]:
        parser.error(f"no scale '{unknown[0]}'; give some of {', '.join(SCALES)}")
    known = json.loads(given.out.read_text()) if given.out.exists() else {}
    results: dict[str, Any] = known.get("results", {})
    scaled: dict[str, Any] = known.get("scales", {})
    end = time.monotonic() + 60 * given.minutes

    def save() -> str:
        """Write what is measured so far, so that it survives an interruption."""
        figures = {"machine": machine(), "results": results, "scales": scaled}
        given.out.write_text(json.dumps(figures, indent=1) + "\n")
        text = report.markdown(results, scaled, machine())
        given.out.with_suffix(".md").write_text(text)
        return text

    for number, name in enumerate(chosen):
        share = max(15.0, (end - time.monotonic()) / (len(chosen) - number))
        job = {"job": "maintain", "name": name, "seconds": share, "seed": given.seed}
        results[name] = {**_run(job, 2 * share + 60), "when": _now()}
        save()
    for name in scales:
        scaled[name] = {**_run({**SCALES[name]}, LIMITS[name]), "when": _now()}
        save()
    text = save()
    if given.write:
        report.into_page(text)
        report.plot(results)
    print(text)
    return 0 if all("message" not in result for result in (*results.values(), *scaled.values())) else 1


def _run(job: dict[str, Any], limit: float) -> dict[str, Any]:
    """Run a job in a process of its own, in a folder of its own; its result, or a message."""
    print(f"{job.get('name', job)}, {limit:.0f} s at most", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-maintain-") as folder:
        outcome = processes.run({**job, "folder": folder}, limit)
    return outcome.result if outcome.status == "ok" else {"message": f"{outcome.status}: {outcome.message}"}


def _now() -> str:
    return str(machine()["when"])
