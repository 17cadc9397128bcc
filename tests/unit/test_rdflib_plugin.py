"""`Graph(store="Triplake")`: what RDFLib's programs do with a graph, done by the store."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, Namespace, URIRef, Variable, plugin
from rdflib.compare import isomorphic
from rdflib.plugins.sparql import prepareQuery
from rdflib.store import NO_STORE, VALID_STORE

from tests import ROOT
from tests.support.seeds import seeds
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.rdflib_plugin import TriplakeStore

EX = Namespace("http://ex/")
NAME, POINT = "Triplake", "triplestore.rdflib_plugin:TriplakeStore"


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    """Also where an older installation of the project does not know the entry point yet."""
    plugin.register(NAME, rdflib.store.Store, *POINT.split(":"))


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    made = Graph(store=NAME)
    assert made.open({"path": tmp_path / "kg", "rules": "owl2rl"}, create=True) == VALID_STORE  # type: ignore[arg-type]
    yield made
    made.close()


def store_of(graph: Graph) -> Store:
    assert isinstance(graph.store, TriplakeStore)
    return graph.store.triplake


def test_the_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["rdf.plugins.store"] == {NAME: POINT}
    module, name = POINT.split(":")
    assert getattr(import_module(module), name) is TriplakeStore


def test_opening(tmp_path: Path) -> None:
    path, graph = tmp_path / "kg", Graph(store=NAME)
    assert graph.open(str(path)) == NO_STORE
    with pytest.raises(UsageError, match="no store is open"):
        graph.add((EX.a, RDF.type, EX.A))
    with pytest.raises(UsageError, match="no store is open"):
        len(graph)
    options = {"path": path, "rules": ["none"], "engine": "duckdb"}
    assert graph.open(options, create=True) == VALID_STORE  # type: ignore[arg-type]
    assert [ruleset.name for ruleset in store_of(graph).rulesets] == ["none"]
    graph.add((EX.a, RDF.type, EX.A))
    graph.close()
    graph.close()
    assert graph.open(str(path), create=True) == VALID_STORE  # what is there stays
    assert set(graph) == {(EX.a, RDF.type, EX.A)}
    graph.destroy(str(path))
    assert not path.exists()
    with pytest.raises(UsageError, match="not a Triplake store"):
        graph.destroy(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        graph.open(str(tmp_path / "file"), create=True)


def test_another_store_is_destroyed(tmp_path: Path) -> None:
    """What was changed in the one that is open is kept."""
    graph = Graph(store=NAME)
    graph.open(str(tmp_path / "other"), create=True)
    graph.open(str(tmp_path / "kg"), create=True)
    for wrong, change in (("none", EX.a), ("other", EX.b)):
        graph.add((change, RDF.type, EX.A))
        try:
            graph.destroy(str(tmp_path / wrong))
        except UsageError:
            assert wrong == "none"
    graph.open(str(tmp_path / "kg"))
    assert set(graph.subjects()) == {EX.a, EX.b}
    graph.add((EX.c, RDF.type, EX.A)).destroy(str(tmp_path / "kg"))
    assert list(tmp_path.iterdir()) == []


def test_what_is_added_during_a_commit_is_of_the_next(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by another thread."""
    update = Store.update

    def adding(store: Store, add: Iterable[Any], delete: Iterable[Any]) -> object:
        done = update(store, add, delete)
        monkeypatch.undo()
        graph.add((EX.late, RDF.type, EX.A))
        return done

    graph.add((EX.early, RDF.type, EX.A))
    monkeypatch.setattr(Store, "update", adding)
    graph.commit()
    assert set(graph.subjects(RDF.type, EX.A)) == {EX.early, EX.late}


def test_without_rules_a_graph_holds_what_was_added(tmp_path: Path) -> None:
    """As RDFLib's own stores do; with rules, their axioms too."""
    graph = Graph(store=NAME)
    graph.open(str(tmp_path / "kg"), create=True)
    assert (len(graph), list(graph)) == (0, [])
    added = {(EX.Student, RDFS.subClassOf, EX.Person), (EX.ann, RDF.type, EX.Student), (EX.ann, OWL.sameAs, EX.anna)}
    graph += added
    assert (len(graph), set(graph)) == (3, added)
    graph.close()
    graph.open({"path": tmp_path / "ruled", "rules": "owl2rl"}, create=True)  # type: ignore[arg-type]
    axioms = set(graph)
    assert len(graph) == len(axioms) > 40
    graph += added
    assert len(graph) == len(set(graph))
    assert set(graph) > {*axioms, *added, (EX.anna, RDF.type, EX.Person)}
    assert store_of(graph).count("asserted") == 3
    graph.close()


