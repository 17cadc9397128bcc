"""The server over a real socket: the graph store protocol, and the facts that its pages show."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
import rdflib
from rdflib import OWL, RDF
from rdflib.compare import isomorphic

from tests.support.server import EX, TURTLE, request, sent, serving, spoken
from triplestore import Store
from triplestore.server.negotiation import GRAPHS


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

    def test_what_is_tried_changes_nothing(self, client: httpx.Client) -> None:
        before = client.get("/data?default").text
        text = f"<{EX}new> a <{EX}Student> .".encode()
        for method, place in ("POST", "default"), ("PUT", "default"), ("PUT", f"graph={EX}g"), ("DELETE", "default"):
            body = None if method == "DELETE" else text
            tried = client.request(method, f"/data?{place}&dry_run=true", content=body, headers=TURTLE)
            figures = tried.json()
            assert (tried.status_code, figures["dry_run"], figures["version"]) == (200, True, 2), place
            assert figures["added"] + figures["deleted"] > 0
            assert figures["triples"] == (method != "DELETE")
        assert client.get("/data?default").text == before
        assert client.get(f"/data?graph={EX}g").status_code == 404
        assert client.post("/data?default&dry_run=maybe", content=text, headers=TURTLE).status_code == 400
        client.put("/data/g", content=text, headers=TURTLE).raise_for_status()
        assert client.delete("/data/g?dry_run=true").json()["dry_run"]
        assert client.get("/data/g").status_code == 200

    @pytest.mark.parametrize(
        ("media", "text"),
        [
            ("application/n-triples", "<http://ex/s> <http://ex/p> <http://ex/o> ."),
            ("application/rdf+xml", f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="{EX}"><rdf:Description rdf:about="{EX}s">'
             f'<e:p rdf:resource="{EX}o"/></rdf:Description></rdf:RDF>'),
            ("application/ld+json", '{"@id": "http://ex/s", "http://ex/p": {"@id": "http://ex/o"}}'),
            ("application/trig", "{ <http://ex/s> <http://ex/p> <http://ex/o> }"),
            ("application/n-quads", "<http://ex/s> <http://ex/p> <http://ex/o> ."),
        ],
    )  # fmt: skip
    def test_syntaxes(self, client: httpx.Client, media: str, text: str) -> None:
        client.put("/data?default", content=text.encode(), headers={"Content-Type": media}).raise_for_status()
        lines = client.get("/data?default&what=asserted", headers={"Accept": "application/n-triples"}).text
        assert lines == f"<{EX}s> <{EX}p> <{EX}o> .\n"

    @pytest.mark.parametrize("media", GRAPHS)
    @pytest.mark.sampled(each=2)
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
        sent(client, f"INSERT DATA {{ <{EX}b> owl:sameAs <{EX}c> . <{EX}a> owl:differentFrom <{EX}c> }}")
        (found,) = client.get("/api/overview").json()["violations"]["first"]
        shown = {
            name: [[term["value"].removeprefix(EX).removeprefix(str(OWL)) for term in triple] for triple in found[name]]
            for name in ("triples", "because")
        }
        assert shown == {
            "triples": [["a", "differentFrom", "c"], ["a", "sameAs", "c"]],
            "because": [["a", "sameAs", "b"], ["b", "sameAs", "c"]],
        }, "of the terms as they are, not of the one that represents them"
        assert client.get("/api/vocabulary").json()["prefixes"]["owl"] == "http://www.w3.org/2002/07/owl#"


def test_search(store: Path) -> None:
    with Store.open(store) as opened:
        opened.sparql_update(
            "INSERT DATA {" + "".join(f'<{EX}n{n}> <{EX}name> "Number {n}" .' for n in range(60)) + "}"
        )
    with serving(store) as client:
        found = client.get("/api/search", params={"text": "number 7"}).json()
        assert found["found"][0]["text"] == {"type": "literal", "value": "Number 7"}
        assert found["found"][0]["term"] == {"type": "uri", "value": f"{EX}n7"}
        assert len(found["found"]) == 50
        assert found["more"]
        assert not client.get("/api/search", params={"text": "+number +7"}).json()["more"]
        for text, message in (("", "needs a word"), ("a~", "means nothing in a search")):
            refused = client.get("/api/search", params={"text": text})
            assert refused.status_code == 400
            assert message in refused.text


def test_conditions_of_a_change(client: httpx.Client) -> None:
    """Whoever makes a graph if there is none must not replace what another has made meanwhile."""
    there, absent = f"graph={EX}there", f"graph={EX}absent"
    assert client.put(f"/data?{there}", content=b"<urn:a> <urn:b> 1 .", headers=TURTLE).status_code == 201
    version = client.get("/health").json()["version"]
    refused = [
        (there, {"If-None-Match": "*"}),
        (there, {"If-Match": '"a tag"'}),
        (there, {"If-Match": '"a tag"', "If-None-Match": '"a tag"'}),
        (absent, {"If-Match": "*"}),
        (there, {"If-Match": "*", "If-None-Match": "*"}),
        ("default", {"If-None-Match": "*"}),
    ]
    for graph, condition in refused:
        for method in ("PUT", "POST", "DELETE"):
            body = None if method == "DELETE" else b"<urn:a> <urn:b> 2 ."
            answer = client.request(method, f"/data?{graph}", content=body, headers=TURTLE | condition)
            assert answer.status_code == 412, (method, graph, condition)
    assert client.get("/health").json()["version"] == version
    for graph, condition, status in (
        (there, {"If-Match": "*"}, 200),
        (there, {"If-None-Match": '"a tag"'}, 200),
        (absent, {"If-None-Match": "*"}, 201),
    ):
        put = client.put(f"/data?{graph}", content=b"<urn:a> <urn:b> 2 .", headers=TURTLE | condition)
        assert put.status_code == status
    assert client.delete(f"/data?{absent}", headers={"If-Match": "*"}).status_code == 200


def test_a_part_is_not_put_in_place_of_the_whole(client: httpx.Client) -> None:
    whole = client.get("/data?default&what=asserted").text
    part = TURTLE | {"Content-Range": "bytes 0-20/4000"}
    refused = client.put("/data?default", content=b"<urn:a> <urn:b> 1 .", headers=part)
    assert (refused.status_code, "Content-Range" in refused.text) == (400, True)
    assert client.get("/data?default&what=asserted").text == whole


def test_a_name_that_is_not_encoded(client: httpx.Client) -> None:
    """Of `#` in the address it is a part: another graph, named by what is before it, stays."""
    for name in ("g", "g%23part"):
        client.put(f"/data?graph={EX}{name}", content=b"<urn:a> <urn:b> 1 .", headers=TURTLE).raise_for_status()
    status, _ = spoken(client, request(f"DELETE /data?graph={EX}g#part"))
    assert status == 200
    assert client.get(f"/data?graph={EX}g").status_code == 200
    assert client.get(f"/data?graph={EX}g%23part").status_code == 404
    status, body = spoken(client, request("DELETE /data?graph=x#y&dry_run=true"))
    assert (status, b"'x#y' is not an absolute IRI" in body) == (400, True)


@pytest.mark.parametrize("name", ["a", "日本", "ü", "a#b", "a?b", "default"])
def test_where_a_graph_is_that_a_parameter_names(store: Path, name: str) -> None:
    """There, though its name is like an address of the server's own."""
    with serving(store) as client:
        named = {"graph": f"{str(client.base_url).rstrip('/')}/data/{name}"}
        made = client.put("/data", params=named, content=b"<urn:a> <urn:b> <urn:c> .", headers=TURTLE)
        assert made.status_code == 201
        found = client.get(made.headers["location"], headers={"Accept": "application/n-triples"})
        assert found.text == "<urn:a> <urn:b> <urn:c> .\n"


def test_a_graph_of_which_the_name_has_a_line_end(store: Path) -> None:
    with serving(store) as client:
        for name in ("a%0Ab", "%0D%0A", "a%0A"):
            made = client.put(f"/data/{name}", content=b"<urn:a> <urn:b> <urn:c> .", headers=TURTLE)
            assert made.status_code == 201
            assert made.headers["location"].endswith(f"/data/{name}")
            assert "<urn:c>" in client.get(f"/data/{name}").text
            assert client.delete(f"/data/{name}").status_code == 200
            assert client.get(f"/data/{name}").status_code == 404
