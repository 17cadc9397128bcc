"""LUBM's 14 queries over n universities, warm: Triplake beside Oxigraph, over the same materialised triples.

Triplake loads the data and materialises it by owl2rl; pyoxigraph gets the closure that Triplake exports. Each asks
every query once, and then so many times more; the medians of these are shown, with the iteration over all rows as terms
of the library's own (rdflib's, pyoxigraph's). Then the facts of resources, spread over the data, one at a time. Each
system has a process of its own, one after the other.

The exit code is 1 if the systems differ in the number of a query's rows, or if with --check Triplake's medians come to
more than Oxigraph's, one of them takes more than a second, or the facts of one resource more than 10 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.measure import run
from tests.bench.workload import SUITES, Workload, universities

MOST, LOOKUP = 1.0, 0.01
"""Seconds: what a query, and what the facts of one resource may take at most."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.lubm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--universities", type=int, default=10, metavar="N", help="about 138,000 triples each")
    parser.add_argument("--seed", type=int, default=0, help="of the generated universities")
    parser.add_argument("--runs", type=int, default=7, help="of each query, after the first")
    parser.add_argument("--lookups", type=int, default=20, metavar="N", help="resources whose facts are asked for")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each step")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is not kept")
    given = parser.parse_args()
    if not SUITES.joinpath("lubm").exists():
        parser.error(f"LUBM's queries are not in {SUITES}: set TRIPLAKE_SUITES to the folder that holds lubm")
    with tempfile.TemporaryDirectory(prefix="bench-lubm-") as name:
        folder = Path(name)
        data = universities(given.universities, given.seed, folder)
        queries = {q: text for q, text in data.queries.items() if q[1:].isdigit()}
        lookups = {s: f"SELECT ?p ?o {{ {s} ?p ?o }}" for s in _subjects(data, given.lookups)}
        found = _measured(replace(data, queries=queries | lookups), folder, given.runs, given.limit)
    return _shown(found, list(queries), list(lookups), given.check)


def _subjects(data: Workload, wanted: int) -> Iterator[str]:
    """Subjects of the data, evenly spread."""
    with open(data.files[-1], encoding="utf-8") as file:
        for line in islice(file, 0, None, max(1, data.triples // max(1, wanted))):
            yield line.split(" ", 1)[0]


def _measured(data: Workload, folder: Path, runs: int, limit: float) -> dict[str, dict[str, dict[str, Any]]]:
    """System -> query -> what was found."""
    job = {
        **{"workload": data.to_dict(), "runs": runs, "engine": "duckdb", "rules": ["owl2rl"]},
        **{"store": str(folder / "kg"), "closure": str(folder / "closure.nt")},
    }
    found = {}
    steps = {"store_load": "", "store_materialise": "", "store_export": "", "store_query": "triplake"}
    for name, system in {**steps, "pyoxigraph_query": "pyoxigraph"}.items():
        print(f"{data.name}: {name.replace('_', ' ')}", file=sys.stderr, flush=True)
        outcome = run({"job": name, **job}, limit)
        if outcome.status != "ok":
            raise SystemExit(f"{name}: {outcome.status}: {outcome.message}")
        if system:
            found[system] = {one["query"]: one for one in outcome.result["queries"]}
    return found


def _shown(found: dict[str, dict[str, dict[str, Any]]], queries: list[str], lookups: list[str], check: bool) -> int:
    """Print the tables; the exit code."""
    ours, theirs = found["triplake"], found["pyoxigraph"]
    table = Table("query", "rows", "triplake ms", "first", "pyoxigraph ms", "first")
    for column in table.columns[1:]:
        column.justify = "right"

    def row(name: str, rows: str, numbers: list[float]) -> None:
        table.add_row(name, rows, *(f"{1000 * number:,.1f}" for number in numbers))

    def sums(names: list[str]) -> list[float]:
        return [sum(side[name][key] for name in names) for side in (ours, theirs) for key in ("seconds", "first")]

    for name in queries:
        numbers = [side[name][key] for side in (ours, theirs) for key in ("seconds", "first")]
        row(name, f"{ours[name]['rows']:,}", numbers)
    row("sum", f"{sum(ours[name]['rows'] for name in queries):,}", sums(queries))
    lookup = 0.0
    if lookups:
        lookup = statistics.median(ours[name]["seconds"] for name in lookups)
        middle = [
            statistics.median(side[n][key] for n in lookups) for side in (ours, theirs) for key in ("seconds", "first")
        ]
        row("facts of one (median)", f"{sum(ours[n]['rows'] for n in lookups) / len(lookups):.1f}", middle)
    Console(width=100).print(table)
    differing = [name for name in (*queries, *lookups) if ours[name]["rows"] != theirs[name]["rows"]]
    if differing:
        print(f"the systems differ in the number of rows of {', '.join(differing)}")
        return 1
    slow = [name for name in queries if ours[name]["seconds"] > MOST]
    worse = sums(queries)[0] > sums(queries)[2]
    if check and (slow or worse or lookup > LOOKUP):
        print(f"a bound is not kept: over a second {slow or 'none'}, sum {'above' if worse else 'below'} pyoxigraph's")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
