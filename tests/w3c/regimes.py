"""The W3C suite of SPARQL 1.1 entailment regimes (`sparql11/entailment`): queries over what a premise entails.

A case names one or several regimes, under all of which its answer is right. It is run under each of those that a
ruleset stands for. `docs/rules.md` says which rulesets those are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import rdflib
from rdflib.collection import Collection

from tests.w3c.sparql import SPARQL

FOLDER = SPARQL / "sparql11" / "entailment"
MISSING = f"the W3C suite of SPARQL 1.1 entailment regimes is not in {FOLDER}"

_MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
_QT = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
_SD = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
_ENT = "http://www.w3.org/ns/entailment/"

RULESETS = {
    "RDF": ("rdf", "rdf-axiomatic"),
    "RDFS": ("rdfs", "rdfs-axiomatic"),
    "D": ("rdfs", "rdfs-axiomatic", "datatypes"),
    "OWL-RDF-Based": ("owl2rl",),
}
"""Regime -> the rulesets that stand for it."""

_DIRECT = (
    "OWL 2 Direct Semantics alone: a blank node in the query is a class expression, which a query of Triplake looks up "
    "as a node of the data (`triplake entails` reads such expressions)"
)
_RIF = "RIF: Triplake reads no RIF documents"
_PARTICULAR = {
    "sparqldl-10": "`?a owl:sameAs ?b` of two variables lists classes of two or more terms only (docs/rules.md)",
    "sparqldl-11": "outside OWL 2 RL: no rule derives the range of an inverse property (`triplake entails` does)",
    "sparqldl-12": "expects the Direct Semantics' answer; by the RDF-Based Semantics the restriction, a blank node of "
    "the data, is a domain too",
}


@dataclass(frozen=True)
class Case:
    """One case. regimes: their local names."""

    name: str
    query: Path
    data: tuple[Path, ...]
    result: Path
    regimes: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def excluded(self) -> str:
        """Why the case is not run; empty if it is."""
        if self.name in _PARTICULAR:
            return _PARTICULAR[self.name]
        if RULESETS.keys() & {*self.regimes}:
            return ""
        return _RIF if self.regimes == ("RIF",) else _DIRECT


@cache
def cases() -> tuple[Case, ...]:
    """The cases in the manifest's order; none where the suite is missing."""
    manifest = FOLDER / "manifest.ttl"
    return tuple(_cases(manifest)) if manifest.exists() else ()


def _cases(manifest: Path) -> Iterator[Case]:
    graph = rdflib.Graph().parse(manifest, publicID=manifest.as_uri())

    def path(node: object) -> Path:
        return FOLDER / str(node).removeprefix(FOLDER.as_uri() + "/")

    for entry in Collection(graph, next(graph.objects(None, _MF.entries))):
        action = graph.value(entry, _MF.action)
        regime = graph.value(action, _SD.entailmentRegime)
        regimes = Collection(graph, regime) if isinstance(regime, rdflib.BNode) else [regime]
        yield Case(
            str(entry).split("#")[-1],
            path(graph.value(action, _QT.query)),
            tuple(sorted(map(path, graph.objects(action, _QT.data)))),
            path(graph.value(entry, _MF.result)),
            tuple(str(one).removeprefix(_ENT) for one in regimes),
        )
