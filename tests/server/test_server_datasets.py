"""The server over a real socket: named graphs, by the parameters of the protocol and as resources."""

from __future__ import annotations

from pathlib import Path

import httpx
import pyoxigraph
import pytest
import rdflib
from rdflib import OWL, RDF

from tests.support.server import EX, TURTLE, UPDATE, rows, sent, serving
from triplestore import Store

LINES = {"Accept": "application/n-triples"}
ALL = "SELECT ?o WHERE { ?s <http://ex/p> ?o } ORDER BY ?o"
NAMED = "SELECT ?o WHERE { GRAPH ?g { ?s <http://ex/p> ?o } } ORDER BY ?o"
UNNAMED = "urn:x-triplake:default"


def put(client: httpx.Client, graph: str, value: str) -> httpx.Response:
    """Let a graph have one triple."""
    text = f"<{EX}s> <{EX}p> {value} ."
    return client.put("/data", params={"graph": graph}, content=text.encode(), headers=TURTLE)


def values(client: httpx.Client, query: str, **more: object) -> list[str]:
    return [row["o"] for row in rows(client.get("/sparql", params={"query": query, **more}))]


@pytest.fixture
def three(client: httpx.Client) -> httpx.Client:
    """A server with three graphs of one triple each."""
    for number in (1, 2, 3):
        assert put(client, f"{EX}g{number}", str(number)).status_code == 201
    return client


class TestParameters:
    def test_of_queries(self, three: httpx.Client) -> None:
        assert values(three, ALL) == ["1", "2", "3"]
        assert values(three, ALL, **{"default-graph-uri": [f"{EX}g1", f"{EX}g3"]}) == ["1", "3"]
        assert values(three, ALL, **{"default-graph-uri": ""}) == ["1", "2", "3"]
        assert values(three, NAMED, **{"named-graph-uri": f"{EX}g2"}) == ["2"]
        assert values(three, ALL, **{"named-graph-uri": f"{EX}g2"}) == []
        assert values(three, NAMED, **{"default-graph-uri": f"{EX}g2"}) == []
        assert values(three, ALL, **{"default-graph-uri": f"{EX}nothing"}) == []

    def test_they_stand_before_from(self, three: httpx.Client) -> None:
        text = ALL.replace("WHERE", f"FROM <{EX}g3> WHERE")
        assert values(three, text) == ["3"]
        assert values(three, text, **{"default-graph-uri": f"{EX}g1"}) == ["1"]
        assert values(three, text, **{"named-graph-uri": f"{EX}g1"}) == []

    def test_of_updates(self, three: httpx.Client) -> None:
        text = "INSERT { GRAPH <x:new> { ?s ?p ?o } } WHERE { ?s ?p ?o }"
        form = {"update": text, "using-graph-uri": [f"{EX}g1", f"{EX}g2"]}
        assert three.post("/sparql", data=form).status_code == 200
        assert values(three, ALL, **{"default-graph-uri": "x:new"}) == ["1", "2"]
        address = f"/sparql?using-named-graph-uri={EX}g3"
        text = text.replace("new", "newer").replace("{ ?s ?p ?o }", "{ GRAPH ?g { ?s ?p ?o } }", 2).replace(
            "{ GRAPH <x:newer> { GRAPH ?g { ?s ?p ?o } } }", "{ GRAPH <x:newer> { ?s ?p ?o } }")  # fmt: skip
        three.post(address, content=text, headers={"Content-Type": UPDATE}).raise_for_status()
        assert values(three, ALL, **{"default-graph-uri": "x:newer"}) == ["3"]


