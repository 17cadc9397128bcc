"""Every manifest of the suites of w3c/rdf-tests, and the tests that it lists, whether anything runs them or not."""

from __future__ import annotations

from functools import cache

import rdflib
from rdflib.collection import Collection

from tests.w3c.manifest import SUITES

ROOT = SUITES / "w3c-rdf-tests"
_MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")


@cache
def listed() -> dict[str, tuple[str, ...]]:
    """The names of the tests of each manifest that lists any, by its folder (`sparql/sparql11/bind`), with the name of
    the file behind it where that is another than manifest.ttl. Manifests that only include others are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(ROOT.rglob("manifest*.ttl")):
        graph = rdflib.Graph().parse(path, publicID=path.as_uri())
        names = [
            str(entry).split("#")[-1]
            for entries in graph.objects(None, _MF.entries)
            for entry in Collection(graph, entries)
        ]
        if names:
            folder = path.parent.relative_to(ROOT).as_posix()
            label = folder if path.name == "manifest.ttl" else f"{folder}/{path.stem}"
            found[label] = tuple(names)
    return found
