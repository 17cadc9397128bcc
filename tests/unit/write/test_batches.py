"""Many small updates in one go: groups of transactions leave what one by one leaves, each group wholly there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.cli import contents, done, run
from triplestore import Store
from triplestore.model.errors import ConflictError
from triplestore.storage.manifest import Manifest
from triplestore.storage.versions import Versions

P, MAIL = "<http://e/p>", "<http://e/mail>"
AXIOMS = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://e/mail> a owl:InverseFunctionalProperty .
<http://e/p> a owl:TransitiveProperty .
"""


def row(dice: random.Random) -> str:
    a, b = dice.randrange(12), dice.randrange(12)
    triple = dice.choice([f"<http://e/n{a}> {P} <http://e/n{b}>", f'<http://e/n{a}> {MAIL} "m{b % 4}"'])
    return f"{dice.choice('AAD')} {triple} ."


def patch(dice: random.Random, transactions: int) -> str:
    def rows() -> str:
        return "".join(f"{row(dice)}\n" for _ in range(dice.randrange(1, 4)))

    return "".join(f"TX .\n{rows()}TC .\n" for _ in range(transactions))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "axioms.ttl").write_text(AXIOMS)
    done("load", "kg", "axioms.ttl")
    return tmp_path


def export(store: str, *options: str) -> str:
    return done("export", store, "--sorted", *options)


@pytest.mark.long
def test_groups_end_where_single_ones_do(folder: Path) -> None:
    (folder / "changes").mkdir()
    dice = random.Random(5)
    (folder / "changes/1.rdfp").write_text(patch(dice, 20))
    (folder / "changes/2.ru").write_text(
        "DELETE { ?x <http://e/p> ?y } INSERT { ?y <http://e/q> ?x }\n"
        "WHERE { ?x <http://e/p> ?y . ?y <http://e/p> ?x } ;\n"
        "INSERT DATA { <http://e/n1> <http://e/p> <http://e/new> . _:b <http://e/p> _:b }"
    )
    (folder / "changes/3.rdfp").write_text(patch(dice, 15))
    (folder / "changes/notes.txt").write_text("no update")
    for store in ("single", "group", "all"):
        done("copy", "kg", store)
    single = run("update", "single", "changes")
    assert single.code == 0
    assert len(single.err.splitlines()) >= 36
    assert single.err.splitlines()[35].startswith("36 transactions: added ")
    group = run("update", "group", "changes", "--batch", "10").err.splitlines()
    assert [line.split(":")[0] for line in group[:4]] == [f"{n} transactions" for n in (10, 20, 30, 36)]
    assert run("update", "all", "--batch", "changes").code == 0
    with Store.open("group") as store, Store.open("all") as at_once:
        assert (store.version, at_once.version) == (5, 2)
    for what in ("asserted", "all"):
        assert export("single", "--what", what) == export("group", "--what", what) == export("all", "--what", what)
    before = export("group")
    done("materialise", "group")
    assert export("group") == before


def test_the_last_word_on_a_triple_counts() -> None:
    triple = f"<http://e/a> {P} <http://e/b>"
    Path("a.rdfp").write_text(f"TX .\nA {triple} .\nTC .\nTX .\nD {triple} .\nTC .\nTX .\nA {triple} .\nTC .\n")
    assert "3 transactions: added 1 and" in run("update", "kg", "a.rdfp", "--batch").err
    Path("b.rdfp").write_text(f"TX .\nA {triple} .\nTC .\nTX .\nD {triple} .\nTC .\n")
    assert "2 transactions: would add 0 and delete 1 stored" in run("update", "kg", "b.rdfp", "--dry-run").err
    assert export("kg", "--what", "asserted").count("<http://e/a>") == 1


def test_a_bad_file_changes_nothing(folder: Path) -> None:
    Path("good.rdfp").write_text(patch(random.Random(1), 5))
    Path("bad.rdfp").write_text(f"TX .\nA <http://e/a> {P} <http://e/b> .\nTC .\nTX .\nA <http://e/a> {P} .\nTC .\n")
    before = contents(folder / "kg")
    for options in ((), ("--batch",), ("--batch", "2")):
        outcome = run("update", "kg", "good.rdfp", "bad.rdfp", *options)
        assert outcome.code == 3
        assert "bad.rdfp:5:1: row A takes a triple" in outcome.err
        assert contents(folder / "kg") == before


def test_a_failure_says_what_was_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("good.rdfp").write_text("".join(f"TX .\nA <http://e/a{i}> {P} <http://e/b> .\nTC .\n" for i in range(6)))
    publish = Versions.publish

    def losing(versions: Versions, manifest: Manifest) -> Manifest:
        if manifest.version == 4:
            raise ConflictError("another writer was first")
        return publish(versions, manifest)

    monkeypatch.setattr(Versions, "publish", losing)
    outcome = run("update", "kg", "good.rdfp", "--batch", "2")
    assert outcome.code == 4
    assert "2 of 6 transactions were committed before this: the store is at version 3" in outcome.err


def test_an_interruption_says_what_was_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("good.rdfp").write_text("".join(f"TX .\nA <http://e/a{i}> {P} <http://e/b> .\nTC .\n" for i in range(6)))
    publish = Versions.publish

    def stopped(versions: Versions, manifest: Manifest) -> Manifest:
        if manifest.version == 4:
            raise KeyboardInterrupt
        return publish(versions, manifest)

    monkeypatch.setattr(Versions, "publish", stopped)
    outcome = run("update", "kg", "good.rdfp", "--batch", "2")
    assert outcome.code == 130
    assert "interrupted; 2 of 6 transactions were committed before this: the store is at version 3" in outcome.err


def test_wrong_usage(folder: Path) -> None:
    (folder / "empty").mkdir()
    outcome = run("update", "kg", "empty")
    assert (outcome.code, "the folder holds no update file (.rdfp" in outcome.err) == (2, True)
    assert run("update", "kg", "empty", "--batch", "0").code == 2
