"""The figures as Markdown, like Table 1 of Motik et al. (2015), and as a plot; both go into the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests import ROOT
from tests.bench.maintain.data import DATA_SETS, FRESH
from tests.bench.maintain.measure import COUNTED, PLAIN

PAGE, PLOT = ROOT / "docs/benchmarks.md", ROOT / "docs/maintenance.svg"
BEGIN, END = "<!-- python -m tests.bench maintain: from here -->", "<!-- to here -->"
HEAD = {
    "rematerialise": "rematerialise",
    "backward-forward": "B/F",
    "dred": "DRed",
    "fixpoint-update": "FP-update",
    "auto": "auto",
    "rematerialise, counted": "rematerialise",
    "dred-counting": "DRedᶜ",
    "backward-forward-counting": "B/Fᶜ",
    "auto, counted": "auto",
}
FAMILIES = {"": PLAIN, "Stores that keep derivation counts:": COUNTED}
"""Ways to maintain the same kind of store, a table each; the last one chooses among the others."""
SLACK: Final = 0.01
"""Seconds that a choice may cost in any case: below it the regret says little."""
BOUND: Final = 1.25
"""What the regret should not exceed."""

Result = Mapping[str, Any]
Row = Mapping[str, Mapping[str, Any]]


def rows_of(result: Result) -> dict[int, Row]:
    """Cells by size and way, those left out in which an algorithm declined."""
    found: dict[int, dict[str, Mapping[str, Any]]] = {}
    for cell in sorted(result["cells"], key=lambda c: int(c["size"])):
        if cell["way"].startswith(("auto", "rematerialise")) or cell["ran"] != "rematerialise":
            found.setdefault(cell["size"], {})[cell["way"]] = cell
    return dict(found)


def regret(row: Row, family: Sequence[str]) -> tuple[float, float] | None:
    """Processor seconds of what chooses as a multiple of those of the best choice, and how many more."""
    best = _best(row, family)
    if best is None or family[-1] not in row:
        return None
    chosen = float(row[family[-1]]["cpu"])
    return chosen / best, chosen - best


def _best(row: Row, family: Sequence[str]) -> float | None:
    """Processor seconds of the best choice: none that was left out because it took much longer on the same facts."""
    runs = max((row[way]["runs"] for way in family if way in row), default=0)
    found = (row[way] for way in family[:-1] if way in row)
    return min((float(cell["cpu"]) for cell in found if 2 * cell["runs"] >= runs), default=None)


def markdown(results: Mapping[str, Result], scaled: Mapping[str, Result], where: Mapping[str, Any]) -> str:
    """The tables."""
    lines: list[str] = []
    for title, family in FAMILIES.items():
        lines += [*([title, ""] if title else []), *_table(results, family), ""]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items() if name in _PACKAGES)
    times = sorted(found["when"] for found in (*results.values(), *scaled.values()))
    between = times[0] if times[:1] == times[-1:] else " to ".join((times[0], times[-1]))
    lines += [
        f"{between}, {where['cores']} cores, {where['memory_gb']} GB, Python {where['python']}, {versions}.",
        *_summary(results),
    ]
    if scaled:
        pairs = [pair for name, found in scaled.items() for pair in _scale(name, found)]
        lines += [
            "",
            _line(["university data with merging axioms", "figure"]),
            _line(["---", "---"]),
            *map(_line, pairs),
        ]
    return "\n".join(lines) + "\n"


def _summary(results: Mapping[str, Result]) -> list[str]:
    """How `auto` did over all rows."""
    rows = [row for result in results.values() if "cells" in result for row in rows_of(result).values()]
    pairs = [(row, family) for row in rows for family in FAMILIES.values()]
    found = sorted(pair for row, family in pairs if (pair := regret(row, family)) is not None)
    if not found:
        return []
    over = [pair for pair in found if pair[0] > BOUND]
    slow = [pair for pair in over if pair[1] > SLACK]
    ratios = [ratio for ratio, _ in found]
    work = sorted(ratio for row, family in pairs if (ratio := _derived_more(row, family)) is not None)
    return [
        "",
        f"Of {len(found)} choices by `auto`, {len(found) - len(over)} took at most {BOUND} times the processor time of "
        f"the best choice; of the others {len(over) - len(slow)} took no more than {1000 * SLACK:.0f} ms longer, and "
        f"{len(slow)} did. The 95th percentile of the regret is {_percentile(ratios):.2f}, its maximum {ratios[-1]:.2f}"
        + (f", of the latter {max(slow)[0]:.2f}" if slow else "")
        + f"; in derivations {_percentile(work):.2f} and {work[-1]:.2f}.",
    ]


def _derived_more(row: Row, family: Sequence[str]) -> float | None:
    """Derivations of what chooses as a multiple of those of the choice that took the least processor time."""
    best = _best(row, family)
    if best is None or family[-1] not in row:
        return None
    cell = next(row[way] for way in family[:-1] if way in row and row[way]["cpu"] == best)
    return (1 + float(row[family[-1]]["derived"])) / (1 + float(cell["derived"]))


def _percentile(found: Sequence[float], share: float = 0.95) -> float:
    """The value of sorted ones below which that share of them is."""
    return found[min(len(found) - 1, int(share * len(found)))]


def _table(results: Mapping[str, Result], family: Sequence[str]) -> list[str]:
    sizes = ["\\|E\\|", "\\|I\\|", "T", "D", "\\|E⁻\\|", "Δ\\|I\\|"]
    lines = [
        _line(["data set", "equality", *sizes, *(HEAD[way] for way in family), "ran", "regret"]),
        _line(["---"] * (10 + len(family))),
    ]
    for data in (*DATA_SETS, *FRESH):
        if not (result := results.get(data.name)) or (family is COUNTED and not data.counted):
            continue
        if "cells" not in result:
            lines.append(_line([data.name, str(result["message"])]))
            continue
        head = [data.name, result["equality"], *(f"{result[k]:,}" for k in ("asserted", "facts"))]
        head += [f"{result['seconds']:.2f}", _short(result["derived"])]
        shown = {size: row for size, row in rows_of(result).items() if family[-1] in row}
        for number, (size, row) in enumerate(shown.items()):
            lines.append(_line([*(head if number == 0 else [""] * 6), *_row(size, row, family)]))
    return lines


def _scale(name: str, found: Result) -> list[list[str]]:
    """What was measured at one size, a line each."""
    if "message" in found:
        return [[name, str(found["message"])]]

    def pair(times: Mapping[str, float]) -> str:
        return " / ".join(f"{1000 * times[side]:.0f} ms" for side in ("delete", "add"))

    if "asserted" not in found:
        seconds = ", ".join(f"{found[step]:.1f} s" for step in ("first", "again", "third"))
        return [
            [
                "ten universities, Spark `local[2]`: 100 facts deleted first, added, deleted again; algorithm; "
                "equal to computing anew on DuckDB",
                f"{seconds}; {found['by']}; {found['equal']}",
            ],
            [
                "the queries of these three on Spark; those that read `fact`; those of them that shuffle",
                "; ".join("{} / {} / {}".format(*found[f"{step}_queries"]) for step in ("first", "again", "third")),
            ],
            ["the same store by `--engine auto` afterwards, delete / add 100", pair(found["auto"])],
        ]
    size = (
        f"{name} universities ({found['asserted']:,} asserted, {found['facts']:,} facts, {found['classes']:,} classes)"
    )
    lines = [
        [f"{size}: delete / add 1 fact, warm", pair(found["1"])],
        [f"{name} universities: delete / add 100 random facts, warm", pair(found["100"])],
    ]
    if "axiom" in found:
        lines += [
            ["subclass axiom near the leaves, delete / add", f"{pair(found['axiom'])} ({found['axiom_by']})"],
            [
                "computing anew: `materialise`; the update of 100 facts",
                f"{found['materialise']:.2f} s; {found['anew']:.2f} s",
            ],
            [
                "that update as a multiple of deleting / adding 100 facts by `auto`",
                " / ".join(f"{found['anew'] / found['100'][side]:.0f} x" for side in ("delete", "add")),
            ],
            ["cold `triplake update` of 100 facts", f"{found['cold']:.2f} s"],
        ]
    return lines


_PACKAGES = ("triplake", "duckdb", "numpy", "pyspark")


def _row(size: int, row: Row, family: Sequence[str]) -> list[str]:
    best, chosen = _best(row, family), row[family[-1]]
    found = [f"{size:,}", f"{chosen['deleted'] - chosen['added']:,}"]
    for way in family[:-1]:
        cell = row.get(way)
        if cell is None:
            found.append("–")
            continue
        text = f"{cell['cpu']:.3f}"
        shown = f"**{text}**" if cell["cpu"] == best else text
        sets = "/".join(_short(cell[k]) for k in ("doubted", "checked") if cell[k])
        found.append(f"{shown} ({'; '.join(d for d in (_short(cell['derived']), sets) if d)})")
    worse = regret(row, family)
    ran = HEAD.get(chosen["ran"], chosen["ran"])
    return [*found, f"{chosen['cpu']:.3f}", ran, "" if worse is None else f"{worse[0]:.2f}"]


def _short(number: int) -> str:
    """A number in three digits."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:.3g}{name}" if number < 1_000 * unit else f"{number / unit:,.0f}{name}"
    return str(number)


