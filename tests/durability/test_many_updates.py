"""Very many small updates: files stay few, what an update takes stays the same, and nothing is lost by merging."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from rdflib import Literal, URIRef

from tests.conftest import MakeStore
from triplestore import Store
from triplestore.server.readers import Readers
from triplestore.storage.manifest import signed
from triplestore.storage.retention import Retention
from triplestore.storage.vacuum import vacuum
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions


def triple(n: int) -> tuple[URIRef, URIRef, Literal]:
    return URIRef(f"http://ex/{n}"), URIRef("http://ex/p"), Literal(f"value {n}", lang="en" if n % 2 else None)


def files_of(store: Store) -> dict[str, int]:
    """How many files each table has."""
    return {name: len(table.files) for name, table in Versions(store.path).read().tables.items()}


@pytest.mark.long_on_spark
def test_files_stay_few(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplestore.storage.thresholds.Thresholds.files", 4)
    store = make_store(["none"])
    for n in range(14):
        algorithm = "rematerialise" if n in (6, 7) else "auto"  # by the engine's tables, too
        store.update(add=[triple(n)], maintain=algorithm)
        assert files_of(store)["term"] <= 6
    assert set(store.triples()) == {triple(n) for n in range(14)}
    with Store.open(store.path, engine="duckdb", verify=True) as again:
        assert set(again.triples()) == {triple(n) for n in range(14)}
        terms = [tuple(row) for row in again._session.engine.rows("SELECT id, lexical FROM term ORDER BY id")]
    assert len(terms) == len(set(terms)) == len({number for number, _ in terms})


def test_readers_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where small files were merged, and back to an older version, whose numbers are given to other terms then."""
    monkeypatch.setattr("triplestore.storage.thresholds.Thresholds.files", 3)
    query = "SELECT ?o { ?s <http://ex/p> ?o }"
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=[triple(n) for n in range(20)])
        readers = Readers(tmp_path / "kg", 1)

        def answers() -> set[str]:
            readers.refresh()
            with readers.reading() as (reader, _):
                return {str(row[0]) for row in reader.query(query)}

        for n in range(20, 28):
            store.update(add=[triple(n)])
            assert answers() == {f"value {m}" for m in range(n + 1)}
        Store.restore(tmp_path / "kg", 5)
        assert answers() == {f"value {m}" for m in range(23)}
        for n in range(28, 36):
            store.update(add=[triple(n)])
            assert answers() == {f"value {m}" for m in [*range(23), *range(28, n + 1)]}
        Store.restore(tmp_path / "kg", 7)
        store.update(add=[triple(n) for n in range(50, 53)])
        assert answers() == {f"value {m}" for m in [*range(25), *range(50, 53)]}
        readers.close()


@pytest.mark.long
def test_a_thousand_updates(tmp_path: Path) -> None:
    """The last hundred take no longer than the first (by processor time), and no more room."""
    taken, room = list[float](), list[int]()
    with Store.create(tmp_path / "kg", ["none"]) as store:
        for n in range(1000):
            started = time.process_time()
            store.update(add=[triple(n)])
            taken.append(time.process_time() - started)
            if n % 100 == 99:
                room.append(sum(f.stat().st_size for f in (tmp_path / "kg").rglob("*") if f.is_file()))
        assert set(store.triples()) == {triple(n) for n in range(1000)}
    assert sum(taken[-100:]) < 2 * sum(taken[100:200])
    assert room[9] - room[8] < 2 * (room[2] - room[1])
    assert verify(Versions(tmp_path / "kg")).damages == ()


def test_very_many_versions(tmp_path: Path) -> None:
    """Listing them and forgetting them reads each once, and lists the folder a few times whatever their number."""
    Store.create(tmp_path / "kg", ["none"]).close()
    versions, listed = Versions(tmp_path / "kg"), list[str]()
    text = Path(versions.path, versions.file(1)).read_text()
    for number in range(2, 601):
        Path(versions.path, versions.file(number)).write_text(versions_text(text, number))
    with pytest.MonkeyPatch.context() as patch:
        there = os.listdir

        def noted(path: str = ".") -> list[str]:
            listed.append(str(path))
            return there(path)

        patch.setattr(os, "listdir", noted)
        with Store.open(tmp_path / "kg") as store:
            assert [entry["version"] for entry in store.log()] == list(range(1, 601))
        assert vacuum(versions, Retention(1))[0] == 599
    assert len(listed) < 12
    assert versions.numbers() == [600]


def versions_text(text: str, number: int) -> str:
    """The manifest of the first version as that of another."""
    import json

    data = json.loads(text) | {"version": number}
    return json.dumps(signed(data))
