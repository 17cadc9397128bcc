"""The figures as Markdown, like Table 1 of Motik et al. (2015), and as a plot; both go into the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.maintain.data import DATA_SETS, ROOT
from tests.bench.maintain.measure import AUTO, REMATERIALISE

PAGE, PLOT = ROOT / "docs/benchmarks.md", ROOT / "docs/maintenance.svg"
BEGIN, END = "<!-- python -m tests.bench maintain: from here -->", "<!-- to here -->"
HEAD = {
    REMATERIALISE: "rematerialise",
    "backward-forward": "B/F",
    "dred": "DRed",
    "fixpoint-update": "FP-update",
    "dred-counting": "DRedᶜ",
    "backward-forward-counting": "B/Fᶜ",
    AUTO: "auto",
}
Result = Mapping[str, Any]
Rows = dict[int, dict[str, Mapping[str, Any]]]


def rows_of(result: Result) -> Rows:
    """Cells by size and algorithm, those left out in which an algorithm declined."""
    found: Rows = {}
    for cell in sorted(result["cells"], key=lambda c: int(c["size"])):
        if cell["algorithm"] in (AUTO, REMATERIALISE) or cell["ran"] != REMATERIALISE:
            found.setdefault(cell["size"], {})[cell["algorithm"]] = cell
    return found


def regret(row: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Seconds of `auto` as a multiple of those of the best of all the others."""
    others = [float(cell["seconds"]) for name, cell in row.items() if name != AUTO]
    return float(row[AUTO]["seconds"]) / min(others) if others and AUTO in row else None


def markdown(results: Mapping[str, Result], scaled: Mapping[str, Result], where: Mapping[str, Any]) -> str:
    """The tables."""
    used = {cell["algorithm"] for result in results.values() for cell in result.get("cells", ())}
    names = [name for name in HEAD if name in used]
    lines = [
        _line(
            [
                "data set",
                "\\|E\\|",
                "\\|I\\|",
                "T",
                "D",
                "\\|E⁻\\|",
                "Δ\\|I\\|",
                *(HEAD[n] for n in names),
                "ran",
                "regret",
            ]
        ),
        _line(["---"] * (9 + len(names))),
    ]
    for data in DATA_SETS:
        if not (result := results.get(data.name)):
            continue
        if "cells" not in result:
            lines.append(_line([data.name, str(result["message"])]))
            continue
        head = [data.name, *(f"{result[k]:,}" for k in ("asserted", "facts"))]
        head += [f"{result['seconds']:.2f}", _short(result["derived"])]
        for number, (size, row) in enumerate(rows_of(result).items()):
            lines.append(_line([*(head if number == 0 else [""] * 5), *_row(size, row, names)]))
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items() if name in _PACKAGES)
    lines += [
        "",
        f"{where['when']}, {where['cores']} cores, {where['memory_gb']} GB, Python {where['python']}, {versions}.",
    ]
    worst = [
        w for r in results.values() if "cells" in r for row in rows_of(r).values() if (w := regret(row)) is not None
    ]
    if worst:
        lines += ["", f"The worst regret of `auto` in {len(worst)} rows: {max(worst):.2f}."]
    if scaled:
        pairs = [pair for name, found in scaled.items() for pair in _scale(name, found)]
        lines += [
            "",
            _line(["university data with merging axioms", "figure"]),
            _line(["---", "---"]),
            *map(_line, pairs),
        ]
    return "\n".join(lines) + "\n"


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
            ["cold `triplake update` of 100 facts", f"{found['cold']:.2f} s"],
        ]
    return lines


_PACKAGES = ("triplake", "duckdb", "numpy", "pyspark")


def _row(size: int, row: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    best = min(float(cell["seconds"]) for name, cell in row.items() if name != AUTO) if len(row) > 1 else 0
    found = [f"{size:,}", ""]
    for name in names:
        cell = row.get(name)
        if cell is None:
            found.append("–")
            continue
        found[1] = f"{cell['deleted'] - cell['added']:,}"
        text = f"{cell['seconds']:.3f}"
        shown = f"**{text}**" if name != AUTO and cell["seconds"] == best else text
        details = [_short(cell["derived"])]
        if name not in (AUTO, REMATERIALISE):
            details.append("/".join(_short(cell[k]) for k in ("doubted", "checked") if cell[k]))
        found.append(f"{shown} ({'; '.join(d for d in details if d)})" if name != AUTO else shown)
    found.append(HEAD.get(row[AUTO]["ran"], row[AUTO]["ran"]) if AUTO in row else "")
    worse = regret(row)
    found.append("" if worse is None else f"{worse:.2f}")
    return found


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

    shown = [data for data in DATA_SETS if results.get(data.name, {}).get("cells")]
    across = 3
    down = -(-len(shown) // across)
    figure, axes = pyplot.subplots(down, across, figsize=(10, 2.6 * down), squeeze=False, layout="constrained")
    handles = {}
    for panel, data in zip(axes.flat, shown, strict=False):
        rows = rows_of(results[data.name])
        for number, (name, label) in enumerate(HEAD.items()):
            points = [(size, row[name]["seconds"]) for size, row in rows.items() if name in row]
            if points:
                style = {"color": "black", "linestyle": "--"} if name == AUTO else {"color": f"C{number}"}
                (handles[label],) = panel.loglog(*zip(*points, strict=True), marker=".", linewidth=1, **style)
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
