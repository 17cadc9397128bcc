"""The measured figures of README.md and the pages: `docs/figures.json` has them, and the pages show what it has.

`python -m tests.bench.figures` writes the figures into the places of the pages that are marked for them. A place is
`<!--f:NAME-->..<!--/f-->`, NAME that of a figure or of a table below. `python -m tests.bench.figures measure` measures
all of them first, in about ten minutes on an idle machine of two cores, and saves each as soon as it is measured;
`measure loads updates` measures these groups only. A group that fails keeps its old figures, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests import ROOT
from tests.bench import cost, lubm
from tests.bench.measure import supervise
from tests.bench.plan import Plan, measure
from tests.bench.workload import SUITES, Workload, a_clique, universities

FILE: Final = ROOT / "docs/figures.json"
PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PLACE: Final = re.compile(r"<!--f:([\w-]+)-->(.*?)<!--/f-->", re.DOTALL)

SIZES: Final = (1, 10, 30, 100)
"""Universities that are loaded; the curve of `tests.bench.cost` goes through the first two."""

DRIVER: Final = "Spark local[2], whose driver's DuckDB did the work"
ENGINES: Final = {"duckdb": "DuckDB", "spark": DRIVER}
OPTIONS: Final = {"duckdb": ["--engine", "duckdb"], "spark": ["--master", "local[2]"]}

Figures = dict[str, dict[str, Any]]


# -- Showing ---------------------------------------------------------------------------------------------------------


def shown(figure: dict[str, Any]) -> str:
    """A figure as pages write it: two digits and its unit."""
    value, unit = figure["value"], figure["unit"]
    if unit == "MB":
        value, unit = value / 1000, "GB"
    if unit == "triples":
        return f"{value:,}"
    if unit == "s" and value < 0.1:
        value, unit = value * 1000, "ms"
    digits = 0 if value >= 10 or unit == "ms" else 1 if value >= 1 else 2
    return f"{value:,.{digits}f} {unit}"


def _loads(figures: Figures, engine: str) -> str:
    """The table of loads of an engine, with what the curve says, and the curve."""
    rows = [
        cost.Measured(
            n, *(figures[f"{what}-{engine}-{n}"]["value"] for what in ("asserted", "inferred", "load", "memory"))
        )
        for n in SIZES
    ]
    start, rate = cost.fitted(*rows[:2])
    head = "DuckDB" if engine == "duckdb" else "Spark `local[2]`, the driver's DuckDB doing the work"
    lines = [f"| {head}: universities | asserted | inferred | seconds | by the curve | off | peak memory |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        by = start + rate * cost.work(row.asserted)
        off = round(100 * (by / row.seconds - 1))
        curve = " | " if row in rows[:2] else f"{by:.1f} | {off:+} %" if off else f"{by:.1f} | 0 %"
        sizes = f"{row.universities} | {row.asserted:,} | {row.inferred:,}"
        lines.append(f"| {sizes} | {row.seconds:.1f} | {curve} | {row.peak_mb / 1000:.1f} GB |")
    when = figures[f"load-{engine}-10"]["date"]
    return "\n" + "\n".join(
        [*lines, "", f"`seconds = {start:.2f} + {rate * 1e9:.0f}·10⁻⁹ · n · log₂ n`, measured {when}.", ""]
    )


def _larger(figures: Figures) -> str:
    """What the curves say of stores that were not measured."""
    lines = ["| asserted triples | Spark, by the curve | DuckDB, by the curve |", "|---|---|---|"]
    for billions in (1, 10, 100):
        hours = []
        for engine in ("spark", "duckdb"):
            pairs = [
                (figures[f"load-{engine}-{n}"]["value"], figures[f"asserted-{engine}-{n}"]["value"]) for n in (1, 10)
            ]
            (first, few), (second, more) = pairs
            rate = (second - first) / (cost.work(more) - cost.work(few))
            found = (first + rate * (cost.work(billions * 10**9) - cost.work(few))) / 3600
            hours.append(f"{found:,.0f} hours" if found >= 10 else f"{found:.1f} hours")
        lines.append(f"| {billions} billion | {' | '.join(hours)} |")
    return "\n" + "\n".join(lines) + "\n"


def _bytes(figures: Figures) -> str:
    """Bytes of a store for each stored fact, terms included."""
    lines = ["| data | facts stored | bytes a fact |", "|---|---|---|"]
    lines += [
        f"| {f['size']} | {f['facts']:,} | {f['value']:.1f} |" for n, f in figures.items() if n.startswith("bytes-")
    ]
    return "\n" + "\n".join(lines) + "\n"


TABLES: Final[dict[str, Callable[[Figures], str]]] = {
    "loads-duckdb": lambda figures: _loads(figures, "duckdb"),
    "loads-spark": lambda figures: _loads(figures, "spark"),
    "larger": _larger,
    "bytes": _bytes,
    "machine": lambda figures: f"{figures['load-duckdb-10']['machine']}, {figures['load-duckdb-10']['date']}",
}


def written(text: str, figures: Figures) -> str:
    """A page with the figures in their places. Raises KeyError for a name that is none."""

    def place(found: re.Match[str]) -> str:
        name = found[1]
        return f"<!--f:{name}-->{TABLES[name](figures) if name in TABLES else shown(figures[name])}<!--/f-->"

    return PLACE.sub(place, text)


def saved() -> Figures:
    """The figures of the file."""
    found: Figures = json.loads(FILE.read_text(encoding="utf-8"))
    return found


# -- Measuring -------------------------------------------------------------------------------------------------------


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{len(os.sched_getaffinity(0))} cores, {memory:.0f} GB"


def _figure(value: float, unit: str, size: str, engine: str, command: str, **more: Any) -> dict[str, Any]:
    date = datetime.now(UTC).date().isoformat()
    figure = {"value": value, "unit": unit, "size": size, "engine": engine, "machine": _machine(), "date": date}
    return {**figure, "command": command, **more}


def _size(number: int) -> str:
    return f"{number} universit{'y' if number == 1 else 'ies'}"


def loads(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Cold `triplake load` of each size by each engine, small ones three times: the median, and the highest memory."""
    for number in SIZES:
        for engine, options in OPTIONS.items():
            found = []
            for _ in range(3 if number <= 10 else 1):
                with tempfile.TemporaryDirectory(dir=folder) as made:
                    found.append(cost.measure(number, options, Path(made)))
            command = f"triplake load kg ontology.ttl university-{number}.nt {' '.join(options)}"
            given = _size(number), ENGINES[engine], command
            yield f"asserted-{engine}-{number}", _figure(found[0].asserted, "triples", *given)
            yield f"inferred-{engine}-{number}", _figure(found[0].inferred, "triples", *given)
            yield f"load-{engine}-{number}", _figure(statistics.median(one.seconds for one in found), "s", *given)
            yield f"memory-{engine}-{number}", _figure(max(one.peak_mb for one in found), "MB", *given)


