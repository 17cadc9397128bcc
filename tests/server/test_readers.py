"""Many readers beside a writer: each stays at its version, all find the newest when they begin, one can be stopped."""

from __future__ import annotations

import queue
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, RDFS, BNode, Literal, URIRef
from rdflib.namespace import OWL, XSD

from tests.conftest import ENGINES
from tests.support.endless import endless
from triplestore import Store
from triplestore.model.errors import EngineError, MemoryLimitError, StoppedError
from triplestore.model.thresholds import SIZES
from triplestore.read.thresholds import THRESHOLDS
from triplestore.read.workspace import Workspace
from triplestore.server.readers import Readers

EX = "http://ex/"
ALL = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"


def term(name: str) -> URIRef:
    return URIRef(EX + name)


@pytest.fixture(params=ENGINES)
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How to open a store on each engine in turn."""
    return {"engine": request.param, "spark": request.getfixturevalue("spark") if request.param == "spark" else None}


@pytest.fixture
def store(tmp_path: Path, options: dict[str, Any]) -> Iterator[Store]:
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb") as made:
        made.update(add=[(term("Student"), RDFS.subClassOf, term("Person")), (term("a"), RDF.type, term("Student"))])
    with Store.open(tmp_path / "kg", **options) as opened:
        yield opened


@pytest.fixture
def readers(store: Store, options: dict[str, Any]) -> Iterator[Readers]:
    made = Readers(store.path, 3, **options)
    yield made
    made.close()


def persons(store: Store) -> list[str]:
    rows = store.query(f"SELECT ?x WHERE {{ ?x a <{EX}Person> }} ORDER BY ?x")
    return [str(x).removeprefix(EX) for (x,) in rows]


def test_a_reader_stays_at_its_version(store: Store, readers: Readers) -> None:
    with readers.reading() as (before, _):
        assert persons(before) == ["a"]
        store.update(add=[(term("b"), RDF.type, term("Student"))], delete=[(term("a"), RDF.type, term("Student"))])
        assert readers.refresh() == store.version == before.version + 1
        with readers.reading() as (after, _):
            assert persons(after) == ["b"]
            assert after.version == store.version
        assert persons(before) == ["a"]
    with readers.reading() as (now, _):
        assert persons(now) == ["b"]


def test_no_reader_free(readers: Readers) -> None:
    with readers.reading(), readers.reading(), readers.reading():
        with pytest.raises(queue.Empty), readers.reading(timeout=0.01):
            pass
        with pytest.raises(queue.Empty), readers.reading(timeout=0):
            pass
    with readers.reading(timeout=0) as (free, _):
        assert persons(free) == ["a"]


def test_a_reader_that_lets_go_of_its_version_is_free(
    store: Store, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who may not wait find one while free readers let go of the version before."""
    found: list[list[str] | str] = []

    def ask() -> None:
        try:
            with readers.reading(timeout=0) as (seen, _):
                found.append(persons(seen))
        except queue.Empty:
            found.append("none is free")

    asking = threading.Thread(target=ask)
    for slot in readers._all:

        def asked_meanwhile(end: Callable[[], None] = slot.engine.end) -> None:
            if asking.ident is None:
                asking.start()
                time.sleep(0.1)
            end()

        monkeypatch.setattr(slot.engine, "end", asked_meanwhile)
    store.update(add=[(term("b"), RDF.type, term("Student"))])
    readers.refresh()
    asking.join()
    assert found == [["a", "b"]]


