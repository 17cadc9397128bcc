"""`triplake demo`: what it shows is true, on both engines, and what it needs is in the package."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from rich.console import Console

from tests import ROOT
from tests.conftest import ENGINES
from tests.support.cli import Outcome, contents, run, spawn
from triplestore import Store
from triplestore.cli.commands import cli
from triplestore.demo import run as run_demo
from triplestore.model.errors import UsageError

MUSEUM = ROOT / "triplestore/demo/museum"

BARE = re.compile(r"\d+\.\d+ s\b")


def shown(text: str) -> str:
    """What was shown, without the times and the ways of saying the engine."""
    return re.sub(r" --engine \w+| on \w+$", "", BARE.sub("TIME", text), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demo, run once, with the folder that it kept."""
    folder = tmp_path_factory.mktemp("demo") / "my kg"
    outcome = run("demo", folder)
    assert outcome.code == 0, outcome
    return folder, outcome.out


@pytest.mark.long_on_spark
@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_shows_the_same(engine: str, request: pytest.FixtureRequest, told: tuple[Path, str]) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    out = io.StringIO()
    run_demo(None, {"engine": engine}, Console(file=out, width=80))
    folder, text = told
    mine, theirs = (shown(t).split("\nThe store ")[0] for t in (out.getvalue(), text))
    assert mine == theirs.replace(shlex.quote(str(folder)), "kg")
    assert f" on {engine}\n" in out.getvalue()


def test_it_says_what_the_readme_of_the_data_says(told: tuple[Path, str]) -> None:
    _, text = told
    assert "89 triples of 4 files" in text
    assert "9 classes of equal terms, the largest of 3" in text
    step = text.split("$ triplake check")[1].split("\n\n")[0]
    assert "eq-diff1:\n     rijks:barent owl:differentFrom rijks:carel\n" in step
    assert "because maurits:p5 owl:sameAs rijks:barent\n" in step
    blocks = dict(re.findall(r"^\$ triplake (.*)\n((?:   \S.*\n)*)", text, re.MULTILINE))
    answers = {name.split(" -f ")[1]: rows.split() for name, rows in blocks.items() if " -f " in name}
    assert answers["queries/masters.rq"] == ["maurits:p1", "maurits:p4", "rijks:dou", "rijks:rembrandt"]
    assert answers["queries/goldfinch.rq"] == ["maurits:p5", "rijks:carel"]
    assert answers["queries/goldfinch.rq --at 2"] == ["maurits:p5", "rijks:barent", "rijks:carel"]
    assert re.search(r"^terms in the largest +3 +2$", text, re.MULTILINE)
    assert re.search(r"^inconsistencies +1 +0$", text, re.MULTILINE)


def test_the_folder_keeps_the_store(told: tuple[Path, str]) -> None:
    folder, text = told
    assert text.endswith(f"The store is kept in {folder}.\n")
    with Store.open(folder) as store:
        assert (store.version, store.stats()["asserted"], store.check()) == (3, 88, [])


def test_the_commands_that_it_shows_do_the_same(
    told: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, text = told
    shutil.copytree(MUSEUM, tmp_path / "museum")
    assert f"cd {MUSEUM}" in text
    monkeypatch.chdir(tmp_path / "museum")
    outcomes: list[tuple[str, Outcome]] = []
    for line in re.findall(r"^\$ triplake (.*)$", text, re.MULTILINE):
        words = ["kg" if word == str(folder) else word for word in shlex.split(line)]
        assert words[0] in cli.commands
        outcomes.append((words[0], run(*words)))
    assert [(name, o.code) for name, o in outcomes if o.code] == [("check", 1)]
    with Store.open("kg") as mine, Store.open(folder) as theirs:
        assert set(mine.triples()) == set(theirs.triples())
        assert mine.version == theirs.version


def test_a_folder_in_the_way(told: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (told[0], tmp_path, tmp_path / "file"):
        before = contents(folder)
        with pytest.raises(UsageError, match="is not empty; give `triplake demo` a folder that is new or empty"):
            run_demo(str(folder), {})
        assert contents(folder) == before
        assert run("demo", folder).code == 2


def test_as_a_process_it_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    outcome = spawn("demo")
    assert outcome.code == 0
    assert "Done in" in outcome.out
    assert "triplake demo FOLDER" in outcome.out
    assert list(tmp_path.iterdir()) == []


def test_the_data_is_in_the_package() -> None:
    """Each file of the example matches a pattern of pyproject's package data, so a wheel has it."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packed = {file for pattern in setup["package-data"]["triplestore"] for file in (ROOT / "triplestore").glob(pattern)}
    data = {f for f in MUSEUM.rglob("*") if f.is_file() and f.suffix not in (".py", ".pyc")}
    assert len(data) == 12
    assert data <= packed
