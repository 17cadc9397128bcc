"""The W3C SPARQL 1.0 and 1.1 suites by their manifests, and reading their expected results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyoxigraph
import rdflib
from rdflib.collection import Collection
from rdflib.namespace import RDF, RDFS

from tests.support.sparql import canonical, ox_token
from tests.w3c.manifest import SUITES

SPARQL = SUITES / "w3c-rdf-tests" / "sparql"
_MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
_QT = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
_UT = rdflib.Namespace("http://www.w3.org/2009/sparql/tests/test-update#")
_RS = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")

_ELSEWHERE = ("protocol", "graph-store-protocol", "service-description", "http-rdf-update", "entailment")
"""Suites that other modules read."""

Row = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Case:
    """One test: `query` is the query or update, `data` the default graph, `named` the other graphs by their names;
    `result` and `result_named` what an update makes of them; `services` the data of endpoints by their addresses."""

    suite: str
    name: str
    kind: str
    query: Path
    data: tuple[Path, ...]
    result: Path | None
    named: tuple[tuple[str, Path], ...] = ()
    result_named: tuple[tuple[str, Path], ...] = ()
    services: tuple[tuple[str, Path], ...] = ()


@cache
def cases(version: str) -> tuple[Case, ...]:
    """The tests of sparql10 or sparql11, those of protocols and of entailment regimes left out."""
    found: list[Case] = []
    for manifest in sorted((SPARQL / version).glob("*/manifest.ttl")):
        if manifest.parent.name not in _ELSEWHERE:
            found += _cases(manifest)
    return tuple(found)


def _cases(manifest: Path) -> Iterator[Case]:
    graph = rdflib.Graph().parse(manifest, publicID=manifest.as_uri())
    root = next(graph.subjects(_MF.entries), None)
    if root is None:  # it only includes others
        return

    def path(node: object) -> Path | None:
        return Path(str(node).removeprefix("file://").split("#")[0]) if isinstance(node, rdflib.URIRef) else None

    def named(node: object, space: rdflib.Namespace) -> tuple[tuple[str, Path], ...]:
        found = []
        for data in graph.objects(node, space.graphData):  # type: ignore[arg-type]
            file = path(graph.value(data, _UT.graph) or data)
            assert file is not None
            found.append((str(graph.value(data, RDFS.label) or data), file))
        return tuple(sorted(found))

    def services(action: object) -> tuple[tuple[str, Path], ...]:
        found = []
        for data in graph.objects(action, _QT.serviceData):  # type: ignore[arg-type]
            file = path(graph.value(data, _QT.data))
            assert file is not None
            found.append((str(graph.value(data, _QT.endpoint)), file))
        return tuple(sorted(found))

    for entry in Collection(graph, graph.value(root, _MF.entries)):
        action, result = graph.value(entry, _MF.action), graph.value(entry, _MF.result)
        space = _UT if graph.value(action, _UT.request) else _QT
        query = path(graph.value(action, _QT.query) or graph.value(action, _UT.request) or action)
        expected = graph.value(result, _UT.data) if space is _UT else result
        assert query is not None
        yield Case(
            manifest.parent.name,
            str(entry).split("#")[-1],
            str(graph.value(entry, RDF.type)).split("#")[-1],
            query,
            tuple(found for node in graph.objects(action, space.data) if (found := path(node)) is not None),
            path(expected),
            named(action, space),
            named(result, space),
            services(action),
        )


def rows_of(variables: Sequence[str], rows: Iterator[tuple[str | None, ...]]) -> list[dict[str, str]]:
    """Rows of tokens as bindings."""
    return [{v: t for v, t in zip(variables, row, strict=True) if t is not None} for row in rows]


def expected_rows(path: Path) -> list[dict[str, str]] | bool:
    """The expected answer of a SELECT or ASK."""
    if path.suffix in (".ttl", ".rdf"):
        rdflib.NORMALIZE_LITERALS = False  # "01" is not "1" here
        try:
            return _result_graph(rdflib.Graph().parse(path))
        finally:
            rdflib.NORMALIZE_LITERALS = True
    formats = {".srx": pyoxigraph.QueryResultsFormat.XML, ".srj": pyoxigraph.QueryResultsFormat.JSON}
    found = pyoxigraph.parse_query_results(
        path.read_bytes(), formats.get(path.suffix, pyoxigraph.QueryResultsFormat.TSV)
    )
    if isinstance(found, pyoxigraph.QueryBoolean):
        return bool(found)
    names = [variable.value for variable in found.variables]
    return rows_of(names, (tuple(ox_token(row[name]) for name in names) for row in found))


def _result_graph(graph: rdflib.Graph) -> list[dict[str, str]] | bool:
    from triplestore.model.terms import from_rdflib

    """In the vocabulary of SPARQL 1.0's results."""
    truth = next(graph.objects(None, _RS.boolean), None)
    if truth is not None:
        return bool(truth)
    found = []
    for solution in graph.objects(None, _RS.solution):
        found.append(
            {
                str(graph.value(binding, _RS.variable)): from_rdflib(graph.value(binding, _RS.value))
                for binding in graph.objects(solution, _RS.binding)
            }
        )
    return found


def as_graph(rows: Sequence[dict[str, str]]) -> pyoxigraph.Dataset:
    """Rows as a graph, blank nodes named by its shape: equal for bags that differ in blank nodes' labels only."""
    quads = []
    for number, row in enumerate(rows):
        solution = pyoxigraph.BlankNode(f"row{number}")
        quads.append(pyoxigraph.Quad(solution, pyoxigraph.NamedNode("x:a"), pyoxigraph.NamedNode("x:row")))
        for name, token in row.items():
            value: object = canonical(token)
            term: pyoxigraph.BlankNode | pyoxigraph.Literal = pyoxigraph.Literal(repr(value))
            if token.startswith("_:"):
                term = pyoxigraph.BlankNode(f"b{token[2:].encode().hex()}")
            quads.append(pyoxigraph.Quad(solution, pyoxigraph.NamedNode(f"x:v{name}"), term))
    return shaped(quads)


def shaped(quads: Sequence[pyoxigraph.Quad]) -> pyoxigraph.Dataset:
    """A graph with blank nodes named by its shape."""
    dataset = pyoxigraph.Dataset(quads)
    dataset.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def triples_of(path: Path | None) -> list[tuple[str, str, str]]:
    """The triples of a file, as tokens."""
    if path is None:
        return []
    formats = {".rdf": pyoxigraph.RdfFormat.RDF_XML, ".nt": pyoxigraph.RdfFormat.N_TRIPLES}
    quads = pyoxigraph.parse(
        path.read_bytes(), formats.get(path.suffix, pyoxigraph.RdfFormat.TURTLE), base_iri=path.as_uri()
    )
    return [tuple(str(ox_token(t)) for t in (q.subject, q.predicate, q.object)) for q in quads]  # type: ignore[misc]


def dataset_of(data: Sequence[Path], named: Sequence[tuple[str, Path]]) -> list[tuple[str, ...]]:
    """The quads of files, as tokens, those of the default graph as triples. Blank nodes are each file's own."""
    found: list[tuple[str, ...]] = []
    labels: dict[Path, str] = {}
    for graph, path in [("", path) for path in data] + [(f"<{name}>", path) for name, path in named]:
        scope = labels.setdefault(path, f"_:f{len(labels)}")
        for triple in triples_of(path):
            found.append((*(f"{scope}{t[2:]}" if t[0] == "_" else t for t in triple), *([graph] if graph else [])))
    return found
