"""Measured figures: the pages show what docs/figures.json has, and no others where figures are shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.bench import figures

SECTIONS = {
    "README.md": ("## Figures",),
    "docs/benchmarks.md": ("## Figures",),
    "docs/cost.md": ("## Measured", "## Bytes of a store", "## What it says of larger stores"),
    "docs/spark.md": ("## What runs where",),
}
"""Where figures are shown, which have to be in places for them. (Other pages have figures of their own, with dates.)"""

MEASURED = re.compile(r"\d[\d,.]* ?(?:s|ms|seconds|minutes|hours|MB|GB|TB)\b")


def section(page: str, heading: str) -> str:
    """The text of a section up to the next heading of its level, or to the list that ends it."""
    text = (ROOT / page).read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    return re.split(r"\n## |\nThese are for two cores", text)[0]


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_pages_show_the_figures_of_the_file(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert figures.written(text, figures.saved()) == text, "run python -m tests.bench.figures"


@pytest.mark.parametrize(("page", "heading"), [(page, each) for page, given in SECTIONS.items() for each in given])
def test_figures_are_in_places_for_them(page: str, heading: str) -> None:
    text = section(page, heading)
    assert figures.PLACE.search(text)
    outside = re.sub(r"`[^`]*`", "", figures.PLACE.sub("", text))
    assert MEASURED.findall(outside) == [], "put it into docs/figures.json, and a place <!--f:NAME--> here"


def test_each_figure_is_shown_somewhere() -> None:
    """And each is what `measure` writes: with all that says how it was found."""
    text = "".join(page.read_text(encoding="utf-8") for page in figures.PAGES)
    places = {found[1] for found in figures.PLACE.finditer(text)}
    assert places >= figures.TABLES.keys()
    tables = re.compile(r"(asserted|inferred|load|memory)-(duckdb|spark)-\d+|bytes-.*")
    saved = figures.saved()
    assert [name for name in saved if name not in places and not tables.fullmatch(name)] == []
    for figure in saved.values():
        assert {"value", "unit", "size", "engine", "machine", "date", "command"} <= figure.keys()
        assert figure["value"] > 0
        assert date.fromisoformat(figure["date"])
        assert figure["unit"] in ("s", "MB", "bytes", "triples")


def test_rows_about_spark_say_who_did_the_work() -> None:
    for name, figure in figures.saved().items():
        if "spark" in name:
            assert "the work" in figure["engine"]
    assert "DuckDB" in figures._loads(figures.saved(), "spark").splitlines()[1]


def test_a_group_that_fails_keeps_its_old_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what the others find, and what it found before it failed, is saved."""
    file = tmp_path / "figures.json"
    file.write_text(json.dumps({"old": figures._figure(1.0, "s", "one", "DuckDB", "c")}))

    def good(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "new", figures._figure(0.25, "s", "one", "DuckDB", "c")

    def bad(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        yield "half", figures._figure(2.0, "s", "one", "DuckDB", "c")
        raise RuntimeError("no")

    monkeypatch.setattr(figures, "FILE", file)
    monkeypatch.setattr(figures, "GROUPS", {"bad": bad, "good": good})
    assert figures.measured(["bad", "good"]) == 1
    assert {name: figure["value"] for name, figure in figures.saved().items()} == {"old": 1.0, "half": 2.0, "new": 0.25}
    assert figures.measured(["good"]) == 0


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0049, "s", "5 ms"),
        (0.18, "s", "0.18 s"),
        (5.46, "s", "5.5 s"),
        (31.2, "s", "31 s"),
        (790.0, "MB", "0.79 GB"),
        (3500.0, "MB", "3.5 GB"),
        (2.51, "bytes", "2.5 bytes"),
        (1370226, "triples", "1,370,226"),
    ],
)
def test_how_figures_are_written(value: float, unit: str, text: str) -> None:
    assert figures.shown({"value": value, "unit": unit}) == text
