"""What is kept in memory between changes, the closure and the fingerprints of terms, where others change the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Literal, URIRef

from tests.conftest import MakeStore
from triplestore import Store

P, Q, NEW = (URIRef(f"x:{name}") for name in ("p", "q", "new"))


def test_a_term_that_a_file_brought_has_one_id(make_store: MakeStore, tmp_path: Path) -> None:
    """After a change of graphs alone, which looks no term up: what is known of the terms is of an older version."""
    store = make_store(["rdfs"])
    store.sparql_update("INSERT DATA { GRAPH <x:g> { <x:a> <x:p> <x:b> } }")
    for number in range(3):
        store.update(add=[(URIRef(f"x:n{number}"), P, URIRef("x:m"))])
    (tmp_path / "more.nt").write_text("<x:new> <x:q> <x:old> .\n")
    store.load(tmp_path / "more.nt")
    store.change_default_graph("separate")
    store.update(add=[(NEW, Q, URIRef("x:newer"))])
    found = store.query("SELECT ?o { <x:new> <x:q> ?o } ORDER BY ?o")
    assert [str(row.o) for row in found] == ["x:newer", "x:old"]


@pytest.mark.parametrize("default", ["union", "separate"])
def test_graphs_bring_more_terms_than_there_is_room_for(tmp_path: Path, default: str) -> None:
    """In named graphs, of which the closure knows nothing, or as their names."""
    with Store.create(tmp_path / "kg", ["rdfs"], engine="duckdb", default_graph=default) as store:
        store.sparql_update("INSERT DATA { <x:s> <x:p> <x:o> }")
        graphs = " ".join(f"GRAPH <x:g{n}> {{ <x:s> <x:p> <x:o> }}" for n in range(5_000))
        store.sparql_update(f"INSERT DATA {{ {graphs} }}")
        store.sparql_update("INSERT DATA { GRAPH <x:g4998> { <x:g4999> <x:p> <x:o> } }")
        store.sparql_update("DELETE DATA { <x:g4999> <x:p> <x:o> }")
        store.update(add=[(URIRef("x:g4998"), P, URIRef("x:g4999"))])
        assert len(store.query("SELECT * { <x:g4998> <x:p> <x:g4999> }")) == 1


@pytest.mark.long_on_spark
def test_a_made_literal_of_no_value_is_an_inconsistency(make_store: MakeStore, tmp_path: Path) -> None:
    """As it is where the closure is computed, in the update that makes it."""
    rules = tmp_path / "own.dlog"
    rules.write_text("[?x, <x:v>, ?w] :- [?x, <x:p>, ?y], BIND(STRDT(STR(?y), xsd:integer) AS ?w) .\n")
    store = make_store(["datatypes", str(rules)])
    store.update(add=[(URIRef("x:b"), Q, Literal("x"))])
    for count, text in enumerate(("abc", "abd"), 1):
        store.update(add=[(URIRef(f"x:{text}"), P, Literal(text))])
        assert store.violated() == {"dt-not-type": count}
    store.materialise()
    assert store.violated() == {"dt-not-type": 2}
