"""A small load is maintained in memory: it needs the same statements however many rounds of rules it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.thresholds import set_fields
from triplestore import Store
from triplestore.engine.duckdb.connection import Connection
from triplestore.maintain.thresholds import Thresholds

OWL = "http://www.w3.org/2002/07/owl#"


def cascade(path: Path, merges: int) -> Path:
    """A file in which one owl:sameAs leads to so many merges, each the cause of the next."""
    lines = [
        f"<http://e/f> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{OWL}FunctionalProperty> .",
        f"<http://e/a0> <{OWL}sameAs> <http://e/b0> .",
    ]
    for i in range(merges - 1):
        lines += [f"<http://e/{c}{i}> <http://e/f> <http://e/{c}{i + 1}> ." for c in "ab"]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("largest", [0, 10_000], ids=["tables", "memory"])
def test_rounds_need_no_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """A run that began in tables leaves them after a few small rounds."""
    set_fields(monkeypatch, Thresholds, bulk=largest)
    run, statements = Connection._run, list[str]()

    def counted(self: Connection, work: object, sql: str) -> object:
        statements.append(sql)
        return run(self, work, sql)  # type: ignore[arg-type]

    monkeypatch.setattr(Connection, "_run", counted)
    found = []
    for merges in (20, 60):
        with Store.create(tmp_path / f"kg{merges}", ["owl2rl"], engine="duckdb") as store:
            statements.clear()
            store.load(cascade(tmp_path / "cascade.nt", merges))
            found.append(len(statements))
            last = store.stats()["last"]
            assert last["rounds"] >= merges - 1
            assert last["merged"] == merges
    assert found[0] == found[1]


@pytest.mark.parametrize("largest", [0, 10_000], ids=["tables", "memory"])
def test_both_ways_give_the_same_closure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    set_fields(monkeypatch, Thresholds, bulk=largest)
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb") as store:
        store.load(cascade(tmp_path / "cascade.nt", 12))
        assert (store._session.workspace.memory is not None) == (largest > 0)
        closure = set(store.triples())
        store.materialise()
        assert set(store.triples()) == closure