class TestGraphs:
    def test_a_life(self, client: httpx.Client) -> None:
        graph = {"graph": f"{EX}g"}
        made = put(client, f"{EX}g", "1")
        assert (made.status_code, made.json()["operation"]) == (201, "replace")
        assert made.headers["location"] == f"{client.base_url}/data?graph=http%3A%2F%2Fex%2Fg"
        assert client.get(made.headers["location"], headers=LINES).text == f'<{EX}s> <{EX}p> "1"^^<{XSD}integer> .\n'
        assert put(client, f"{EX}g", "2").status_code == 200
        more = client.post("/data", params=graph, content=f"<{EX}s> <{EX}p> 3 .".encode(), headers=TURTLE)
        assert (more.status_code, more.json()["operation"]) == (200, "load")
        assert client.head("/data", params=graph).status_code == 200
        assert values(client, ALL) == ["2", "3"]
        assert client.delete("/data", params=graph).status_code == 200
        for method in ("GET", "HEAD", "DELETE"):
            assert client.request(method, "/data", params=graph).status_code == 404
        assert values(client, ALL) == []

    @pytest.mark.parametrize("method", ["PUT", "POST"])
    def test_an_empty_graph_is_there(self, client: httpx.Client, method: str) -> None:
        statuses = [client.request(method, "/data/empty", content=b"", headers=TURTLE).status_code for _ in range(2)]
        assert statuses == [201, 200]
        found = client.get("/data/empty")
        assert (found.status_code, found.text) == (200, "")
        assert client.delete("/data/empty").status_code == 200
        assert client.get("/data/empty").status_code == 404

    def test_own_addresses(self, client: httpx.Client) -> None:
        text = f"<{EX}s> <> <rel> .".encode()
        made = client.put("/data/a%20b/c", content=text, headers=TURTLE)
        address = f"{client.base_url}/data/a%20b/c"
        assert (made.status_code, made.headers["location"]) == (201, address)
        lines = f"<{EX}s> <{address}> <{client.base_url}/data/a%20b/rel> .\n"
        assert client.get("/data", params={"graph": address}, headers=LINES).text == lines
        assert client.get("/data/a b/c", headers=LINES).text == lines
        assert client.head("/data/c").status_code == 404

    def test_a_new_graph_of_the_servers_name(self, client: httpx.Client) -> None:
        made = [client.post("/data", content=f"<{EX}s> <{EX}p> 1 .".encode(), headers=TURTLE) for _ in range(2)]
        assert [answer.status_code for answer in made] == [201, 201]
        one, other = (answer.headers["location"] for answer in made)
        assert one != other
        assert client.get(one, headers=LINES).text == client.get("/data", params={"graph": other}, headers=LINES).text

    def test_the_unnamed_graph_alone(self, three: httpx.Client) -> None:
        three.put("/data?default", content=f"<{EX}s> <{EX}p> 0 .".encode(), headers=TURTLE).raise_for_status()
        assert values(three, ALL) == ["0", "1", "2", "3"]
        alone = three.get("/data", params={"graph": UNNAMED}, headers=LINES).text
        assert alone == f'<{EX}s> <{EX}p> "0"^^<{XSD}integer> .\n'
        assert len(three.get("/data?default&what=asserted", headers=LINES).text.splitlines()) == 4
        assert three.delete("/data/default").status_code == 200
        assert values(three, ALL) == ["1", "2", "3"]
        assert three.get("/data", params={"graph": UNNAMED}).text == ""

    def test_what_is_got_can_be_put(self, client: httpx.Client) -> None:
        """Blank nodes keep their labels, in the graph that had them."""
        text = f"<{EX}s> <{EX}p> [ <{EX}q> 1 ] .".encode()
        version = client.put("/data/one", content=text, headers=TURTLE).json()["version"]
        given = client.get("/data/one")
        assert client.put("/data/one", content=given.content, headers=TURTLE).json()["version"] == version
        client.put("/data/other", content=given.content, headers=TURTLE).raise_for_status()
        nodes = "SELECT (COUNT(DISTINCT ?o) AS ?n) WHERE { GRAPH ?g { ?s <http://ex/p> ?o } }"
        assert rows(sent(client, nodes, "application/sparql-query")) == [{"n": "2"}]

    def test_the_whole_store(self, three: httpx.Client) -> None:
        three.delete("/data?default").raise_for_status()
        found = three.get("/data")
        assert found.headers["content-type"] == "application/n-quads"
        lines = [f'<{EX}s> <{EX}p> "{n}"^^<{XSD}integer> <{EX}g{n}> .' for n in (1, 2, 3)]
        assert sorted(found.text.splitlines()) == lines
        trig = three.get("/data", headers={"Accept": "application/trig"}).text
        assert sorted(f"{quad} ." for quad in pyoxigraph.parse(trig, pyoxigraph.RdfFormat.TRIG)) == lines
        for number in (1, 2, 3):
            three.delete("/data", params={"graph": f"{EX}g{number}"}).raise_for_status()
        quads = {"Content-Type": "application/n-quads"}
        three.post("/data?default", content=found.content, headers=quads).raise_for_status()
        assert sorted(three.get("/data").text.splitlines()) == lines

    def test_what_another_process_has_made(self, client: httpx.Client, store: Path, tmp_path: Path) -> None:
        put(client, f"{EX}g", "1")
        (tmp_path / "b.ttl").write_text(f"<{EX}s> <{EX}p> 2 .")
        with Store.open(store) as other:
            other.load(tmp_path / "b.ttl", graph=f"{EX}h")
        assert put(client, f"{EX}h", "3").status_code == 200
        assert client.delete("/data", params={"graph": f"{EX}h"}).status_code == 200

    def test_reasoning_sees_all_graphs(self, client: httpx.Client) -> None:
        text = f"<{EX}b> a <{EX}Student> ; <{OWL.sameAs}> <{EX}c> .".encode()
        client.put("/data/students", content=text, headers=TURTLE).raise_for_status()
        asked = {"query": f"ASK {{ <{EX}c> a <{EX}Person> }}"}
        assert client.get("/sparql", params=asked).json()["boolean"]
        inferred = client.get("/data?default&what=inferred", headers=LINES).text
        assert f"<{EX}c> <{RDF.type}> <{EX}Person> ." in inferred
        assert "Person" not in client.get("/data/students", headers=LINES).text
        client.delete("/data/students").raise_for_status()
        assert not client.get("/sparql", params=asked).json()["boolean"]


