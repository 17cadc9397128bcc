"""Damage is told: flipped bits in any file of any table, and in a manifest; and there is a way back."""

from __future__ import annotations

import errno
import hashlib
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rdflib import OWL, Literal, URIRef

from tests.conftest import MakeStore
from tests.support.cli import contents, done, run
from triplestore import Store
from triplestore.model.errors import DamagedStoreError, UsageError
from triplestore.server.faults import HttpError, http_error
from triplestore.server.readers import Readers
from triplestore.storage import leases
from triplestore.storage.manifest import FORMAT
from triplestore.storage.place import Place
from triplestore.storage.thresholds import THRESHOLDS
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions

FLIPS = 12
"""Places of each file at which a bit is flipped."""


def triple(name: str) -> tuple[URIRef, URIRef, Literal]:
    return URIRef(f"http://ex/{name}"), URIRef("http://ex/p"), Literal(name)


def fill(store: Store) -> None:
    """Something in every table: literals, a class of equals, an inconsistency, tombstones."""
    ex = URIRef("http://ex/a"), URIRef("http://ex/b"), URIRef("http://ex/c")
    store.update(add=[*(triple(f"n{i}") for i in range(20)), (ex[0], OWL.sameAs, ex[1]), (ex[0], OWL.sameAs, ex[2])])
    store.update(add=[(ex[0], OWL.differentFrom, ex[1])], delete=[triple("n3")])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three versions."""
    path = tmp_path_factory.mktemp("filled") / "kg"
    with Store.create(path) as store:
        fill(store)
    return path


@pytest.fixture
def kg(filled: Path, tmp_path: Path) -> Path:
    """The store, the test's own."""
    return Path(shutil.copytree(filled, tmp_path / "kg"))


def flipped(file: Path, dice: random.Random, flips: int = FLIPS) -> Iterator[int]:
    """The file with one bit flipped, at places of all of it, one after the other; whole again at the end."""
    whole = file.read_bytes()
    try:
        for n in range(flips):
            place = int((n + dice.random()) / flips * len(whole))
            broken = bytearray(whole)
            broken[place] ^= 1 << dice.randrange(8)
            file.write_bytes(broken)
            yield place
    finally:
        file.write_bytes(whole)


@pytest.mark.long_on_spark
def test_flipped_bits_of_every_file(make_store: MakeStore) -> None:
    store = make_store()
    fill(store)
    versions, dice = Versions(store.path), random.Random(4)
    tables = {table for table, _ in versions.read().named}
    assert tables >= {"term", "asserted", "fact", "same_as", "violation"}
    for table, file in versions.read().named:
        assert file.sha256 == hashlib.sha256((versions.data / file.path).read_bytes()).hexdigest()
        for _ in flipped(versions.data / file.path, dice):
            with pytest.raises(
                DamagedStoreError,
                match=rf"{file.path} \(table {table}, .*checksum differs.*`triplake verify .*restore ",
            ):
                Store.open(store.path, engine="duckdb", verify=True)
            (damage,) = verify(versions).damages
            assert damage.path == f"data/{file.path}"
            assert damage.versions[-1] == versions.version
    Store.open(store.path, engine="duckdb", verify=True).close()
    assert verify(versions).damages == ()


def test_flipped_bits_of_a_manifest(kg: Path) -> None:
    """Found whenever it is read."""
    versions, dice = Versions(kg), random.Random(5)
    before = versions.read()
    for _ in flipped(Path(versions.path, versions.file(before.version)), dice):
        with pytest.raises(DamagedStoreError, match=r"cannot be read|newer Triplake"):
            versions.read()
    assert versions.read() == before


def test_what_reading_meets_is_told_as_damage(kg: Path) -> None:
    """Not as a fault of ours, where an engine has no other word for it: the sums are compared then."""
    dice, told = random.Random(6), 0
    (kg.parent / "x.nt").write_text('<http://ex/n1> <http://ex/q> "y" .\n')
    for _, file in Versions(kg).read().named:
        for number, _ in enumerate(flipped(kg / "data" / file.path, dice)):
            if number % 4 == 1:
                outcome = (
                    run("export", kg) if number > 6 else run("update", kg, "--dry-run", "--add", kg.parent / "x.nt")
                )
                assert outcome.code in (0, 5), outcome
                told += outcome.code == 5
    assert told > 1
    for _ in flipped(kg / "data" / file.path, dice):
        outcome = run("export", kg, "--verify")
        assert outcome.code == 5, outcome
        assert "checksum differs" in outcome.err
        break


