"""The W3C test suites by their manifests; they lie in $TRIPLAKE_SUITES, or in ../shared/suites beside the checkout."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import rdflib
from rdflib.collection import Collection
from rdflib.namespace import RDF

from tests import ROOT

SUITES = Path(os.environ.get("TRIPLAKE_SUITES", ROOT.parent / "shared" / "suites"))
RDF11 = SUITES / "w3c-rdf-tests" / "rdf" / "rdf11"
RDF12 = SUITES / "w3c-rdf-tests" / "rdf" / "rdf12"
MISSING = f"the W3C suites are not in {SUITES}: set TRIPLAKE_SUITES to the folder that holds w3c-rdf-tests"

_MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")


@dataclass(frozen=True)
class Case:
    """One test of a manifest: its kind is the local name of its class; `base` is the document's IRI."""

    suite: str
    name: str
    kind: str
    action: Path
    result: Path | None
    base: str


def cases(suite: str, of: Path = RDF11) -> list[Case]:
    """The tests of one folder of rdf11 (or rdf12), in the manifest's order; none where the suites are missing."""
    folder = of / suite
    manifest = folder / "manifest.ttl"
    if not manifest.exists():
        return []
    graph = rdflib.Graph().parse(manifest, publicID=manifest.as_uri())
    root = next(graph.subjects(_MF.entries))
    assumed = graph.value(root, _MF.assumedTestBase)
    base = str(assumed) if assumed else f"https://w3c.github.io/rdf-tests/rdf/{of.name}/{suite}/"
    found = []
    for entry in Collection(graph, graph.value(root, _MF.entries)):
        action, result = graph.value(entry, _MF.action), graph.value(entry, _MF.result)
        local = str(action).removeprefix(folder.as_uri() + "/")
        found.append(
            Case(
                suite,
                str(entry).split("#")[-1],
                str(graph.value(entry, RDF.type)).split("#")[-1],
                folder / local,
                folder / str(result).removeprefix(folder.as_uri() + "/") if result else None,
                base + local,
            )
        )
    return found
