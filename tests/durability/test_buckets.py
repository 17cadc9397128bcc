"""Stores in object stores: what holds for folders holds there, whatever fails when."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from rdflib import OWL, RDF, RDFS

from tests.support.buckets import KG, E, Objects, changed, content, made, whole, winners
from tests.support.cli import done
from triplestore import Store, objects
from triplestore.model.errors import ConflictError, DamagedStoreError, StorageError, TriplakeError, UsageError
from triplestore.storage import bucket, cache, leases
from triplestore.storage.bucket import Bucket
from triplestore.storage.cache import Cache, limit_of
from triplestore.storage.places import place_of
from triplestore.storage.thresholds import THRESHOLDS
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions

T = TypeVar("T")


class TestPlace:
    def test_urls(self) -> None:
        assert str(place_of("kg/x").path) == "kg/x"
        assert str(place_of("file:///a/k%20g").path) == "/a/k g"
        assert place_of("s3a://lake/kg/").path == "s3://lake/kg"
        for url, what in (
            ("ftp://ex/kg", "no store can be at a URL of ftp"),
            ("s3://id:secret@lake/kg", "give s3://lake/kg without a user"),
            ("s3://lake/kg?token=secret", "give s3://lake/kg without a user"),
            ("s3:///kg", "names no bucket"),
            ("hdfs:///kg", "names no name node: give hdfs://HOST:PORT/PATH"),
            ("s3://[bad/kg", "is not a URL: Invalid IPv6 URL"),
            ("file://[bad/kg", "is not a URL: Invalid IPv6 URL"),
            ("s3:/lake/kg", "is not a URL, which has ://"),
            ("S3:kg", "is not a URL, which has ://"),
            *((f"s3://lake/{path}", "a part that is empty") for path in ("/kg", "a//b", "a/../kg", "./kg", "%2E%2E/k")),
            ("az://me/", "names no account and container: give az://ACCOUNT/CONTAINER/PATH"),
        ):
            with pytest.raises(UsageError, match=what) as raised:
                place_of(url)
            assert "secret" not in str(raised.value)

    @pytest.mark.parametrize(
        ("url", "of_hadoop", "root", "name"),
        [
            ("s3://lake/a/b.nt", "s3a://lake/a/b.nt", "s3://lake", "a/b.nt"),
            ("s3a://lake/a/", "s3a://lake/a", "s3://lake", "a"),
            ("gs://lake", "gs://lake", "gs://lake", ""),
            ("az://me/box/a/b", "abfss://box@me.dfs.core.windows.net/a/b", "az://me/box", "a/b"),
            ("hdfs://node:8020/a/b", "hdfs://node:8020/a/b", "hdfs://node:8020", "a/b"),
        ],
    )
    def test_of_hadoop(self, url: str, of_hadoop: str, root: str, name: str) -> None:
        assert objects.is_remote(url)
        assert objects.of_hadoop(url) == of_hadoop
        assert objects.divided(url) == (root, name)

    def test_the_account_and_the_container_of_azure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")
        for path in ("", "/a", "/a b/c"):
            found: Any = objects.opened(f"az://me/box{path}")
            known = found._store.config, found._store.prefix or ""
            assert (known[0]["account_name"], known[0]["container_name"], known[1]) == ("me", "box", path[1:])

    def test_one_of_many_creates(self, lake: dict[str, Objects]) -> None:
        place = Bucket(KG)
        won = winners(lambda number: place.create("_versions/x", str(number)))
        assert [str(number) for number in won] == [place.read("_versions/x")]

    def test_the_lost_answer_to_a_create(self, lake: dict[str, Objects]) -> None:
        place = Bucket(KG)
        place.create("x", "ours")
        place.create("x", "ours")
        with pytest.raises(FileExistsError):
            place.create("x", "another's")

    def test_leases(self, lake: dict[str, Objects]) -> None:
        place, us = Bucket(KG), leases.holder_now()
        lease = leases.take(place, "x")
        assert lease is not None
        assert leases.take(place, "x") is None
        lease.end()
        ended = subprocess.Popen(["true"])
        ended.wait()
        place.replace("x", leases.written(leases.Holder(us.host, ended.pid, us.born)))
        again = leases.take(place, "x")
        assert again is not None
        place.renew("x", leases.written(us))
        again.end()
        assert lake[KG].names() == set()
        with pytest.raises(FileNotFoundError):
            place.renew("x", "")

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
    def test_a_forked_process_is_refused(self, lake: dict[str, Objects]) -> None:
        """It would wait for ever."""
        place = Bucket(KG)
        place.replace("x", "")
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            try:
                Bucket(KG).read("x")
            except UsageError as error:
                os.write(write, str(error).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert b"set_start_method" in os.read(read, 1000)

    def test_sizes(self, lake: dict[str, Objects]) -> None:
        place = Bucket(KG)
        for number in range(THRESHOLDS.parallel + 2):
            place.keep(f"f{number}", [b"x" * number])
        for count in (1, THRESHOLDS.parallel + 1):
            assert place.sizes([f"f{n}" for n in range(count)] + ["none"]) == {f"f{n}": n for n in range(count)}


class TestStore:
    def test_is_what_a_folder_is(self, lake: dict[str, Objects], tmp_path: Path) -> None:
        for path in (KG, tmp_path / "kg"):
            made(path)
            with Store.open(path) as store:
                store.update(delete=[(E.x0, OWL.sameAs, E.y0)])
                assert store.path == path
        assert content(KG) == content(tmp_path / "kg")
        assert content(KG, at=3) == content(tmp_path / "kg", at=3)
        with Store.open(KG) as store:
            store.compact()
            store.vacuum(keep=1)
        assert content(KG) == content(tmp_path / "kg")
        whole(KG)
        newest = Versions(KG).read()
        assert lake[KG].names("data") == {f"data/{file.path}" for _, file in newest.named}

    def test_restore(self, lake: dict[str, Objects]) -> None:
        made(KG)
        before = content(KG, at=3)
        Store.restore(KG, 3)
        assert content(KG) == before

    def test_copy_and_backup_between_any_two(self, lake: dict[str, Objects], tmp_path: Path) -> None:
        made(KG)
        with Store.open(KG) as store:
            store.copy("gs://pond/copy")
            store.copy(tmp_path / "copy")
        with Store.open(tmp_path / "copy") as store:
            store.copy("az://account/box/copy")
        Store.backup(KG, tmp_path / "backup")
        Store.backup(tmp_path / "backup", "gs://pond/backup")
        places = ("gs://pond/copy", tmp_path / "copy", "az://account/box/copy", tmp_path / "backup", "gs://pond/backup")
        for path in places:
            assert content(path) == content(KG)
            whole(path)
        lost = next(iter(lake[KG].names("data")))
        lake[KG].kept.delete(lost)
        assert verify(Versions(KG)).damages
        Store.restore_from(KG, "gs://pond/backup")
        whole(KG)
        with pytest.raises(UsageError, match="overlaps with"):
            Store.backup(KG, f"{KG}/backup")
        for same in ("s3://lake/%6Bg", "s3://lake/%6bg/backup"):
            with pytest.raises(UsageError, match="overlaps with"):
                Store.backup(KG, same)

    @pytest.mark.spark
    @pytest.mark.long_on_spark
    def test_on_spark(self, lake: dict[str, Objects], spark: object, tmp_path: Path) -> None:
        made(tmp_path / "kg")
        with Store.create(KG, ["owl2rl"], spark=spark) as store:  # type: ignore[arg-type]
            store.update(add=[(E.A, RDFS.subClassOf, E.B), (E.a, RDF.type, E.A)])
            for number in range(3):
                changed(store, number)
        assert content(KG) == content(tmp_path / "kg") == content(KG, engine="spark", spark=spark)
        whole(KG)

    def test_two_writers(self, lake: dict[str, Objects]) -> None:
        made(KG, 0)
        with Store.open(KG) as one, Store.open(KG) as other:
            for number in range(3):
                changed(one, number)
                changed(other, number + 10)
        found = content(KG)
        assert {row[0] for row in found if row[0].startswith(f"{E}x")} == {f"{E}x{n}" for n in (0, 1, 2, 10, 11, 12)}
        whole(KG)

    def test_what_is_not_needed_is_let_go(self, lake: dict[str, Objects], monkeypatch: pytest.MonkeyPatch) -> None:
        """Of who writes and of who reads, on this machine; the store has its old versions."""
        made(KG, 0)
        with Store.open(KG) as writer, Store.open(KG) as reader:
            for idle in (bucket.IDLE, -1.0):
                monkeypatch.setattr(bucket, "IDLE", idle)
                for number in range(2):
                    changed(writer, number + (10 if idle < 0 else 0))
                    reader.refresh()
                    assert reader.query("ASK { ?s ?p ?o }").boolean
                writer.compact()
                reader.refresh()
                assert reader.query("ASK { ?s ?p ?o }").boolean
                for store in (writer, reader):
                    versions = store._session.versions
                    here = {path.name for path in versions.place.data.iterdir()}
                    assert (here <= versions.read().paths) is (idle < 0)
            assert content(KG, at=3) < content(KG)
        whole(KG)

    def test_an_update_lists_the_versions_four_times(self, lake: dict[str, Objects]) -> None:
        """Before and after it queues, as it begins, and as it is published."""
        made(KG, 0)
        with Store.open(KG) as store:
            changed(store, 1)
            lake[KG].reset()
            changed(store, 2)
        assert lake[KG].asked.count(("list", "_versions")) == 4

    def test_one_of_two_makers(self, lake: dict[str, Objects]) -> None:
        with Store.create(KG, ["none"], hold=True), pytest.raises(ConflictError, match="another process is making"):
            Store.create(KG, ["none"])
        assert lake[KG].names() == set()

    def test_other_objects_are_in_the_way(self, lake: dict[str, Objects]) -> None:
        Bucket(KG).replace("thesis.pdf", "")
        with pytest.raises(UsageError, match="is not an empty folder"):
            Store.create(KG, ["none"])
        assert lake[KG].names() == {"thesis.pdf"}

    def test_versions_that_were_lost(self, lake: dict[str, Objects]) -> None:
        made(KG, 0)
        for name in lake[KG].names("_versions"):
            lake[KG].kept.delete(name)
        before = lake[KG].names()
        with pytest.raises(DamagedStoreError, match="if _versions was lost"):
            Store.open(KG)
        with pytest.raises(TriplakeError):
            Store.create(KG, ["none"])
        assert lake[KG].names() == before

    def test_files_are_read_in_parts(self, lake: dict[str, Objects], monkeypatch: pytest.MonkeyPatch) -> None:
        """Of large files, a change brings the pages that it needs."""
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.block", 64)
        made(KG)
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.batch", 1)
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", 0)
        monkeypatch.setattr(Cache, "find", lambda cache, file: None)
        lake[KG].reset()
        with Store.open(KG) as store:
            store.update(delete=[(E.a, RDF.type, E.A)])
            store.update(add=[(E.x7, RDF.type, E.A)])
        assert any(kind == "get_range" for kind, _ in lake[KG].asked)
        whole(KG)
        found = content(KG)
        assert (str(E.x7), str(RDF.type), str(E.B)) in found
        assert (str(E.a), str(RDF.type), str(E.B)) not in found


class TestCache:
    def test_a_folder_that_cannot_be_made(self, lake: dict[str, Objects], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(cache.FOLDER, os.devnull + "/cache")
        with pytest.raises(UsageError, match=f"cache, {os.devnull}/cache, cannot be made"):
            made(KG)

    def test_limit(self) -> None:
        assert [limit_of(text) for text in ("", "5", "2 GB", "1.5k", "3TB")] == [
            cache.BYTES, 5, 2 * 10**9, 1500, 3 * 10**12,
        ]  # fmt: skip
        with pytest.raises(UsageError, match="give a number of bytes, such as"):
            limit_of("much")

    def test_keeps_what_was_used_last(
        self, lake: dict[str, Objects], cached: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(cache.LIMIT, "8000")
        made(KG, 6)
        assert content(KG)
        kept = sum(path.stat().st_size for path in cached.glob("files/*/*"))
        assert 0 < kept <= 8000 * 17 / 16

    def test_a_store_that_is_open_keeps_its_files(self, lake: dict[str, Objects], cached: Path) -> None:
        made(KG)
        with Store.open(KG) as store:
            before = len(list(store.query("SELECT * { ?s ?p ?o }")))
            for path in cached.glob("files/*/*"):
                path.unlink()
            assert len(list(store.query("SELECT * { ?s ?p ?o } ORDER BY ?s"))) == before

    def test_a_cache_that_is_removed_is_made_again(self, lake: dict[str, Objects], cached: Path) -> None:
        """Under a store that is open. A call that misses what it had says so, once."""
        made(KG)

        def removed(call: Callable[[], T]) -> T:
            shutil.rmtree(cached, ignore_errors=True)
            with suppress(StorageError):
                return call()
            return call()

        with Store.open(KG) as reader, Store.open(KG) as writer:
            for number in range(3):
                for store in (reader, writer):
                    assert store.query("ASK { ?s ?p ?o }").boolean
                found = removed(lambda: list(reader.query("SELECT * { ?s ?p ?o }")))
                assert {tuple(map(str, row)) for row in found} == content(KG)
                removed(lambda: changed(writer, number))  # noqa: B023 called at once
                reader.refresh()
            assert all((folder / ".lease").exists() for folder in cached.glob("open/*"))
        whole(KG)

    def test_folders_of_the_dead_go(self, lake: dict[str, Objects], cached: Path) -> None:
        made(KG)
        left, us = cached / "open/dead", leases.holder_now()
        (left / "data").mkdir(parents=True)
        ended = subprocess.Popen(["true"])
        ended.wait()
        (left / ".lease").write_text(leases.written(leases.Holder(us.host, ended.pid, us.born)))
        old = time.time() - 2 * cache._YOUNG
        os.utime(left, (old, old))
        content(KG)
        assert not left.exists()

    def test_nothing_is_brought_twice(self, lake: dict[str, Objects]) -> None:
        made(KG)
        lake[KG].reset()
        content(KG)
        assert not [name for kind, name in lake[KG].asked if kind == "get" and name.startswith("data/")]


def test_rules_that_are_checked(lake: dict[str, Objects], tmp_path: Path) -> None:
    made(KG, 0)
    (tmp_path / "x.dlog").write_text("[?x, <http://ex/new>, ?x] :- [?x, a, <http://ex/B>] .\n")
    assert "1  " in done("rules", "check", tmp_path / "x.dlog", "--data", KG)
