"""The server over a real socket: the protocols, negotiation, errors, and what each command option promises."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import httpx
import pyoxigraph as ox
import pytest
import rdflib
from rdflib import RDF, URIRef
from rdflib.compare import isomorphic

from tests.support.cli import command, run
from tests.support.server import (
    EX,
    OPEN,
    PATIENCE,
    PEOPLE,
    QUERY,
    TURTLE,
    UPDATE,
    add,
    eventually,
    people,
    rows,
    sent,
    serving,
    serving_with,
)
from triplestore import Store
from triplestore.server.negotiation import GRAPHS, ROWS, choose
from triplestore.server.settings import Access, Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TestQueries:
    def test_each_way_to_send_one(self, steady: httpx.Client) -> None:
        ways = [
            steady.get("/sparql", params={"query": PEOPLE}),
            steady.post("/sparql", data={"query": PEOPLE}),
            sent(steady, PEOPLE, QUERY),
            sent(steady, PEOPLE, f"{QUERY}; charset=UTF-8"),
            steady.get("/sparql/", params={"query": PEOPLE}),
        ]
        assert [rows(answer) for answer in ways] == [[{"x": EX + "a"}]] * 5
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
        assert steady.get("/sparql", params={"query": PEOPLE, "default-graph-uri": ""}).status_code == 200
        assert steady.get("/sparql", params={"query": PEOPLE, "timeout": "5"}).status_code == 200

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
    "syntax of an update": (400, "line 1, column", lambda c: sent(c, "INSERT DATA { <a", UPDATE)),
    "one comment": (400, "--data-binary", lambda c: sent(c, "# all people SELECT * {?s ?p ?o}", QUERY)),
    "one comment for an update": (400, "--data-binary", lambda c: sent(c, " # none CLEAR ALL", UPDATE)),
    "no query": (400, "neither a query nor an update", lambda c: c.post("/sparql", data={"x": "y"})),
    "both": (400, "or both", lambda c: c.post("/sparql", data={"query": PEOPLE, "update": add("b")})),
    "two queries": (400, "more than one query", lambda c: c.get("/sparql?query=ASK{}&query=ASK{}")),
    "update by GET": (400, "sent by POST", lambda c: c.get("/sparql", params={"update": add("b")})),
    "named graph": (400, "default-graph-uri", lambda c: c.get(f"/sparql?query=ASK{{}}&default-graph-uri={EX}g")),
    "not UTF-8": (400, "not UTF-8", lambda c: c.post("/sparql", content=b"\xff", headers={"Content-Type": QUERY})),
    "bad escapes": (400, "percent-encoded", lambda c: c.get("/sparql?query=%ff")),
    "bad timeout": (400, "number of seconds", lambda c: c.get("/sparql?query=ASK{}&timeout=soon")),
    "bad same_as": (400, "expand", lambda c: c.get("/sparql?query=ASK{}&same_as=maybe")),
    "address": (404, "there is nothing at /sparkle", lambda c: c.get("/sparkle")),
    "graph": (404, "one graph", lambda c: c.get(f"/data?graph={EX}g")),
    "put to a graph": (400, "one graph", lambda c: c.put(f"/data?graph={EX}g", content=b"")),
    "no graph": (400, "?default", lambda c: c.get("/data")),
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
    "resource": (400, "'a b' is no term", lambda c: c.get("/api/resource?term=a b")),
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


class TestGraphStore:
    def test_round_trip(self, client: httpx.Client) -> None:
        text = f"<{EX}s> <{EX}p> [ <{EX}q> 1 ] ; <rel> <{EX}o> ."
        put = client.put("/data?default", content=text.encode(), headers=TURTLE)
        assert (put.status_code, put.json()["operation"]) == (200, "replace")
        given = client.get("/data?default&what=asserted")
        found = rdflib.Graph().parse(data=given.text, format="turtle")
        assert isomorphic(found, rdflib.Graph().parse(data=text, format="turtle", publicID=f"{client.base_url}/data"))
        version = put.json()["version"]
        assert client.get("/data/default?what=asserted").text == given.text
        again = client.put("/data?default", content=given.content, headers=TURTLE)
        assert again.json()["version"] == version
        more = client.post("/data/default", content=f"<{EX}s> <{EX}p> 2 .".encode(), headers=TURTLE)
        assert more.json()["added"] == 1
        assert client.delete("/data?default").json()["asserted"] == 0
        assert client.get("/data?default&what=asserted").text == ""
        assert client.delete("/data?default").json()["version"] == version + 2

    @pytest.mark.parametrize(
        ("media", "text"),
        [
            ("application/n-triples", "<http://ex/s> <http://ex/p> <http://ex/o> ."),
            ("application/rdf+xml", f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="{EX}"><rdf:Description rdf:about="{EX}s">'
             f'<e:p rdf:resource="{EX}o"/></rdf:Description></rdf:RDF>'),
            ("application/ld+json", '{"@id": "http://ex/s", "http://ex/p": {"@id": "http://ex/o"}}'),
            ("application/trig", "<http://ex/g> { <http://ex/s> <http://ex/p> <http://ex/o> }"),
            ("application/n-quads", "<http://ex/s> <http://ex/p> <http://ex/o> <http://ex/g> ."),
        ],
    )  # fmt: skip
    def test_syntaxes(self, client: httpx.Client, media: str, text: str) -> None:
        client.put("/data?default", content=text.encode(), headers={"Content-Type": media}).raise_for_status()
        lines = client.get("/data?default&what=asserted", headers={"Accept": "application/n-triples"}).text
        assert lines == f"<{EX}s> <{EX}p> <{EX}o> .\n"

    @pytest.mark.parametrize("media", GRAPHS)
    def test_what_is_got_can_be_put(self, client: httpx.Client, media: str) -> None:
        text = f'<{EX}s> <{EX}p> [ <{EX}q> 1, "x\\n "@en, " " ] ; a <{EX}C> .'
        client.put("/data?default", content=text.encode(), headers=TURTLE).raise_for_status()
        found = client.get("/data?default&what=asserted", headers={"Accept": media})
        assert found.headers["content-type"].split(";")[0] == media
        put = client.put("/data?default", content=found.content, headers={"Content-Type": media})
        assert put.status_code == 200, put.text
        again = client.get("/data?default&what=asserted").text
        expected = rdflib.Graph().parse(data=text, format="turtle")
        assert isomorphic(rdflib.Graph().parse(data=again, format="turtle"), expected)

    def test_parts(self, client: httpx.Client) -> None:
        lines = {
            what: set(client.get(f"/data?default&what={what}", headers={"Accept": "text/plain"}).text.splitlines())
            for what in ("all", "asserted", "inferred")
        }
        assert lines["all"] == lines["asserted"] | lines["inferred"]
        assert f"<{EX}a> <{RDF.type}> <{EX}Person> ." in lines["inferred"] - lines["asserted"]
        assert client.head("/data?default").status_code == 200


class TestFacts:
    def test_health_and_stats(self, client: httpx.Client, store: Path) -> None:
        health = client.get("/health").json()
        assert (health["status"], health["version"], health["engine"]) == ("ok", 2, "duckdb")
        with Store.open(store) as opened:
            assert client.get("/stats").json() == opened.stats()

    def test_resource(self, client: httpx.Client) -> None:
        sent(
            client,
            f"INSERT DATA {{ <{EX}a> <http://www.w3.org/2002/07/owl#sameAs> <{EX}b> . <{EX}c> <{EX}p> <{EX}b> }}",
        )
        found = client.get("/api/resource", params={"term": EX + "a"}).json()
        assert found["term"] == {"type": "uri", "value": EX + "a"}
        assert [term["value"] for term in found["equals"]] == [EX + "b"]
        assert [[p["value"], o["value"]] for p, o in found["asserted"]] == [
            [str(RDF.type), EX + "Student"],
            ["http://www.w3.org/2002/07/owl#sameAs", EX + "b"],
        ]
        assert [str(RDF.type), EX + "Person"] in [[p["value"], o["value"]] for p, o in found["inferred"]]
        assert [[s["value"], p["value"]] for s, p in found["inferred_incoming"]] == [[EX + "c", EX + "p"]]
        assert found["asserted_incoming"] == []
        assert found["more"] == []
        assert client.get("/api/resource", params={"term": f"<{EX}nobody>"}).json()["asserted"] == []

    def test_names_with_prefixes(self, client: httpx.Client) -> None:
        sent(client, f"INSERT DATA {{ <urn:x> a <{EX}Student> ; <{EX}p> <a:b> }}")
        for term in ("urn:x", "<urn:x>"):
            found = client.get("/api/resource", params={"term": term}).json()
            assert [str(RDF.type), EX + "Person"] in [[p["value"], o["value"]] for p, o in found["inferred"]]
        assert client.get("/api/resource?term=<a:b>").json()["asserted_incoming"]
        assert client.get("/api/resource?term=rdf:type").json()["term"]["value"] == str(RDF.type)
        asked = {"subject": "urn:x", "predicate": "rdf:type", "object": EX + "Person"}
        assert client.get("/api/explain", params=asked).json()["steps"]
        assert client.get("/api/explain", params=asked | {"predicate": "a"}).json()["steps"]

    def test_there_is_more_than_is_shown(self, client: httpx.Client) -> None:
        triples = " . ".join(f"<{EX}hub> <{EX}p> <{EX}n{n}>" for n in range(501))
        sent(client, f"INSERT DATA {{ {triples} . <{EX}full> <{EX}q> {', '.join(map(str, range(500)))} }}")
        found = client.get("/api/resource", params={"term": EX + "hub"}).json()
        assert (len(found["asserted"]), found["more"]) == (500, ["asserted"])
        found = client.get("/api/resource", params={"term": EX + "full"}).json()
        assert (len(found["asserted"]), found["more"]) == (500, [])

    def test_overview_and_vocabulary(self, client: httpx.Client) -> None:
        sent(client, f"INSERT DATA {{ <{EX}a> <http://www.w3.org/2002/07/owl#sameAs> <{EX}b> }}")
        overview = client.get("/api/overview").json()
        assert overview["equality"] == [
            {"size": 2, "members": [{"type": "uri", "value": EX + "a"}, {"type": "uri", "value": EX + "b"}]}
        ]
        assert {"term": {"type": "uri", "value": EX + "Person"}, "count": 1} in overview["classes"]
        assert [v["version"] for v in overview["versions"]] == [3, 2, 1]
        assert overview["violations"] == {"count": 0, "rules": {}, "first": []}
        assert client.get("/api/vocabulary").json()["prefixes"]["owl"] == "http://www.w3.org/2002/07/owl#"


class TestAccess:
    TOKEN: ClassVar = {"Authorization": "Bearer s3cret"}
    BASIC: ClassVar = {"Authorization": "Basic " + base64.b64encode("ann:pässword".encode()).decode()}
    ACCESS = Access(("s3cret", "other"), (("ann", "pässword"),))
    WRONG = (
        {"Authorization": "Bearer s3cre"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic " + base64.b64encode(b"ann:no").decode()},
        {"Authorization": "Basic !"},
        {"Authorization": "Digest s3cret"},
    )

    @pytest.mark.parametrize("protect", [False, True])
    def test_matrix(self, store: Path, protect: bool) -> None:
        access = Access(self.ACCESS.tokens, self.ACCESS.users, protect_reads=protect)
        with serving(store, access=access) as client:
            reads = [lambda h: client.get("/sparql", params={"query": PEOPLE}, headers=h),
                     lambda h: client.post("/sparql", data={"query": PEOPLE}, headers=h),
                     lambda h: client.get("/data?default", headers=h),
                     lambda h: client.get("/stats", headers=h)]  # fmt: skip
            writes = [lambda h: client.post("/sparql", data={"update": add("b")}, headers=h),
                      lambda h: sent(client, add("c"), **h),
                      lambda h: client.post("/data?default", content=b"", headers=TURTLE | h)]  # fmt: skip
            for right in (self.TOKEN, self.BASIC):
                assert {ask(right).status_code for ask in (*reads, *writes)} == {200}
            assert {ask({}).status_code for ask in reads} == ({401} if protect else {200})
            assert {ask({}).status_code for ask in writes} == {401}
            assert client.delete("/data?default").status_code == client.put("/data?default").status_code == 401
            assert {ask(wrong).status_code for wrong in self.WRONG for ask in (*reads, *writes)} == {401}
            assert "Bearer" in writes[0]({}).headers["www-authenticate"]
            assert "Authorization: Bearer TOKEN" in writes[0]({}).text
            assert people(client, headers=self.TOKEN) == ["a", "b", "c"]
            for path in ("/", "/health", "/openapi.json", "/static/app.css"):
                assert client.get(path).status_code == 200

    def test_pages_of_other_sites(self, store: Path) -> None:
        access = Access(origins=("https://friend.example",), hosts=OPEN.hosts)
        with serving(store, access=access) as client:
            evil, friend = {"Origin": "https://evil.example"}, {"Origin": "https://friend.example"}
            assert client.post("/sparql", data={"update": add("b")}, headers=evil).status_code == 403
            assert client.post("/sparql", data={"update": add("b")}, headers={"Origin": "null"}).status_code == 403
            assert people(client) == ["a"]
            assert "access-control-allow-origin" not in client.get("/health", headers=evil).headers
            same = {"Origin": str(client.base_url).rstrip("/")}
            assert client.post("/sparql", data={"update": add("c")}, headers=same).status_code == 200
            answer = client.post("/sparql", data={"update": add("d")}, headers=friend)
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == "https://friend.example"
            asked = client.options("/sparql", headers=friend | {"Access-Control-Request-Method": "POST"})
            assert asked.status_code == 204
            assert "POST" in asked.headers["access-control-allow-methods"]
            assert client.options("/sparql", headers=evil).status_code == 405

    def test_names(self, store: Path) -> None:
        with serving(store) as client:
            assert client.get("/health", headers={"Host": "evil.example:80"}).status_code == 400
            assert client.get("/health", headers={"Host": "localhost"}).status_code == 200


class TestLimits:
    ENDLESS = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h . ?i ?t ?j FILTER(?a != ?j) }"
    WIDE = "SELECT * WHERE { ?a ?p ?b . ?c ?q ?d }"

    @pytest.fixture
    def large(self, tmp_path: Path) -> Path:
        path = tmp_path / "large"
        with Store.create(path, ["none"]) as made:
            made.update(add=[(URIRef(f"{EX}s{n}"), RDF.type, URIRef(f"{EX}T{n % 7}")) for n in range(1_000)])
        return path

    @staticmethod
    def wait_until(client: httpx.Client, reading: int = 0, waiting: int = 0) -> None:
        """Wait for so many requests to be carried out, and to wait. A place is free when the engine has stopped."""

        def holds() -> bool:
            health = client.get("/health").json()
            return (health["reading"], health["waiting"]) == (reading, waiting)

        eventually(holds)

    def test_a_query_without_end_is_cut(self, large: Path) -> None:
        import psutil

        process = psutil.Process()
        with serving(large) as client:
            assert len(rows(sent(client, "SELECT * {?s ?p ?o}", QUERY))) == 1_000
            before = process.memory_info().rss
            for _ in range(3):
                answer = client.post("/sparql?timeout=0.5", data={"query": self.ENDLESS})
                assert answer.status_code == 503, answer.text
                assert "longer than 0.5 s" in answer.text
            self.wait_until(client, reading=0)
            assert len(rows(sent(client, "SELECT * {?s ?p ?o}", QUERY))) == 1_000
            eventually(lambda: process.memory_info().rss - before < 200 << 20)

    def test_the_memory_of_a_query_that_is_cut_is_given_back(self, tmp_path: Path) -> None:
        """A sort takes hold of all that is allowed before its end is near; the process lets go of it afterwards."""
        import psutil

        path = tmp_path / "kg"
        with Store.create(path, ["none"]) as made:
            made.update(add=[(URIRef(f"{EX}s{n}"), RDF.type, URIRef(f"{EX}T{n % 7}")) for n in range(20_000)])
        process = psutil.Process()
        with serving(path, memory_limit="1GB") as client:
            assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]
            before = peak = process.memory_info().rss
            with ThreadPoolExecutor(1) as pool:
                for _ in range(3):
                    sort = {"query": self.WIDE + " ORDER BY ?a ?d"}
                    answer = pool.submit(client.post, "/sparql?timeout=3", data=sort)
                    while not answer.done():
                        peak = max(peak, process.memory_info().rss)
                        time.sleep(0.05)
                    assert answer.result().status_code == 503, answer.result().text
            assert peak - before > 200 << 20
            eventually(lambda: process.memory_info().rss - before < 100 << 20)
            assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]

    @pytest.mark.spark
    def test_on_spark_its_jobs_are_cancelled(self, large: Path, spark: SparkSession) -> None:
        """Of three tables, so that tasks end soon after their job."""
        product = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f FILTER(?a != ?f) }"
        jobs = spark.sparkContext.statusTracker()
        with serving(large, engine="spark", spark=spark) as client:
            assert client.post("/sparql?timeout=2", data={"query": product}).status_code == 503
            self.wait_until(client, reading=0)
            eventually(lambda: not jobs.getActiveJobsIds())
            assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]

    def test_no_longer_than_the_servers_limit(self, large: Path) -> None:
        with serving(large, Limits(query_seconds=0.5)) as client:
            answer = client.post("/sparql?timeout=1000", data={"query": self.ENDLESS})
            assert answer.status_code == 503
            assert "longer than 0.5 s" in answer.text

    def test_a_stream_that_is_cut_is_no_whole_answer(self, large: Path) -> None:
        """Its first bytes must be out before the limit is over: on a busy machine that takes a longer one."""
        with serving(large) as client:
            for limit in (1, 4, 16, 50):
                with client.stream("POST", f"/sparql?timeout={limit}", data={"query": self.WIDE}) as answer:
                    if answer.status_code == 503:
                        continue
                    with pytest.raises(httpx.RemoteProtocolError):
                        for _ in answer.iter_raw():
                            pass
                    return
            raise AssertionError("the first bytes took longer than 50 s")

    def test_a_client_that_goes_frees_its_place(self, large: Path) -> None:
        """Long before the time limit does."""
        with serving(large, Limits(query_seconds=3_600, concurrent=1)) as client:
            for query in (self.ENDLESS, self.WIDE):
                asked = client.stream("POST", "/sparql", data={"query": query}, timeout=httpx.Timeout(PATIENCE, read=1))
                with contextlib.suppress(httpx.ReadTimeout), asked as answer:
                    assert query == self.WIDE
                    next(answer.iter_raw())
                assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]

    def test_too_many(self, large: Path) -> None:
        with ThreadPoolExecutor(3) as pool:
            limits = Limits(query_seconds=3_600, concurrent=1, queue=2)
            with serving_with(large, limits) as (client, service):
                running = pool.submit(sent, client, self.ENDLESS, QUERY)
                self.wait_until(client, reading=1)
                waiting = [pool.submit(sent, client, self.ENDLESS, QUERY) for _ in range(2)]
                self.wait_until(client, reading=1, waiting=2)
                for _ in range(3):
                    answer = sent(client, self.ENDLESS, QUERY)
                    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                    assert "too many requests wait" in answer.text
                service.shut()
                stopped = [future.result() for future in (running, *waiting)]
            assert [answer.status_code for answer in stopped] == [503] * 3
            assert all("shutting down" in answer.text and "retry-after" in answer.headers for answer in stopped)

    def test_rows(self, large: Path) -> None:
        with serving(large, Limits(rows=999)) as client:
            assert "more than 999 rows" in sent(client, "SELECT * {?s ?p ?o}", QUERY).text
            assert len(rows(sent(client, "SELECT * {?s ?p ?o} LIMIT 999", QUERY))) == 999

    def test_body(self, store: Path) -> None:
        with serving(store, Limits(body=1_000)) as client:
            assert sent(client, add("b") + " " * 1_000).status_code == 413
            chunked = client.post("/sparql", content=iter([b" " * 600] * 2), headers={"Content-Type": UPDATE})
            assert chunked.status_code == 413
            assert client.put("/data?default", content=b" " * 1_001, headers=TURTLE).status_code == 413
            assert people(client) == ["a"]

    def test_memory_stays_flat_over_a_large_answer(self, large: Path) -> None:
        import psutil

        process = psutil.Process()
        with serving(large) as client:
            peak, size, start = 0, 0, process.memory_info().rss
            with client.stream(
                "POST", "/sparql", data={"query": self.WIDE + " LIMIT 300000"}, headers={"Accept-Encoding": "identity"}
            ) as answer:
                for chunk in answer.iter_raw():
                    size += len(chunk)
                    peak = max(peak, process.memory_info().rss)
            assert size > 50 << 20
            assert peak - start < 150 << 20


def test_the_log(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "triplake.access"), serving(store, log_queries=True) as client:
        people(client)
        sent(client, "SELECT", QUERY)
    first, second = (json.loads(record.message) for record in caplog.records if record.name == "triplake.access")
    assert first["query"] == PEOPLE
    assert (first["method"], first["path"], first["status"], first["client"]) == ("GET", "/sparql", 200, "127.0.0.1")
    assert first["bytes"] > 50
    assert first["ms"] > 0
    assert second["status"] == 400
    assert "line 1" in second["error"]
    with caplog.at_level(logging.INFO, "triplake.access"), serving(store) as client:
        people(client)
    assert "query" not in json.loads(caplog.records[-1].message)


class TestCommand:
    @pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
    def test_serves_until_a_signal(self, store: Path, sign: signal.Signals) -> None:
        with subprocess.Popen(
            command("serve", store, "--port", "0"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr
            try:
                lines = [process.stderr.readline(), process.stderr.readline()]
                found = re.search(r"http://127\.0\.0\.1:\d+/", lines[1])
                assert found, lines
                answer = httpx.get(found.group() + "sparql", params={"query": PEOPLE}, timeout=30)
                assert rows(answer) == [{"x": EX + "a"}]
                process.send_signal(sign)
                _, rest = process.communicate(timeout=30)
                assert process.returncode == 0
                assert json.loads(rest.splitlines()[0])["status"] == 200
                assert "Traceback" not in rest
            finally:
                process.kill()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--host", "0.0.0.0"], "give --token or --user, or --insecure"),
            (["--user", "ann"], "NAME:PASSWORD"),
            (["--protect-reads"], "needs --token or --user"),
            (["--token", ""], "not empty"),
            (["--host", "256.1.1.1", "--insecure"], "cannot listen on 256.1.1.1"),
            (["--host", "192.0.2.1", "--insecure"], "try another --host"),
        ],
    )
    def test_wrong_usage(self, store: Path, arguments: list[str], message: str) -> None:
        outcome = run("serve", store, "--port", "0", *arguments)
        assert outcome.code == 2
        assert message in outcome.err

    def test_port_in_use(self, store: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            assert "try another --port" in run("serve", store, "--port", str(taken.getsockname()[1])).err

    def test_no_store(self, tmp_path: Path) -> None:
        assert "is not a Triplake store; make one" in run("serve", tmp_path / "none").err
        (file := tmp_path / "file").touch()
        assert "is a file, not a Triplake store" in run("serve", file).err

    def test_not_installed(self, store: Path) -> None:
        code = (
            "import sys, importlib.util as u; find = u.find_spec\n"
            "u.find_spec = lambda name, *a: None if name in ('starlette', 'uvicorn') else find(name, *a)\n"
            f"from triplestore.cli import main; main(['serve', {str(store)!r}])"
        )
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=dict(os.environ), timeout=60
        )
        assert found.returncode == 2
        assert "pip install 'triplake[server]'" in found.stderr
