"""Nothing is lost: kill a writer at any moment and the store is at the old version or the new one, whole; of two
writers one wins and the other has changed nothing; readers go on reading their version."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
from rdflib import Literal, URIRef

from tests.conftest import MakeStore
from tests.support.cli import done, run
from tests.support.crash import kill_after, kill_all_after, kill_at_step, start
from tests.support.writers import EX, ONTOLOGY, hold_before_publishing, people, state
from triplestore import Store
from triplestore.model.errors import ConflictError
from triplestore.storage.queueing import Ticket
from triplestore.storage.retention import Retention
from triplestore.storage.vacuum import vacuum
from triplestore.storage.versions import Versions


@dataclass(frozen=True)
class Job:
    """A command that writes, and the store that it starts from (None: none)."""

    arguments: tuple[str | Path, ...]
    before: Path | None

    def on(self, store: Path, *more: str) -> list[str | Path]:
        """The command's arguments."""
        return [self.arguments[0], store, *self.arguments[1:], *more]

    def start(self, store: Path) -> None:
        """Put the store there that the command starts from."""
        if self.before is not None:
            shutil.copytree(self.before, store)


@dataclass(frozen=True)
class Expected:
    """What may be found: the state of each version, from the one before the job to the one after it."""

    states: dict[int, str]
    seconds: float

    @property
    def last(self) -> str:
        return self.states[max(self.states)]


def expected(job: Job, store: Path, *options: str, run_for: Callable[..., float | None] = kill_after) -> Expected:
    """Run a job to its end, as a process of its own, and look at every version."""
    job.start(store)
    seconds = run_for(600, job.on(store, *options), store.parent)
    assert seconds is not None
    first = max(Versions(job.before).numbers()) if job.before else 1
    return Expected({n: state(store, n) for n in Versions(store).numbers() if n >= first}, seconds)


def version_found(job: Job, store: Path, wanted: Expected) -> int:
    """After a kill: the store is at one of the versions expected, whole. Returns which; 0 where there is no store."""
    if not Versions(store).exists():
        assert job.before is None
        return 0
    version = max(Versions(store).numbers())
    assert state(store) == wanted.states[version]
    return version


