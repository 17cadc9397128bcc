"""The figures of an update: each is there for each algorithm, in `last`, in `stats --json`, in `log --json`, and told
with --verbose."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rdflib import Namespace

from tests.support.cli import done, run
from triplestore import Store
from triplestore.maintain.policy import COUNTING, DELETING, NAMES

E = Namespace("http://e/")
BIJECTIVE = """PREFIX : <http://e/>
[?y1, owl:sameAs, ?y2] :- [?y1, :R, ?x], [?y2, :R, ?x] .
[?y1, owl:sameAs, ?y2] :- [?x, :R, ?y1], [?x, :R, ?y2] .
"""
SAID = [(E.a, E.R, E.b), (E.c, E.R, E.d), (E.a, E.R, E.d)]
AROUND = {"read", "net", "write", "violations", "insert"}

FACTS = {  # doubted, checked, proved; sets; phases
    "backward-forward": (
        (1, 1, 2),
        {"doubted": 1, "checked": 1, "proved": 2, "delayed": 0, "disproved": 0},
        {"doubt", "check", "apply"},
    ),
    "dred": ((1, 1, 2), {"overdeleted": 1, "rederived": 2}, {"overdelete", "rederive"}),
    "fixpoint-update": (
        (1, 1, 2),
        {"overdeleted": 1, "kept": 0, "rederived": 2, "supported": 1},
        {"overdelete", "rederive"},
    ),
}
COUNTED = {  # the same, where derivations are counted
    "backward-forward": ((4, 4, 0), {"doubted": 4, "checked": 4, "proved": 0, "delayed": 0, "disproved": 4}),
    "dred": ((4, 4, 0), {"overdeleted": 4, "rederived": 0}),
    "fixpoint-update": ((4, 4, 0), {"overdeleted": 4, "kept": 2, "rederived": 0, "supported": 0}),
    "dred-counting": ((4, 0, 0), {"overdeleted": 4, "spared": 0, "rederived": 0}),
    "backward-forward-counting": (
        (4, 4, 0),
        {"doubted": 4, "checked": 4, "proved": 0, "delayed": 0, "disproved": 4},
    ),
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three triples, two classes of two: the example of section 3.1 of Motik et al. 2015."""
    (tmp_path / "bijective.dlog").write_text(BIJECTIVE)
    with Store.create(tmp_path / "kg", [str(tmp_path / "bijective.dlog")], engine="duckdb") as made:
        made.update(add=SAID)
    return tmp_path / "kg"


@pytest.mark.parametrize("algorithm", FACTS)
def test_of_each_algorithm(store: Path, algorithm: str) -> None:
    with Store.open(store, engine="duckdb") as opened:
        told: list[str] = []
        opened.verbose = told.append
        figures = opened.update(delete=SAID[2:], maintain=algorithm)
        last = opened.stats()["last"]
    assert figures == {**last, "not_asserted": 0}
    facts, sets, phases = FACTS[algorithm]
    assert (last["doubted"], last["checked"], last["proved"]) == facts
    assert last["sets"] == sets
    assert set(last["phases"]) == AROUND | phases
    assert (last["added"], last["deleted"], last["merged"], last["split"]) == (1, 0, 0, 2)
    assert (last["operation"], last["algorithm"], last["reason"]) == ("update", algorithm, "asked for")
    assert min(last["rounds"], last["statements"], last["derived"]) > 0
    assert sum(last["phases"].values()) <= last["seconds"]
    assert f"maintained by {algorithm}: asked for" in told
    assert any(f"{facts[0]} facts doubted, {facts[1]} checked, {facts[2]} proved" in line for line in told)
    assert any(all(f"{name} {size}" in line for name, size in sets.items()) for line in told)


@pytest.mark.parametrize("algorithm", COUNTED)
def test_where_derivations_are_counted(tmp_path: Path, algorithm: str) -> None:
    """Example 1 of Hu et al. 2018 with n = 1: R(a, b), R(a, c), and S of each pair of b and c."""
    (tmp_path / "pairs.dlog").write_text("PREFIX : <http://e/>\n[?y1, :S, ?y2] :- [?x, :R, ?y1], [?x, :R, ?y2] .\n")
    rules = [str(tmp_path / "pairs.dlog")]
    with Store.create(tmp_path / "kg", rules, engine="duckdb", counting=True) as opened:
        opened.update(add=[(E.a, E.R, E.b), (E.a, E.R, E.c)])
        last = opened.update(delete=[(E.a, E.R, E.c)], maintain=algorithm)
    facts, sets = COUNTED[algorithm]
    assert (last["doubted"], last["checked"], last["proved"]) == facts
    assert last["sets"] == sets
    assert (last["added"], last["deleted"]) == (0, 4)
    counted = {"overdelete"} if algorithm == "dred-counting" else {"check"} if "counting" in algorithm else {"count"}
    assert counted <= set(last["phases"])


def test_of_all_that_delete() -> None:
    assert set(COUNTED) == set(DELETING) == set(NAMES) - {"auto", "rematerialise"}
    assert set(FACTS) == set(DELETING) - set(COUNTING)


def test_of_a_materialisation(store: Path) -> None:
    with Store.open(store, engine="duckdb") as opened:
        last = opened.update(delete=SAID[2:], maintain="rematerialise")
    assert (last["doubted"], last["checked"], last["proved"], last["sets"]) == (0, 0, 0, {})
    assert set(last["phases"]) == {"materialise", "write"}
    assert (last["added"], last["deleted"], last["merged"], last["split"]) == (1, 0, 0, 2)
    assert min(last["rounds"], last["statements"]) > 0


def test_of_an_insertion(store: Path) -> None:
    with Store.open(store, engine="duckdb") as opened:
        last = opened.update(add=[(E.e, E.R, E.b)], maintain="dred")
    assert (last["algorithm"], last["merged"]) == ("semi-naive", 1)
    assert set(last["phases"]) == AROUND
    assert (last["doubted"], last["checked"], last["proved"], last["sets"]) == (0, 0, 0, {})


def test_of_a_dry_run(store: Path) -> None:
    with Store.open(store, engine="duckdb") as opened:
        dry = opened.update(delete=SAID[2:], dry_run=True)
        wet = opened.update(delete=SAID[2:])
    assert all(dry[key] == wet[key] for key in wet if key not in ("seconds", "phases"))


def test_on_the_command_line(store: Path, tmp_path: Path) -> None:
    (tmp_path / "old.nt").write_text(f"<{E.a}> <{E.R}> <{E.d}> .\n")
    told = run("update", store, "--delete", tmp_path / "old.nt", "--maintain", "dred", "--verbose").err
    assert "  sets: overdeleted 1, rederived 2" in told
    assert "  seconds: read " in told
    (line,) = [line for line in done("stats", store).splitlines() if line.startswith("last ")]
    assert re.fullmatch(r"last +update by dred: added 1 and deleted 0 stored facts, [0-9.]+ s", line), line
    stats = json.loads(done("stats", store, "--json"))["last"]
    log = json.loads(done("log", store, "--json"))[-1]
    assert stats["doubted"] == 1
    assert {key: log[key] for key in stats} == stats