def test_description(three: httpx.Client) -> None:
    three.put("/data/empty", content=b"", headers=TURTLE)
    three.post("/data?default", content="_:g { <x:s> <x:p> 1 }", headers={"Content-Type": "application/trig"})
    found = rdflib.Graph().parse(data=three.get("/sparql", headers={"Accept": "text/turtle"}).text, format="turtle")
    sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
    triples = rdflib.URIRef("http://rdfs.org/ns/void#triples")
    assert set(found.objects(None, sd.feature)) == {sd.UnionDefaultGraph, sd.EmptyGraphs}
    sizes = {
        str(found.value(named, sd.name)): found.value(found.value(named, sd.graph), triples).toPython()
        for named in found.objects(None, sd.namedGraph)
    }
    assert sizes == {f"{EX}g1": 1, f"{EX}g2": 1, f"{EX}g3": 1, f"{three.base_url}/data/empty": 0}


XSD = "http://www.w3.org/2001/XMLSchema#"


class TestFacts:
    def test_graphs(self, three: httpx.Client) -> None:
        more = f'<{EX}s> <{EX}p> 7 , "01"^^<{XSD}integer> , "x"@EN .'
        three.post("/data", params={"graph": f"{EX}g2"}, content=more.encode(), headers=TURTLE)
        found = three.get("/api/graphs").json()
        assert found["default_graph"] == "union"
        assert (found["unnamed"], found["count"]) == (2, 3)
        assert [(graph["graph"]["value"], graph["triples"]) for graph in found["graphs"]] == [
            (f"{EX}g2", 4),
            (f"{EX}g1", 1),
            (f"{EX}g3", 1),
        ]

    def test_where_facts_of_a_resource_were_said(self, three: httpx.Client) -> None:
        more = f'<{EX}s> <{EX}p> 1 , "01"^^<{XSD}integer> , "x"@EN , <{EX}o> .'
        three.post("/data?default", content=more.encode(), headers=TURTLE)
        three.post("/data", params={"graph": f"{EX}g3"}, content=more.encode(), headers=TURTLE)

        def said(term: str, kind: str) -> dict[str, list[str]]:
            found = three.get("/api/resource", params={"term": term}).json()
            graphs = found["graphs"][kind]
            return {
                other["value"]: ["" if graph is None else graph["value"] for graph in several]
                for (_, other), several in zip(found[kind], graphs, strict=True)
            }

        both = ["", f"{EX}g3"]
        assert said(f"{EX}s", "asserted") == {
            **{"1": ["", f"{EX}g1", f"{EX}g3"], "2": [f"{EX}g2"], "3": [f"{EX}g3"]},
            **{"01": both, "x": both, f"{EX}o": both},
        }
        found = three.get("/api/resource", params={"term": f"{EX}o"}).json()
        assert [[graph and graph["value"] for graph in graphs] for graphs in found["graphs"]["asserted_incoming"]] == [
            [None, f"{EX}g3"]
        ]

    def test_a_store_without_named_graphs(self, steady: httpx.Client) -> None:
        found = steady.get("/api/resource", params={"term": f"{EX}a"}).json()
        assert found["graphs"] == {"asserted": [[None] for _ in found["asserted"]], "asserted_incoming": []}
        assert steady.get("/api/graphs").json()["graphs"] == []


def test_dry_run(three: httpx.Client) -> None:
    version = three.get("/health").json()["version"]
    asked = {"update": f"DROP GRAPH <{EX}g1>", "dry_run": "true"}
    found = three.post("/sparql", data=asked).json()
    assert (found["dry_run"], found["version"], found["deleted"], found["splits"]) == (True, version, 1, [])
    assert three.get("/health").json()["version"] == version
    assert three.post("/sparql", data={**asked, "dry_run": "maybe"}).status_code == 400
    assert three.post("/sparql", data={**asked, "dry_run": "false"}).json()["version"] == version + 1
    assert three.get("/data", params={"graph": f"{EX}g1"}).status_code == 404


def test_separate(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["rdfs"], default_graph="separate"):
        pass
    with serving(tmp_path / "kg") as client:
        put(client, f"{EX}g", "1")
        assert values(client, ALL) == []
        assert values(client, NAMED) == ["1"]
        assert client.get("/data?default&what=asserted").text == ""
