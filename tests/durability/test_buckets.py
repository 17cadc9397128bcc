"""Stores in object stores: what holds for folders holds there, whatever fails when."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, Namespace

from tests.support.buckets import Objects, at, from_, read_only
from tests.support.cli import done, run
from triplestore import Store
from triplestore.model.errors import ConflictError, DamagedStoreError, StorageError, TriplakeError, UsageError
from triplestore.storage import bucket, cache, leases
from triplestore.storage.bucket import Bucket
from triplestore.storage.cache import Cache, limit_of
from triplestore.storage.places import place_of
from triplestore.storage.vacuum import vacuum
from triplestore.storage.verify import verify
from triplestore.storage.versions import Versions

E = Namespace("http://ex/")
KG = "s3://lake/kg"


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache."""
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> dict[str, Objects]:
    """Object stores in memory, by their URLs."""
    stores: dict[str, Objects] = {}
    monkeypatch.setattr(bucket, "_opened", lambda url: stores.setdefault(url, Objects()))
    return stores


def changed(store: Store, number: int) -> None:
    store.update(add=[(E[f"x{number}"], RDF.type, E.A), (E[f"x{number}"], OWL.sameAs, E[f"y{number // 2}"])])


def made(path: str | Path, updates: int = 3) -> None:
    """A store of a few versions, with classes of equals."""
    with Store.create(path, ["owl2rl"], engine="duckdb") as store:
        store.update(add=[(E.A, RDFS.subClassOf, E.B), (E.a, RDF.type, E.A)])
        for number in range(updates):
            changed(store, number)


def content(path: str | Path, at: int | None = None, engine: str = "duckdb", **options: object) -> set[tuple[str, ...]]:
    with Store.open(path, at=at, engine=engine, **options) as store:  # type: ignore[arg-type]
        return {tuple(map(str, row)) for row in store.query("SELECT ?s ?p ?o { ?s ?p ?o }")}


