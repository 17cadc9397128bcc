"""Making a store, and a first load that fails: nothing that another process may have written is removed, and nothing is
left of what this one made."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import contents, done, run
from tests.support.crash import kill_at_step, start
from triplestore import Store
from triplestore.model.errors import ConflictError, DamagedStoreError, StorageError, UsageError
from triplestore.read.session import Session
from triplestore.storage import folder, leases
from triplestore.storage.folder import Folder
from triplestore.storage.making import MAKING
from triplestore.storage.manifest import Manifest
from triplestore.storage.versions import Versions

GOOD = "<http://ex/a> <http://ex/p> <http://ex/b> .\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A good file and a bad one, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("good.nt").write_text(GOOD)
    Path("bad.nt").write_text(GOOD + "<http://ex/a> <http://ex/p> .\n")


def asserted(store: str | Path) -> int:
    with Store.open(store, engine="duckdb") as opened:
        return len(list(opened.triples("asserted")))


class TestFailedFirstLoad:
    def test_leaves_nothing(self) -> None:
        assert run("load", "kg", "bad.nt").code == 3
        assert run("load", "new/deep/kg", "bad.nt").code == 3
        assert sorted(os.listdir()) == ["bad.nt", "good.nt"]

    def test_leaves_a_folder_of_the_users(self) -> None:
        Path("kg").mkdir()
        before = Path("kg").stat().st_ino
        assert run("load", "kg", "bad.nt").code == 3
        assert os.listdir("kg") == []
        assert Path("kg").stat().st_ino == before
        done("load", "kg", "good.nt")
        assert asserted("kg") == 1

    def test_leaves_a_symbolic_link(self) -> None:
        Path("there").mkdir()
        Path("kg").symlink_to("there")
        assert run("load", "kg", "bad.nt").code == 3
        assert Path("kg").is_symlink()
        assert os.listdir("there") == []
        done("load", "kg", "good.nt")
        assert asserted("there") == 1

    def test_leaves_what_another_process_has_committed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It has waited while the other, whom it does not know, made a store there, and filled it."""
        theirs = Path("theirs")
        done("load", theirs, "good.nt")

        def overtake(session: object, *arguments: object, **options: object) -> None:
            for name in ("triplake.json", "_versions", "data"):
                if (theirs / name).is_dir():
                    shutil.copytree(theirs / name, Path("kg") / name, dirs_exist_ok=True)
                else:
                    shutil.copy(theirs / name, Path("kg") / name)
            raise UsageError("a fault")

        monkeypatch.setattr("triplestore.write.load.load", overtake)
        assert run("load", "kg", "good.nt").code == 2
        assert {*contents(theirs)} <= {*contents(Path("kg"))} | {"triplake.json"}

    def test_in_the_way_of_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of two first loads the second is refused, and the first goes on."""
        first = Store.create("kg", ["none"], hold=True)
        for name in ("load", "init"):
            outcome = run(name, "kg", *(["bad.nt"] if name == "load" else []))
            assert outcome.code == 4
            assert "another process is making a store at kg; wait until it is done" in outcome.err
        assert "kg is being made by another process" in run("stats", "kg").err
        first.load("good.nt")
        first.close()
        assert asserted("kg") == 1

    def test_made_meanwhile(self) -> None:
        """Another has made the store since it was found that there is none."""
        done("load", "kg", "good.nt")
        with pytest.raises(ConflictError, match="another process has made a store at kg meanwhile"):
            Store.create("kg", ["none"], hold=True)
        assert asserted("kg") == 1

    def test_closed_before_anything_is_loaded(self) -> None:
        Store.create("kg", ["none"], hold=True).close()
        assert not Path("kg").exists()

    def test_loading_nothing_makes_a_store(self) -> None:
        Path("empty.nt").write_text("")
        done("load", "kg", "empty.nt")
        assert Versions("kg").numbers() == [1]
        assert asserted("kg") == 0

    def test_with_the_last_step_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A disk that is full as version 2 is published: there is the empty store, and the load can be made again."""
        publish = Versions._publish

        def full(versions: Versions, manifest: Manifest) -> Manifest:
            if manifest.version == 2:
                raise OSError(errno.ENOSPC, "No space left on device", "kg")
            return publish(versions, manifest)

        monkeypatch.setattr(Versions, "_publish", full)
        assert run("load", "kg", "good.nt").code != 0
        monkeypatch.setattr(Versions, "_publish", publish)
        done("load", "kg", "good.nt")
        assert asserted("kg") == 1


