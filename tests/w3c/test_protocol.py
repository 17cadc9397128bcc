"""The W3C suites of the SPARQL 1.1 Protocol, the Graph Store Protocol and Service Description, over a real socket: what
needs the default graph only is done as they say, what names another graph is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
import rdflib
from rdflib import RDF
from rdflib.compare import isomorphic

from tests.support.server import serving
from tests.w3c.http import Case, Exchange, cases
from tests.w3c.manifest import MISSING
from tests.w3c.sparql import SPARQL
from triplestore import Store
from triplestore.server.negotiation import GRAPHS, ROWS

pytestmark = pytest.mark.skipif(not SPARQL.exists(), reason=MISSING)

PROTOCOL, INDIRECT, DIRECT = (
    "protocol/manifest.ttl",
    "graph-store-protocol/manifest-indirect.ttl",
    "graph-store-protocol/manifest-direct.ttl",
)
SIZES = {PROTOCOL: 34, INDIRECT: 9, DIRECT: 4}

NAMED = {
    # Their answers depend on graphs that have names, given by parameters of the protocol or by GRAPH.
    *("query_dataset_default_graphs_get", "query_dataset_default_graphs_post", "query_dataset_named_graphs_get"),
    *("query_dataset_named_graphs_post", "query_dataset_full", "query_multiple_dataset"),
    *("update_dataset_default_graph", "update_dataset_default_graphs", "update_dataset_named_graphs"),
    *("update_dataset_full", "update_base_uri"),
}
"""Tests of the protocol that cannot be passed by a store of one graph. (The suite `http-rdf-update` is not run either:
its tests are deprecated, comments for people to read, and done anew in `graph-store-protocol`.)"""

UNUSED = "default-graph-uri=http%3A%2F%2Fkasei.us%2F2009%2F09%2Fsparql%2Fdata%2Fdata0.rdf"
"""A parameter with which six tests name a graph that their queries do not read. It is left out."""

ON_DEFAULT = {
    # Tests with ?graph=IRI and direct ones that do not depend on the graph's name: done on the default graph, which is
    # there from the start.
    *("put_get_repeat_indirect", "post_get_post_get_indirect", "head_existing_indirect"),
    *("put_get_repeat_direct", "post_get_post_get_direct", "head_existing_direct"),
}
NEW_GRAPHS = {
    # They make a graph of a new name, delete one so that it is not there, or spell one name in several ways.
    *("put_delete_get_delete_indirect", "post_get_new_graph", "put_get_uri_pct_encoded_indirect"),
    *("put_get_uri_pct_encoded_twice", "put_delete_get_delete_direct"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("protocol") / "kg"
    Store.create(path, ["none"]).close()
    with serving(path) as made:
        yield made


def sent(client: httpx.Client, exchange: Exchange, path: str) -> httpx.Response:
    return client.request(exchange.method, path, headers=list(exchange.headers), content=exchange.content)


def without_unused(path: str) -> str:
    return re.sub(rf"[?&]{re.escape(UNUSED)}", "", path)


def check(exchange: Exchange, answer: httpx.Response) -> None:
    """Compare a response with what is expected of it."""
    assert exchange.expects(answer.status_code), answer.text
    media = answer.headers["content-type"].split(";")[0]
    if exchange.boolean is not None:
        assert answer.json()["boolean"] is exchange.boolean
    if exchange.format == "RDF":
        assert media in GRAPHS
        rdflib.Graph().parse(data=answer.text, format=media)
    elif exchange.format is not None:
        assert media in ROWS
    if exchange.body is not None:
        assert answer.headers["content-type"] == exchange.media
        assert isomorphic(graph(answer.text), graph(exchange.body))


def graph(turtle: str) -> rdflib.Graph:
    return rdflib.Graph().parse(data=turtle, format="turtle")


def run_protocol(client: httpx.Client, case: Case) -> None:
    """Do what a test of the protocol says; what names graphs must be refused."""
    if case.name in NAMED:
        answer = sent(client, case.exchanges[0], case.exchanges[0].path)
        assert answer.status_code == 400
        assert "named graphs" in answer.text
        return
    for exchange in case.exchanges:
        check(exchange, sent(client, exchange, without_unused(exchange.path)))


def run_graph_store(client: httpx.Client, case: Case) -> None:
    """Do what a test of the Graph Store Protocol says, on the default graph where the graph's name does not matter."""
    if case.name in NEW_GRAPHS:
        for exchange in case.exchanges:
            if "$" not in exchange.path:
                answer = sent(client, exchange, exchange.path.replace("/gsp", "/data"))
                assert answer.status_code in (400, 404), exchange
                assert "graph" in answer.text
        return
    client.delete("/data?default").raise_for_status()
    for exchange in case.exchanges:
        moved = case.name in ON_DEFAULT
        answer = sent(client, exchange, "/data?default" if moved else exchange.path.replace("/gsp", "/data"))
        if moved and exchange.statuses == (201,):  # the default graph is never a new one
            assert answer.status_code == 200, answer.text
        else:
            check(exchange, answer)


def parameters(manifest: str) -> list[object]:
    return [pytest.param(case, id=case.name) for case in cases(manifest)]


