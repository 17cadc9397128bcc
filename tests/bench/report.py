"""The results as a table on the terminal, as Markdown and as JSON."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from tests.bench.plan import Row

COLUMNS = ("workload", "triples", "system", "phase", "seconds", "rate", "process s", "peak MB", "detail")
PACKAGES = ("triplake", "duckdb", "pyspark", "pyarrow", "reasonable", "owlrl", "pyoxigraph")


def machine() -> dict[str, Any]:
    """Where it was measured, and with which versions."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "python": platform.python_version(),
        "versions": versions,
    }


def cells(row: Row) -> list[str]:
    """A row of the table."""
    head = [row.workload, f"{row.triples:,}", row.system, row.phase]
    wall, peak = ("" if x is None else f"{x:,.2f}" for x in (row.wall, row.peak_mb))
    if row.status != "ok" or row.seconds is None:
        return [*head, row.status, "", wall, peak.split(".")[0], row.message]
    return [*head, f"{row.seconds:,.3f}", _rate(row), wall, peak.split(".")[0], _detail(row)]


def _rate(row: Row) -> str:
    """What the phase gets done in a second."""
    seconds = max(row.seconds or 0.0, 1e-9)
    if row.phase in ("load", "end to end"):
        return f"{row.triples / seconds:,.0f} triples/s"
    if row.phase == "materialise":
        return f"{(row.detail['expanded'] - row.detail['asserted']) / seconds:,.0f} inferred/s"
    if row.phase == "query":
        return f"{len(row.detail['queries']) / seconds:,.0f} queries/s"
    return ""


def _detail(row: Row) -> str:
    found = row.detail
    if row.phase == "update":
        return "; ".join(f"{s['step']}: {s['seconds']:.3f} s ({s['algorithm']})" for s in found["steps"])
    if row.phase == "query":
        slow = max(found["queries"], key=lambda query: query["seconds"])
        total = sum(query["rows"] for query in found["queries"])
        return f"{total:,} rows; slowest {slow['query']}, {slow['seconds']:.3f} s"
    names = {
        "triples": "triples",
        "expanded": "in the closure",
        "facts": "stored",
        "derived": "derivations",
        "rounds": "rounds",
        "load": "s to read",
    }
    shown = [
        f"{found[key]:,.2f} {name}" if key == "load" else f"{found[key]:,} {name}"
        for key, name in names.items()
        if key in found
    ]
    return ", ".join(shown)


def as_table(rows: Sequence[Row]) -> Table:
    table = Table(title="Triplake next to its peers")
    for name in COLUMNS:
        table.add_column(
            name, justify="right" if name in ("triples", "seconds", "rate", "process s", "peak MB") else "left"
        )
    for before, row in zip([None, *rows], rows, strict=False):
        if before and before.workload != row.workload:
            table.add_section()
        table.add_row(*cells(row))
    return table


def as_markdown(rows: Sequence[Row], where: dict[str, Any]) -> str:
    """The table, each query's time by system, and where it was measured."""
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *(_line(cells(row)) for row in rows)]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    lines += [
        "",
        f"{where['when']}, {where['cores']} cores, {where['memory_gb']} GB, Python {where['python']}, {versions}.",
    ]
    for workload in dict.fromkeys(row.workload for row in rows):
        lines += _queries(
            workload, [r for r in rows if r.workload == workload and r.phase == "query" and r.status == "ok"]
        )
    return "\n".join(lines) + "\n"


def _queries(workload: str, rows: Sequence[Row]) -> list[str]:
    """Milliseconds of every query, the second time it is asked, a system a column."""
    if not rows:
        return []
    systems = [row.system for row in rows]
    lines = ["", f"Queries of {workload}, milliseconds the second time:", ""]
    lines += [_line(["query", "rows", *systems]), _line(["---"] * (2 + len(systems)))]
    for together in zip(*(row.detail["queries"] for row in rows), strict=True):
        counts = dict.fromkeys(f"{one['rows']:,}" for one in together)
        times = [f"{one['seconds'] * 1000:,.1f}" for one in together]
        lines.append(_line([together[0]["query"], " / ".join(counts), *times]))
    return lines


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def save(path: Path, rows: Sequence[Row], arguments: dict[str, Any]) -> Path:
    """Write the JSON to `path` and the Markdown beside it; returns the latter's path."""
    where = machine()
    text = {"machine": where, "arguments": arguments, "results": [row.to_dict() for row in rows]}
    path.write_text(json.dumps(text, indent=1) + "\n")
    beside = path.with_suffix(".md")
    beside.write_text(as_markdown(rows, where))
    return beside


def show(rows: Sequence[Row]) -> None:
    Console(width=max(Console().width, 160)).print(as_table(rows))
