"""`triplake rules check`: what it doubts, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import run
from triplestore import Store

DATA = """
@prefix ex: <http://ex/> .
ex:a ex:parent ex:b ; ex:age 1 . ex:b ex:parent ex:c ; ex:brother ex:d .
"""
RULES = {
    "uncle": "[?x, ex:uncle, ?z] :- [?x, ex:parent, ?y], [?y, ex:brother, ?z] .",
    "grand": "[?x, ex:grand, ?z] :- [?x, ex:parent, ?y], [?y, ex:parent, ?z] .",
}


def written(folder: Path, **rules: str) -> Path:
    """A file with these rules, the first in its line 3."""
    file = folder / "family.dlog"
    text = "".join(f"@rule {name}\n{rule}\n" for name, rule in rules.items())
    file.write_text(f"PREFIX ex: <http://ex/>\n{text}")
    return file


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "data.ttl"
    file.write_text(DATA)
    return file


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_rules_in_order(tmp_path: Path, data: Path, engine: str) -> None:
    outcome = run("rules", "check", written(tmp_path, **RULES), "--data", data, "--json", "--engine", engine)
    assert outcome.code == 0, outcome
    found = json.loads(outcome.out)
    assert found["doubts"] == []
    assert [(work["rule"], work["line"], work["matches"]) for work in found["rules"]] == [
        ("uncle", 3, 1),
        ("grand", 5, 1),
    ]
    assert all(work["seconds"] > 0 for work in found["rules"])


@pytest.mark.parametrize(
    ("rule", "message", "alone"),
    [
        ("[?x, ex:u, ?z] :- [?x, ex:parent, ?y], [?y, ex:brohter, ?z] .",
         "brohter> is nowhere in the data, nor in the head of a rule; did you mean <http://ex/brother>?", False),
        ("[?x, a, ex:P] :- [?x, a, ex:Parent] .", "<http://ex/Parent> is nowhere in the data", False),
        ("[?x, ex:u, ?z] :- [?x, ex:uncel, ?z] .", "did you mean <http://ex/uncle>?", True),
        ("[?x, ex:u, ?child] :- [?x, ex:parent, ?chlid], [?child, ex:parent, ?x] .",
         "?chlid occurs once: did you mean ?child?", True),
        ("[?x, ex:u, ?y] :- [?x, ex:parent, ?y], [?y, ex:parent, ?x] .",
         "it never fires: the parts of its body have no match together", False),
        ("[?x, ex:u, ?y] :- [?x, ex:parent, ?y], [?y, ex:age, ?n], [?n, ex:parent, ?x] .",
         "it never fires: the parts of its body have no match together", False),
        ("[?x, ex:u, ?y] :- [?x, ex:parent, ?y], [?x, ex:age, 7] .",
         "it never fires: nothing matches [?x, <http://ex/age>, ", False),
        ("[?x, ex:age, ?m] :- [?x, ex:age, ?n], BIND(?n + 1 AS ?m) .",
         "it makes ?m of what it derives, so it may make terms without end", True),
    ],
)  # fmt: skip
def test_doubts(tmp_path: Path, data: Path, rule: str, message: str, alone: bool) -> None:
    file = written(tmp_path, **RULES, doubtful=rule)
    without, with_data = run("rules", "check", file), run("rules", "check", file, "--data", data, "--max-rounds", "20")
    if "without end" in message:
        assert "it makes ever more terms: 21 in 21 rounds" in with_data.out
    else:
        assert message in with_data.out
    assert with_data.code == 1
    assert with_data.out.startswith(f"{file}:7: rule doubtful: ")
    assert without.code == (1 if alone else 0)
    if alone:
        assert f"{file}:7: rule doubtful:" in without.out
        assert message in without.out


@pytest.mark.parametrize(
    "rule",
    [
        "[?x, ex:age, ?m] :- [?x, ex:age, ?n], FILTER(?n < 5), BIND(?n + 1 AS ?m) .",
        "[?x, ex:next, ?m] :- [?x, ex:age, ?n], BIND(?n + 1 AS ?m) .",
        "[?x, ex:u, ?part2] :- [?x, ex:parent, ?part1], [?x, ex:parent, ?part2] .",
        "false :- [?x, ex:brother, ?x] .",
        "[?x, a, ex:Parent] :- [?x, ex:parent, ?y], NOT [?x, ex:brother, ?y] .",
        "[?x, ex:children, ?n] :- AGGREGATE([?y, ex:parent, ?x] ON ?x BIND COUNT(?y) AS ?n) .",
    ],
)
def test_what_is_left_alone(tmp_path: Path, rule: str) -> None:
    outcome = run("rules", "check", written(tmp_path, **RULES, fine=rule))
    assert (outcome.code, outcome.out) == (0, "")


def test_on_a_store(tmp_path: Path, data: Path) -> None:
    file = written(tmp_path, **RULES)
    with Store.create(tmp_path / "kg", ["owl2rl", str(file)]) as store:
        store.load(data)
        before = store.version
    outcome = run("rules", "check", file, "--data", tmp_path / "kg")
    assert outcome.code == 0, outcome
    assert "1     " in outcome.out
    with Store.open(tmp_path / "kg") as store:
        assert store.version == before
        assert [ruleset.name for ruleset in store.rulesets] == ["owl2rl", str(file)]


def test_on_a_store_that_has_an_older_text_of_them(tmp_path: Path, data: Path) -> None:
    file = written(
        tmp_path, one="[?x, ex:one, ?y] :- [?x, ex:none, ?y] .", two="[?x, ex:two, ?y] :- [?x, ex:one, ?y] ."
    )
    with Store.create(tmp_path / "kg", ["owl2rl", str(file)]) as store:
        store.load(data)
    file.write_text(file.read_text().replace("ex:none", "ex:parent"))
    outcome = run("rules", "check", file, "--data", tmp_path / "kg", "--json")
    assert outcome.code == 0, outcome
    assert {work["rule"]: work["matches"] for work in json.loads(outcome.out)["rules"]} == {"one": 2, "two": 2}


@pytest.mark.parametrize("literal", [r'"a \"b\" \\ \n c"', "'x'@en", "7"])
@pytest.mark.parametrize("place", [0, 2])
def test_literals_that_match_nothing(tmp_path: Path, data: Path, literal: str, place: int) -> None:
    atom = ", ".join((["?y", "ex:parent", literal], [literal, "ex:parent", "?y"])[place == 0])
    outcome = run("rules", "check", written(tmp_path, odd=f"[?y, ex:u, ?y] :- [{atom}] ."), "--data", data)
    assert (outcome.code, outcome.err) == (1, "1 rule, 1 doubt\n")
    assert "rule odd: it never fires: nothing matches [" in outcome.out


def test_what_one_syntax_of_rules_has_and_another_has_not(tmp_path: Path, data: Path) -> None:
    long = "?n" + " + 1" * 60
    file = written(tmp_path, long=f"[?x, ex:u, ?m] :- [?x, ex:age, ?n], BIND({long} AS ?m) .")
    query = tmp_path / "query.rq"
    query.write_text(
        "PREFIX ex: <http://ex/> CONSTRUCT { ?\u00e9 ex:v ?1 } WHERE { ?\u00e9 ex:parent ?1 }", encoding="utf-8"
    )
    outcome = run("rules", "check", file, query, "--data", data, "--json")
    assert outcome.code == 0, outcome
    assert [work["matches"] for work in json.loads(outcome.out)["rules"]] == [1, 2]


def test_other_rules_run_with_them(tmp_path: Path, data: Path) -> None:
    file = written(tmp_path, person="[?x, a, ex:Old] :- [?x, a, ex:Person] .")
    data.write_text(DATA + "ex:parent <http://www.w3.org/2000/01/rdf-schema#domain> ex:Person .")
    assert "nowhere in the data" in run("rules", "check", file, "--data", data).out
    outcome = run("rules", "check", file, "--data", data, "--with", "rdfs")
    assert "never fires" not in outcome.out


def test_faults(tmp_path: Path, data: Path) -> None:
    first, second = tmp_path / "1.dlog", tmp_path / "2.dlog"
    first.write_text("[?x, a, ?y] :- [?x a ?y] .\n")
    second.write_text("[?x, a, ?z] :- [?x, a, ?y] .\n")
    outcome = run("rules", "check", first, second)
    assert outcome.code == 3
    assert f"{first}:1:" in outcome.err
    assert f"{second}:1:" in outcome.err
    second.write_text("# nothing\n")
    assert "there are no rules in " in run("rules", "check", second).err
    assert "none.dlog: there is no such file of rules" in run("rules", "check", "none.dlog").err
    assert "there is no such file" in run("rules", "check", written(tmp_path, **RULES), "--data", "none.ttl").err
    assert "or say: triplake rules check FILE" in run("rules", "kg", "chekc", "x").err
    assert "are for triplake rules check" in run("rules", "kg", "list", "--json").err
