"""Which jobs are run for a workload, in which order, and which are left out for what reason."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bench.measure import Outcome, run, supervise
from tests.bench.workload import Workload

ENGINES = ("duckdb", "spark")
PEERS = ("reasonable", "owlrl", "pyoxigraph")
OWLRL_TRIPLES = 200_000
"""Beyond as many triples owlrl, which derives some 2,000 a second, is not started."""

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What the user asked for."""

    engines: tuple[str, ...]
    peers: tuple[str, ...]
    rules: str
    runs: int
    limit: float
    peer_limit: float


@dataclass(frozen=True)
class Row:
    """A line of the table: `seconds` is the work alone, `wall` the life of the process; medians over the runs."""

    workload: str
    triples: int
    system: str
    phase: str
    status: str
    seconds: float | None
    wall: float | None
    peak_mb: float | None
    detail: dict[str, Any]
    message: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(plan: Plan, workload: Workload, notify: Notify) -> Iterator[Row]:
    """All rows of one workload, as they are measured."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        closure = folder / "closure.nt"
        for engine in plan.engines:
            yield from _triplake(plan, workload, engine, folder, closure, notify)
        for peer in plan.peers:
            yield from _peer(plan, workload, peer, folder, closure, notify)


def _triplake(
    plan: Plan, workload: Workload, engine: str, folder: Path, closure: Path, notify: Notify
) -> Iterator[Row]:
    system = f"triplake {engine}"

    def job(name: str, store: str) -> Outcome:
        given = {"store": store, "engine": engine, "rules": [plan.rules], "closure": str(closure)}
        return run({"job": name, "workload": workload.to_dict(), **given}, plan.limit)

    def command(store: str) -> Outcome:
        line = [sys.executable, "-m", "triplestore.cli", "load", store, *workload.files]
        status, wall, peak, said = supervise([*line, "--rules", plan.rules, "--engine", engine, "--quiet"], plan.limit)
        return Outcome(status, wall, peak, {"seconds": wall}, said)

    stores = [str(folder / f"{engine}-{number}") for number in range(plan.runs)]
    phases: list[tuple[str, Callable[[str], Outcome]]] = [
        ("end to end", lambda store: command(f"{store}-cold")),
        ("load", lambda store: job("store_load", store)),
        ("materialise", lambda store: job("store_materialise", store)),
        ("query", lambda store: job("store_query", store)),
        ("update", lambda store: job("store_update", store)),
    ]
    failed = ""
    for phase, measured in phases:
        if failed:
            yield _left_out(workload, system, phase, f"{failed} failed")
            continue
        notify(f"{workload.name}: {system}, {phase}")
        row = _row(workload, system, phase, [measured(store) for store in stores])
        yield row
        if row.status != "ok" and phase in ("load", "materialise"):
            failed = phase
    if not failed and "pyoxigraph" in plan.peers and not closure.exists():
        notify(f"{workload.name}: exporting the closure for pyoxigraph")
        if job("store_export", stores[0]).status != "ok":
            closure.unlink(missing_ok=True)


def _peer(plan: Plan, workload: Workload, peer: str, folder: Path, closure: Path, notify: Notify) -> Iterator[Row]:
    def repeat(name: str, phase: str) -> Row:
        notify(f"{workload.name}: {peer}, {phase}")
        found = []
        for number in range(plan.runs):
            where = folder / f"{name}-{number}"
            where.mkdir()
            given = {"store": str(where / "store"), "folder": str(where), "closure": str(closure)}
            found.append(run({"job": name, "workload": workload.to_dict(), **given}, plan.peer_limit))
        return _row(workload, peer, phase, found)

    if peer == "pyoxigraph":
        yield repeat("pyoxigraph_load", "load")
        if closure.exists():
            yield repeat("pyoxigraph_query", "query")
        else:
            yield _left_out(workload, peer, "query", "there is no closure from Triplake to query")
    elif peer == "owlrl" and workload.triples > OWLRL_TRIPLES:
        yield _left_out(workload, peer, "end to end", f"more than {OWLRL_TRIPLES:,} triples")
    else:
        yield repeat(peer, "end to end")


def _row(workload: Workload, system: str, phase: str, found: list[Outcome]) -> Row:
    """The median run of those that succeeded, or the first that did not."""
    bad = [outcome for outcome in found if outcome.status != "ok"]
    if bad:
        one = bad[0]
        return Row(
            workload.name, workload.triples, system, phase, one.status, None, one.wall, one.peak_mb, {}, one.message
        )
    middle = sorted(found, key=lambda outcome: float(outcome.result["seconds"]))[(len(found) - 1) // 2]
    detail = {key: value for key, value in middle.result.items() if key != "seconds"}
    seconds = statistics.median(float(outcome.result["seconds"]) for outcome in found)
    wall = statistics.median(outcome.wall for outcome in found)
    peak = max(outcome.peak_mb for outcome in found)
    return Row(workload.name, workload.triples, system, phase, "ok", seconds, wall, peak, detail, "")


def _left_out(workload: Workload, system: str, phase: str, why: str) -> Row:
    return Row(workload.name, workload.triples, system, phase, "not run", None, None, None, {}, why)
