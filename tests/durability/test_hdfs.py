"""Stores in HDFS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rdflib import RDF, RDFS

from tests.support.buckets import E, changed, content, made, whole, winners
from tests.support.cli import done, run
from tests.support.hadoop import NEEDS_HADOOP, hdfs
from triplestore import Store, objects
from triplestore.model.errors import StorageError
from triplestore.objects import Objects
from triplestore.storage.versions import Versions

pytestmark = [NEEDS_HADOOP, pytest.mark.long, pytest.mark.spark]


@pytest.fixture(scope="module")
def name_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs(tmp_path_factory.mktemp("hdfs") / "dfs") as url:
        yield url


@pytest.fixture
def folder(name_node: str, cached: Path, request: pytest.FixtureRequest) -> str:
    return f"{name_node}/deep/{request.node.name}"


class TestObjects:
    @pytest.fixture
    def objects(self, folder: str) -> Objects:
        return objects.opened(folder)

    def test_are_whole_or_absent(self, objects: Objects) -> None:
        with pytest.raises(FileNotFoundError):
            objects.get("x")
        objects.put("x", b"one")
        objects.put("x", b"two")
        assert objects.get("x") == b"two"
        with pytest.raises(FileExistsError):
            objects.put("x", b"three", absent=True)
        assert objects.get("x") == b"two"
        assert [entry.name for entry in objects.listed("")] == ["x"]
        assert objects.head("x").bytes == 3
        objects.delete("x")
        objects.delete("x")
        with pytest.raises(FileNotFoundError):
            objects.head("x")

    def test_one_of_many_creates(self, objects: Objects) -> None:
        won = winners(lambda number: objects.put("_versions/x", str(number).encode(), absent=True))
        assert [str(number).encode() for number in won] == [objects.get("_versions/x")]
        assert [entry.name for entry in objects.listed("_versions")] == ["_versions/x"]

    def test_parts(self, objects: Objects, tmp_path: Path) -> None:
        large = bytes(range(256)) * 40_000
        (tmp_path / "large").write_bytes(large)
        objects.put("data/large", tmp_path / "large")
        assert objects.part("data/large", 255, 3) == large[255:258]
        assert b"".join(objects.blocks("data/large")) == large
        assert objects.head("data/large").bytes == len(large)
        with pytest.raises(FileNotFoundError):
            list(objects.blocks("data/none"))

    def test_what_is_swept(self, objects: Objects) -> None:
        objects.put("data/x", b"")
        objects.sweep()
        assert [entry.name for entry in objects.listed("")] == ["data/x"]
        objects.delete("data/x")
        objects.sweep()
        assert list(objects.listed("")) == []


class TestStore:
    def test_is_what_a_folder_is(self, folder: str, tmp_path: Path) -> None:
        for path in (folder, tmp_path / "kg"):
            made(path)
        assert content(folder) == content(tmp_path / "kg")
        assert content(folder, at=3) == content(tmp_path / "kg", at=3)
        with Store.open(folder) as store:
            store.compact()
            store.vacuum(keep=1)
        assert content(folder) == content(tmp_path / "kg")
        whole(folder)
        files = {file.path for _, file in Versions(folder).read().named}
        assert {entry.name for entry in objects.opened(folder).listed("data")} == {f"data/{name}" for name in files}

    def test_two_writers(self, folder: str) -> None:
        made(folder, 0)
        with Store.open(folder) as one, Store.open(folder) as other:
            for number in range(3):
                changed(one, number)
                changed(other, number + 10)
        found = {row[0] for row in content(folder) if row[0].startswith(f"{E}x")}
        assert found == {f"{E}x{n}" for n in (0, 1, 2, 10, 11, 12)}
        whole(folder)

    def test_commands(self, folder: str, tmp_path: Path) -> None:
        kg, file = f"{folder}/kg", tmp_path / "x.nt"
        file.write_text(f"<{E.a}> <{RDF.type}> <{E.A}> .\n<{E.A}> <{RDFS.subClassOf}> <{E.B}> .\n")
        objects.opened(folder).put("in/x.nt", file)
        done("load", tmp_path / "of_a_folder", f"{folder}/in")
        done("load", kg, f"{folder}/in/*.nt")
        assert "yes" in done("query", kg, f"ASK {{ <{E.a}> a <{E.B}> }}")
        done("update", kg, "--delete", file)
        assert "no" in run("query", kg, f"ASK {{ <{E.a}> a <{E.B}> }}").out
        done("backup", kg, tmp_path / "backup")
        done("restore", f"{folder}/again", "--from", tmp_path / "backup")
        done("restore", f"{folder}/again", "--to", "2")
        assert "yes" in done("query", f"{folder}/again", f"ASK {{ <{E.a}> a <{E.B}> }}")
        assert "versions whole" in run("verify", kg, "--deep").err
        outcome = run("query", f"{folder}/none", "ASK {}")
        assert outcome.code == 2
        assert f"{folder}/none is not a Triplake store" in outcome.err

    def test_nobody_answers(self, monkeypatch: pytest.MonkeyPatch, cached: Path) -> None:
        monkeypatch.setenv(objects.PATIENCE, "1")
        with pytest.raises(StorageError, match="ConnectException"):
            Versions("hdfs://127.0.0.1:9/kg").read()