def limited(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """A hundred universities in little memory."""
    found = cost.measure(100, ["--engine", "duckdb", "--memory-limit", "2GB"], folder)
    command = "triplake load kg ontology.ttl university-100.nt --memory-limit 2GB"
    yield "load-limited-100", _figure(found.seconds, "s", _size(100), "DuckDB", command)


def peers(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Phases of a load, and the peers, on ten universities and on a clique."""
    command = "python -m tests.bench --universities 10 --cliques 200 --peers reasonable,pyoxigraph"
    plan = Plan(("duckdb",), ("reasonable", "pyoxigraph"), "owl2rl", 1, 600, 600)
    wanted = {
        ("triplake duckdb", "load"): "store",
        ("triplake duckdb", "materialise"): "closure",
        ("reasonable", "end to end"): "reasonable",
        ("pyoxigraph", "load"): "pyoxigraph",
    }
    for data, size in ((universities(10, 0, folder), _size(10)), (a_clique(200, 5, folder), "200 equal resources")):
        short = "10" if data.name.startswith("university") else "clique"
        for row in measure(plan, replace(data, queries={}), _tell):
            name = wanted.get((row.system, row.phase))
            if name is None or (short == "clique" and name not in ("closure", "reasonable")):
                continue
            if row.status != "ok":
                raise RuntimeError(f"{data.name}: {row.system}, {row.phase}: {row.status} {row.message}")
            given = size, "DuckDB" if "duckdb" in row.system else row.system, command
            yield f"{name}-{short}", _figure(float(row.seconds or 0), "s", *given)
            if short == "10" and name in ("reasonable", "pyoxigraph"):
                yield f"{name}-memory-{short}", _figure(float(row.peak_mb or 0), "MB", *given)


def queries(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """LUBM's fourteen queries over the closure of ten universities, warm."""
    data = universities(10, 0, folder)
    asked = {name: text for name, text in data.queries.items() if name[1:].isdigit()}
    if len(asked) != 14:
        raise RuntimeError(f"LUBM's queries are not in {SUITES}: set TRIPLAKE_SUITES")
    for system, found in lubm._measured(replace(data, queries=asked), folder, 7, 600).items():
        seconds = sum(one["seconds"] for one in found.values())
        engine = "DuckDB" if system == "triplake" else system
        yield f"queries-{system}-10", _figure(seconds, "s", _size(10), engine, "python -m tests.bench.lubm")


def updates(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Facts of ten universities that are deleted and added again: in a process that has made some changes (the median
    of five), and by a command from a cold start."""
    from rdflib import Graph

    from triplestore import Store

    data = universities(10, 0, folder)
    store = _loaded(data, folder)
    changes = [*Graph().parse(data="\n".join(data.changes), format="nt")]
    times: dict[str, list[float]] = {}
    with Store.open(store, engine="duckdb") as opened:
        for _ in range(7):
            for count in (1, 100):
                for change in ("delete", "add"):
                    start = time.perf_counter()
                    opened.update(**{change: changes[:count]})
                    times.setdefault(f"{change}-{count}", []).append(time.perf_counter() - start)
    for name, found in times.items():
        yield f"{name}-10", _figure(statistics.median(found[2:]), "s", _size(10), "DuckDB", "Store.update, warm")
    patch = folder / "change.rdfp"
    patch.write_text("".join(f"D {line}\n" for line in data.changes), encoding="utf-8")
    status, seconds, _, message = supervise(_command("update", str(store), str(patch)), 600)
    if status != "ok":
        raise RuntimeError(message)
    yield "update-cold-100-10", _figure(seconds, "s", _size(10), "DuckDB", "triplake update kg change.rdfp")


def sizes(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Bytes of a store a stored fact: synthetic data, and what is at hand of real data."""
    import pyshacl

    from triplestore import Store

    vocabulary = Path(pyshacl.__file__).parent / "assets" / "schema.ttl"
    manifests = [str(path) for path in sorted(SUITES.glob("w3c-rdf-tests/**/manifest*.ttl"))]
    given = {
        "university": ("ten universities (our generator)", [*universities(10, 0, folder).files]),
        "lubm": (
            "LUBM(1), its own generator",
            [str(SUITES / "lubm/univ-bench.owl"), str(SUITES / "lubm/lubm1_seed0.nt.gz")],
        ),
        "museum": ("two museums' catalogues (real names, small)", [str(ROOT / "datasets/museum")]),
        "schema": ("schema.org's vocabulary, as pySHACL has it", [str(vocabulary)]),
        "manifests": (f"manifests of the W3C's RDF tests ({len(manifests)} files)", manifests),
    }
    for name, (size, files) in given.items():
        missing = [file for file in files if not Path(file).exists()]
        if missing or not files:
            raise RuntimeError(f"{size}: {missing or 'no files'}: set TRIPLAKE_SUITES")
        with tempfile.TemporaryDirectory(dir=folder) as made, Store.create(Path(made, "kg"), engine="duckdb") as store:
            store.load(*files, on_error="skip", rejects=Path(made, "rejects"))
            last = store.log()[-1]
            value = last.bytes / last.facts
        yield f"bytes-{name}", _figure(value, "bytes", size, "DuckDB", "triplake log kg --json", facts=last.facts)


GROUPS: Final = {group.__name__: group for group in (sizes, updates, queries, peers, loads, limited)}


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "triplestore.cli", *arguments, "--quiet"]


def _loaded(data: Workload, folder: Path) -> Path:
    store = folder / "kg"
    status, _, _, message = supervise(_command("load", str(store), *data.files, "--engine", "duckdb"), 600)
    if status != "ok":
        raise RuntimeError(message)
    return store


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def measured(names: list[str]) -> int:
    """Measure groups and save what they find; the exit code."""
    failed = []
    for name in names:
        started = time.perf_counter()
        try:
            with tempfile.TemporaryDirectory(prefix="figures-") as folder:
                for figure, found in GROUPS[name](Path(folder)):
                    figures = (saved() if FILE.exists() else {}) | {figure: found}
                    FILE.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
                    _tell(f"{name}: {figure} {shown(found)}")
        except Exception:  # what another group finds is kept
            traceback.print_exc()
            failed.append(name)
        _tell(f"{name}: {time.perf_counter() - started:.0f} s")
    if failed:
        _tell(f"not measured, the old figures stay: {', '.join(failed)}")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.figures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", nargs="?", choices=["measure"], help="measure first")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all if none is named")
    given = parser.parse_args()
    if unknown := set(given.groups) - set(GROUPS):
        parser.error(f"no group {', '.join(sorted(unknown))}: give some of {', '.join(GROUPS)}")
    code = measured(given.groups or list(GROUPS)) if given.action else 0
    figures = saved()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (now := written(text, figures)) != text:
            page.write_text(now, encoding="utf-8")
            _tell(f"wrote {page.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
