"""Answers as ids: what they stand for is read once, and stays what it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib

from tests.support.thresholds import set_fields
from triplake.sparql.constants import Known
from triplake.sparql.results import Nodes
from triplestore import Store
from triplestore.model.thresholds import Sizes

EX = rdflib.Namespace("http://e/")
PREFIX = "PREFIX : <http://e/> "
FACTS = [(EX[f"x{n}"], EX.p, rdflib.Literal(n)) for n in range(9)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as made:
        made.update(add=FACTS)
        yield made


def rows(store: Store, text: str) -> set[tuple[object, ...]]:
    return set(store.query(PREFIX + text))


def test_an_answer_outlives_its_store(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.update(add=FACTS)
        found = store.query(PREFIX + "SELECT ?x ?n { ?x :p ?n OPTIONAL { ?n :p ?none } }")
    assert set(found) == {(s, o) for s, _, o in FACTS}
    assert {row[0] for row in found.tokens()} == {f"<{s}>" for s, _, _ in FACTS}
    assert found.to_arrow(typed=False).column("x").to_pylist() == [s.n3() for s, _ in found]


def test_terms_are_made_once(store: Store) -> None:
    first, second = (sorted(store.query(PREFIX + "SELECT ?x { ?x :p ?n }")) for _ in range(2))
    assert all(a[0] is b[0] for a, b in zip(first, second, strict=True))


def test_terms_of_a_query_s_own_are_no_one_else_s(store: Store) -> None:
    """Constants that the store lacks are numbered anew in each query."""
    for name in ("one", "two"):
        text = f"SELECT * {{ VALUES (?x ?y) {{ (:{name} :x1) (UNDEF 3) ('{name}' :x2) }} }}"
        assert rows(store, text) == {(EX[name], EX.x1), (None, rdflib.Literal(3)), (rdflib.Literal(name), EX.x2)}
    assert rows(store, "SELECT ?x { ?x :p 3 }") == {(EX.x3,)}


def test_more_terms_than_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplake.sparql.thresholds.Thresholds.nodes", 6)
    few = store.query(PREFIX + "SELECT ?x { ?x :p ?n FILTER(?n < 2) }")
    assert set(few) == {(EX.x0,), (EX.x1,)}
    every = store.query(PREFIX + "SELECT ?x ?n { ?x :p ?n }")
    others = store.query(PREFIX + "SELECT ?x { ?x :p ?n FILTER(?n > 3) }")
    assert set(every) == {(s, o) for s, _, o in FACTS}
    assert set(others) == {(EX[f"x{n}"],) for n in range(4, 9)}
    assert set(few) == {(EX.x0,), (EX.x1,)}


def test_wide_terms_are_kept_and_streamed_by_their_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Literals of one character or 1,000: what is kept is bounded, and what a stream has in memory at a time."""
    set_fields(monkeypatch, Sizes, small=4, batch=16_000)
    facts = [(EX[f"x{n}"], EX.p, rdflib.Literal(f"{n % 10}" * (1_000 if 60 < n < 90 else 1))) for n in range(200)]
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.update(add=facts)
        text = PREFIX + "SELECT ?x ?o { ?x :p ?o } ORDER BY STRLEN(STR(?x)) ?x"
        pieces = [len(batch) for batch in store.query(text, stream=True).token_batches()]
        assert sum(pieces) == 200
        assert max(pieces) > 10 > min(pieces)
        for _ in range(2):
            assert list(store.query(text, stream=True)) == [(s, o) for s, _, o in facts]
            assert list(store.query(text)) == [(s, o) for s, _, o in facts]
        gc.collect()
        assert all(one.characters <= 16_000 for one in gc.get_objects() if isinstance(one, Nodes))


def test_few_constants_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the store lacks are constants, too, and long ones: who asks for more and more fills no memory."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.remembered", 20)
    long = "x" * 2_000
    with Store.create(tmp_path / "kg", ["datatypes"], engine="duckdb") as store:
        store.update(add=[*FACTS, (EX.x9, EX.p, rdflib.Literal(long))])
        for n in range(60):
            assert rows(store, f"SELECT ?x {{ ?x :p {n} }}") == ({(EX[f"x{n}"],)} if n < 9 else set())
            assert rows(store, f"SELECT ?x {{ ?x :p '{long}' FILTER(?x != '{n}{long}') }}") == {(EX.x9,)}
        many = " ".join(f"({n} '{n}')" for n in range(60))
        assert len(rows(store, f"SELECT ?x {{ VALUES (?n ?t) {{ {many} }} ?x :p ?n }}")) == 9
        gc.collect()
        kept = [one for one in gc.get_objects() if isinstance(one, Known)]
        assert kept
        assert all(len({**one.ids, **one.values}) < 80 and long not in "".join(one.values) for one in kept)


def test_a_later_version_has_its_own(store: Store) -> None:
    before = store.query(PREFIX + "SELECT ?x { ?x :p ?n }")
    store.sparql_update(
        PREFIX + "INSERT DATA { :new :p 1 } ; INSERT { ?x :q :newer } WHERE { ?x :p 1 } ; DELETE DATA { :x3 :p 3 }"
    )
    assert rows(store, "SELECT ?x ?y { ?x :q ?y }") == {(EX.new, EX.newer), (EX.x1, EX.newer)}
    assert rows(store, "SELECT ?x { ?x :p ?n }") == {(EX[f"x{n}"],) for n in range(9) if n != 3} | {(EX.new,)}
    assert set(before) == {(s,) for s, _, _ in FACTS}


def test_a_constructed_graph_is_a_set(store: Store) -> None:
    """Of ids, of computed terms, of both, and with blank nodes that are new in each solution."""
    made = "CONSTRUCT { ?x :q ?n . ?n :q ?x . ?x ?n :a . ?none :q ?x } WHERE { ?x :p ?n FILTER(?n < 2) }"
    assert rows(store, made) == {(EX[f"x{n}"], EX.q, rdflib.Literal(n)) for n in range(2)}
    made = "CONSTRUCT { ?x :q ?s, ?n, :b } WHERE { ?x :p ?n BIND(STR(?n + 1) AS ?s) FILTER(?n = 1) }"
    assert rows(store, made) == {(EX.x1, EX.q, o) for o in (rdflib.Literal("2"), rdflib.Literal(1), EX.b)}
    made = "CONSTRUCT { _:b :of ?x . _:b :is _:c . :s :p :o } WHERE { ?x :p ?n FILTER(?n < 3) }"
    found = rows(store, made)
    assert len(found) == 7
    owners = {s: o for s, p, o in found if p == EX.of}
    assert set(owners.values()) == {EX.x0, EX.x1, EX.x2}
    assert {s for s, p, _ in found if p == EX["is"]} == owners.keys()
    assert rows(store, "CONSTRUCT { } WHERE { ?x :p ?n }") == set()
    assert rows(store, "CONSTRUCT { ?x :q ?x } WHERE { ?x :nothing ?n }") == set()