def test_what_reading_meets_through_the_store(kg: Path) -> None:
    """The same error class as on the command line, with the file's name, also where the file is gone."""
    dice, told = random.Random(11), list[tuple[str, HttpError]]()
    asks: tuple[Callable[[Store], object], ...] = (
        lambda store: list(store.query("SELECT * { ?s ?p ?o }")),
        lambda store: list(store.triples()),
        lambda store: [*store.lines()],
        lambda store: store.check(),
        lambda store: store.stats(),
        lambda store: list(store.match(predicate=OWL.sameAs)),
        lambda store: store.update(add=[triple("more")], dry_run=True),
    )
    for _, file in Versions(kg).read().named:
        path = kg / "data" / file.path
        for ask, _ in zip(asks, flipped(path, dice, len(asks)), strict=True):
            with Store.open(kg, engine="duckdb") as store:
                try:
                    ask(store)
                except DamagedStoreError as error:
                    told.append((file.path, http_error(error)))
    assert len(told) > len(asks)
    for name, answer in told:
        assert answer.status == 500
        assert name in answer.message
        assert "triplake restore" in answer.message
    file = Versions(kg).read().files_of("fact").files[0]
    for ask in (asks[0], asks[-1]):
        with Store.open(kg, engine="duckdb") as store:
            (kg / "data" / file.path).rename(kg / "away")
            with pytest.raises(DamagedStoreError, match=rf"{file.path} .*is missing"):
                ask(store)
            (kg / "away").rename(kg / "data" / file.path)


def test_what_is_read_into_memory_is_compared(kg: Path) -> None:
    """By a write, by a server's readers, and by queries that come again: any flipped bit is noticed."""
    dice = random.Random(12)
    for table in ("asserted", "fact", "same_as"):
        file = Versions(kg).read().files_of(table).files[-1]
        for _ in flipped(kg / "data" / file.path, dice):
            with pytest.raises(DamagedStoreError, match=rf"{file.path} .*checksum differs"):
                Readers(kg, 1)
            with (
                Store.open(kg, engine="duckdb") as store,
                pytest.raises(DamagedStoreError, match=rf"{file.path} .*checksum differs"),
            ):
                store.update(add=[triple("more")])
    assert Versions(kg).version == 3


def test_large_files_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their blocks are compared as they are read into memory."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.block", 64)
    monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.whole", 0)
    with Store.create(tmp_path / "kg") as store:
        fill(store)
    file = Versions(store.path).read().files_of("fact").files[-1]
    for _ in flipped(tmp_path / "kg/data" / file.path, random.Random(14), 3):
        with pytest.raises(DamagedStoreError, match=rf"{file.path} .*checksum differs.*`triplake verify"):
            Readers(tmp_path / "kg", 1)


