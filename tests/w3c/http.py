"""The W3C suites of requests and responses (SPARQL 1.1 Protocol, Graph Store Protocol), by their manifests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import rdflib
from rdflib.collection import Collection
from rdflib.namespace import RDFS

from tests.w3c.sparql import SPARQL

_MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
_UT = rdflib.Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
_HT = rdflib.Namespace("http://www.w3.org/2011/http#")
_CNT = rdflib.Namespace("http://www.w3.org/2011/content#")
_CODES = {"OK": 200, "Created": 201, "NoContent": 204, "NotFound": 404}


@dataclass(frozen=True)
class Exchange:
    """A request, and what is expected of its response.

    statuses: codes, or classes of them as their first digit. boolean, format, body (and its media type): None where the
    test expects nothing of them.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    content: bytes | None
    statuses: tuple[int, ...]
    boolean: bool | None
    format: str | None
    body: str | None
    media: str | None

    def expects(self, status: int) -> bool:
        return status in self.statuses or status // 100 in self.statuses


@dataclass(frozen=True)
class Case:
    """One test: exchanges in order. graphs: what named graphs there have to be before, with a file of each."""

    name: str
    exchanges: tuple[Exchange, ...]
    graphs: tuple[tuple[str, Path], ...]


@cache
def cases(manifest: str) -> tuple[Case, ...]:
    """The tests of a manifest (its path in sparql11), in its order; none where the suites are missing."""
    path = Path(SPARQL / "sparql11" / manifest)
    if not path.exists():
        return ()
    graph = rdflib.Graph().parse(path, publicID=path.as_uri())
    entries = Collection(graph, graph.value(rdflib.URIRef(path.as_uri()), _MF.entries))
    return tuple(
        Case(
            str(entry).split("#")[-1],
            tuple(
                _exchange(graph, request)
                for request in Collection(graph, graph.value(graph.value(entry, _MF.action), _HT.requests))
            ),
            tuple(
                (str(graph.value(data, RDFS.label)), Path(str(graph.value(data, _UT.graph)).removeprefix("file://")))
                for data in graph.objects(entry, _UT.graphData)
            ),
        )
        for entry in entries
    )


def _exchange(graph: rdflib.Graph, request: Any) -> Exchange:
    response = graph.value(request, _HT.resp)
    body = graph.value(request, _HT.body)
    content = None
    if body is not None:
        content = str(graph.value(body, _CNT.chars)).encode(str(graph.value(body, _CNT.characterEncoding)))
    truth, format_ = graph.value(response, _MF.expectedBoolean), graph.value(response, _MF.expectedFormat)
    expected = graph.value(response, _HT.body)
    return Exchange(
        str(graph.value(request, _HT.methodName)),
        str(graph.value(request, _HT.absolutePath)),
        _headers(graph, request),
        content,
        tuple(_status(node) for node in graph.objects(response, _MF.expectedStatus)),
        None if truth is None else str(truth) == "true",
        None if format_ is None else str(format_),
        None if expected is None else str(graph.value(expected, _CNT.chars)),
        dict(_headers(graph, response)).get("content-type"),
    )


def _headers(graph: rdflib.Graph, message: Any) -> tuple[tuple[str, str], ...]:
    listed = graph.value(message, _HT.headers)
    fields = [] if listed is None else Collection(graph, listed)
    return tuple((str(graph.value(f, _HT.fieldName)), str(graph.value(f, _HT.fieldValue))) for f in fields)


def _status(node: Any) -> int:
    name = str(node).split("#")[-1]
    return int(name[10]) if name.startswith("StatusCode") else _CODES[name]
