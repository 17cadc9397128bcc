"""Ids found in memory are those of the dictionary, and a process goes on finding them whatever it or others change."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from rdflib import RDF, Literal, URIRef

from tests.conftest import MakeStore
from triplestore import Store
from triplestore.dictionary import encoding, fingerprints
from triplestore.dictionary.fingerprints import WORDS, Fingerprints, Words
from triplestore.engine import Engine
from triplestore.model.errors import TriplakeError
from triplestore.model.tables import TERM
from triplestore.storage.manifest import Counters

EX = "http://ex/"
TOKENS = [
    *("<http://ex/é>", "<http://ex/a>", "<urn:x>", "_:b0", "_:urn:x", '"urn:x"', '"http://ex/a"', '""'),
    *('"é"', '"é"@fr', '"a"@en-gb', '"1"^^<http://www.w3.org/2001/XMLSchema#int>', '"it\'s \\\\ "\n"', '"𝒳\u0000"'),
]


def test_they_are_the_ids_of_the_dictionary(engine: Engine) -> None:
    builtin = encoding.builtin_terms(engine, "term")
    engine.load("raw", pa.table(dict.fromkeys("spo", TOKENS)))
    new, _ = encoding.encode(engine, "raw", Counters())
    assert new == len(TOKENS)
    engine.append("term", [f"SELECT {TERM.select} FROM new_term"])
    known = Fingerprints.read(engine)
    assert len(known) == builtin + new
    found = known.ids([*TOKENS, "<http://ex/none>", '"A"@en-gb', "_:http://ex/a"])
    assert len(found) == new
    assert found == encoding.lookup(engine, TOKENS)


@pytest.mark.parametrize("loose", [0, 3, 1_000])
def test_new_ones_are_known_at_once(monkeypatch: pytest.MonkeyPatch, loose: int) -> None:
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.loose", loose)
    known = Fingerprints(np.empty((0, WORDS), dtype=np.int64), np.empty(0, dtype=np.int64))
    assert known.ids(TOKENS) == {}
    for number, token in enumerate(TOKENS):
        known.add({token: number})
        assert known.ids(TOKENS) == {token: n for n, token in enumerate(TOKENS[: number + 1])}
        assert len(known) == number + 1


def test_tokens_that_share_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """As none do that are known."""
    prints = {token: (n // 5, n) for n, token in enumerate(TOKENS)}

    def shared(tokens: Collection[str]) -> Words:
        return np.array([prints[token] for token in tokens], dtype=np.int64).reshape(-1, WORDS)

    monkeypatch.setattr(fingerprints, "fingerprints", shared)
    every = np.array([*prints.values()], dtype=np.int64)
    known = Fingerprints(every[::2], np.arange(len(TOKENS))[::2])
    assert known.ids(TOKENS) == {token: n for n, token in enumerate(TOKENS) if n % 2 == 0}


def member(name: str, of: str = "C") -> tuple[URIRef, URIRef, URIRef]:
    return URIRef(EX + name), RDF.type, URIRef(EX + of)


def members(store: Store) -> list[str]:
    return [str(x).removeprefix(EX) for (x,) in store.query(f"SELECT ?x {{ ?x a <{EX}C> }} ORDER BY ?x")]


@pytest.mark.long_on_spark
def test_they_are_read_by_a_process_that_goes_on(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: each update that makes terms adds them."""
    reads = []
    read = Fingerprints.read.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(Fingerprints, "read", classmethod(lambda cls, engine: reads.append(1) or read(cls, engine)))
    store = make_store()
    store.update(add=[member("a")])
    assert not reads
    store.update(add=[member("b")])
    for name in "cde":
        store.update(add=[member(name)], delete=[member("a"), member("x")])
    assert members(store) == ["b", "c", "d", "e"]
    assert len(reads) == 1


@pytest.mark.long_on_spark
def test_what_came_to_nothing_is_not_known(make_store: MakeStore) -> None:
    """The terms of a dry run, and of a request that fails after its first operation."""
    store = make_store()
    for name in "abc":
        store.update(add=[member(name)])
    store.update(add=[member("d", "D")], dry_run=True)
    with pytest.raises(TriplakeError):
        store.sparql_update(f"INSERT DATA {{ <{EX}e> a <{EX}E> }} ; LOAD <file:///nowhere>")
    store.update(add=[member("f", "F")])
    store.update(add=[member("d"), member("e")])
    assert members(store) == list("abcde")
    assert store.check() == []


def test_another_process_makes_terms(tmp_path: Path) -> None:
    """And a compaction writes them anew."""
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb") as one, Store.open(one.path) as other:
        for n in range(4):
            one.update(add=[member(f"a{n}", "A"), (URIRef(f"{EX}a{n}"), URIRef(EX + "n"), Literal(n))])
            other.update(add=[member(f"b{n}", "A"), (URIRef(f"{EX}b{n}"), URIRef(EX + "n"), Literal(f"0{n}"))])
            other.update(add=[member(f"a{n}"), member(f"b{n}")])
        one.compact()
        for n in range(4):
            other.update(delete=[member(f"a{n}")])
            one.update(add=[member(f"c{n}")], delete=[member(f"b{n}")])
        assert members(one) == [f"c{n}" for n in range(4)]
        assert one.check() == []