def test_a_forgotten_version_is_not_damage(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a reader that may not write that it reads."""

    def refuse(place: Place, name: str, version: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", place.at(name))

    with monkeypatch.context() as patch:
        patch.setattr(leases, "take", refuse)
        old = Store.open(kg, at=1, engine="duckdb")
    with old, Store.open(kg) as store:
        store.compact()
        store.vacuum(keep=1)
        with pytest.raises(UsageError, match=r"version 1 of .* forgotten by `triplake vacuum`"):
            list(old.query("SELECT * { ?s ?p ?o }"))


def test_verify_of_commands_that_open_no_engine(kg: Path, tmp_path: Path) -> None:
    file = Versions(kg).read().files_of("asserted").files[-1]
    for command in (("log", kg), ("vacuum", kg), ("log", kg, "3"), ("serve", kg, "--port", "0")):
        for _ in flipped(kg / "data" / file.path, random.Random(13)):
            outcome = run(*command, "--verify")
            assert outcome.code == 5, outcome
            assert file.path in outcome.err
            break
    for command in (("demo",), ("init", tmp_path / "new")):
        assert run(*command, "--verify").code == 2


def test_a_rewritten_file_hides_no_damage(kg: Path, tmp_path: Path) -> None:
    """Compacting, copying and merging read what they write anew, so they look at it first."""
    with Store.open(kg) as store:
        for n in range(THRESHOLDS.files - len(Versions(kg).read().files_of("asserted").files)):
            store.update(add=[triple(f"m{n}")])
        file = Versions(kg).read().files_of("asserted").files[-1]
        for _ in flipped(kg / "data" / file.path, random.Random(7)):
            for rewriting in (
                store.compact,
                lambda: store.copy(tmp_path / "copy"),
                lambda: store.update([triple("x")]),
            ):
                with pytest.raises(DamagedStoreError, match="checksum differs"):
                    rewriting()
            assert not (tmp_path / "copy").exists()
        store.update(add=[triple("x")])
        assert len(Versions(kg).read().files_of("asserted").files) < THRESHOLDS.files


class TestCommand:
    def test_tells_what_is_whole(self, kg: Path) -> None:
        outcome = run("verify", kg)
        assert outcome.code == 0
        assert ": 3 versions whole" in outcome.err
        last = next(f for t, f in Versions(kg).read().named if f not in {g for _, g in Versions(kg).read(2).named})
        for _ in flipped(kg / "data" / last.path, random.Random(8)):
            outcome = run("verify", kg)
            assert outcome.code == 5
            assert f"kg/data/{last.path} (table " in outcome.out
            assert ", version 3) is not what was written (its checksum differs)" in outcome.out
            assert f"1 file damaged; of the versions whole: 1 to 2; `triplake restore {kg} --to 2`" in outcome.err
            assert run("verify", kg, "--at", "2").code == 0
            found = json.loads(run("verify", kg, "--json").out)
            assert (found["versions"], found["whole"]) == ([1, 2, 3], [1, 2])
            assert [d["versions"] for d in found["damages"]] == [[3]]
        assert run("verify", kg, "--at", "7").code == 2

    @pytest.mark.parametrize("at_fault", ["file", "manifest"])
    def test_tells_damage_of_older_versions_apart(self, kg: Path, at_fault: str) -> None:
        """And vacuum removes it."""
        versions = Versions(kg)
        last = next(f for _, f in versions.read().named if f not in {g for _, g in versions.read(2).named})
        path = kg / "data" / last.path if at_fault == "file" else Path(versions.path, versions.file(3))
        path.write_bytes(b"x" * path.stat().st_size)
        assert run("verify", kg).code == 5
        done("restore", kg, "--to", "2")
        with Store.open(kg) as store:
            store.update(add=[triple("after")])
        outcome = run("verify", kg)
        assert outcome.code == 1
        assert f"{path}" in outcome.out
        assert "of older versions only: 3; the newest, 5, is whole" in outcome.err
        assert f"`triplake vacuum {kg} --keep-versions 2` forgets" in outcome.err
        assert run("verify", kg, "--json").code == 1
        assert run("verify", kg, "--at", "3").code == 5
        assert run("verify", kg, "--at", "5").code == 0
        assert run("vacuum", kg).code == 5
        done("vacuum", kg, "--keep", "2")
        assert versions.numbers() == [4, 5]
        assert run("verify", kg).code == 0
        assert not path.exists()

    def test_tells_of_a_manifest(self, kg: Path) -> None:
        Path(kg, Versions(kg).file(3)).write_text("garbage")
        outcome = run("verify", kg)
        assert outcome.code == 5
        assert "_versions/0000000003.json cannot be read (" in outcome.out
        assert "whole: 1 to 2" in outcome.err


class TestRestore:
    def test_from_a_damaged_newest_manifest(self, kg: Path) -> None:
        before = done("export", kg, "--at", "2", "--sorted")
        Path(kg, Versions(kg).file(3)).write_text("garbage")
        outcome = run("stats", kg)
        assert outcome.code == 5
        assert f"`triplake restore {kg} --to VERSION`" in outcome.err
        assert "damaged" in done("log", kg)
        assert "version 4 is what version 2 was" in run("restore", kg, "--to", "2").err
        assert done("export", kg, "--sorted") == before
        done("vacuum", kg, "--keep", "1")
        assert Versions(kg).numbers() == [4]
        with Store.open(kg, verify=True) as store:
            store.update(add=[triple("after")])
            assert store.version == 5
            assert store.log()[-2]["operation"] == "restore"

    def test_not_to_a_damaged_version(self, kg: Path) -> None:
        for _ in flipped(kg / "data" / next(f.path for _, f in Versions(kg).read(2).named), random.Random(9)):
            before = contents(kg)
            assert run("restore", kg, "--to", "2").code == 5
            assert contents(kg) == before

    def test_refusals(self, kg: Path) -> None:
        assert run("restore", kg, "--to", "3").code == 2
        with pytest.raises(UsageError, match="has no version 9"):
            Store.restore(kg, 9)


class TestFormat2:
    """Stores without checksums: read as they were, and given them by the next write."""

    @pytest.fixture
    def old(self, kg: Path) -> Path:
        """The store as the format before had it."""
        (kg / "triplake.json").write_text('{"format": 2}')
        for number in Versions(kg).numbers():
            file = Path(kg, Versions(kg).file(number))
            data = json.loads(file.read_text()) | {"format": 2}
            del data["checksum"]
            for table in data["tables"].values():
                for part in (*table["files"], *table["tombstones"]):
                    del part["sha256"]
            file.write_text(json.dumps(data))
        return kg

    def test_is_read(self, old: Path) -> None:
        before = contents(old)
        with Store.open(old, verify=True) as store:
            assert len(list(store.triples("asserted"))) == 22
        assert contents(old) == before
        outcome = run("verify", old)
        assert outcome.code == 0
        assert "not verified: a store of format 2 has no checksums" in outcome.err

    def test_gets_checksums_by_a_write(self, old: Path) -> None:
        with Store.open(old) as store:
            store.update(add=[triple("new")])
        assert all(file.sha256 for _, file in Versions(old).read().named)
        assert json.loads((old / "triplake.json").read_text())["format"] == FORMAT
        assert run("verify", old, "--at", "4").err.startswith("read")
        with Store.open(old, at=2) as store:
            assert len(list(store.triples("asserted"))) == 22

    def test_damage_that_an_engine_meets(self, old: Path) -> None:
        file = max((f for _, f in Versions(old).read().named), key=lambda f: f.bytes)
        (old / "data" / file.path).write_bytes(b"x" * file.bytes)
        with Store.open(old) as store, pytest.raises(DamagedStoreError):
            store.update(add=[triple("new")], maintain="rematerialise")
        assert run("export", old).code == 5
