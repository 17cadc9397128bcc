"""What people who know RDFLib, pyoxigraph or DuckDB try first: it works, or the error says what to write instead."""

from __future__ import annotations

import gc
import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import RDF, ConjunctiveGraph, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.namespace import FOAF

import triplake
from tests.conftest import MakeStore
from triplake.sparql.results import Result
from triplestore import Store
from triplestore.model import arguments
from triplestore.model.errors import InputError, UsageError

EX = Namespace("http://example.org/")
TURTLE = "@prefix ex: <http://example.org/> . ex:a ex:p ex:b ; ex:n 1 . ex:b a ex:C ."
TRIPLES = {(EX.a, EX.p, EX.b), (EX.a, EX.n, Literal(1)), (EX.b, RDF.type, EX.C)}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def used() -> Iterator[Store]:
    """A store for tests to which it does not matter what is in it."""
    with Store(rules=[]) as store:
        yield store


class TestOpening:
    def test_a_path_makes_a_store_and_then_opens_it(self) -> None:
        with Store("kg") as store:
            assert [ruleset.name for ruleset in store.rulesets] == ["owl2rl"]
            store.load(data=TURTLE, format="turtle")
        with Store(Path("kg"), rules=["owl2rl"]) as store:
            assert store.version == 2
            assert repr(store) == "<Store kg, version 2>"

    def test_other_rules_than_those_of_the_store_are_refused(self) -> None:
        Store("kg", rules="rdfs").close()
        Store("kg", rules=("none", "rdfs")).close()
        with pytest.raises(UsageError, match=re.escape("kg has the rules rdfs: open it without rules, and change")):
            Store("kg", rules=["owl2rl"])

    def test_no_path_makes_a_store_that_goes_with_its_object(self) -> None:
        with Store(rules=[]) as store:
            store.load(data=TURTLE, format="turtle")
            assert set(store) == TRIPLES
            folder = Path(store.path)
            assert folder.is_dir()
        assert not folder.parent.exists()
        assert list(Path().iterdir()) == []

    def test_a_store_that_is_not_closed_goes_with_the_object_too(self) -> None:
        store = Store()
        folder = Path(store.path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            del store
            gc.collect()
        assert not folder.exists()

    @pytest.mark.parametrize("name", ["create", "open", "backup"])
    def test_memory_is_no_place(self, name: str) -> None:
        given = (":memory:", "copy") if name == "backup" else (":memory:",)
        with pytest.raises(UsageError, match=re.escape("write Store() without a path")):
            getattr(Store, name)(*given)
        assert list(Path().iterdir()) == []

    @pytest.mark.parametrize("name", sorted(arguments.MODULE))
    def test_names_that_the_package_has_not(self, name: str) -> None:
        with pytest.raises(AttributeError, match=re.escape(arguments.MODULE[name])):
            getattr(triplake, name)
        with pytest.raises(AttributeError, match=r"module 'triplake' has no attribute 'nonsense'$"):
            triplake.nonsense  # noqa: B018


class TestAsACollection:
    """The closure, equal terms expanded, as everything that is read."""

    def test_length_iteration_and_membership(self, make_store: MakeStore) -> None:
        store = make_store(["none"], add=TRIPLES)
        assert len(store) == 3
        assert set(store) == TRIPLES
        assert (EX.a, EX.p, EX.b) in store
        assert (None, EX.p, None) in store
        assert (EX.a, EX.p, EX.C) not in store
        with pytest.raises(UsageError, match=re.escape("write (s, p, o) in store")):
            EX.a in store  # noqa: B015

    def test_an_empty_store_is_true(self, make_store: MakeStore) -> None:
        store = make_store(["none"])
        assert store
        assert len(store) == 0

    def test_patterns_as_tuples(self, make_store: MakeStore) -> None:
        store = make_store(["none"], add=TRIPLES)
        wanted = [(EX.a, EX.p, EX.b)]
        pattern = (None, EX.p, None)
        assert list(store.triples(pattern)) == list(store.match(pattern)) == list(store.match(*pattern)) == wanted
        assert list(store.match_quads((*pattern, None))) == [(*wanted[0], None)]
        for wrong in ((EX.a, EX.p), (EX.a, EX.p, EX.b, None)):
            with pytest.raises(UsageError, match="give 3 rdflib terms, None for any"):
                store.match(wrong)
        with pytest.raises(UsageError, match="give 3 rdflib terms"):
            store.match((EX.a, None, None), EX.p)

    def test_what_entails_is_asked_is_a_list_of_triples(self, make_store: MakeStore) -> None:
        store = make_store(["none"], add=TRIPLES)
        for wrong in (TURTLE, (EX.a, EX.p, EX.b), 5):
            with pytest.raises(UsageError, match="triple"):
                store.entails(wrong)  # type: ignore[arg-type]


class TestNames:
    """Each name that the tables have is absent, and what they say instead runs."""

    @pytest.mark.parametrize("name", sorted(arguments.STORE))
    def test_of_a_store(self, name: str, used: Store) -> None:
        assert not hasattr(used, name)
        with pytest.raises(AttributeError, match="'Store' object has no attribute") as raised:
            getattr(used, name)
        advice = str(raised.value).partition(": ")[2]
        if not advice.startswith("not needed"):
            self.run(advice, used)

    @pytest.mark.parametrize("name", sorted(arguments.RESULT))
    def test_of_a_result(self, name: str, used: Store) -> None:
        result = used.query("SELECT * { VALUES ?x { 1 2 } }")
        assert not hasattr(result, name)
        with pytest.raises(AttributeError, match="'Result' object has no attribute") as raised:
            getattr(result, name)
        self.run(str(raised.value).partition(": ")[2], used, result)

    @staticmethod
    def run(advice: str, store: Store, result: Result | None = None) -> None:
        assert advice.startswith("write ")
        Path("file.ttl").write_text(TURTLE, encoding="utf-8")
        terms = {"s": EX.a, "p": EX.p, "o": EX.b, "graph": None}
        given = {**terms, "store": store, "result": result, "out": io.StringIO(), "text": "ASK { ?s ?p ?o }"}
        eval(advice.removeprefix("write "), given)

    def test_of_nobody(self, used: Store) -> None:
        with pytest.raises(AttributeError, match=r"'Store' object has no attribute 'nonsense'$"):
            used.nonsense  # type: ignore[attr-defined]  # noqa: B018

    @pytest.mark.parametrize("name", sorted(arguments.QUERY))
    def test_arguments_of_query(self, name: str, used: Store) -> None:
        with pytest.raises(TypeError, match=re.escape(f"{name!r}: give {arguments.QUERY[name]}")):
            used.query("ASK {}", **{name: 1})  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"query\(\) has no argument 'nonsense'$"):
            used.query("ASK {}", nonsense=1)  # type: ignore[arg-type]

    @pytest.mark.parametrize("name", sorted(arguments.LOAD))
    def test_arguments_of_load(self, name: str, used: Store) -> None:
        with pytest.raises(TypeError, match=re.escape(f"{name!r}: give {arguments.LOAD[name]}")):
            used.load(**{name: 1})  # type: ignore[arg-type]

    def test_a_query_in_a_file(self, used: Store) -> None:
        with pytest.raises(UsageError, match=r"read the file first, path\.read_text\(\)"):
            used.query(Path("q.rq"))  # type: ignore[arg-type]


