"""The server over a real socket: queries, updates, negotiation, and the errors it answers with."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import httpx
import pyoxigraph as ox
import pytest
import rdflib
from rdflib import RDF, URIRef

from tests.support.server import EX, PEOPLE, QUERY, TURTLE, UPDATE, add, eventually, people, rows, sent, serving
from triplestore import Store
from triplestore.server.negotiation import GRAPHS, ROWS, choose
from triplestore.server.settings import Access


class TestQueries:
    def test_each_way_to_send_one(self, steady: httpx.Client) -> None:
        ways = [
            steady.get("/sparql", params={"query": PEOPLE}),
            steady.post("/sparql", data={"query": PEOPLE}),
            sent(steady, PEOPLE, QUERY),
            sent(steady, PEOPLE, f"{QUERY}; charset=UTF-8"),
            sent(steady, f"\ufeff{PEOPLE}", QUERY),
            steady.get("/sparql/", params={"query": PEOPLE}),
        ]
        assert [rows(answer) for answer in ways] == [[{"x": EX + "a"}]] * 6
        assert {answer.headers["content-type"] for answer in ways} == {"application/sparql-results+json"}
        assert {answer.headers["triplake-version"] for answer in ways} == {"2"}

    @pytest.mark.parametrize("media", ROWS)
    def test_each_form_of_rows(self, steady: httpx.Client, media: str) -> None:
        answer = sent(steady, PEOPLE, QUERY, Accept=media)
        assert answer.headers["content-type"].split(";")[0] == media
        assert EX + "a" in answer.text
        answer = sent(steady, "ASK { ?s ?p ?o }", QUERY, Accept=media)
        assert answer.headers["content-type"].split(";")[0] == media
        assert "true" in answer.text

    @pytest.mark.parametrize("media", GRAPHS)
    def test_each_form_of_triples(self, steady: httpx.Client, media: str) -> None:
        text = f"CONSTRUCT {{ ?x <{EX}is> ?c }} WHERE {{ ?x a ?c . FILTER(?x = <{EX}a>) }}"
        answer = sent(steady, text, QUERY, Accept=media)
        assert answer.headers["content-type"].split(";")[0] == media
        names = {
            "ttl": "TURTLE",
            "nt": "N_TRIPLES",
            "rdf": "RDF_XML",
            "jsonld": "JSON_LD",
            "trig": "TRIG",
            "nq": "N_QUADS",
        }
        found = ox.parse(answer.content, getattr(ox.RdfFormat, names[GRAPHS[media]]))
        assert {str(quad.object) for quad in found} >= {f"<{EX}Student>", f"<{EX}Person>"}
        assert sent(steady, f"DESCRIBE <{EX}a>", QUERY, Accept=media).status_code == 200

    def test_parameters(self, steady: httpx.Client) -> None:
        assert steady.get("/sparql", params={"query": PEOPLE, "format": "csv"}).text == f"x\r\n{EX}a\r\n"
        assert steady.get("/sparql", params={"query": PEOPLE, "output": "text/csv"}).text == f"x\r\n{EX}a\r\n"
        assert steady.get("/sparql", params={"query": PEOPLE, "format": ""}).status_code == 200
        plus = steady.get(f"/sparql?query={quote(PEOPLE)}&format=application/sparql-results+json")
        assert plus.headers["content-type"] == "application/sparql-results+json"
        assert steady.get("/sparql", params={"query": PEOPLE, "default-graph-uri": ""}).status_code == 200
        assert steady.get("/sparql", params={"query": PEOPLE, "timeout": "5"}).status_code == 200

    @pytest.mark.parametrize("format", ["excel", "html", "image/png", "application/", "rdf/xml"])
    def test_unknown_formats(self, steady: httpx.Client, format: str) -> None:
        for query in (PEOPLE, f"DESCRIBE <{EX}a>"):
            for name in ("format", "output"):
                answer = steady.get("/sparql", params={"query": query, name: format})
                assert (answer.status_code, "unknown format" in answer.text) == (400, True)

    @pytest.mark.parametrize(
        ("format", "rows", "graph"),
        [
            ("xml", "application/sparql-results+xml", "application/rdf+xml"),
            ("json", "application/sparql-results+json", "application/ld+json"),
            ("XML", "application/sparql-results+xml", "application/rdf+xml"),
            ("text/xml", "text/xml", "text/xml"),
            ("application/json", "application/json", "application/json"),
            ("csv", "text/csv", None),
            ("turtle", None, "text/turtle"),
        ],
    )
    def test_formats_by_the_kind_of_result(
        self, steady: httpx.Client, format: str, rows: str | None, graph: str | None
    ) -> None:
        for query, media in ((PEOPLE, rows), ("ASK {}", rows), (f"DESCRIBE <{EX}a>", graph), (None, graph)):
            given = {"format": format} if query is None else {"format": format, "query": query}
            answer = steady.get("/sparql", params=given)
            if media is None and query is None:
                continue
            found = answer.headers["content-type"].partition(";")[0] if answer.status_code == 200 else None
            assert (answer.status_code, found) == ((406, None) if media is None else (200, media))

    def test_warnings(self, steady: httpx.Client) -> None:
        text = "SELECT (COUNT(*) AS ?é) { ?x a ?c } GROUP BY ?c HAVING(?é > 1)"
        assert "HAVING reads ?\\xe9" in sent(steady, text, QUERY).headers["triplake-warning"]
        assert "triplake-warning" not in sent(steady, PEOPLE, QUERY).headers

    def test_equality(self, client: httpx.Client) -> None:
        sent(client, f"INSERT DATA {{ <{EX}a> <http://www.w3.org/2002/07/owl#sameAs> <{EX}b> }}")
        assert people(client) == ["a", "b"]
        assert len(rows(client.get("/sparql", params={"query": PEOPLE, "same_as": "canonical"}))) == 1
        for name in "ab":
            given = {"query": PEOPLE, "same_as": "canonical", "prefer": ["http://other/", f"{EX}{name}"]}
            assert client.get("/sparql", params=given | {"format": "csv"}).text == f"x\r\n{EX}{name}\r\n"
        alone = client.get("/sparql", params={"query": PEOPLE, "prefer": EX})
        assert (alone.status_code, "ask for canonical answers too" in alone.text) == (400, True)

    def test_head(self, steady: httpx.Client) -> None:
        answer = steady.head("/sparql", params={"query": PEOPLE})
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0

    def test_relative_iris(self, steady: httpx.Client) -> None:
        """Of a query that is explained as of one that is asked."""
        query = "SELECT (<x> AS ?x) {}"
        (row,) = rows(steady.get("/sparql", params={"query": query}))
        assert row["x"] == str(steady.base_url).rstrip("/") + "/x"
        assert f"<{row['x']}>" in steady.post("/api/plan", content=query.encode()).text

    def test_description(self, steady: httpx.Client) -> None:
        for media, syntax in (("text/turtle", "turtle"), ("application/rdf+xml", "xml"), ("*/*", "turtle")):
            answer = steady.get("/sparql", headers={"Accept": media})
            graph = rdflib.Graph().parse(data=answer.text, format=syntax)
            sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
            (service,) = graph.subjects(RDF.type, sd.Service)
            assert graph.value(service, sd.endpoint) == URIRef(
                f"{steady.base_url}/sparql".replace("//sparql", "/sparql")
            )
            assert set(graph.objects(service, sd.supportedLanguage)) == {sd.SPARQL11Query, sd.SPARQL11Update}
        assert steady.get("/sparql", headers={"Accept": "text/html"}).headers["location"] == "./"
        assert steady.get("/sparql", headers={"Accept": "image/png"}).status_code == 406


class TestUpdates:
    def test_each_way_to_send_one(self, client: httpx.Client) -> None:
        answer = sent(client, add("b"))
        assert (answer.status_code, answer.json()["version"], answer.json()["added"]) == (200, 3, 2)
        assert client.post("/sparql", data={"update": add("c")}).json()["version"] == 4
        assert people(client) == ["a", "b", "c"]

    def test_one_that_changes_nothing(self, client: httpx.Client) -> None:
        assert sent(client, add("a")).json()["version"] == 2

    def test_by_pattern(self, client: httpx.Client) -> None:
        """What is inferred stays; the answer says that it was asked to go."""
        text = f"DELETE {{ ?x a ?c }} INSERT {{ ?x <{EX}was> ?c }} WHERE {{ ?x a ?c . FILTER(?x = <{EX}a>) }}"
        found = sent(client, text).json()
        assert (found["version"], found["not_asserted"]) == (3, 1)
        assert people(client) == []
        assert rows(client.get("/sparql", params={"query": f"SELECT ?x {{ ?x <{EX}was> <{EX}Person> }}"}))

    def test_load_needs_a_folder(self, client: httpx.Client, store: Path, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "b.nt").write_text(f"<{EX}b> <{RDF.type}> <{EX}Student> .\n")
        refused = sent(client, "LOAD <b.nt>")
        assert (refused.status_code, "--load-folder" in refused.text) == (400, True)
        with serving(store, load_folder=str(tmp_path / "in")) as other:
            assert sent(other, "LOAD <b.nt>").status_code == 200
            assert sent(other, "LOAD <../kg/format>").status_code == 400
            assert people(other) == ["a", "b"]

    def test_another_process_commits(self, client: httpx.Client, store: Path) -> None:
        with Store.open(store) as other:
            other.update(add=[(URIRef(EX + "z"), RDF.type, URIRef(EX + "Student"))])
        eventually(lambda: people(client) == ["a", "z"])
        assert sent(client, add("b")).json()["version"] == 4
        assert people(client) == ["a", "b", "z"]

    def test_read_only(self, store: Path) -> None:
        with serving(store, access=Access(read_only=True)) as client:
            assert sent(client, add("b")).status_code == 403
            assert client.post("/sparql", data={"update": add("b")}).status_code == 403
            assert client.delete("/data?default").status_code == 403
            assert people(client) == ["a"]
            assert "SPARQL11Update" not in client.get("/sparql").text


def late_control_character(form: str) -> str:
    """A query whose last row, after more than a server gathers before it sends, XML cannot hold."""
    digits = " ".join(map(str, range(10)))
    places = " ".join(f"VALUES ?{name} {{ {digits} }}" for name in "abcd")
    number = "CONCAT(STR(?a), STR(?b), STR(?c), STR(?d))"
    text = f'IF({number} = "9999", "\\u0001", {number})'
    return f"{form} {{ {places} BIND({text} AS ?x) }} ORDER BY DESC(?x)"


FAULTS: dict[str, tuple[int, str, Callable[[httpx.Client], httpx.Response]]] = {
    "syntax": (400, "line 1, column", lambda c: sent(c, "SELECT * {?s ?p", QUERY)),
    "no version": (404, "has no version 0", lambda c: c.get("/api/changes?version=0")),
    "syntax of an update": (400, "line 1, column", lambda c: sent(c, "INSERT DATA { <a", UPDATE)),
    "one comment": (400, "--data-binary", lambda c: sent(c, "# all people SELECT * {?s ?p ?o}", QUERY)),
    "one comment for an update": (400, "--data-binary", lambda c: sent(c, " # none CLEAR ALL", UPDATE)),
    "no query": (400, "neither a query nor an update", lambda c: c.post("/sparql", data={"x": "y"})),
    "both": (400, "or both", lambda c: c.post("/sparql", data={"query": PEOPLE, "update": add("b")})),
    "two queries": (400, "more than one query", lambda c: c.get("/sparql?query=ASK{}&query=ASK{}")),
    "update by GET": (400, "sent by POST", lambda c: c.get("/sparql", params={"update": add("b")})),
    "name of a graph": (400, "not an absolute IRI", lambda c: c.get("/sparql?query=ASK{}&default-graph-uri=g")),
    "graphs chosen twice": (
        400,
        "USING or WITH",
        lambda c: c.post(
            "/sparql", data={"update": "WITH <x:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "using-graph-uri": "x:h"}
        ),
    ),
    "not UTF-8": (400, "not UTF-8", lambda c: c.post("/sparql", content=b"\xff", headers={"Content-Type": QUERY})),
    "bad escapes": (400, "percent-encoded", lambda c: c.get("/sparql?query=%ff")),
    "bad timeout": (400, "number of seconds", lambda c: c.get("/sparql?query=ASK{}&timeout=soon")),
    "bad same_as": (400, "expand", lambda c: c.get("/sparql?query=ASK{}&same_as=maybe")),
    "address": (404, "there is nothing at /sparkle", lambda c: c.get("/sparkle")),
    "graph": (404, f"no graph <{EX}g>", lambda c: c.get(f"/data?graph={EX}g")),
    "own address of a graph": (404, "/data/g>", lambda c: c.delete("/data/g")),
    "two graphs": (400, "more than one graph", lambda c: c.get(f"/data?default&graph={EX}g")),
    "name of a graph to put": (
        400,
        "not an absolute IRI",
        lambda c: c.put("/data?graph=g", content=b"", headers=TURTLE),
    ),
    "no graph": (400, "?default", lambda c: c.put("/data", content=b"", headers=TURTLE)),
    "no graph to get": (406, "?default", lambda c: c.get("/data", headers={"Accept": "text/turtle"})),
    "part of a graph": (400, "?default", lambda c: c.get(f"/data?graph={EX}g&what=inferred")),
    "part of the store": (
        400,
        "not a graph that can be changed",
        lambda c: c.put("/data?graph=urn:x-triplake:inferred", content=b"", headers=TURTLE),
    ),
    "graphs in place of one": (
        400,
        "other named graphs",
        lambda c: c.put(
            "/data?default", content=b"<x:g> { <x:a> <x:b> <x:c> }", headers={"Content-Type": "application/trig"}
        ),
    ),
    "part": (400, "give one of asserted", lambda c: c.get("/data?default&what=some")),
    "method": (405, "PATCH is not for", lambda c: c.patch("/sparql")),
    "method of a page": (405, "DELETE is not for", lambda c: c.delete("/health")),
    "accept": (406, "text/csv", lambda c: sent(c, PEOPLE, QUERY, Accept="image/png")),
    "accept triples": (406, "text/turtle", lambda c: sent(c, f"DESCRIBE <{EX}a>", QUERY, Accept="text/csv")),
    "accept a graph": (406, "text/turtle", lambda c: c.get("/data?default", headers={"Accept": "text/csv"})),
    "type": (415, "application/pdf is not understood", lambda c: sent(c, PEOPLE, "application/pdf")),
    "no type": (415, "says no content type", lambda c: c.post("/sparql", content=b"ASK{}")),
    "charset": (415, "send UTF-8", lambda c: sent(c, PEOPLE, f"{QUERY}; charset=latin1")),
    "type of a graph": (
        415,
        "application/pdf",
        lambda c: c.put("/data?default", headers={"Content-Type": "application/pdf"}),
    ),
    "bad graph": (400, "line 1, column", lambda c: c.post("/data?default", content=b"<a> <b", headers=TURTLE)),
    "control characters": (
        406,
        "ask for JSON",
        lambda c: sent(c, 'SELECT ("a\\u0001" AS ?x) {}', QUERY, Accept="application/sparql-results+xml"),
    ),
    "control characters of a triple": (
        406,
        "take Turtle",
        lambda c: sent(c, 'CONSTRUCT { <x:s> <x:p> "\\u0001" } {}', QUERY, Accept="application/rdf+xml"),
    ),
    "control characters after many rows": (
        406,
        "ask for JSON",
        lambda c: sent(c, late_control_character("SELECT ?x"), QUERY, Accept="application/sparql-results+xml"),
    ),
    "control characters after many triples": (
        406,
        "take Turtle",
        lambda c: sent(c, late_control_character("CONSTRUCT { <x:s> <x:p> ?x }"), QUERY, Accept="application/rdf+xml"),
    ),
    "a file's name": (400, "", lambda c: sent(c, "LOAD <a.nt%00.ttl>")),
    "resource": (400, "'a b' is not a term", lambda c: c.get("/api/resource?term=a b")),
    "literal": (400, "IRI of a resource", lambda c: c.get('/api/resource?term="a"')),
    "prefix": (400, "the prefix 'v:' is not declared", lambda c: c.get("/api/resource?term=v:Person")),
    "prefix in a triple": (
        400,
        "subject: the prefix 'a:' is not declared: those of /api/vocabulary are; an IRI is <a:e13>",
        lambda c: c.get("/api/explain?subject=a:e13&predicate=a&object=v:Person"),
    ),
    "prefix of a datatype": (
        400,
        "object: the prefix 'v:' is not declared",
        lambda c: c.get('/api/explain?subject=x:a&predicate=a&object="1"^^v:n'.replace("x:a", f"{EX}a")),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(steady: httpx.Client, name: str) -> None:
    status, message, ask = FAULTS[name]
    answer = ask(steady)
    assert answer.status_code == status, answer.text
    assert message in answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    assert "/tmp" not in answer.text
    assert "Traceback" not in answer.text


def test_faults_are_short(steady: httpx.Client) -> None:
    """Whatever the request sends; and the place that JSON has is found in no time."""
    long = "a" * 30_000
    json = {"Accept": "application/json"}
    asked = (
        lambda: steady.get(f"/{long}", headers=json),
        lambda: steady.get(f"/static/{long}", headers=json),
        lambda: steady.options(f"/{long}", headers=json),
        lambda: steady.request(long, "/health", headers=json),
        lambda: steady.get("/health", headers=json | {"Host": long}),
        lambda: steady.post("/sparql", headers=json | {"Origin": f"http://{long}{long}"}),
        lambda: steady.post("/sparql", headers=json | {"Content-Type": f"text/{long}"}),
        lambda: steady.get("/api/resource", params={"term": long}, headers=json),
        lambda: steady.get("/data", params={"graph": long}, headers=json),
        lambda: steady.get("/api/changes", params={"version": long}, headers=json),
        lambda: sent(steady, f"SELECT * {{ ?s {long}:p ?o }}", QUERY, Accept="application/json"),
    )
    for ask in asked:
        started = time.monotonic()
        answer = ask()
        assert time.monotonic() - started < 1.0, answer.text[:100]
        assert 400 <= answer.status_code < 500, answer.text[:100]
        assert len(answer.content) < 6_000, answer.text[:100]


def test_faults_as_json(steady: httpx.Client) -> None:
    answer = sent(steady, "SELECT * {\n?s ?p", QUERY, Accept="application/problem+json")
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (found["status"], found["title"], found["line"]) == (400, "Bad Request", 2)
    assert steady.post("/sparql", headers={"Content-Length": "0", "Accept": "application/json"}).json()["status"] == 415


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, "a/x"),
        ("", "a/x"),
        ("*/*", "a/x"),
        ("b/y", "b/y"),
        ("a/x;q=0.1, b/y;q=0.9", "b/y"),
        ("a/x; q=0, */*", "b/y"),
        ("a/*;q=0.3, b/z", "b/z"),
        ("A/X", "a/x"),
        ("text/html, */*;q=0.1", "a/x"),
        ("a/x;q=zero, b/y;q=0.001", "b/y"),
        ("c/d", None),
        ("*/*;q=0", None),
        ("nonsense", None),
    ],
)
def test_negotiation(header: str | None, expected: str | None) -> None:
    assert choose(header, ["a/x", "b/y", "b/z"]) == expected