def test_where_no_index_can_be_made(store: Store, readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of memory: what a version changed is in the tables already, and not to come once more."""

    def failing(self: Workspace) -> None:
        raise MemoryLimitError("no memory")

    monkeypatch.setattr(Workspace, "indexed", failing)
    store.update(add=[(term("b"), RDF.type, term("Student"))])
    for _ in range(3):
        assert readers.refresh() == store.version
        with readers.reading() as (seen, _):
            assert persons(seen) == ["a", "b"]
            assert seen.query(f"SELECT (COUNT(*) AS ?n) {{ <{EX}b> ?p ?o }}")[0].n.value == 2


def test_what_a_reader_makes_is_its_own(readers: Readers) -> None:
    with readers.reading() as (_, one), readers.reading() as (store, other):
        for number, engine in enumerate((one, other)):
            engine.create("mine", f"SELECT {number} AS n")
            engine.append("mine", [f"SELECT {number + 2} AS n"])
            engine.view("seen", "SELECT n FROM mine")
            engine.create("seen", "SELECT n + 10 AS n FROM seen")
        assert sorted(one.query("SELECT n FROM seen").column(0).to_pylist()) == [10, 12]
        assert sorted(other.query("SELECT n FROM seen").column(0).to_pylist()) == [11, 13]
        one.drop("mine", "seen")
        assert persons(store) == ["a"]


@pytest.mark.long_on_spark
def test_a_reader_goes_on_with_its_version(readers: Readers) -> None:
    """Whatever was made, and failed, in the request before."""
    for _ in range(3):
        with readers.reading() as (store, engine):
            assert engine.rows("SELECT 1 AS n, 'a' AS t") == [(1, "a")]
            if engine.resident:
                with pytest.raises(EngineError):
                    engine.query("SELECT n FROM mine")
            assert persons(store) == ["a"]
            engine.create("mine", "SELECT 1 AS n")
        with readers.reading() as (store, engine), pytest.raises(EngineError):
            engine.rows("SELECT nothing FROM nowhere")
        with readers.reading() as (store, engine):
            assert persons(store) == ["a"]


@pytest.mark.long_on_spark
def test_what_is_known_of_a_version_is_not_taken_for_the_next(store: Store, readers: Readers) -> None:
    """Terms, values of literals and equals that the version before did not have, or has no more."""
    texts = [
        f"SELECT ?x {{ ?x <{EX}age> 7 }}",
        f"SELECT ?o {{ <{EX}b> <{EX}age> ?o }}",
        f"SELECT ?x {{ ?x ?p <{EX}c> }}",
    ]

    def answers() -> list[set[str]]:
        readers.refresh()
        with readers.reading() as (seen, _):
            return [{str(x) for (x,) in seen.query(text, stream=True)} for text in texts]

    assert answers() == [set(), set(), set()]
    seven = Literal("07", datatype=XSD.byte, normalize=False)
    store.update(add=[(term("b"), term("age"), seven), (term("b"), OWL.sameAs, term("c"))])
    both = {f"{EX}b", f"{EX}c"}
    assert answers() == [both, {"07"}, both]
    store.update(delete=[(term("b"), OWL.sameAs, term("c"))])
    assert answers() == [{f"{EX}b"}, {"07"}, set()]
    store.update(add=[(term("c"), OWL.sameAs, term("c"))])
    assert answers() == [{f"{EX}b"}, {"07"}, {f"{EX}c"}]


def test_a_reader_can_be_stopped(readers: Readers) -> None:
    with readers.reading() as (_, engine):
        sql = endless(engine)
        started = time.monotonic()
        timer = threading.Timer(1, engine.interrupt)
        timer.start()
        with pytest.raises(StoppedError):
            engine.query(sql)
        assert time.monotonic() - started < 20
        with pytest.raises(StoppedError):  # and whatever it would have done next
            engine.query("SELECT 1 AS n")
    for _ in range(3):
        with readers.reading() as (store, _):
            assert persons(store) == ["a"]


def test_a_stream_can_be_stopped_and_left(tmp_path: Path) -> None:
    """DuckDB: rows are made as they are read, so there is something to stop between two batches."""
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=[(term(f"s{n}"), term("p"), Literal(n)) for n in range(2_000)])
    readers = Readers(tmp_path / "kg", 1)
    product = "SELECT ?a ?b ?c WHERE { ?a ?p ?x . ?b ?p ?y . ?c ?p ?z }"
    with readers.reading() as (opened, engine):
        rows = iter(opened.query(product, stream=True))
        next(rows)
        engine.interrupt()
        with pytest.raises(StoppedError):
            for _ in rows:
                pass
    with readers.reading() as (opened, _):
        rows = opened.query(product, stream=True).tokens()
        next(rows)
        rows.close()
    with readers.reading() as (opened, _):
        assert len(opened.query(ALL)) == 2_000
    readers.close()


def test_long_answers_in_a_stream(tmp_path: Path) -> None:
    """They are those that are found as a whole, in their order; also when the stream is left before its end."""
    with Store.create(tmp_path / "kg", ["none"]) as store:
        terms = [term("a"), BNode("b"), Literal("c", lang="en"), Literal(4), Literal('"d\\"\n')]
        store.update(add=[(term(f"s{n}"), term("p"), terms[n % 5]) for n in range(150)])
        readers = Readers(store.path, 1)
        pairs = "?a ?p ?x . ?b ?p ?y OPTIONAL { ?x ?p ?z } BIND(STR(?x) AS ?t)"
        for text in (
            f"SELECT ?a ?x ?y ?z ?t {{ {pairs} }} ORDER BY ?a ?b",
            f"CONSTRUCT {{ ?a <{EX}q> ?b ; <{EX}r> ?x }} WHERE {{ {pairs} }}",
        ):
            whole = list(store.query(text).tokens())
            assert len(whole) > 2 * SIZES.small
            with readers.reading() as (opened, _):
                for asked in (store, opened):
                    found = list(asked.query(text, stream=True).tokens())
                    assert found == whole if "ORDER" in text else Counter(found) == Counter(whole)
                    left = asked.query(text, stream=True).tokens()
                    next(left)
                    left.close()
                    assert len(asked.query(f"SELECT * {{ <{EX}s1> ?p ?o }}", stream=True)) == 1
                    assert len(asked.query(f"SELECT * {{ <{EX}none> ?p ?o }}", stream=True)) == 0
        readers.close()


@pytest.mark.parametrize("rounds", [7, pytest.param(40, marks=pytest.mark.long)])
def test_random_updates_arrive(tmp_path: Path, rounds: int) -> None:
    """After any sequence of updates, deletions, revivals, rewrites, and versions skipped, readers see what a store
    opened afresh says."""
    dice = random.Random(5)
    names = [term(f"n{i}") for i in range(9)]
    predicates = [RDF.type, term("p"), OWL.sameAs, RDFS.subClassOf]
    pool = [(dice.choice(names), dice.choice(predicates), dice.choice(names)) for _ in range(60)]
    with Store.create(tmp_path / "kg", ["owl2rl"]) as store:
        readers = Readers(store.path, 2)
        for number in range(rounds):
            store.update(add=dice.sample(pool, 6), delete=dice.sample(pool, dice.choice([0, 5, 20])))
            if dice.random() < 0.15:
                store.compact()
            if dice.random() < 0.15:
                store.vacuum(keep=1)
            if dice.random() < 0.3 and number < rounds - 1:
                continue
            readers.refresh()
            with readers.reading() as (seen, _), Store.open(store.path) as opened:
                assert seen.version == opened.version
                assert sorted(seen.query(ALL).tokens()) == sorted(opened.query(ALL).tokens())
                for text in (f"SELECT * {{ <{name}> ?p ?o }}" for name in names):
                    assert Counter(seen.query(text, stream=True)) == Counter(opened.query(text))
                assert sorted(map(str, seen.check())) == sorted(map(str, opened.check()))
                assert seen.stats() == opened.stats()
        readers.close()


def test_what_is_asked_very_often(tmp_path: Path) -> None:
    """A store that has indexed its tables goes on giving the answers of its newest version."""
    with Store.create(tmp_path / "kg", ["owl2rl"]) as store:
        for number in range(4):
            name, gone = term(f"n{number}"), term(f"n{number - 1}")
            store.update(add=[(name, RDF.type, term("A")), (name, OWL.sameAs, term(f"m{number}"))])
            for _ in range(THRESHOLDS.very_often + 1):
                assert {str(x) for (x,) in store.query(f"SELECT ?x {{ <{name}> <{OWL.sameAs}> ?x }}")} == {
                    str(name), f"{EX}m{number}"
                }  # fmt: skip
            store.update(delete=[(gone, RDF.type, term("A")), (gone, OWL.sameAs, term(f"m{number - 1}"))])
            assert len(store.query(f"SELECT ?x {{ ?x a <{EX}A> }}")) == 2
            assert len(store.query(f"SELECT ?o {{ <{gone}> ?p ?o }}")) == 0
        store.load(_file(tmp_path))
        assert len(store.query(f"SELECT ?x {{ ?x a <{EX}A> }}")) == 3


def _file(folder: Path) -> Path:
    path = folder / "more.nt"
    path.write_text(f"<{EX}new> <{RDF.type}> <{EX}A> .\n")
    return path


def test_a_store_that_is_gone(store: Store, readers: Readers) -> None:
    """The tables that readers share are in memory: a vanished folder stops updates, not readers that have begun."""
    with readers.reading() as (opened, engine):
        assert persons(opened) == ["a"]
        shutil.rmtree(store.path)
        if engine.resident:
            assert persons(opened) == ["a"]


@pytest.mark.parametrize("updates", [1, 20])
@pytest.mark.sampled(each=2)
def test_another_store_at_the_path(tmp_path: Path, updates: int) -> None:
    """One with the number of the version at hand, or with a smaller one, as a copy that is brought back."""

    def made(path: Path, name: str, times: int) -> None:
        with Store.create(path, ["rdfs"], engine="duckdb") as store:
            for number in range(times):
                store.update(add=[(term(f"{name}{number}"), RDF.type, term("Person"))])

    kg = tmp_path / "kg"
    made(kg, "a", 1)
    made(tmp_path / "other", "b", 1)
    readers = Readers(kg, 1, engine="duckdb")
    with Store.open(kg, engine="duckdb") as store:
        for number in range(1, updates):
            store.update(add=[(term(f"a{number}"), RDF.type, term("Person"))])
            readers.refresh()
        shutil.rmtree(kg)
        shutil.move(tmp_path / "other", kg)
        assert (readers.refresh(), store.refresh()) == (2, 2)
        with readers.reading() as (now, _):
            assert persons(now) == persons(store) == ["b0"]
        assert store.update(add=[(term("b1"), RDF.type, term("Person"))]).added
        assert store.version == readers.refresh() == 3
        with readers.reading() as (now, _):
            assert persons(now) == ["b0", "b1"]
    readers.close()
