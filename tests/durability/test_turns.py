"""A Store in the hands of several threads, and one that is closed."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, RDFS, Namespace

from tests.conftest import MakeStore
from triplestore import Store
from triplestore.model.errors import UsageError

EX = Namespace("http://ex/")
PEOPLE = "SELECT ?x WHERE { ?x a <http://ex/Person> }"
PATH = "SELECT ?x WHERE { ?x <http://ex/next>+ <http://ex/n20> }"


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    chain = [(EX[f"n{i}"], EX.next, EX[f"n{i + 1}"]) for i in range(20)]
    students = [(EX[f"s{i}"], RDF.type, EX.Student) for i in range(10)]
    return make_store(add=[(EX.Student, RDFS.subClassOf, EX.Person), *students, *chain])


@pytest.fixture
def long(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose answers come in several pieces."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.rows", 2048)
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", 10)
    students = ((EX[f"s{i}"], RDF.type, EX.Student) for i in range(5000))
    return make_store(["rdfs"], add=[(EX.Student, RDFS.subClassOf, EX.Person), *students])


@pytest.mark.long_on_spark
def test_four_threads(store: Store) -> None:
    """Queries of every kind beside each other and beside updates: each sees some version, and none fails."""

    def ask(thread: int) -> list[int]:
        found = []
        for number in range(2):
            found.append(len(store.query(PEOPLE)))
            assert len(list(store.query(PATH, stream=True))) == 20
            assert len(list(store.match(None, EX.next, None))) == 20
            assert store.explain((EX.s0, RDF.type, EX.Person)) is not None
            assert sum(len(batch) for batch in store.token_batches("asserted")) >= 31
            if thread == 0:
                store.update(add=[(EX[f"t{number}"], RDF.type, EX.Student)])
        return found

    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(ask, range(4)))
    for counts in seen:
        assert counts == sorted(counts)
        assert 10 <= counts[0] <= counts[-1] <= 12
    assert len(store.query(PEOPLE)) == 12


def test_a_half_read_answer_keeps_nobody_waiting(long: Store) -> None:
    store = long
    streams: list[Iterator[Any]] = [
        iter(store.query(PEOPLE, stream=True)),
        store.triples("asserted"),
        store.match(None, RDF.type, EX.Student),
        store.lines(),
    ]
    for stream in streams:
        next(stream)
    done = threading.Event()

    def change() -> None:
        store.update(add=[(EX.late, RDF.type, EX.Student)])
        assert len(store.query(PEOPLE)) == 5001
        done.set()

    other = threading.Thread(target=change, daemon=True)
    other.start()
    assert done.wait(60)
    rest = [sum(1 for _ in stream) for stream in streams[:3]]
    assert rest == [4999, 5000, 4999]  # as when they began
    assert (EX.late, RDF.type, EX.Person) in set(store.triples())
    del streams, stream
    gc.collect()
    assert len(store.query(PEOPLE)) == 5001


def test_closing_while_others_read(store: Store) -> None:
    """They get whole answers, and then one clear error."""
    begun, ends = threading.Event(), []

    def read() -> None:
        try:
            while True:
                assert len(store.query(PEOPLE)) == 10
                begun.set()
        except UsageError as error:
            ends.append(str(error))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    store.close()
    for thread in threads:
        thread.join(60)
    assert [f"the store {store.path} is closed" in end for end in ends] == [True] * 3


CALLS = sorted(
    name
    for name, _ in inspect.getmembers(Store, inspect.isfunction)
    if name[0] != "_" and name != "close" and not isinstance(inspect.getattr_static(Store, name), staticmethod)
)
"""All public methods of a store, those to come too: none may reach the engine outside its turn. Static ones have no
store to be closed."""


def called(store: Store, name: str) -> None:
    """Call a method with None for each argument that it must have: who holds the turn looks at none of them before."""
    method = getattr(store, name)
    parameters = inspect.signature(method).parameters.values()
    needed = [None for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    found = method(*needed)
    if isinstance(found, AbstractContextManager):
        with found:
            pass


@pytest.mark.long_on_spark
def test_after_close_every_call_says_so(long: Store) -> None:
    store = long
    stream, triples = iter(store.query(PEOPLE, stream=True)), store.triples()
    next(stream)
    next(triples)
    answer = store.query(PEOPLE)
    version = store.version
    store.close()
    store.close()
    assert len(CALLS) > 25
    for name in CALLS:
        with pytest.raises(UsageError, match="is closed: open it again with"):
            called(store, name)
    for left in (stream, triples):
        with pytest.raises(UsageError, match="is closed"):
            list(left)
    assert len(list(answer)) == 5000
    assert store.version == version


def test_a_forked_process(tmp_path: Path) -> None:
    """It is told, where it might wait for ever, and takes nothing away from the process that it was forked from."""
    with Store.create(tmp_path / "kg", "rdfs", engine="duckdb") as store, store.updates() as queue:
        store.update(add=[(EX.a, RDF.type, EX.A)])
        before = sorted(os.listdir(tmp_path / "kg/_versions"))
        half = store.triples()
        next(half)
        with store._turns.turn():
            if not (child := os.fork()):
                code = 1
                try:
                    for call in (store.compact, queue.submit):
                        with pytest.raises(UsageError):
                            call()
                    del half
                    store.close()
                    with Store.open(tmp_path / "kg", engine="duckdb") as own:
                        code = 0 if len(own.query("SELECT * { ?s a <http://ex/A> }")) == 1 else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sorted(os.listdir(tmp_path / "kg/_versions")) == before
        assert queue.submit(add=[(EX.b, RDF.type, EX.A)]).result(60).added


def test_a_store_that_is_gone(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        shutil.rmtree(tmp_path / "kg")
        for call in (lambda: store.update(add=[(EX.a, RDF.type, EX.A)]), store.refresh, store.compact, store.vacuum):
            with pytest.raises(UsageError, match="there is no store"):
                call()
        assert not (tmp_path / "kg").exists()


def test_calls_within_a_call(tmp_path: Path) -> None:
    """What follows progress may ask the store."""
    with Store.create(tmp_path / "kg") as store:
        versions: list[int] = []
        store.notify = store.verbose = lambda line: versions.append(store.log()[-1]["version"])
        store.load(_file(tmp_path))
        assert set(versions) <= {1, 2}
        with store.log_facts() as change:
            assert list(change.lines("asserted", "added")) == ["<http://ex/a> <http://ex/b> <http://ex/c> ."]


def _file(folder: Path) -> Path:
    file = folder / "one.nt"
    file.write_text("<http://ex/a> <http://ex/b> <http://ex/c> .\n")
    return file
