"""Backups: brought up to date whatever interrupts them, and stores brought back from them."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, Namespace

from tests.support.seeds import seeds
from triplestore import Store
from triplestore.model.errors import DamagedStoreError, UsageError
from triplestore.storage.backup import BackedUp, backup, restore
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions

E = Namespace("http://ex/")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a few versions, with classes of equals."""
    path = tmp_path_factory.mktemp("backup") / "kg"
    with Store.create(path, ["owl2rl"], engine="duckdb") as store:
        store.update(add=[(E.A, RDFS.subClassOf, E.B), (E.a, RDF.type, E.A)])
        for number in range(4):
            changed(store, number)
    return path


@pytest.fixture
def kg(made: Path, tmp_path: Path) -> Path:
    """The store, the test's own."""
    return Path(shutil.copytree(made, tmp_path / "kg"))


def changed(store: Store, number: int) -> None:
    store.update(add=[(E[f"x{number}"], RDF.type, E.A), (E[f"x{number}"], OWL.sameAs, E[f"y{number // 2}"])])


def content(path: Path, version: int) -> set[tuple[str, ...]]:
    with Store.open(path, at=version, engine="duckdb") as store:
        return {tuple(map(str, row)) for row in store.query("SELECT ?s ?p ?o { ?s ?p ?o }")}


def same(one: Path, other: Path) -> None:
    """Both have the same versions, whole, of the same files (by their checksums), and the newest says the same."""
    assert Versions(one).numbers() == Versions(other).numbers()
    assert verify(Versions(one)).damages == verify(Versions(other)).damages == ()
    for version in Versions(one).numbers():
        assert list(Versions(one).manifest(version).named) == list(Versions(other).manifest(version).named)
    assert content(one, version) == content(other, version)


