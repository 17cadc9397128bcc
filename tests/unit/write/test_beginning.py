"""Version 1 of stores, which the second store of a process is given and does not compute."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import RDF, RDFS, Namespace

from tests.support.cli import done
from triplestore import Store
from triplestore.write import beginning

E = Namespace("http://e/")


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[object, object]:
    """What is kept, nothing at first."""
    nothing: dict[object, object] = {}
    monkeypatch.setattr(beginning, "_kept", nothing)
    return nothing


def test_the_second_store_is_as_the_first(tmp_path: Path, kept: dict[object, object]) -> None:
    stores = [Store.create(tmp_path / name, "owl2rl", engine="duckdb") for name in "ab"]
    assert len(kept) == 1
    found = [sorted(store.query("SELECT * { ?s ?p ?o }")) for store in stores]
    assert found[0] == found[1] != []
    assert [store.stats().facts for store in stores] == [stores[0].stats().facts] * 2
    assert [len(store.log()) for store in stores] == [1, 1]
    for store in stores:
        done("verify", store.path, "--deep")
        store.update(add=[(E.a, RDF.type, E.A), (E.A, RDFS.subClassOf, E.B)])
        assert (E.a, RDF.type, E.B) in set(store.triples())
        store.close()
    files = [{file.name for file in (tmp_path / name / "data").iterdir()} for name in "ab"]
    assert files[0].isdisjoint(files[1])


def test_another_kind_is_another_version(tmp_path: Path, kept: dict[object, object]) -> None:
    own = tmp_path / "own.dlog"
    own.write_text("[?x, <http://e/q>, <http://e/b>] :- [?x, <http://e/p>, ?y] .\n")
    kinds = [
        ("owl2rl", {}),
        ("rdfs", {}),
        ("owl2rl", {"equality": "axioms"}),
        ("owl2rl", {"default_graph": "separate"}),
        ("owl2rl", {"equality": "off", "counting": True}),
        (str(own), {}),
    ]
    for number, (rules, more) in enumerate([*kinds, *kinds]):
        with Store.create(tmp_path / str(number), rules, engine="duckdb", **more) as store:
            assert [ruleset.name for ruleset in store.rulesets] == [rules]
            assert store.equality == more.get("equality", store.equality)
            assert store.default_graph == more.get("default_graph", "union")
        assert len(kept) == min(number + 1, len(kinds))
    own.write_text("[?x, <http://e/q>, <http://e/c>] :- [?x, <http://e/p>, ?y] .\n")
    with Store.create(tmp_path / "changed", str(own), engine="duckdb") as store:
        store.update(add=[(E.a, E.p, E.a)])
        assert set(store.triples()) == {(E.a, E.p, E.a), (E.a, E.q, E.c)}


def test_few_are_kept(tmp_path: Path, kept: dict[object, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as have room together, the last one in any case."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.batch", 1)
    for number, rules in enumerate(("none", "rdfs", "rdfs-plus", "none")):
        Store.create(tmp_path / str(number), rules, engine="duckdb").close()
        assert len(kept) == 1