class TestRaces:
    def test_of_a_good_and_a_bad_load(self) -> None:
        """Whatever their order: the store is there with the good one's triple, or that was told to come back."""
        for turn in range(3):
            names = ["bad.nt", "good.nt"] if turn % 2 else ["good.nt", "bad.nt"]
            store = f"kg{turn}"
            racers = {name: start("load", Path(store).resolve(), Path(name).resolve(), "-q") for name in names}
            for process in racers.values():
                process.join()
            codes = {name: process.exitcode for name, process in racers.items()}
            assert codes["bad.nt"] in (3, 4)
            assert codes["good.nt"] in (0, 4)
            if codes["good.nt"] == 4:
                assert codes["bad.nt"] == 3
                done("load", store, "good.nt")
            assert asserted(store) == 1


class TestKilled:
    @pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.long)])
    def test_leaves_nothing_or_what_the_next_load_takes_up(self, stride: int, tmp_path: Path) -> None:
        step, killed = 1, True
        while killed:
            store = tmp_path / f"kg{step}"
            killed = kill_at_step(step, ["load", store, "good.nt"], store, tmp_path)
            if killed:
                if (store / MAKING).exists():
                    assert not leases.living(Folder(store), MAKING, Folder(store).now())
                done("load", store, "good.nt")
            assert asserted(store) == 1
            step += stride
        assert step > 5


class TestLostVersions:
    @pytest.fixture
    def kg(self) -> Path:
        done("load", "kg", "good.nt")
        return Path("kg")

    @pytest.mark.parametrize("name", ["good.nt", "bad.nt"])
    def test_load_refuses(self, kg: Path, name: str) -> None:
        for file in (kg / "_versions").glob("*.json"):
            file.unlink()
        before = contents(kg)
        outcome = run("load", "kg", name)
        assert outcome.code == 5
        assert "if _versions was lost, `triplake restore" in outcome.err
        assert run("init", "kg").code in (2, 5)
        assert contents(kg) == before

    def test_a_version_in_the_middle(self, kg: Path) -> None:
        (kg / "_versions/0000000001.json").unlink()
        done("load", "kg", "good.nt")
        assert asserted(kg) == 1


class Killed(BaseException):
    """Nothing that comes after it is done."""