@pytest.mark.parametrize("case", parameters(PROTOCOL))
def test_protocol(client: httpx.Client, case: Case) -> None:
    run_protocol(client, case)


@pytest.mark.parametrize("case", [*parameters(INDIRECT), *parameters(DIRECT)])
def test_graph_store(client: httpx.Client, case: Case) -> None:
    run_graph_store(client, case)


def test_an_unused_name_is_refused_too(client: httpx.Client) -> None:
    answer = client.get(f"/sparql/?query=ASK%7B%7D&{UNUSED}")
    assert (answer.status_code, "named graphs" in answer.text) == (400, True)


def test_update_base_uri(client: httpx.Client) -> None:
    """As the test of that name, without its GRAPH."""
    (case,) = [case for case in cases(PROTOCOL) if case.name == "update_base_uri"]
    for exchange in case.exchanges:
        assert exchange.content is not None
        text = re.sub(r"GRAPH\s*<[^>]*>", "", exchange.content.decode().split(";\n")[-1], count=1)
        text = re.sub(r"\{\s*\{(.*)\}\s*\}", r"{\1}", text, flags=re.DOTALL)
        answer = client.post(exchange.path, headers=list(exchange.headers), content=text.encode())
        check(exchange, answer)


def test_put_then_get_what_is_left(client: httpx.Client) -> None:
    """As put_delete_get_delete, on the default graph, which is empty afterwards rather than gone."""
    (case,) = [case for case in cases(INDIRECT) if case.name == "put_delete_get_delete_indirect"]
    for exchange in case.exchanges:
        answer = sent(client, exchange, "/data?default")
        assert answer.status_code == 200
        if exchange.method == "GET":
            assert len(graph(answer.text)) == 0


@pytest.fixture(scope="module")
def description(client: httpx.Client) -> rdflib.Graph:
    answer = client.get("/sparql", headers={"Accept": "text/turtle, application/rdf+xml;q=0.9"})
    assert answer.headers["content-type"].split(";")[0] in GRAPHS  # returns-rdf
    return graph(answer.text)


class TestServiceDescription:
    """The three tests of `service-description`, which are for people to read."""

    SD = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")

    def test_has_endpoint_triple(self, client: httpx.Client, description: rdflib.Graph) -> None:
        endpoint = rdflib.URIRef(str(client.base_url).rstrip("/") + "/sparql")
        (service,) = description.subjects(self.SD.endpoint, endpoint)
        assert (service, RDF.type, self.SD.Service) in description

    def test_conforms_to_schema(self, description: rdflib.Graph) -> None:
        """Section 3 of the recommendation: what each property is said of, and of what kind its values are."""
        sd = self.SD
        (service,) = description.subjects(RDF.type, sd.Service)
        kinds = {
            sd.endpoint: rdflib.URIRef,
            sd.supportedLanguage: rdflib.URIRef,
            sd.resultFormat: rdflib.URIRef,
            sd.defaultEntailmentRegime: rdflib.URIRef,
            sd.defaultDataset: rdflib.BNode,
        }
        for subject, predicate, value in description:
            if predicate in kinds:
                assert subject == service
                assert isinstance(value, kinds[predicate])
        assert set(description.predicates(service)) - set(kinds) == {RDF.type}
        languages = {sd.SPARQL10Query, sd.SPARQL11Query, sd.SPARQL11Update}
        assert set(description.objects(service, sd.supportedLanguage)) <= languages
        (dataset,) = description.objects(service, sd.defaultDataset)
        (default,) = description.objects(dataset, sd.defaultGraph)
        assert (dataset, RDF.type, sd.Dataset) in description
        assert (default, RDF.type, sd.Graph) in description
        assert len(list(description.objects(service, sd.defaultEntailmentRegime))) == 1


@pytest.mark.parametrize(("manifest", "size"), SIZES.items())
def test_whole_suite_is_run(manifest: str, size: int) -> None:
    found = [case.name for case in cases(manifest)]
    assert len(found) == size
    left_out = [name for name in found if name in NAMED | NEW_GRAPHS]
    assert len(left_out) == {PROTOCOL: 11, INDIRECT: 4, DIRECT: 1}[manifest]


def test_documents(client: httpx.Client) -> None:
    """A form whose files are added as one transaction (the recommendation's section 5.5)."""
    text = "<http://ex/a> <http://ex/p> <http://ex/{}> ."
    files = [
        ("a", ("a.ttl", text.format("1"), "text/turtle")),
        ("b", ("b.nt", text.format("2"), "application/n-triples")),
    ]
    client.delete("/data?default")
    done = client.post("/data?default", files=files)
    assert (done.status_code, done.json()["added"]) == (200, 2)
    assert len(graph(client.get("/data?default").text)) == 2
    wrong = [("a", ("a.ttl", text.format("3"), "text/turtle")), ("b", ("b.pdf", "x", "application/pdf"))]
    assert client.post("/data?default", files=wrong).status_code == 415
    assert client.post("/data?default", files={"a": ("a.ttl", "<a> <b", "text/turtle")}).status_code == 400
    assert len(graph(client.get("/data?default").text)) == 2
    assert client.get(f"/data?graph={quote('http://ex/g')}").status_code == 404