def into_page(text: str, page: Path = PAGE) -> None:
    """Put the tables into their section of the page."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(
        f"{before}{BEGIN}\n\n{text}\n![Seconds by facts deleted]({PLOT.name})\n\n{END}{after}", encoding="utf-8"
    )


def plot(results: Mapping[str, Result], target: Path = PLOT) -> None:
    """Seconds by size of the deletion, a panel for each data set, as SVG that depends on the figures only."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "triplake", "svg.fonttype": "none", "font.size": 8})
    from matplotlib import pyplot

    shown = [data for data in (*DATA_SETS, *FRESH) if results.get(data.name, {}).get("cells")]
    across = 3
    down = -(-len(shown) // across)
    figure, axes = pyplot.subplots(down, across, figsize=(10, 2.6 * down), squeeze=False, layout="constrained")
    handles = {}
    for panel, data in zip(axes.flat, shown, strict=False):
        rows = rows_of(results[data.name])
        for number, name in enumerate((*PLAIN, *COUNTED[1:-1])):
            points = [(size, row[name]["seconds"]) for size, row in rows.items() if name in row]
            if points:
                style = {"color": "black", "linestyle": "--"} if name == PLAIN[-1] else {"color": f"C{number}"}
                (handles[HEAD[name]],) = panel.loglog(*zip(*points, strict=True), marker=".", linewidth=1, **style)
        panel.set_title(data.name)
        panel.set_xlabel("facts deleted")
        panel.set_ylabel("seconds")
        panel.grid(alpha=0.3)
    for panel in axes.flat[len(shown) :]:
        panel.axis("off")
    figure.legend(handles.values(), handles.keys(), loc="lower right", ncols=2)
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(values) + " |"
