"""The W3C suites of the SPARQL 1.1 Protocol, the Graph Store Protocol and Service Description, over a real socket. (The
suite `http-rdf-update` is not run: its tests are deprecated, and done again in `graph-store-protocol`.)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("protocol") / "kg"
    Store.create(path, ["none"], engine="duckdb", default_graph="separate").close()
    with serving(path) as made:
        yield made


def sent(client: httpx.Client, exchange: Exchange, path: str) -> httpx.Response:
    return client.request(exchange.method, path, headers=list(exchange.headers), content=exchange.content)


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


def fill(client: httpx.Client, case: Case) -> None:
    """Let the server have the graphs of a case, and no others."""
    client.post("/sparql", data={"update": "DROP ALL"}).raise_for_status()
    for name, file in case.graphs:
        turtle = {"Content-Type": "application/n-triples"}
        made = client.put("/data", params={"graph": name}, content=file.read_bytes(), headers=turtle)
        assert made.status_code == 201, made.text


def run(client: httpx.Client, case: Case) -> None:
    """Do what a test says; `$LOCATION$` is where the graph is that the answer before has made."""
    fill(client, case)
    location = ""
    for exchange in case.exchanges:
        path = exchange.path.replace("/gsp", "/data", 1).replace("$LOCATION$", quote(location, safe=""))
        answer = sent(client, exchange, path)
        check(exchange, answer)
        location = answer.headers.get("location", "")


def parameters(manifest: str) -> list[object]:
    return [pytest.param(case, id=case.name) for case in cases(manifest)]


@pytest.mark.parametrize("case", [*parameters(PROTOCOL), *parameters(INDIRECT), *parameters(DIRECT)])
def test_case(client: httpx.Client, case: Case) -> None:
    run(client, case)


SD = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")


def returns_rdf(client: httpx.Client) -> rdflib.Graph:
    """The description of the service, read as RDF."""
    answer = client.get("/sparql", headers={"Accept": "text/turtle, application/rdf+xml;q=0.9"})
    assert answer.headers["content-type"].split(";")[0] in GRAPHS
    return graph(answer.text)


def has_endpoint_triple(client: httpx.Client) -> None:
    """The endpoint is that of a service."""
    description = returns_rdf(client)
    endpoint = rdflib.URIRef(str(client.base_url).rstrip("/") + "/sparql")
    (service,) = description.subjects(SD.endpoint, endpoint)
    assert (service, RDF.type, SD.Service) in description


def conforms_to_schema(client: httpx.Client) -> None:
    """Section 3 of the recommendation: what each property is said of, and of what kind its values are."""
    description, sd = returns_rdf(client), SD
    (service,) = description.subjects(RDF.type, sd.Service)
    kinds = {
        sd.endpoint: rdflib.URIRef,
        sd.supportedLanguage: rdflib.URIRef,
        sd.resultFormat: rdflib.URIRef,
        sd.defaultEntailmentRegime: rdflib.URIRef,
        sd.defaultDataset: rdflib.BNode,
        sd.feature: rdflib.URIRef,
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
    assert set(description.objects(service, sd.feature)) == {sd.EmptyGraphs}
    for named in description.objects(dataset, sd.namedGraph):
        assert (named, RDF.type, sd.NamedGraph) in description
        assert isinstance(description.value(named, sd.name), rdflib.URIRef)
        assert (description.value(named, sd.graph), RDF.type, sd.Graph) in description


DESCRIPTION = {
    "has-endpoint-triple": has_endpoint_triple,
    "returns-rdf": returns_rdf,
    "conforms-to-schema": conforms_to_schema,
}
"""The tests of `service-description`, which the suite has in words only."""


@pytest.mark.parametrize("check", DESCRIPTION.values(), ids=DESCRIPTION)
def test_service_description(client: httpx.Client, check: Callable[[httpx.Client], object]) -> None:
    check(client)


@pytest.mark.parametrize(("manifest", "size"), SIZES.items())
def test_whole_suite_is_run(manifest: str, size: int) -> None:
    assert len(cases(manifest)) == size


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
