"""What is shown is what is stored: tokens as rdflib terms and back, to the last space."""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rdflib.store
from rdflib import BNode, Graph, Literal, Namespace, URIRef, plugin

from tests.conftest import MakeStore
from tests.support.cli import done, run
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.model.rdflib_terms import TripleTerm
from triplestore.model.terms import RDF, XSD, from_rdflib, literal_token, to_ntriples, to_rdflib

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
            with pytest.raises(UsageError, match=r"is not a triple: give a list of tuples .* for `sparql_update`\)"):
                store.update(**change)  # type: ignore[arg-type]
        for graph in ("a graph", Literal("a graph")):
            with pytest.raises(UsageError, match="graph"):
                store.update(add=[(EX.a, EX.p, Literal(1), graph)])
        store.update(add=[[EX.a, EX.p, Literal(1)], (EX.a, EX.p, Literal(2), EX.g), (EX.a, EX.p, Literal(3), None)])
        assert len(list(store.triples())) == 3
        assert [quad[3] for quad in store.match_quads(object=Literal(2))] == [EX.g]


class _Tagged(Literal):
    """A literal with a language tag that rdflib would refuse."""

    def __new__(cls, tag: str) -> _Tagged:
        made = str.__new__(cls, "x")
        made._language, made._datatype, made._value, made._ill_typed = tag, None, "x", None
        return made


ILLEGAL = [
    URIRef("http://ex/a b"),
    URIRef("http://ex/x> <http://ex/y> <http://ex/more> .\n<http://ex/i"),
    URIRef("http://ex/a>\n<http://ex/b"),
    URIRef("http://ex/%zz"),
    URIRef("relative"),
    URIRef(""),
    BNode("a b"),
    BNode("a\n<..>"),
    BNode("a "),
    BNode("a . #"),
    BNode("a:b"),
    BNode("-a"),
    BNode(""),
    Literal("x", datatype=URIRef("d t")),
    Literal("x", datatype=URIRef("relative")),
    Literal("x", datatype=URIRef(RDF + "langString")),
    _Tagged("en us"),
    _Tagged("en--up"),
    TripleTerm("(<http://ex/a> <http://ex/b> <http://ex/c d>)"),
    TripleTerm("(<http://ex/a>  <http://ex/b> <http://ex/c>)"),
    TripleTerm("(<http://ex/a> <http://ex/b> <http://ex/c> )>> . # )"),
]
LEGAL = [
    URIRef("http://ex/\u00e4?q=%20#\u65e5"),
    URIRef("a:"),
    URIRef("http://[::1]:80/"),
    URIRef("mailto:a@ex"),
    BNode(),
    BNode("\u00e4.b"),
    BNode("f1_x"),
    Literal('<a b> " \n\r \x00 \\ #', datatype=EX.own),
    Literal("x", lang="en-GB"),
    _Tagged("ar--rtl"),
    TripleTerm('(<http://ex/a> <http://ex/b> "c \\" # . \\n"@fr)'),
]


def test_what_is_no_triple_of_rdf_is_not_stored(tmp_path: Path) -> None:
    """rdflib takes it; an export could not be loaded again, and no query see it."""
    with Store.create(tmp_path / "kg", ["none"]) as store, store.updates() as queue:
        for wrong, says in (
            ((EX.a, Literal("x", lang="en"), EX.b), '"x"@en cannot be the predicate of a triple'),
            ((EX.a, BNode("p"), EX.b), "_:p cannot be the predicate of a triple"),
            ((Literal("x"), EX.p, EX.b), '"x" cannot be the subject of a triple'),
            ((TripleTerm("(<x:> <x:> <x:>)"), EX.p, EX.b), "<<( <x:> <x:> <x:> )>> cannot be the subject of a triple"),
        ):
            for change in (lambda triple: store.update(add=[triple]), lambda triple: queue.submit(add=[triple])):
                with pytest.raises(UsageError, match=re.escape(says)):
                    change(wrong)
            store.update(delete=[wrong])  # an older version may have stored it
        assert store.count("asserted") == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("term", ILLEGAL, ids=repr)
def test_what_is_no_legal_term_is_not_stored(tmp_path: Path, term: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    with Store.create(tmp_path / "kg", ["none"]) as store:
        for more in ([], LEGAL):  # the plain ones are all known at once
            with pytest.raises(UsageError, match="is not a legal term of RDF"):
                store.update(add=[(EX.a, EX.p, other) for other in (*more, term)])
        if not isinstance(term, Literal | TripleTerm):
            with pytest.raises(UsageError, match="is not a legal term of RDF"):
                store.update(add=[(term, EX.p, EX.a)])
            with pytest.raises(UsageError, match="is not a legal term of RDF"):
                store.update(add=[(EX.a, EX.p, EX.a, term)])
        assert list(store.match(object=term)) == list(store.match_quads(object=term)) == []  # may be asked for
        assert list(store.query("SELECT * { ?s ?p ?o }", bindings={"o": term})) == []
        assert store.update(delete=[(EX.a, EX.p, term)]).not_asserted == 1  # older versions stored it
        assert store.version == 1


def test_legal_terms_are_stored_and_exported(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.update(add=[(EX.a, EX.p, term) for term in LEGAL])
        (tmp_path / "all.nt").write_text("\n".join(line for some in store.lines() for line in some), "utf-8")
        assert len(list(store.triples())) == len(LEGAL)
    with Store.create(tmp_path / "other", ["none"]) as store:
        assert store.load(tmp_path / "all.nt").triples == len(LEGAL)


def test_half_a_surrogate_pair(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"]) as store:
        for term in (
            Literal("x\ud800"),
            URIRef("http://ex/\ud800"),
            BNode("x\ud800"),
            Literal("x", datatype=EX["\ud800"]),
        ):
            asks: list[Callable[[], object]] = [
                lambda term=term: store.update(add=[(EX.a, EX.p, term)]),  # type: ignore[misc]
                lambda term=term: store.update(delete=[(EX.a, EX.p, term)]),  # type: ignore[misc]
                lambda term=term: list(store.match(object=term)),  # type: ignore[misc]
                lambda term=term: store.load(Graph().add((EX.a, EX.p, term))),  # type: ignore[misc]
            ]
            for ask in asks:
                with pytest.raises(UsageError, match="half of a surrogate pair is not a character"):
                    ask()


def test_what_is_no_legal_term_in_a_graph_of_rdflib(tmp_path: Path) -> None:
    plugin.register("Triplake", rdflib.store.Store, "triplestore.rdflib_plugin", "TriplakeStore")
    graph = Graph(store="Triplake")
    graph.open(str(tmp_path / "kg"), create=True)
    graph.add((EX.a, EX.p, EX.b))
    with pytest.raises(UsageError, match="'_:a b' is not a legal term of RDF"):
        graph.add((EX.a, EX.p, BNode("a b")))
    assert list(graph) == [(EX.a, EX.p, EX.b)]
    graph.close()