def test_what_follows_is_there_and_goes(graph: Graph) -> None:
    graph.add((EX.Student, RDFS.subClassOf, EX.Person)).add((EX.ann, RDF.type, EX.Student))
    graph.add((EX.ann, OWL.sameAs, EX.anna))
    assert set(graph.subjects(RDF.type, EX.Person)) == {EX.ann, EX.anna}
    assert (EX.anna, RDF.type, EX.Person) in graph
    assert (EX.bob, RDF.type, EX.Person) not in graph
    assert len(graph) == len(set(graph)) == len(set(store_of(graph).triples()))
    graph.remove((EX.ann, OWL.sameAs, None))
    assert set(graph.subjects(RDF.type, EX.Person)) == {EX.ann}
    graph.remove((EX.ann, RDF.type, EX.Person))  # it is inferred: it stays
    assert (EX.ann, RDF.type, EX.Person) in graph
    graph.remove((EX.ann, RDF.type, EX.Student))
    assert (EX.ann, RDF.type, EX.Person) not in graph


def test_one_transaction_for_many_changes(graph: Graph, tmp_path: Path) -> None:
    version = store_of(graph).version
    for number in range(100):
        graph.add((EX[f"n{number}"], EX.p, Literal(number)))
    graph.remove((EX.n7, EX.p, Literal(7)))
    assert store_of(graph).version == version
    graph.commit()
    assert store_of(graph).version == version + 1
    assert len(set(graph.subject_objects(EX.p))) == 99
    graph.add((EX.x, EX.p, EX.y)).rollback()
    assert (EX.x, EX.p, EX.y) not in graph
    graph.add((EX.x, EX.p, EX.y)).rollback()
    graph.add((EX.x, EX.p, EX.z)).close()
    with Store.open(tmp_path / "kg") as opened:
        assert set(opened.triples("asserted")) & {(EX.x, EX.p, EX.y), (EX.x, EX.p, EX.z)} == {(EX.x, EX.p, EX.z)}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ((Literal("x"), EX.p, EX.b), "cannot be the subject"),
        ((EX.a, BNode("p"), EX.b), "cannot be the predicate"),
        ((EX.a, Literal("p"), EX.b), "cannot be the predicate"),
        ((EX.a, EX.p, URIRef("b")), "not a legal term"),
        ((EX.a, EX.p, Literal("\ud800")), "surrogate"),
        ((EX.a, EX.p, Variable("v")), "not an RDF term"),
        ((EX.a, EX.p, EX.b, Graph(identifier=URIRef("g"))), "not a legal term"),
    ],
)
def test_what_no_commit_takes_is_refused_at_once(graph: Graph, bad: Any, says: str) -> None:
    """So what was added before is not lost; to remove it is an error, or nothing."""
    graph.add((EX.before, EX.p, EX.b))
    context = bad[3] if len(bad) > 3 else graph
    with pytest.raises(UsageError, match=says):
        graph.store.addN([(*bad[:3], context)])
    with suppress(UsageError):
        graph.store.remove(bad[:3], context)
    assert set(graph.subjects(EX.p)) == {EX.before}
    assert not graph.store._pending  # type: ignore[attr-defined]


def test_files_in_and_out(graph: Graph, tmp_path: Path) -> None:
    text = """@prefix ex: <http://ex/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    ex:a ex:p [ ex:q "1"@en, "01"^^xsd:integer, 'x"\\n' ] , ( ex:b 1.50 ) ; ex:r ex:a . """
    expected = Graph().parse(data=text, format="turtle")
    graph.close()
    other = {"path": tmp_path / "plain", "rules": ["none"]}
    graph.open(other, create=True)  # type: ignore[arg-type]
    graph.parse(data=text, format="turtle")
    assert isomorphic(graph, expected)
    assert isomorphic(Graph().parse(data=graph.serialize(format="turtle"), format="turtle"), expected)
    assert graph.namespace_manager.compute_qname("http://ex/a")[0] == "ex"
    graph -= expected  # other blank nodes
    assert {s for s in graph.subjects() if isinstance(s, URIRef)} == {EX.a}
    graph.remove((None, None, None))
    assert len(graph) == 0


def test_nested_loops(graph: Graph) -> None:
    """RDFLib's programs ask anew while they read an answer, and change what they read."""
    graph.addN((EX[f"s{i}"], EX.p, EX[f"s{i + 1}"], graph) for i in range(20))
    found = [(s, o2) for s, _, o in graph.triples((None, EX.p, None)) for o2 in graph.objects(o, EX.p)]
    assert sorted(found) == sorted((EX[f"s{i}"], EX[f"s{i + 2}"]) for i in range(19))
    for s, p, o in graph.triples((None, EX.p, None)):
        graph.set((s, p, Literal(str(o))))
    assert {type(o) for o in graph.objects(None, EX.p)} == {Literal}