def whole(path: str | Path) -> None:
    assert verify(Versions(path)).damages == ()


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
        ):
            with pytest.raises(UsageError, match=what) as raised:
                place_of(url)
            assert "secret" not in str(raised.value)

    def test_one_of_many_creates(self, lake: dict[str, Objects]) -> None:
        place, won = Bucket(KG), list[int]()

        def create(number: int) -> None:
            try:
                place.create("_versions/x", str(number))
            except FileExistsError:
                return
            won.append(number)

        threads = [threading.Thread(target=create, args=[number]) for number in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
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

    def test_sizes(self, lake: dict[str, Objects]) -> None:
        place = Bucket(KG)
        for number in range(bucket.HEADS + 2):
            place.keep(f"f{number}", [b"x" * number])
        for count in (1, bucket.HEADS + 1):
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
        with pytest.raises(UsageError, match="is not apart from"):
            Store.backup(KG, f"{KG}/backup")

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
        monkeypatch.setattr(bucket, "WHOLE", 0)
        monkeypatch.setattr("triplestore.maintain.stored.SMALL", 0, raising=False)
        made(KG)
        monkeypatch.setattr(Cache, "link", lambda *given: False)
        with Store.open(KG) as store:
            store.update(delete=[(E.x1, RDF.type, E.A)])
            store.update(add=[(E.x7, RDF.type, E.A)])
        whole(KG)
        assert (str(E.x7), str(RDF.type), str(E.B)) in content(KG)


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
        assert all("See to the network" in message and "abc" not in message for message in failed)
        assert failed

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

    def test_a_damaged_cache_is_no_damage(self, lake: dict[str, Objects], cached: Path) -> None:
        made(KG)
        expected = content(KG)
        for path in cached.glob("files/*/*"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 4
            path.unlink()
            path.write_bytes(data)
        assert content(KG, verify=True) == expected


class TestCache:
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


ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret-of-the-test",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


class TestS3:
    """A server of S3, by the commands."""

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls) -> Iterator[str]:
        """Its address."""
        from moto.server import ThreadedMotoServer

        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()

    @pytest.fixture
    def s3(self, server: str, monkeypatch: pytest.MonkeyPatch) -> str:
        """A new bucket's URL."""
        import boto3

        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": server}.items():
            monkeypatch.setenv(name, value)
        name = f"lake-{time.monotonic_ns()}"
        boto3.client("s3", endpoint_url=server).create_bucket(Bucket=name)
        return f"s3://{name}"

    def test_commands(self, s3: str, tmp_path: Path) -> None:
        kg, file = f"{s3}/deep/kg", tmp_path / "x.nt"
        file.write_text(f"<{E.a}> <{RDF.type}> <{E.A}> .\n<{E.A}> <{RDFS.subClassOf}> <{E.B}> .\n")
        done("load", kg, file)
        assert "yes" in done("query", kg, f"ASK {{ <{E.a}> a <{E.B}> }}")
        done("update", kg, "--delete", file)
        assert "no" in run("query", kg, f"ASK {{ <{E.a}> a <{E.B}> }}").out
        done("restore", kg, "--to", "2")
        done("backup", kg, f"{s3}/backup")
        done("restore", f"{s3}/again", "--from", f"{s3}/backup")
        assert "yes" in done("query", f"{s3}/again", f"ASK {{ <{E.a}> a <{E.B}> }}")
        assert "4 versions whole" in run("verify", kg, "--deep").err
        done("vacuum", kg, "--keep-versions", "1")
        outcome = run("query", f"{s3}/none", "ASK {}")
        assert outcome.code == 2
        assert f"{s3}/none is not a Triplake store" in outcome.err

    def test_a_bucket_that_is_not_there(self, s3: str, tmp_path: Path) -> None:
        outcome = run("init", f"{s3}-none/kg")
        assert outcome.code == 6
        assert f"{s3}-none/kg" in outcome.err
        assert "secret-of-the-test" not in outcome.err

    def test_a_server_that_does_not_answer(self, s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setenv(bucket.PATIENCE, "1")
        outcome = run("query", f"{s3}/kg", "ASK {}")
        assert outcome.code == 6
        assert "See to the network" in outcome.err

    @pytest.mark.long
    def test_many_processes_write(self, s3: str) -> None:
        made(f"{s3}/kg", 0)
        program = (
            "import sys; from rdflib import URIRef; from triplestore import Store\n"
            f"with Store.open({f'{s3}/kg'!r}) as store:\n"
            "    for n in range(3): store.update(add=[(URIRef(f'http://ex/{sys.argv[1]}-{n}'),) * 3])"
        )
        writers = [subprocess.Popen([sys.executable, "-c", program, str(number)]) for number in range(3)]
        assert [writer.wait() for writer in writers] == [0, 0, 0]
        found = {row[0] for row in content(f"{s3}/kg") if "-" in row[0]}
        assert {f"{E}{w}-{n}" for w in range(3) for n in range(3)} <= found
        whole(f"{s3}/kg")

    @pytest.mark.parametrize("times", [2, pytest.param(25, marks=pytest.mark.long)])
    def test_killed(self, s3: str, times: int, tmp_path: Path) -> None:
        """Whenever a load dies, there is the version before it, or after it; the next one works."""
        file, kg, dice = tmp_path / "x.nt", f"{s3}/kg", random.Random(times)
        file.write_text("".join(f"<{E}s{n}> <{E.p}> <{E}o{n}> .\n" for n in range(500)))
        loaded = 0
        for turn in range(times):
            process = subprocess.Popen(
                [sys.executable, "-m", "triplestore.cli", "load", kg, str(file), "-q"], stderr=subprocess.PIPE
            )
            time.sleep(dice.uniform(0.2, 2.5))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if Versions(kg).numbers():
                whole(kg)
                rows = sum(row[1] == str(E.p) for row in content(kg))
                assert rows in (loaded, 500), turn
                loaded = rows
        done("load", kg, file)
        assert sum(row[1] == str(E.p) for row in content(kg)) == 500
        vacuum(Versions(kg))
        whole(kg)
