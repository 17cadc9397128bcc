"""Single triples found in memory: what is found is what the statements find, whatever a store holds."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from rdflib import OWL, RDF, RDFS, BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from tests.conftest import MakeStore
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.model.terms import XSD
from triplestore.read import lookup

EX = Namespace("http://ex/")
INTEGER, TOKEN = URIRef(XSD + "integer"), URIRef(XSD + "token")
THINGS: list[Node] = [EX.a, EX.b, EX.c, EX.d, BNode("n"), EX.C, EX.D]
LITERALS: list[Node] = [
    *(Literal(text, datatype=INTEGER, normalize=False) for text in ("1", "01", "2", "x")),
    *(Literal("1.0", datatype=URIRef(XSD + "decimal"), normalize=False), Literal("x"), Literal("x", lang="en")),
]
PROPERTIES: list[Node] = [EX.p, EX.q, RDF.type, OWL.sameAs, RDFS.subClassOf, RDFS.label, EX.same, EX.isa]
SCHEMA = [
    (EX.p, RDF.type, OWL.FunctionalProperty),
    (EX.p, OWL.inverseOf, EX.q),
    (EX.same, OWL.sameAs, OWL.sameAs),
    (EX.isa, OWL.equivalentProperty, RDF.type),
    (EX.isa, OWL.sameAs, RDF.type),
    (EX.D, OWL.sameAs, RDFS.Resource),
    (EX.q, RDF.type, OWL.SymmetricProperty),
    (EX.C, RDFS.subClassOf, EX.D),
]


def asked(store: Store, pattern: tuple[Node | None, ...], what: str) -> Counter[tuple[Node, ...]]:
    return Counter(store.match(*pattern, what=what))


def by_statements(store: Store, pattern: tuple[Node | None, ...], what: str) -> Counter[tuple[Node, ...]]:
    session = store._session
    kept, session.lookups = session.lookups, None
    try:
        return asked(store, pattern, what)
    finally:
        session.lookups = kept


def random_facts(rng: Random) -> list[tuple[Node, Node, Node]]:
    """Triples with equalities among them, of terms, literals and vocabulary."""
    found = [t for t in SCHEMA if rng.random() < 0.3]
    for _ in range(rng.randint(4, 14)):
        s, p = rng.choice(THINGS), rng.choice(PROPERTIES)
        # An asserted equality with a literal is listed here and in exports; a query that names no predicate has none.
        o = rng.choice(LITERALS if rng.random() < 0.4 and p in (EX.p, EX.q, RDFS.label) else THINGS)
        found.append((s, p, o))
    return found


def agree(store: Store, rng: Random, patterns: int) -> None:
    """Patterns of terms that occur, and of others, asked both ways."""
    counts, stats = {what: len(set(store.triples(what))) for what in WHAT}, store.stats()
    assert counts == {what: store.count(what) for what in WHAT}
    assert [stats[key] for key in ("asserted", "inferred", "expanded")] == [counts[what] for what in WHAT]
    assert counts["all"] >= stats["facts"] - stats["generalised"]
    known = [term for triple in store.triples() for term in triple]
    for _ in range(patterns):
        pool = [*known, *THINGS, *LITERALS, *PROPERTIES, RDFS.Resource, EX.nowhere, Literal("nowhere")]
        triple = rng.choice(list(store.triples())) if rng.random() < 0.5 else [rng.choice(pool) for _ in range(3)]
        pattern = tuple(term if rng.random() < 0.55 else None for term in triple)
        what = rng.choice(["all", "all", "asserted", "inferred"])
        assert asked(store, pattern, what) == by_statements(store, pattern, what), (pattern, what)


WHAT = ("asserted", "inferred", "all")
SETTINGS = [
    (["owl2rl"], "rewrite"),
    (["owl2rl"], "axioms"),
    (["owl2rl"], "off"),
    (["rdfs"], "rewrite"),
    (["rdfs", "datatypes"], "rewrite"),
    (["none"], "off"),
]


@pytest.mark.parametrize("place", range(len(SETTINGS)))
@pytest.mark.long_on_spark
@pytest.mark.sampled(each=4)
def test_as_the_statements(make_store: MakeStore, place: int) -> None:
    rules, equality = SETTINGS[place]
    rng = Random(place)
    store = make_store(rules, equality)
    for _ in range(2):  # the second version goes on with the terms of the first
        store.update(add=random_facts(rng))
        agree(store, rng, 10)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("place", range(len(SETTINGS)))
def test_as_the_statements_at_length(tmp_path: Path, place: int, seed: int) -> None:
    rng = Random(1000 * place + seed)
    with Store.create(tmp_path / "kg", *SETTINGS[place], engine="duckdb") as store:
        for _ in range(3):
            store.update(add=random_facts(rng), delete=random_facts(rng))
            agree(store, rng, 40)


def test_when_it_is_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large stores are asked by statements first, very large ones always, and so are those that memory is short for."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", 10)
    with Store.create(tmp_path / "kg", "none") as store:
        store.update(add=[(EX[f"s{i}"], EX.p, EX[f"o{i}"]) for i in range(30)])

        def indexed() -> bool:
            assert list(store.match(EX.s7)) == [(EX.s7, EX.p, EX.o7)]
            lookups = store._session.lookups
            assert lookups is not None
            _, part = lookups.cache.last("all") or (None, None)
            return part is not None and part.index is not None

        assert [indexed() for _ in range(4)] == [False, False, True, True]
        store.update(add=[(EX.s0, EX.p, EX.more)])
        assert [indexed() for _ in range(4)] == [False, False, False, True]
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.one_thread", 20)
        store.update(add=[(EX.s0, EX.p, EX.most)])
        assert not any(indexed() for _ in range(10))
        monkeypatch.undo()
        monkeypatch.setattr(lookup, "TERM_BYTES", 1 << 40)
        store.update(add=[(EX.s0, EX.p, EX.last)])
        assert not any(indexed() for _ in range(3))


def test_what_follows_of_many_that_are_asserted(make_store: MakeStore) -> None:
    store = make_store(["rdfs"], add=[(EX.C2, RDFS.subClassOf, EX.C), (EX.a, RDF.type, EX.C2), (EX.b, RDF.type, EX.C)])
    store.update(add=[(EX.c, RDF.type, EX.C), (EX.c, RDF.type, EX.C2), (EX.C, RDFS.label, Literal("x"))])
    for pattern in ((None, None, EX.C), (EX.c, None, None), (None, RDF.type, None), (EX.nowhere, None, None)):
        asserted, inferred, found = (asked(store, pattern, what) for what in ("asserted", "inferred", "all"))
        assert inferred == found - asserted, pattern


def test_what_is_asserted_is_not_held(tmp_path: Path) -> None:
    """A class has as many members as a store has: what follows is found without a list of the others in memory."""
    (tmp_path / "x.nt").write_text("".join(f"<{EX}n{i}> <{RDF.type}> <{EX}C> .\n" for i in range(20_000)))
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        store.load(tmp_path / "x.nt")
        tracemalloc.start()
        try:
            assert list(store.match(object=EX.C, what="inferred")) == []
            assert tracemalloc.get_traced_memory()[1] < 2 << 20
        finally:
            tracemalloc.stop()


def test_half_read_answers_stay_at_their_version(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", "none") as store:
        store.update(add=[(EX.s, EX.p, EX[f"o{i}"]) for i in range(50)])
        found = store.match(EX.s)
        next(found)
        store.update(add=[(EX.s, EX.p, EX.more)], delete=[(EX.s, EX.p, EX.o1)])
        assert len(list(found)) == 49
        assert len(list(store.match(EX.s))) == 50
        left = store.match(EX.s)
        next(left)
    with pytest.raises(UsageError, match="is closed"):
        list(left)


def test_a_serialisation_asks_little(tmp_path: Path) -> None:
    """RDFLib asks thousands of times; the engine is asked for the triples and the terms, and then no more."""
    from rdflib import plugin
    from rdflib.store import Store as RdflibStore

    plugin.register("Triplake", RdflibStore, "triplestore.rdflib_plugin", "TriplakeStore")
    graph = Graph(store="Triplake")
    graph.open({"path": tmp_path / "kg", "rules": "none"}, create=True)  # type: ignore[arg-type]
    plain = Graph()
    for number in range(400):
        triple = (
            EX[f"s{number // 4}"],
            EX[f"p{number % 4}"],
            Literal(number) if number % 3 else BNode(f"b{number % 7}"),
        )
        graph.add(triple)
        plain.add(triple)
    graph.commit()
    store = graph.store.triplake  # type: ignore[attr-defined]
    asked, engine = [], store._session.engine
    for name in ("query", "rows", "batches", "create", "load"):
        method = getattr(engine, name)
        setattr(engine, name, lambda *args, method=method, **more: (asked.append(args), method(*args, **more))[1])
    assert graph.serialize(format="turtle") == plain.serialize(format="turtle")
    assert graph.value(EX.s1, EX.p1) == plain.value(EX.s1, EX.p1)
    assert len(asked) < 20
    graph.close()


def test_too_many_terms_for_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty-one bits tell two million terms apart: a million triples may have three."""
    monkeypatch.setattr(lookup, "_MASK", 3)
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        store.update(add=[(EX.a, EX.p, EX.b), (EX.c, EX.q, EX.d)])
        for _ in range(3):
            assert asked(store, (EX.c, None, None), "all") == Counter([(EX.c, EX.q, EX.d)])
