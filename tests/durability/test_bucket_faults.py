"""Stores in object stores: whatever fails when, nothing is lost."""

from __future__ import annotations

import atexit
import os
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from errno import EDQUOT, EMFILE, ENOSPC, EROFS
from pathlib import Path

import pytest
from obstore.exceptions import GenericError

from tests.support.buckets import KG, E, Objects, at, changed, content, from_, made, read_only, whole
from tests.support.cli import done, run
from triplestore import Store
from triplestore.engine.disk import DISK
from triplestore.model.errors import DamagedStoreError, PublishedError, StorageError
from triplestore.model.thresholds import SIZES
from triplestore.read.thresholds import THRESHOLDS
from triplestore.storage import cache, leases
from triplestore.storage.bucket import Bucket
from triplestore.storage.making import MAKING
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions


class TestFaults:
    def _attempt(self, objects: Objects, number: int, lost: bool, failed: list[str]) -> bool:
        """An update during which the network is gone from a question on; whether that was reached."""
        with Store.open(KG) as store:
            objects.reset()
            if lost:
                objects.answers_lost = from_(number)
            else:
                objects.fails = from_(number)
            try:
                changed(store, 9)
            except StorageError as error:
                failed.append(str(error))
            reached = len(objects.asked) >= number
            objects.reset()
        return reached

    @pytest.mark.parametrize("lost", [False, True])
    def test_a_network_that_is_gone_at_any_question(self, lake: dict[str, Objects], lost: bool, tmp_path: Path) -> None:
        """The version is the one before, or the one after; nothing is damaged."""
        made(tmp_path / "kg", 1)
        with Store.open(tmp_path / "kg") as store:
            changed(store, 9)
        made(KG, 1)
        before, after, number, failing = content(KG), content(tmp_path / "kg"), 1, True
        failed = list[str]()
        while failing:
            failing = self._attempt(lake[KG], number, lost, failed)
            whole(KG)
            assert content(KG) in (before, after)
            number += 3
        assert number > 5
        assert content(KG) == after
        assert all("See to the network" in message and "opensesame" not in message for message in failed)
        assert failed

    def test_a_publishing_whose_answer_is_lost(self, lake: dict[str, Objects]) -> None:
        """It is looked whether the version is there; where nobody answers that either, the error says so."""

        def publishing(number: int, kind: str, name: str) -> None:
            if gone or (kind == "put" and name.startswith("_versions/0")):
                gone.append(name) if network else None
                raise GenericError("error sending request")

        made(KG, 1)
        for network, version in ((False, 4), (True, 5)):
            gone = list[str]()
            with Store.open(KG) as store:
                lake[KG].answers_lost = publishing
                with pytest.raises(PublishedError, match="not known whether version 5") if network else nullcontext():
                    changed(store, version)
                lake[KG].reset()
                assert store.refresh() == version
            whole(KG)

    def test_a_lease_whose_answer_is_lost(self, lake: dict[str, Objects], monkeypatch: pytest.MonkeyPatch) -> None:
        """It keeps nobody out; and whoever asks twice, as a client of the network's does by itself, has it."""

        def lost(number: int, kind: str, name: str) -> None:
            if kind == "put" and name == MAKING:
                objects.reset()
                raise GenericError("error sending request")

        objects = lake.setdefault(KG, Objects())
        objects.answers_lost = lost
        with pytest.raises(StorageError):
            made(KG, 0)
        made(KG, 0)
        claim = Bucket.claim

        def twice(place: Bucket, name: str, text: str) -> None:
            claim(place, name, text)
            claim(place, name, text)

        monkeypatch.setattr(Bucket, "claim", twice)
        lease = leases.take(Bucket(KG), "x")
        assert lease is not None
        lease.end()
        done("vacuum", KG, "--keep-versions", "1")
        whole(KG)

    def test_making_that_fails_leaves_nothing(self, lake: dict[str, Objects]) -> None:
        number, failing = 1, True
        while failing:
            objects = lake.setdefault(KG, Objects())
            objects.reset()
            objects.fails = at(number)
            try:
                made(KG, 0)
                failing = len(objects.asked) >= number
            except StorageError:
                failing = True
            objects.reset()
            if not Versions(KG).numbers():
                made(KG, 0)
            whole(KG)
            lake.pop(KG)
            number += 7
        assert number > 8

    def test_who_may_only_read_reads(self, lake: dict[str, Objects], tmp_path: Path) -> None:
        made(KG)
        expected = content(KG)
        lake[KG].fails = read_only
        assert content(KG) == expected
        assert "yes" in done("query", KG, "ASK { ?s ?p ?o }")
        (tmp_path / "x.nt").write_text('<http://ex/a> <http://ex/p> "x" .\n')
        outcome = run("update", KG, "--add", tmp_path / "x.nt")
        assert outcome.code != 0
        assert "access is refused" in outcome.err
        lake[KG].reset()
        whole(KG)

    def test_damage_is_noticed(self, lake: dict[str, Objects], cached: Path) -> None:
        made(KG)
        file = next(iter(Versions(KG).read().files_of("fact").files))
        lake[KG].flip(f"data/{file.path}")
        (damage,) = verify(Versions(KG)).damages
        assert damage.path == f"data/{file.path}"
        assert content(KG)  # from the cache, which has what was written
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(cache.FOLDER, str(cached.with_name("another")))
            with pytest.raises(DamagedStoreError, match="is not what was written"):
                content(KG)

    @pytest.mark.parametrize("paged", [False, True])
    def test_a_damaged_cache_is_no_damage(
        self, lake: dict[str, Objects], cached: Path, monkeypatch: pytest.MonkeyPatch, paged: bool
    ) -> None:
        """For a query, and for an update, which reads pages of large files and uploads none of them again."""
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", 4 if paged else SIZES.small)
        made(KG)
        expected = content(KG)
        _damage(cached, [path.name for path in cached.glob("files/*/*")])
        assert content(KG, verify=True) == expected
        triples = [Versions(KG).read().files_of(name) for name in ("asserted", "fact")]
        _damage(cached, [file.sha256 for files in triples for file in files.named])
        there = lake[KG].names("data")
        lake[KG].reset()
        with Store.open(KG) as store:
            changed(store, 9)
        assert there.isdisjoint(name for kind, name in lake[KG].asked if kind == "put")
        whole(KG)

    def test_a_copy_that_says_something_else(self, lake: dict[str, Objects], cached: Path) -> None:
        """It could be read: it is brought again first, whoever reads it."""
        with Store.create(KG, ["none"], engine="duckdb") as store:
            store.update(add=[(E.subject, E.p, E.o)])
        for path in cached.glob("files/*/*"):
            data = path.read_bytes()
            path.unlink()
            path.write_bytes(data.replace(b"subject", b"SUBJECT"))
        with Store.open(KG, engine="duckdb") as store:
            found = [
                {str(row[0]) for row in store.query("SELECT ?s { ?s ?p ?o }")} for _ in range(THRESHOLDS.often + 2)
            ]
            triples = {str(s) for s, _, _ in store.triples()}
        assert found == [{str(E.subject)}] * (THRESHOLDS.often + 2)
        assert triples == {str(E.subject)}

    @pytest.mark.parametrize("number", [ENOSPC, EDQUOT, EROFS, EMFILE])
    def test_a_cache_that_is_full_is_no_damage(
        self, lake: dict[str, Objects], cached: Path, number: int, tmp_path: Path
    ) -> None:
        """Nor one that nothing may be written into: for each command that brings files."""

        def full(*given: object) -> None:
            raise OSError(number, os.strerror(number), str(cached / "x"))

        made(KG)
        file = tmp_path / "x.nt"
        file.write_text(f"<{E.x}> <{E.p}> <{E.y}> .\n")
        shutil.rmtree(cached)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache.Cache, "bring", full)
            for command in (["update", "--add", file], ["query", "ASK { ?s ?p ?o }"], ["materialise"]):
                outcome = run(command[0], KG, *command[1:])
                assert outcome.code == (6 if number in DISK else 2), command
                assert f"{cached}/x: {os.strerror(number)}" in outcome.err
        whole(KG)

    @pytest.mark.parametrize("large", [False, True])
    def test_a_query_of_a_damaged_cache(
        self, lake: dict[str, Objects], cached: Path, large: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It does not notice; where the files are large, it says so, once, and the store is as before then."""
        if large:
            monkeypatch.setattr("triplestore.model.thresholds.Sizes.block", 64)
            monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.whole", 0)
        made(KG)
        expected = content(KG)
        for path in list(cached.glob("files/*/*")):
            size = path.stat().st_size
            path.unlink()
            path.write_bytes(bytes(size))
        with Store.open(KG) as store:
            if large:
                with pytest.raises(StorageError, match="was damaged, or removed; it has been brought again"):
                    list(store.triples())
            assert {tuple(map(str, triple)) for triple in store.triples()} == set(expected)
        assert content(KG) == expected

    def test_a_forked_process_ends(self, lake: dict[str, Objects]) -> None:
        """And leaves the files of the store that is open in the one that it was forked from."""
        made(KG)
        with Store.open(KG) as store:
            expected = len(list(store.triples()))
            if not (child := os.fork()):
                try:
                    del store
                    atexit._run_exitfuncs()
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            assert len(list(store.triples())) == expected


def _damage(cached: Path, sums: Sequence[str]) -> None:
    """Flip a bit of each of these files of the cache."""
    for path in (cached / "files" / name[:2] / name for name in sums):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.unlink()
        path.write_bytes(data)