class TestLeases:
    def test_one_at_a_time(self, tmp_path: Path) -> None:
        lease = leases.take(Folder(tmp_path), "x")
        assert lease is not None
        assert leases.take(Folder(tmp_path), "x") is None
        lease.end()
        again = leases.take(Folder(tmp_path), "x")
        assert again is not None
        again.end()
        assert not (tmp_path / "x").exists()

    def test_of_the_dead(self, tmp_path: Path) -> None:
        process = subprocess.Popen(["true"])
        process.wait()
        held = leases.holder_now()
        dead = leases.Holder(held.host, process.pid, held.born)
        (tmp_path / "x").write_text(leases.written(dead))
        assert not leases.living(Folder(tmp_path), "x", 0)
        taken = leases.take(Folder(tmp_path), "x")
        assert taken is not None
        taken.end()
        assert not list(tmp_path.glob("x*"))

    def test_a_number_of_a_process_that_is_another_now(self, tmp_path: Path) -> None:
        held = leases.holder_now()
        (tmp_path / "x").write_text(leases.written(leases.Holder(held.host, held.pid, "1")))
        assert not leases.living(Folder(tmp_path), "x", 0)

    def test_whoever_dies_while_taking_one_leaves_none_that_is_empty(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would seem to be held by another machine, for minutes."""

        def killed(file: object, text: str) -> int:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(folder, "_write_new", lambda path, text: killed(path.touch(), text))
            with pytest.raises(Killed):
                leases.take(Folder(tmp_path), "x")
        taken = leases.take(Folder(tmp_path), "x")
        assert taken is not None
        taken.end()

    @pytest.mark.parametrize("text", ["", "{}", '{"host": "elsewhere", "pid": 1, "born": "", "version": 3}'])
    def test_of_another_machine_or_half_written(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "x").write_text(text)
        place = Folder(tmp_path)
        now = (tmp_path / "x").stat().st_mtime
        assert leases.living(place, "x", now)
        assert not leases.living(place, "x", now + 2 * leases.SILENCE)


def test_folders_are_synced_after_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = set[Path]()

    def noted(folder: Path) -> None:
        synced.add(Path(folder).resolve())

    monkeypatch.setattr("triplestore.storage.folder.sync_folder", noted)
    Store.create(tmp_path / "new" / "kg", ["none"]).close()
    kg = tmp_path / "new" / "kg"
    assert synced == {tmp_path, kg.parent, kg, kg / "_versions", kg / "data"}


def _refuse(number: int) -> Callable[..., None]:
    def refused(*arguments: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    return refused


class TestPlatforms:
    """What not every platform has is done without."""

    @pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EINVAL], ids=["EPERM", "ENOTSUP", "EINVAL"])
    def test_without_hard_links(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        monkeypatch.setattr(os, "link", _refuse(number))
        done("load", "kg", "good.nt")
        assert asserted("kg") == 1
        with Store.open("kg") as first, Store.open("kg") as second:
            first.update(add=[_triple("first")])
            second.update(add=[_triple("second")])
            versions = Versions("kg")
            with pytest.raises(ConflictError, match="another writer published version 4"):
                versions.publish(versions.read(4))
        assert asserted("kg") == 3
        assert [name for name in os.listdir("kg/_versions") if name.startswith(".")] == []

    def test_without_hard_links_a_living_publisher_is_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done("load", "kg", "good.nt")
        monkeypatch.setattr(os, "link", _refuse(errno.EPERM))
        claim = leases.take(Folder("kg"), "_versions/.0000000003.json.claim")
        assert claim is not None
        with Store.open("kg") as store:
            with pytest.raises(ConflictError, match="another writer is publishing"):
                store.update(add=[_triple("x")])
            claim.end()
            store.update(add=[_triple("x")])
        assert asserted("kg") == 2

    def test_without_syncing_of_folders(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Windows refuses to open a folder; some file systems refuse to sync it."""
        opened, synced = os.open, os.fsync

        def no_folders(path: str, *arguments: int, **options: int) -> int:
            if os.path.isdir(path):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return opened(path, *arguments, **options)

        def for_writing_only(handle: int) -> None:
            fcntl = pytest.importorskip("fcntl")
            if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise OSError(errno.EBADF, "Bad file descriptor")
            synced(handle)

        monkeypatch.setattr(os, "open", no_folders)
        monkeypatch.setattr(os, "fsync", for_writing_only)
        done("load", "kg", "good.nt")
        with Store.open("kg") as store:
            store.update(add=[_triple("x")])
            store.compact()
        assert asserted("kg") == 2


def _triple(name: str) -> tuple[object, object, object]:
    from rdflib import Literal, URIRef

    return URIRef(f"http://ex/{name}"), URIRef("http://ex/p"), Literal(name)


def test_a_version_that_is_lost_is_told(tmp_path: Path) -> None:
    Store.create(tmp_path / "kg", ["none"]).close()
    shutil.rmtree(tmp_path / "kg/_versions")
    with pytest.raises(DamagedStoreError, match="holds no version"):
        Store.open(tmp_path / "kg")


class TestFailedWrites:
    """The files of a write that fails go, as far as nobody can have been told of them."""

    def test_leave_no_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done("load", "kg", "good.nt")

        def full(versions: Versions, manifest: Manifest) -> Manifest:
            raise OSError(errno.ENOSPC, "No space left on device", "kg")

        with Store.open("kg") as store:
            before = {*contents(Path("kg"))}
            with monkeypatch.context() as patch:
                patch.setattr(Versions, "_publish", full)
                with pytest.raises(StorageError, match="No space"):
                    store.update(add=[_triple("x")])
            assert {*contents(Path("kg"))} == before
            store.update(add=[_triple("x")])
            assert asserted(store.path) == 2

    def test_of_a_conflict(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done("load", "kg", "good.nt")
        with Store.open("kg") as slow, Store.open("kg") as quick:
            newest = type(slow._session).newest

            def overtaken(session: Session) -> None:
                newest(session)
                monkeypatch.setattr(Session, "newest", newest)
                quick.update(add=[_triple("quick")])

            monkeypatch.setattr(Session, "newest", overtaken)
            slow.retries = 0
            with pytest.raises(ConflictError):
                slow.update(add=[_triple("slow")])
        named = {f"data/{f.path}" for n in Versions("kg").numbers() for _, f in Versions("kg").read(n).named}
        assert {name for name in contents(Path("kg")) if name.startswith("data/")} == named
        assert asserted("kg") == 2

    def test_but_never_those_of_a_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Interrupted just after the manifest has its name; or told that another has it, who is ourselves."""
        done("load", "kg", "good.nt")
        link = os.link

        def interrupted(draft: Path, target: Path) -> None:
            link(draft, target)
            if not target.name.startswith("."):  # else a lease
                raise KeyboardInterrupt

        def twice(draft: Path, target: Path) -> None:
            link(draft, target)
            link(draft, target)

        with Store.open("kg") as store:
            monkeypatch.setattr(os, "link", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.update(add=[_triple("a")])
            monkeypatch.setattr(os, "link", twice)
            store.update(add=[_triple("b")])
        assert Versions("kg").numbers() == [1, 2, 3, 4]
        with Store.open("kg", verify=True) as store:
            assert len(list(store.triples("asserted"))) == 3