def harmed(path: Path) -> None:
    """Flip a bit."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def test_what_is_lacking_is_copied(kg: Path, tmp_path: Path) -> None:
    dest = tmp_path / "backups/kg"
    first = backup(kg, dest)
    assert (first.versions, first.new, first.damaged) == (6, 6, ())
    same(kg, dest)
    assert Store.backup(kg, dest) == BackedUp(6, 0, 0, 0, ())
    with Store.open(kg) as store:
        changed(store, 9)
    again = backup(kg, dest)
    assert (again.versions, again.new) == (7, 1)
    assert 0 < again.files < first.files
    same(kg, dest)


def test_versions_that_were_forgotten_stay(kg: Path, tmp_path: Path) -> None:
    from triplestore.storage.retention import Retention
    from triplestore.storage.vacuum import vacuum

    backup(kg, tmp_path / "b")
    before = content(kg, 6)
    with Store.open(kg) as store:
        changed(store, 9)
    vacuum(Versions(kg), Retention(1))
    Versions(kg).change_retention(Retention(3))
    assert backup(kg, tmp_path / "b").versions == 7
    assert verify(Versions(tmp_path / "b")).damages == ()
    assert content(kg, 7) == content(tmp_path / "b", 7)
    assert content(tmp_path / "b", 6) == before
    assert Versions(tmp_path / "b").retention == Retention(3)
    with Store.open(kg) as store:
        store.compact()
    vacuum(Versions(kg), Retention(1))
    with pytest.raises(UsageError, match="b has version 7, and"):  # nothing tells that it is the same store
        backup(kg, tmp_path / "b")


@pytest.mark.parametrize("seed", seeds(range(6), 1))
def test_a_failure_leaves_a_store_or_none(kg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """After any step, an earlier backup is as it was or has whole versions more; a first one may not be there."""
    dest, rng = tmp_path / "b", random.Random(seed)
    if seed % 2:
        shutil.copytree(kg, tmp_path / "older")
        backup(tmp_path / "older", dest)
        with Store.open(kg) as store:
            changed(store, 9)
            changed(store, 10)
    steps = rng.randrange(1, 40 if seed % 2 == 0 else 12)
    real = os.replace

    def failing(source: Path, target: Path) -> None:
        nonlocal steps
        steps -= 1
        if steps == 0:
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", failing)
        try:
            backup(kg, dest)
        except KeyboardInterrupt:
            if dest.exists():
                assert verify(Versions(dest)).damages == ()
    backup(kg, dest)
    same(kg, dest)


@pytest.mark.long
def test_killed_at_random(kg: Path, tmp_path: Path) -> None:
    with Store.open(kg) as store:
        for number in range(20, 50):
            changed(store, number)
    dest, rng = tmp_path / "b", random.Random(1)
    text = "import sys; from triplestore.storage.backup import backup; backup(sys.argv[1], sys.argv[2])"
    for _ in range(25):
        process = subprocess.Popen([sys.executable, "-c", text, str(kg), str(dest)])
        time.sleep(rng.uniform(0.1, 0.8))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if Versions(dest).exists():
            assert verify(Versions(dest)).damages == ()
            if rng.random() < 0.3:
                shutil.rmtree(dest)
    backup(kg, dest)
    same(kg, dest)


def lost_file(kg: Path) -> None:
    next(path for path in sorted((kg / "data").iterdir()) if path.name.startswith("fact")).unlink()


def flipped_bits(kg: Path) -> None:
    for path in (kg / "data").iterdir():
        harmed(path)


def cut_short(kg: Path) -> None:
    for path in sorted((kg / "data").iterdir())[:2]:
        path.write_bytes(path.read_bytes()[:-5])


def lost_manifest(kg: Path) -> None:
    Path(kg, Versions(kg).file(3)).unlink()


def broken_manifest(kg: Path) -> None:
    Path(kg, Versions(kg).file(6)).write_text("{")


def broken_mark(kg: Path) -> None:
    (kg / "triplake.json").write_text("")


def lost_mark(kg: Path) -> None:
    (kg / "triplake.json").unlink()


def lost_data(kg: Path) -> None:
    shutil.rmtree(kg / "data")


def lost(kg: Path) -> None:
    shutil.rmtree(kg)


@pytest.mark.parametrize(
    "damage",
    [lost_file, flipped_bits, cut_short, lost_manifest, broken_manifest, broken_mark, lost_mark, lost_data, lost],
)
@pytest.mark.sampled(each=3)
def test_a_store_is_brought_back(kg: Path, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    backup(kg, tmp_path / "b")
    damage(kg)
    Store.restore_from(kg, tmp_path / "b")
    same(tmp_path / "b", kg)
    with Store.open(kg) as store:
        changed(store, 9)
        assert store.version == 7


@pytest.mark.parametrize("also", [(), ("triplake.json",), ("data",)], ids=["alone", "and the mark", "and the data"])
def test_versions_that_were_all_lost(kg: Path, tmp_path: Path, also: tuple[str, ...]) -> None:
    """What is told of the store says how to bring it back, and that does."""
    backup(kg, tmp_path / "backup")
    shutil.rmtree(kg / "_versions")
    for name in also:
        if name == "data":
            shutil.rmtree(kg / name)
        else:
            (kg / name).write_text("{")
    if also != ("triplake.json",):
        with pytest.raises(DamagedStoreError, match=r"`triplake restore .*kg --from BACKUP` brings it back"):
            Store.open(kg)
    restore(kg, tmp_path / "backup")
    same(kg, tmp_path / "backup")


def test_the_lost_versions_of_another_store(kg: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "other", ["none"], engine="duckdb") as store:
        store.update(add=[(E.a, E.b, E.c)])
    backup(tmp_path / "other", tmp_path / "backup")
    shutil.rmtree(kg / "_versions")
    held = sorted(kg.rglob("*"))
    with pytest.raises(
        UsageError, match=r"backup is not a backup of .*kg: .*kg has files of others, and .*backup has 1 to 2"
    ):
        restore(kg, tmp_path / "backup")
    assert sorted(kg.rglob("*")) == held


def test_newer_versions_stay(kg: Path, tmp_path: Path) -> None:
    backup(kg, tmp_path / "b")
    with Store.open(kg) as store:
        changed(store, 9)
    before = content(kg, 7)
    harmed(next(path for path in (kg / "data").iterdir() if (tmp_path / "b/data" / path.name).exists()))
    assert restore(kg, tmp_path / "b").files == 1
    assert verify(Versions(kg)).damages == ()
    assert content(kg, 7) == before


def test_what_is_damaged_is_not_copied(kg: Path, tmp_path: Path) -> None:
    with Store.open(kg) as store:
        store.compact()
    numbers = Versions(kg)
    newest = {file.path for _, file in numbers.manifest(7).named}
    old = next(file for _, file in numbers.manifest(2).named if file.path not in newest)
    harmed(kg / "data" / old.path)
    found = backup(kg, tmp_path / "b")
    hurt = [n for n in numbers.numbers() if old.path in {file.path for _, file in numbers.manifest(n).named}]
    assert [number for number, _ in found.damaged] == hurt
    assert Versions(tmp_path / "b").numbers() == [n for n in numbers.numbers() if n not in hurt]
    assert verify(Versions(tmp_path / "b")).damages == ()
    harmed(kg / "data" / min(newest - {file.path for _, file in numbers.manifest(6).named}))
    with pytest.raises(DamagedStoreError, match=r"version 7 of .* cannot be copied"):
        backup(kg, tmp_path / "c")
    assert verify(Versions(tmp_path / "c")).damages == ()


def test_what_is_refused(kg: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "other", ["rdfs"]) as other:
        other.update(add=[(E.a, E.p, E.b)])
    for dest, why in ((tmp_path / "other", "is not a backup of"), (kg, "overlaps"), (kg / "data/b", "overlaps")):
        with pytest.raises(UsageError, match=why):
            backup(kg, dest)
    backup(kg, tmp_path / "b")
    with Store.open(tmp_path / "b") as written:
        changed(written, 9)
    with pytest.raises(UsageError, match="b has version 7"):
        backup(kg, tmp_path / "b")
    with Store.open(kg) as written:
        changed(written, 10)
    with pytest.raises(UsageError, match="version 7 is another there"):
        backup(kg, tmp_path / "b")
    with pytest.raises(UsageError, match=r"other is not a backup of .*kg: version 1 is another there"):
        restore(kg, tmp_path / "other")
    with pytest.raises(UsageError, match="is not a Triplake store"):
        backup(tmp_path / "none", tmp_path / "c")
    with pytest.raises(
        UsageError, match=r"none is not a backup: there is no store in it; name what `triplake backup .*kg DEST`"
    ):
        restore(kg, tmp_path / "none")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not an empty folder"):
        backup(kg, tmp_path / "full")
    assert (tmp_path / "full/notes.txt").read_text() == "mine"


def test_a_disk_that_fails(kg: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triplestore.model.errors import StorageError

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    backup(kg, tmp_path / "b")
    with Store.open(kg) as store:
        changed(store, 9)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            backup(kg, tmp_path / "b")
    assert not [path for path in (tmp_path / "b/data").iterdir() if path.name.startswith(".")]
    backup(kg, tmp_path / "b")
    same(kg, tmp_path / "b")