def check_goes_on(job: Job, store: Path, wanted: Expected) -> None:
    """After a kill: the job can be run again, and vacuum removes what the dead left behind."""
    done(*job.on(store))
    for orphan in (*(store / "data").iterdir(), *(store / "_versions").glob(".*")):
        os.utime(orphan, (0, 0))
    done("vacuum", store, "--keep", "1")
    assert state(store) == wanted.last
    newest = Versions(store).read()
    named = {path for table in newest.tables.values() for path in table.paths}
    assert {f.name for f in (store / "data").iterdir()} == named
    assert [f.name for f in (store / "_versions").iterdir()] == [f"{newest.version:010d}.json"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the input files."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    (folder / "people.nt").write_text(people(0, 500))
    (folder / "others.nt").write_text(people(500, 300))
    (folder / "1.ru").write_text(f'PREFIX : <{EX}> INSERT DATA {{ :p1 :knows :p2 . :p7 :email "1@ex" }}')
    (folder / "2.rdfp").write_text(f'TX .\nD <{EX}p7> <{EX}email> "1@ex" .\nA <{EX}p7> <{EX}email> "77@ex" .\nTC .\n')
    return folder


@pytest.fixture(scope="module")
def jobs(files: Path) -> dict[str, Job]:
    """Each kind of writer, and the stores to start from."""
    plain, pieces = files / "plain", files / "pieces"
    done("load", plain, files / "ontology.ttl", files / "people.nt", "-q")
    shutil.copytree(plain, pieces)
    done("update", pieces, files / "1.ru", files / "2.rdfp", "-q")
    return {
        "first load": Job(("load", files / "ontology.ttl", files / "people.nt"), None),
        "load": Job(("load", files / "others.nt"), plain),
        "update": Job(("update", files / "1.ru", files / "2.rdfp"), plain),
        "materialise": Job(("materialise",), plain),
        "compact": Job(("compact",), pieces),
    }


@pytest.fixture(scope="module")
def wholes(jobs: dict[str, Job], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Expected]:
    """What each job comes to, if nothing kills it."""
    return {name: expected(job, tmp_path_factory.mktemp("whole") / "kg") for name, job in jobs.items()}


JOBS = ["first load", "load", "update", "materialise", "compact"]
STEPPED = [("first load", 7), ("update", 5), *(pytest.param(name, 1, marks=pytest.mark.long) for name in JOBS)]


class TestKilled:
    @pytest.mark.parametrize("moments", [1, 6])
    @pytest.mark.parametrize("name", JOBS)
    @pytest.mark.long
    def test_at_random_moments(
        self, jobs: dict[str, Job], wholes: dict[str, Expected], name: str, moments: int, tmp_path: Path
    ) -> None:
        """Moments of each job, one in each equal part of its run, the same in every test run."""
        job, wanted, dice = jobs[name], wholes[name], random.Random(name)
        for part in range(moments):
            store = tmp_path / f"kg{part}"
            job.start(store)
            kill_after((part + dice.random()) / moments * wanted.seconds, job.on(store), tmp_path)
            version_found(job, store, wanted)
            check_goes_on(job, store, wanted)

    @pytest.mark.parametrize(("name", "stride"), STEPPED)
    @pytest.mark.sampled(each=2)
    def test_at_each_step(
        self, jobs: dict[str, Job], wholes: dict[str, Expected], name: str, stride: int, tmp_path: Path
    ) -> None:
        """Before each file that is opened, linked or removed (or one in `stride`): both versions must be found."""
        job, wanted = jobs[name], wholes[name]
        found, step, killed = set(), 1, True
        while killed:
            store = tmp_path / f"kg{step}"
            job.start(store)
            killed = kill_at_step(step, job.on(store), store, tmp_path)
            found.add(version_found(job, store, wanted))
            if step // stride % 3 == 0:
                check_goes_on(job, store, wanted)
            shutil.rmtree(store, ignore_errors=True)
            step += stride
        assert found - {0} == set(wanted.states)
        assert step > 4

    @pytest.mark.spark
    @pytest.mark.long
    @pytest.mark.parametrize("name", ["first load", "update"])
    def test_at_random_moments_on_spark(self, jobs: dict[str, Job], name: str, tmp_path: Path) -> None:
        job, dice = jobs[name], random.Random(name)
        spark = ("--engine", "spark", "--master", "local[2]")
        wanted = expected(job, tmp_path / "whole", *spark, run_for=kill_all_after)
        for third in range(3):
            store = tmp_path / f"kg{third}"
            job.start(store)
            kill_all_after((third + dice.random()) / 3 * wanted.seconds, job.on(store, *spark), tmp_path)
            version_found(job, store, wanted)
            check_goes_on(job, store, wanted)


def triple(name: str) -> tuple[URIRef, URIRef, Literal]:
    return URIRef(EX + name), URIRef(EX + "name"), Literal(name)


def names(store: Store | Path) -> set[str]:
    """Names of the triples that `triple` made."""
    if isinstance(store, Path):
        with Store.open(store, engine="duckdb") as opened:
            return names(opened)
    return {str(o) for _, _, o in store.triples("asserted")}


class TestTwoWriters:
    @pytest.mark.long_on_spark
    def test_the_second_to_publish_has_changed_nothing(
        self, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = make_store(["none"])
        slow.retries = 0
        slow.update(add=[triple("both")])

        def other_writer() -> None:
            monkeypatch.undo()
            with Store.open(slow.path, engine="duckdb") as quick:
                quick.update(add=[triple("quick")], delete=[triple("both")])

        hold_before_publishing(monkeypatch, other_writer)
        with pytest.raises(ConflictError, match=r"another writer published version 3 .* run the command again"):
            slow.update(add=[triple("slow")])
        assert names(slow.path) == {"quick"}
        slow.update(add=[triple("slow")])  # again, as the message says: now on top of the other's
        assert names(slow) == names(slow.path) == {"quick", "slow"}
        assert slow.version == 4

    @pytest.mark.parametrize("arguments", [("load", "x.nt"), ("update", "--add", "x.nt", "--retry", "0")])
    def test_exit_code(
        self, jobs: dict[str, Job], tmp_path: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jobs["compact"].start(tmp_path / "kg")
        monkeypatch.chdir(tmp_path)
        Path("x.nt").write_text(f"<{EX}x> <{EX}y> <{EX}z> .\n")
        before = state(Path("kg"))

        def other_writer() -> None:
            monkeypatch.undo()
            with Store.open(tmp_path / "kg") as other:
                other.update(add=[triple("other")])

        hold_before_publishing(monkeypatch, other_writer)
        outcome = run(arguments[0], tmp_path / "kg", *(str(tmp_path / a) if a == "x.nt" else a for a in arguments[1:]))
        assert outcome.code == 4
        assert "another writer published version 5 " in outcome.err
        with Store.open(tmp_path / "kg") as store:
            assert store.version == 5
            store.update(delete=[triple("other")])
        assert state(tmp_path / "kg") == before

    def test_threads_that_publish_together(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without turns, as where another program or an older version writes."""
        Store.create(tmp_path / "kg", ["none"]).close()
        monkeypatch.setattr(Ticket, "wait", lambda self, notify: None)
        barrier = threading.Barrier(3)
        hold_before_publishing(monkeypatch, barrier.wait)
        outcomes: dict[str, bool] = {}

        def write(name: str) -> None:
            with Store.open(tmp_path / "kg") as store:
                store.retries = 0
                try:
                    store.update(add=[triple(name)])
                    outcomes[name] = True
                except ConflictError:
                    outcomes[name] = False

        threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes.values()) == [False, False, True]
        assert names(tmp_path / "kg") == {name for name, won in outcomes.items() if won}
        assert Versions(tmp_path / "kg").numbers() == [1, 2]

    def test_processes_that_race(self, tmp_path: Path) -> None:
        """Also for the making of the store: whoever says it is done has its triple in, whoever is refused has not."""
        store = tmp_path / "kg"
        for turn in range(2):
            racers = dict[str, ForkServerProcess]()
            for name in (f"{turn}a", f"{turn}b", f"{turn}c"):
                (tmp_path / f"{name}.nt").write_text(" ".join(term.n3() for term in triple(name)) + " .\n")
                racers[name] = start("load", store, tmp_path / f"{name}.nt", "-q")
            before = names(store) if turn else set()
            for process in racers.values():
                process.join()
            ended = {name: process.exitcode for name, process in racers.items()}
            assert 0 in ended.values(), ended
            assert set(ended.values()) <= {0, 4}, ended
            assert names(store) == before | {name for name, code in ended.items() if code == 0}


class TestReaders:
    def test_keep_their_version_while_others_publish(self, make_store: MakeStore) -> None:
        writer = make_store()
        writer.update(add=[triple(f"n{i}") for i in range(10)])
        with Store.open(writer.path, engine="duckdb") as reader, Store.open(writer.path, at=1, engine="duckdb") as past:
            lines, answers = sorted(itertools.chain(*reader.lines())), reader.query(f"SELECT * {{ ?s <{EX}name> ?o }}")
            begun = reader.triples()
            first = next(begun)
            writer.update(delete=[triple("n1")], add=[triple("later")])
            writer.update(add=[triple("latest")])
            assert len({first, *begun}) == len(lines)
            assert sorted(itertools.chain(*reader.lines())) == lines
            assert set(reader.query(f"SELECT * {{ ?s <{EX}name> ?o }}")) == set(answers)
            assert reader.version == 2
            assert names(past) == set()
        assert names(writer.path) == {"n0", *(f"n{i}" for i in range(2, 10)), "later", "latest"}

    def test_never_see_half_an_update(self, tmp_path: Path) -> None:
        """Pairs come and go in one transaction each; a reader that opens the store at any moment sees pairs."""
        with Store.create(tmp_path / "kg", ["none"]) as writer:
            seen: list[set[str]] = []
            failures: list[BaseException] = []
            over = threading.Event()

            def read() -> None:
                try:
                    while not over.is_set():
                        seen.append(names(tmp_path / "kg"))
                except BaseException as error:
                    failures.append(error)

            thread = threading.Thread(target=read)
            thread.start()
            for n in range(8):
                writer.update(add=[triple(f"{n}a"), triple(f"{n}b")], delete=[triple(f"{n - 1}a"), triple(f"{n - 1}b")])
            over.set()
            thread.join()
        assert not failures
        assert all(found in [set(), *({f"{n}a", f"{n}b"} for n in range(8))] for found in seen)
        assert len(seen) > 1

    def test_the_past_is_there_until_vacuumed(self, tmp_path: Path) -> None:
        with Store.create(tmp_path / "kg", ["none"]) as store:
            for n in range(4):
                store.update(add=[triple(str(n))])
            path = store.path
        versions = Versions(path)
        assert versions.numbers() == [1, 2, 3, 4, 5]

        def at(version: int) -> set[str]:
            with Store.open(path, at=version) as old:
                return names(old)

        assert [len(at(n)) for n in versions.numbers()] == [0, 1, 2, 3, 4]
        assert vacuum(versions, Retention(2))[0] == 3
        assert [at(n) for n in versions.numbers()] == [{"0", "1", "2"}, {"0", "1", "2", "3"}]
