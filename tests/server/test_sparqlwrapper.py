"""SPARQLWrapper, the client that Python programs use, against the server over a real socket."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest
from rdflib import RDF, Graph, URIRef

from tests.support.server import EX, OPEN, PEOPLE, serving
from triplestore.server.settings import Access

SPARQLWrapper = pytest.importorskip("SPARQLWrapper", reason="sparqlwrapper is not installed")


def wrapper(client: httpx.Client, text: str, **options: Any) -> Any:
    made = SPARQLWrapper.SPARQLWrapper(str(client.base_url).rstrip("/") + "/sparql", **options)
    made.setQuery(text)
    return made


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("way", ["urlencoded", "postdirectly"])
def test_select(client: httpx.Client, method: str, way: str) -> None:
    asked = wrapper(client, PEOPLE, returnFormat=SPARQLWrapper.JSON)
    asked.setMethod(method)
    asked.setRequestMethod(way)
    found = asked.queryAndConvert()
    assert [row["x"]["value"] for row in found["results"]["bindings"]] == [EX + "a"]


def test_each_format(client: httpx.Client) -> None:
    for name, holds in {
        SPARQLWrapper.XML: lambda found: EX + "a" in found.toxml(),
        SPARQLWrapper.CSV: lambda found: found.decode().split() == ["x", EX + "a"],
        SPARQLWrapper.TSV: lambda found: found.decode().split() == ["?x", f"<{EX}a>"],
    }.items():
        assert holds(wrapper(client, PEOPLE, returnFormat=name).queryAndConvert()), name
    ask = wrapper(client, f"ASK {{ <{EX}a> a <{EX}Person> }}", returnFormat=SPARQLWrapper.JSON)
    assert ask.queryAndConvert()["boolean"] is True
    for name in (SPARQLWrapper.TURTLE, SPARQLWrapper.RDFXML, SPARQLWrapper.N3):
        made = wrapper(client, f"CONSTRUCT WHERE {{ <{EX}a> a ?c }}", returnFormat=name).queryAndConvert()
        if not isinstance(made, Graph):
            made = Graph().parse(data=made, format="turtle")
        assert (URIRef(EX + "a"), RDF.type, URIRef(EX + "Person")) in made


GRAPHS = [f"CONSTRUCT WHERE {{ <{EX}a> a ?c }}", f"DESCRIBE <{EX}a>"]


@pytest.mark.parametrize("query", GRAPHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("way", ["urlencoded", "postdirectly"])
@pytest.mark.parametrize("format", [None, "xml", "json", "json-ld", "rdf", "rdf+xml", "turtle", "n3"])
def test_graphs(steady: httpx.Client, query: str, method: str, way: str, format: str | None) -> None:
    """Each format that the client knows for queries of this kind, and its default settings."""
    asked = wrapper(steady, query)
    if format is not None:
        asked.setReturnFormat(format)
    asked.setMethod(method)
    asked.setRequestMethod(way)
    found = asked.query()
    media = found.info()["content-type"].partition(";")[0]
    text = found.response.read().decode()
    graph = Graph().parse(
        data=text, format={"application/ld+json": "json-ld", "application/json": "json-ld"}.get(media, media)
    )
    assert (URIRef(EX + "a"), RDF.type, URIRef(EX + "Person")) in graph
    if format in (None, "xml", "rdf", "rdf+xml"):
        assert media == "application/rdf+xml"
    if format is None:
        assert isinstance(wrapper(steady, query).queryAndConvert(), Graph)


@pytest.mark.parametrize("way", ["urlencoded", "postdirectly"])
def test_update(client: httpx.Client, way: str) -> None:
    told = wrapper(client, f"INSERT DATA {{ <{EX}b> a <{EX}Student> }}")
    told.setMethod("POST")
    told.setRequestMethod(way)
    told.query()
    found = wrapper(client, PEOPLE, returnFormat=SPARQLWrapper.JSON).queryAndConvert()
    assert [row["x"]["value"] for row in found["results"]["bindings"]] == [EX + "a", EX + "b"]


def test_errors(client: httpx.Client) -> None:
    from SPARQLWrapper.SPARQLExceptions import QueryBadFormed

    with pytest.raises(QueryBadFormed, match="line 1, column"):
        wrapper(client, "SELECT * {").query()


def test_credentials(template: Path, tmp_path: Path) -> None:
    from SPARQLWrapper.SPARQLExceptions import Unauthorized

    access = Access(users=(("ann", "secret"),), protect_reads=True, hosts=OPEN.hosts)
    with serving(Path(shutil.copytree(template, tmp_path / "guarded")), access=access) as client:
        with pytest.raises(Unauthorized):
            wrapper(client, PEOPLE).query()
        asked = wrapper(client, PEOPLE, returnFormat=SPARQLWrapper.JSON)
        asked.setCredentials("ann", "secret")
        assert len(asked.queryAndConvert()["results"]["bindings"]) == 1
