"""Vacuum beside writers: what a process is about to publish stays, however old its files are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from rdflib import Literal, URIRef

from tests.support.cli import done, run
from tests.support.writers import hold_before_publishing
from triplestore import Store
from triplestore.model.errors import ConflictError
from triplestore.storage import leases
from triplestore.storage.vacuum import forgettable, vacuum
from triplestore.storage.verify import examine
from triplestore.storage.versions import Versions


def triple(name: str) -> tuple[URIRef, URIRef, Literal]:
    return URIRef(f"http://ex/{name}"), URIRef("http://ex/p"), Literal(name)


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    """A store of three versions."""
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=[triple("a")])
        store.update(add=[triple("b")])
    return tmp_path / "kg"


def aged(store: Path) -> None:
    """Let everything that is there be very old."""
    for file in (*(store / "data").iterdir(), *(store / "_versions").iterdir()):
        os.utime(file, (0, 0))


def named(store: Path) -> set[str]:
    return {f.path for _, f in Versions(store).read().named}


def test_leaves_a_living_writer_its_files(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def others_vacuum() -> None:
        monkeypatch.undo()
        aged(kg)
        done("vacuum", kg, "--keep", "1")

    with Store.open(kg) as writer:
        hold_before_publishing(monkeypatch, others_vacuum)
        writer.update(add=[triple("c")])
        assert len(list(writer.triples())) == 3
    examine(Versions(kg), Versions(kg).read(), sums=True)
    assert Versions(kg).numbers() == [3, 4]
    assert [name for name in os.listdir(kg / "_versions") if name.startswith(".")] == []


def test_leaves_the_version_that_a_writer_works_on(kg: Path) -> None:
    versions = Versions(kg)
    with versions.working():
        with Store.open(kg) as other:
            other.update(add=[triple("c")])
            other.update(add=[triple("d")])
        assert vacuum(versions, 1)[0] == 2
        assert versions.numbers() == [3, 4, 5]
        examine(versions, versions.read(3), sums=True)
    assert vacuum(versions, 1)[0] == 2
    assert versions.numbers() == [5]
    assert {f.name for f in versions.data.iterdir()} == named(kg)


def test_takes_what_the_dead_left(kg: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    us = leases.holder_now()
    (kg / "data/fact-0.parquet").write_text("half")
    (kg / f"_versions/{leases.PREFIX}0").write_text(leases.written(leases.Holder(us.host, ended.pid, us.born, 1)))
    assert vacuum(Versions(kg), None)[1] == 0
    aged(kg)
    assert vacuum(Versions(kg), None)[1] == 2
    assert Versions(kg).numbers() == [1, 2, 3]


def test_files_that_went_before_they_were_published(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever hand: nothing is published then."""
    before = set(os.listdir(kg / "data"))

    def remove() -> None:
        monkeypatch.undo()
        (kg / "data" / min(set(os.listdir(kg / "data")) - before)).unlink()

    with Store.open(kg) as writer:
        hold_before_publishing(monkeypatch, remove)
        with pytest.raises(ConflictError, match=r"is missing: another process removed it.* nothing was changed"):
            writer.update(add=[triple("c")])
        assert Versions(kg).numbers() == [1, 2, 3]
        writer.update(add=[triple("c")])
        assert len(list(writer.triples())) == 3


def test_asks_for_what_to_keep(kg: Path) -> None:
    outcome = run("vacuum", kg)
    assert outcome.code == 0
    older, bytes_freed = forgettable(Versions(kg))
    assert older == 2
    assert f"kept all 3 versions; --keep 1 would forget 2, and free {bytes_freed:,} bytes" in outcome.err
    assert Versions(kg).numbers() == [1, 2, 3]
    assert f"forgot 2 versions, deleted {len(os.listdir(kg / 'data')) - len(named(kg))} files" in (
        run("vacuum", kg, "--keep", "1").err
    )
    assert "kept all" not in run("vacuum", kg).err


def test_a_load_of_what_is_there_makes_no_version(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text('<http://ex/a> <http://ex/p> "a" .\n')
    outcome = run("load", kg, tmp_path / "a.nt")
    assert "nothing new: the store stays at version 3" in outcome.err
    assert outcome.code == 0
    assert Versions(kg).numbers() == [1, 2, 3]
    with Store.open(kg) as store:
        store.load(tmp_path / "a.nt")
        store.update(add=[triple("c")])
        assert len(list(store.triples())) == 3