class TestQueries:
    @pytest.fixture
    def people(self, graph: Graph) -> Graph:
        graph.bind("ex", EX)
        graph.add((EX.Student, RDFS.subClassOf, EX.Person)).add((EX.ann, RDF.type, EX.Student))
        graph.add((EX.ann, EX.age, Literal(20))).add((EX.ann, OWL.sameAs, EX.anna)).add((EX.bob, RDF.type, EX.Person))
        return graph

    def test_select(self, people: Graph) -> None:
        found = people.query("SELECT ?x ?n WHERE { ?x a ex:Person OPTIONAL { ?x ex:age ?n } } ORDER BY ?x")
        assert [tuple(row) for row in found] == [  # type: ignore[arg-type]
            (EX.ann, Literal(20)), (EX.anna, Literal(20)), (EX.bob, None)
        ]  # fmt: skip
        assert [row.x for row in found] == [EX.ann, EX.anna, EX.bob]  # type: ignore[union-attr]
        assert len(found) == 3
        assert found.vars == [Variable("x"), Variable("n")]
        assert b"http://ex/anna" in (found.serialize(format="csv") or b"")
        assert len(people.query("SELECT ?x { ?x ex:age ?n }", same_as="canonical")) == 1

    def test_ask_and_graphs(self, people: Graph) -> None:
        assert people.query("ASK { ex:anna a ex:Person }").askAnswer is True
        assert bool(people.query("ASK { ex:eve ?p ?o }")) is False
        made = people.query("CONSTRUCT { ?x ex:years ?n } WHERE { ?x ex:age ?n }").graph
        assert made is not None
        assert set(made) == {(EX.ann, EX.years, Literal(20)), (EX.anna, EX.years, Literal(20))}
        assert (EX.bob, RDF.type, EX.Person) in people.query("DESCRIBE ex:bob")

    def test_what_rdflib_does_itself(self, people: Graph) -> None:
        text = "SELECT ?x WHERE { ?x ex:age ?n }"
        bound = people.query(text, initBindings={"x": EX.anna})
        assert [tuple(row) for row in bound] == [(EX.anna,)]  # type: ignore[arg-type]
        assert len(people.query(prepareQuery(text, initNs={"ex": EX}))) == 2
        assert len(people.query("BASE <http://ex/> SELECT ?x WHERE { ?x <age> ?n }")) == 2
        people.update("DELETE { ?x ex:age ?n } WHERE { ?x ex:age ?n }", initBindings={"x": EX.ann})
        assert list(people.objects(EX.anna, EX.age)) == []

    def test_prefixes_of_the_text_come_first(self, people: Graph) -> None:
        assert people.query("PREFIX ex: <http://other/> ASK { ?x a ex:Person }").askAnswer is False
        found = people.query("ASK { ?x a e:Person }", initNs={"e": EX})
        assert found.askAnswer is True

    def test_update(self, people: Graph) -> None:
        version = store_of(people).version
        people.add((EX.eve, RDF.type, EX.Student))
        people.update("INSERT { ?x ex:in ex:town } WHERE { ?x a ex:Person } ; DELETE DATA { ex:bob a ex:Person }")
        assert store_of(people).version == version + 2
        assert set(people.subjects(EX["in"], EX.town)) == {EX.ann, EX.anna, EX.bob, EX.eve}
        assert (EX.bob, RDF.type, EX.Person) not in people

    @pytest.mark.parametrize("text", ["SELECT * { ?s ?p", "SELECT * { GRAPH _:g { ?s ?p ?o } }"])
    def test_what_is_wrong_is_said(self, people: Graph, text: str) -> None:
        with pytest.raises(UsageError, match="line 1, column"):
            people.query(text)


@pytest.mark.parametrize("seed", seeds(range(3), 1))
def test_as_rdflib_in_memory(tmp_path: Path, seed: int) -> None:
    """Without rules a graph in the store and a graph of RDFLib's own are the same, whatever is done to them."""
    dice = random.Random(seed)
    terms = [EX.a, EX.b, EX.c, BNode("n"), BNode("m")]
    objects = [*terms, Literal("x"), Literal("x", lang="en"), Literal("1", datatype=XSD.integer), Literal(2.5)]
    ours, theirs, file = Graph(store=NAME), Graph(), "<http://ex/a> <http://ex/p> <http://ex/d> ."
    ours.open({"path": tmp_path / "kg", "rules": ["none"]}, create=True)  # type: ignore[arg-type]
    for _ in range(60):
        triple = (dice.choice(terms), dice.choice([EX.p, EX.q]), dice.choice(objects))
        pattern = tuple(term if dice.random() < 0.6 else None for term in triple)
        step, syntax = dice.random(), dice.choice(["turtle", "trig", "nquads"])
        for graph in (ours, theirs):
            if step < 0.6:
                graph.add(triple)
            elif step < 0.75:
                graph.remove(pattern)
            elif step < 0.8:
                graph.set(triple)
            elif step < 0.85:
                graph.parse(data=file, format=syntax)
        assert set(ours.triples(pattern)) == set(theirs.triples(pattern))
    assert set(ours) == set(theirs)
    assert len(ours) == len(theirs)
    ours.close()
