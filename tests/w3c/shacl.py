"""The W3C test suite of SHACL: validations by manifests, in $TRIPLAKE_SUITES/w3c-shacl/tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import rdflib
from rdflib.namespace import RDF, SH

from tests.w3c.manifest import SUITES
from triplake.loaders import quads_of, sources
from triplestore.model.terms import to_rdflib

CORE = SUITES / "w3c-shacl" / "tests" / "core"

_MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
_SHT = rdflib.Namespace("http://www.w3.org/ns/shacl-test#")

_COMPARED = (
    *(RDF.type, SH.conforms, SH.result, SH.focusNode, SH.resultPath, SH.value, SH.resultSeverity),
    *(SH.sourceConstraintComponent, SH.sourceShape),
)
"""What the suite compares of reports; messages are free."""


@dataclass(frozen=True)
class Case:
    """One test: data, shapes, and the report; None: the shapes are no shapes graph."""

    name: str
    data: Path
    shapes: Path
    report: rdflib.Graph | None

    def __str__(self) -> str:
        return self.name


def cases(of: Path = CORE) -> list[Case]:
    """The tests of a manifest and of those that it includes; none where the suite is missing."""
    manifest = of / "manifest.ttl"
    return list(_cases(manifest)) if manifest.exists() else []


def _cases(manifest: Path) -> Iterator[Case]:
    graph = rdflib.Graph()
    for s, p, o in quads_of(sources([manifest])[0], None):
        graph.add((to_rdflib(s), to_rdflib(p), to_rdflib(o)))  # RDFLib's parser rewrites literals
    for included in sorted(graph.objects(None, _MF.include)):
        yield from _cases(_path(included))
    for entry in sorted(graph.subjects(RDF.type, _SHT.Validate)):
        action, result = graph.value(entry, _MF.action), graph.value(entry, _MF.result)
        data, shapes = graph.value(action, _SHT.dataGraph), graph.value(action, _SHT.shapesGraph)
        expected = None if result == _SHT.Failure else compared(graph, result)
        yield Case(f"{manifest.parent.name}/{str(entry).rpartition('/')[2]}", _path(data), _path(shapes), expected)


def _path(iri: rdflib.term.Node | None) -> Path:
    return Path(str(iri).removeprefix("file://"))


def compared(graph: rdflib.Graph, report: rdflib.term.Node | None) -> rdflib.Graph:
    """What counts of a report: its results without messages, with the paths that are blank nodes."""
    found = rdflib.Graph()
    left = [report]
    for node in left:
        for s, p, o in graph.triples((node, None, None)):
            if p in _COMPARED:
                found.add((s, p, o))
                if p == SH.result:
                    left.append(o)
                if p == SH.resultPath and isinstance(o, rdflib.BNode):
                    _add_all(graph, o, found)
    return found


def _add_all(graph: rdflib.Graph, node: rdflib.term.Node, found: rdflib.Graph) -> None:
    for triple in graph.triples((node, None, None)):
        found.add(triple)
        if isinstance(triple[2], rdflib.BNode):
            _add_all(graph, triple[2], found)