def _graph() -> Graph:
    return Graph().parse(data=TURTLE)


def _dataset() -> Dataset:
    dataset = Dataset()
    dataset.graph(EX.g).parse(data=TURTLE)
    return dataset


def _conjunctive() -> ConjunctiveGraph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return ConjunctiveGraph().parse(data=TURTLE)  # type: ignore[return-value]


class TestLoading:
    @pytest.mark.parametrize("make", [_graph, _dataset, _conjunctive])
    def test_graphs_come_with_their_prefixes(self, make: Any) -> None:
        """Their own, and of those that rdflib binds in each the ones that they use."""
        given = make()
        with Store(rules=[]) as store:
            assert store.load(given).triples == 3
            assert store.prefixes.declared == {"ex": str(EX)}
            assert store.query("SELECT * { ex:a ex:p ?x }")[0].x == EX.b
            given.bind("other", "http://example.org/other#")
            given.add((EX.a, FOAF.name, Literal("A"), EX.g) if make is _dataset else (EX.a, FOAF.name, Literal("A")))
            store.load(given)
            assert store.prefixes.declared == {"ex": str(EX), "foaf": str(FOAF), "other": "http://example.org/other#"}

    def test_an_empty_graph_comes_with_its_prefixes(self) -> None:
        empty = Graph()
        empty.bind("ex", EX)
        with Store() as store:
            store.load(empty)
            assert store.prefixes.declared == {"ex": str(EX)}

    @pytest.mark.parametrize("format", ["turtle", "text/turtle", "TTL", ox.RdfFormat.TURTLE])
    @pytest.mark.parametrize("given", [TURTLE, TURTLE.encode(), io.StringIO, io.BytesIO])
    def test_texts_and_open_files(self, given: Any, format: Any) -> None:
        if given is io.StringIO:
            given = given(TURTLE)
        elif given is io.BytesIO:
            given = given(TURTLE.encode())
        with Store(rules=[]) as store:
            store.load(
                *([] if isinstance(given, str | bytes) else [given]),
                format=format,
                **({"data": given} if isinstance(given, str | bytes) else {}),
            )
            assert set(store) == TRIPLES

    @pytest.mark.parametrize(
        ("name", "format"),
        [("xml", "xml"), ("nt", "nt"), ("json-ld", "json-ld"), ("nquads", "nquads"), ("trig", "trig")],
    )
    def test_names_of_formats_that_rdflib_has(self, name: str, format: str) -> None:
        text = _dataset().serialize(format=name) if name in ("nquads", "trig") else _graph().serialize(format=name)
        with Store(rules=[]) as store:
            store.load(data=text, format=format)
            assert set(store) == TRIPLES

    @pytest.mark.parametrize(
        ("given", "error", "says"),
        [
            (TURTLE, InputError, "to load a text, give data=TEXT and format"),
            ("<http://e/a> a [] .\n<http://e/b> a [] .", InputError, "to load a text, give data=TEXT and format"),
            ("people.ttl", InputError, "people.ttl: there is no such file or folder: check the path"),
            ("peo*.ttl", InputError, "no file matches the pattern: check the path"),
            (TURTLE.encode(), UsageError, "give data=BYTES and format"),
            (["a.ttl", Path("b.ttl")], UsageError, "give each file as an argument of its own"),
            ([(EX.a, EX.p, EX.b)], UsageError, "store.update(add=[(s, p, o)])"),
            ((EX.a, EX.p, EX.b), UsageError, "store.update(add=[(s, p, o)])"),
            ({(EX.a, EX.p, EX.b)}, UsageError, "store.update(add=[(s, p, o)])"),
            (ox.Store(), UsageError, "store.update(add=[(s, p, o)])"),
            (None, UsageError, "give the path of a file, an open file, or an rdflib Graph"),
            ({"a": 1}, UsageError, "give the path of a file, an open file, or an rdflib Graph"),
        ],
    )
    def test_what_is_no_file(self, given: Any, error: type[Exception], says: str, used: Store) -> None:
        with pytest.raises(error, match=re.escape(says)) as raised:
            used.load(given)
        assert len(str(raised.value)) < 300

    def test_an_unknown_format(self, used: Store) -> None:
        for wrong in ("yaml", ox.RdfFormat.N3, 5):
            with pytest.raises(UsageError, match=r"unknown format .* use one of ntriples, nt"):
                used.load(data=TURTLE, format=wrong)  # type: ignore[arg-type]


class TestUpdating:
    @pytest.mark.parametrize(
        "wrong",
        [
            (EX.a, EX.p, EX.b),
            "INSERT DATA { <http://e/a> <http://e/p> 1 }",
            [ox.Triple(ox.NamedNode("http://e/a"), ox.NamedNode("http://e/p"), ox.Literal("x"))],
        ],
    )
    def test_what_is_no_list_of_triples(self, wrong: Any, used: Store) -> None:
        says = r"give a list of tuples \(subject, predicate, object\), all rdflib terms .*sparql_update"
        with pytest.raises(UsageError, match=says):
            used.update(add=wrong)

    @pytest.mark.parametrize("wrong", ["http://e/a", 5, ox.NamedNode("http://e/a")])
    def test_what_is_no_term(self, wrong: Any, used: Store) -> None:
        says = "is not an RDF term: give an rdflib URIRef, BNode or Literal"
        with pytest.raises(UsageError, match=says):
            used.update(add=[(URIRef("http://e/a"), RDF.type, wrong)])
        with pytest.raises(UsageError, match=says):
            used.match(wrong)
