"""`Dataset(store="Triplake")`: what RDFLib's programs do with a dataset, done by the store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import rdflib
from rdflib import RDF, RDFS, BNode, Dataset, Graph, Literal, Namespace, URIRef, plugin
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from tests.support.seeds import seeds
from triplestore.rdflib_plugin import TriplakeStore

EX = Namespace("http://ex/")
NAME, POINT = "Triplake", "triplestore.rdflib_plugin:TriplakeStore"
NAMES = [EX.g1, EX.g2, EX.a, BNode("g")]


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    """Also where an older installation of the project does not know the entry point yet."""
    plugin.register(NAME, rdflib.store.Store, *POINT.split(":"))


@pytest.fixture
def dataset(tmp_path: Path) -> Iterator[Dataset]:
    made = Dataset(store=NAME)
    made.open(str(tmp_path / "kg"), create=True)
    yield made
    made.close()


def store_of(dataset: Dataset) -> TriplakeStore:
    assert isinstance(dataset.store, TriplakeStore)
    return dataset.store


def content(dataset: Dataset) -> dict[object, set[object]]:
    """The triples of each graph that has some."""
    graphs = {graph.identifier: set(graph) for graph in dataset.graphs()}
    return {name: triples for name, triples in graphs.items() if triples}


def test_graphs_are_kept_apart(dataset: Dataset, tmp_path: Path) -> None:
    dataset.add((EX.a, EX.p, EX.b))
    dataset.add((EX.a, EX.p, EX.c, EX.g1))
    dataset.graph(EX.g2).add((EX.a, EX.p, EX.c))
    dataset.graph(EX.empty)
    expected = {
        DATASET_DEFAULT_GRAPH_ID: {(EX.a, EX.p, EX.b)},
        EX.g1: {(EX.a, EX.p, EX.c)},
        EX.g2: {(EX.a, EX.p, EX.c)},
    }
    assert content(dataset) == expected
    assert EX.empty in {graph.identifier for graph in dataset.graphs()}
    assert {c.identifier for c in dataset.graphs((EX.a, EX.p, EX.c))} - {DATASET_DEFAULT_GRAPH_ID} == {EX.g1, EX.g2}
    assert (len(dataset), len(dataset.default_graph), len(dataset.graph(EX.g1))) == (2, 1, 1)
    dataset.remove((EX.a, EX.p, EX.c, EX.g1))
    assert (EX.a, EX.p, EX.c) in dataset.graph(EX.g2)
    dataset.remove((None, None, None))
    assert content(dataset) == {}
    dataset.remove_graph(EX.empty)
    assert EX.empty not in {graph.identifier for graph in dataset.graphs()}


def test_inference_is_in_the_default_graph(tmp_path: Path) -> None:
    for kind, seen in (("union", True), ("separate", False)):
        dataset = Dataset(store=NAME)
        options = {"path": tmp_path / kind, "rules": "rdfs", "default_graph": kind}
        dataset.open(options, create=True)  # type: ignore[arg-type]
        dataset.graph(EX.g1).add((EX.a, RDF.type, EX.Dog))
        dataset.add((EX.Dog, RDFS.subClassOf, EX.Animal))
        assert ((EX.a, RDF.type, EX.Animal) in dataset.default_graph) is seen
        assert set(dataset.graph(EX.g1)) == {(EX.a, RDF.type, EX.Dog)}
        found = {c.identifier for c in dataset.graphs((EX.Dog, RDFS.subClassOf, EX.Animal))}
        assert found == {DATASET_DEFAULT_GRAPH_ID}
        dataset.close()


def test_queries_and_updates_read_graphs(dataset: Dataset) -> None:
    dataset.update(
        "INSERT DATA { <http://ex/a> <http://ex/p> 1 GRAPH <http://ex/g1> { <http://ex/a> <http://ex/p> 2 } }"
    )
    rows = dataset.query("SELECT ?g ?o { GRAPH ?g { ?s ?p ?o } }")
    assert [tuple(row) for row in rows] == [(EX.g1, Literal(2))]  # type: ignore[arg-type]
    assert [row[0] for row in dataset.query("SELECT ?o { ?s ?p ?o }")] == [Literal(1)]  # type: ignore[index]
    assert [row[0] for row in dataset.graph(EX.g1).query("SELECT ?o { ?s ?p ?o }")] == [Literal(2)]  # type: ignore[index]
    dataset.default_union = True
    found = {row[0] for row in dataset.query("SELECT ?o { ?s ?p ?o }")}  # type: ignore[index]
    assert found == {Literal(1), Literal(2)}


def test_files_of_datasets(dataset: Dataset) -> None:
    dataset.parse(data="<http://ex/a> <http://ex/p> <http://ex/b> <http://ex/g1> .", format="nquads")
    assert content(dataset) == {EX.g1: {(EX.a, EX.p, EX.b)}}
    assert "<http://ex/g1>" in dataset.serialize(format="nquads")
    copied = Dataset()
    copied.parse(data=dataset.serialize(format="trig"), format="trig")
    assert set(copied.graph(EX.g1)) == {(EX.a, EX.p, EX.b)}


def test_a_graph_named_by_a_blank_node(dataset: Dataset) -> None:
    """One that a dataset makes is a graph of its own; a plain one is the default graph."""
    name = BNode()
    dataset.graph(name).add((EX.a, EX.p, EX.b))
    assert set(dataset.graph(name)) == {(EX.a, EX.p, EX.b)}
    assert set(dataset.default_graph) == set()
    plain = Graph(store=dataset.store)
    plain.add((EX.c, EX.p, EX.d))
    assert set(dataset.default_graph) == {(EX.c, EX.p, EX.d)}


@pytest.mark.parametrize("seed", seeds(range(4), 1))
def test_as_rdflib_in_memory(dataset: Dataset, tmp_path: Path, seed: int) -> None:
    """Without rules a dataset in the store and one of RDFLib's own are the same, whatever is done to them. A plain
    graph of the store is the default graph."""
    dice, other = random.Random(seed), Dataset()

    def some() -> tuple[URIRef, URIRef, URIRef]:
        return dice.choice([EX.a, EX.b]), EX.p, dice.choice([EX.a, EX.b, EX.c])

    for _ in range(30):
        name, triple = dice.choice([None, *NAMES]), some()
        kind = dice.randrange(9)
        pattern = tuple(term if dice.random() < 0.5 else None for term in triple)
        for one in (dataset, other):
            graph = one.default_graph if name is None else one.graph(name)
            if kind <= 2:
                graph.add(triple)
            elif kind == 3:
                graph.remove(triple)
            elif kind == 4:
                graph.remove(pattern)  # type: ignore[arg-type]
            elif kind == 5:
                one.remove(triple)
            elif kind == 6:
                plain = one.default_graph if one is other else Graph(store=one.store)
                plain.remove(pattern)  # type: ignore[arg-type]
            elif kind == 7 and name is not None:
                one.remove_graph(name)
        if kind == 8:
            dataset.close()
            dataset = Dataset(store=NAME)
            dataset.open(str(tmp_path / "kg"))
        if dice.random() < 0.3:
            assert content(dataset) == content(other)
            assert set(dataset.quads()) == set(other.quads())
            assert len(dataset) == len(set(other.triples((None, None, None), None)) | {q[:3] for q in other.quads()})
    assert content(dataset) == content(other)
    dataset.close()


def test_pyshacl_runs_over_it(dataset: Dataset) -> None:
    pyshacl = pytest.importorskip("pyshacl")
    dataset.add((EX.a, RDF.type, EX.Dog))
    shapes = Graph().parse(
        data="""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://ex/> .
        :S a sh:NodeShape ; sh:targetClass :Dog ; sh:property [ sh:path :name ; sh:minCount 1 ] ."""
    )
    assert pyshacl.validate(dataset, shacl_graph=shapes)[0] is False
    dataset.add((EX.a, EX.name, Literal("A")))
    assert pyshacl.validate(dataset, shacl_graph=shapes)[0] is True
