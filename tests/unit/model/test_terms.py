"""What is shown is what is stored: tokens as rdflib terms and back, to the last space."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path

import pytest
import rdflib.store
from rdflib import Graph, Literal, Namespace, URIRef, plugin

from tests.conftest import MakeStore
from tests.support.cli import done, run
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.model.terms import XSD, from_rdflib, literal_token, to_ntriples, to_rdflib

EX = Namespace("http://ex/")

LEXICAL = {
    "token": [" a  b ", "a b", "\ta\n"],
    "normalizedString": [" a\tb ", "a\nb"],
    "integer": ["01", "+1", " 1 ", "-0", "1.0", "one", ""],
    "decimal": ["1.50", "01.5", ".5", "1e3"],
    "double": ["1e3", "1E03", "INF", "+INF", "NaN", "-0"],
    "boolean": ["1", "true", "TRUE", " true"],
    "dateTime": [
        "2025-6-24T18:00:00",
        "2025-06-24T18:00:00.1234567890Z",
        "12025-06-24T18:00:00Z",
        "2025-06-24T24:00:00",
    ],
    "date": ["2025-02-30", "2025-06-24+01:00"],
    "gYear": ["2025", "25"],
    "duration": ["P1Y2M", "P", "PT36H"],
    "hexBinary": ["0a", "0A", "0"],
    "base64Binary": ["AA==", "A A = =", "?"],
    "anyURI": [" http://a b "],
    "language": ["EN"],
    "byte": ["300"],
}
TOKENS = [
    *(literal_token(lexical, XSD + name) for name, forms in LEXICAL.items() for lexical in forms),
    *('" a  b "', '"a\n\r\t\\""', '"chat"@fr', '""@en-gb-oed', '""', '"<p> x"^^<http://ex/own>'),
    *('"<a> b</a>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>', "<http://ex/a>", "_:b0"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("place", range(len(TOKENS)))
def test_terms_are_what_the_tokens_say(place: int, caplog: pytest.LogCaptureFixture) -> None:
    token = TOKENS[place]
    term = to_rdflib(token)
    assert from_rdflib(term) == token
    assert caplog.records == []  # nor is anybody warned: that is an error in tests
    if isinstance(term, Literal):
        with warnings.catch_warnings(action="ignore"):
            like = Literal(str(term), lang=term.language, datatype=term.datatype, normalize=False)
        for name in ("value", "language", "datatype", "ill_typed"):
            one, other = getattr(term, name), getattr(like, name)
            assert (type(one), str(one)[:20]) == (type(other), str(other)[:20]), name
        assert (term == like) == (str(term) == str(like))


def test_rdflib_warns_of_what_others_make(caplog: pytest.LogCaptureFixture) -> None:
    to_rdflib('"x"^^<http://www.w3.org/2001/XMLSchema#integer>')
    with caplog.at_level(logging.WARNING, "rdflib.term"):
        Literal("x", datatype=URIRef(XSD + "integer"))
    assert [record.name for record in caplog.records] == ["rdflib.term"]


@pytest.mark.filterwarnings("error:Parsing weird")
@pytest.mark.long_on_spark
def test_what_was_listed_can_be_deleted(make_store: MakeStore, tmp_path: Path) -> None:
    lines = [f"<http://ex/s{i}> <http://ex/p> {to_ntriples(t)} .\n" for i, t in enumerate(TOKENS) if t[0] == '"']
    (tmp_path / "all.nt").write_text("".join(lines), encoding="utf-8")
    store = make_store(["none"])
    store.load(tmp_path / "all.nt")
    listed = list(store.triples("asserted"))
    assert {from_rdflib(o) for _, _, o in listed} == {token for token in TOKENS if token[0] == '"'}
    assert set(store.query("SELECT * { ?s ?p ?o }")) == set(store.match()) == set(listed)
    for triple in listed[::2]:
        assert list(store.match(*triple)) == [triple]
    store.update(delete=listed[::2])
    assert set(store.triples()) == set(listed[1::2])
    if store.engine_name == "duckdb":
        plugin.register("Triplake", rdflib.store.Store, "triplestore.rdflib_plugin", "TriplakeStore")
        path = store.path
        store.close()
        graph = Graph(store="Triplake")
        graph.open(str(path))
        for triple in list(graph):
            graph.remove(triple)
        assert list(graph) == []
        graph.close()


def test_people_see_what_is_stored(tmp_path: Path) -> None:
    (tmp_path / "odd.ttl").write_text(
        "@prefix : <http://ex/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . "
        ':p owl:propertyDisjointWith :q . :a :p " a  b "^^xsd:token ; :q " a  b "^^xsd:token ; '
        ':at "2025-6-24T18:00:00"^^xsd:dateTime .',
        encoding="utf-8",
    )
    kg = tmp_path / "kg"
    done("load", kg, tmp_path / "odd.ttl")
    token = '" a  b "^^<http://www.w3.org/2001/XMLSchema#token>'
    outcome = run("check", kg, "--json")
    assert (outcome.code, outcome.err) == (1, "")
    found = [(v["rule"], triple[2]) for v in json.loads(outcome.out) for triple in v["triples"]]
    assert {("prp-pdw", token), ("dt-not-type", token)} <= set(found)
    assert ("dt-not-type", '"2025-6-24T18:00:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>') in found
    assert '" a  b "^^xsd:token' in run("check", kg).out
    assert '" a  b "^^xsd:token' in done("query", kg, "SELECT ?o { ?s <http://ex/p> ?o }")
    assert '"2025-6-24T18:00:00"' in done(
        "explain", kg, "<http://ex/a>", "<http://ex/at>", '"2025-6-24T18:00:00"^^xsd:dateTime'
    )
    with Store.open(kg) as store:
        assert (EX.a, EX.p, to_rdflib(token)) in set(store.triples())


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("INSERT DATA { <http://ex/a> <http://ex/p> 1 }", id="text"),
        pytest.param((EX.a, EX.p, Literal(1)), id="one"),
        pytest.param([(EX.a, EX.p)], id="pair"),
        pytest.param([5], id="number"),
        pytest.param([None], id="none"),
    ],
)
def test_what_is_no_triple(tmp_path: Path, given: object) -> None:
    with Store.create(tmp_path / "kg", ["none"]) as store:
        for change in ({"add": given}, {"delete": given}):
            with pytest.raises(UsageError, match=r"is no triple: give tuples of .* for `sparql_update`\)"):
                store.update(**change)  # type: ignore[arg-type]
        for graph in ("a graph", Literal("a graph")):
            with pytest.raises(UsageError, match="graph"):
                store.update(add=[(EX.a, EX.p, Literal(1), graph)])
        store.update(add=[[EX.a, EX.p, Literal(1)], (EX.a, EX.p, Literal(2), EX.g), (EX.a, EX.p, Literal(3), None)])
        assert len(list(store.triples())) == 3
        assert [quad[3] for quad in store.match_quads(object=Literal(2))] == [EX.g]
