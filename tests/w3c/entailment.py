"""The W3C suites of entailment as one kind of case: a premise, what it entails or does not, whether it is consistent.

Where they lie: `owl2-rl` and `owl2-w3c` (OWL 2, RDF/XML or functional syntax), `rdf11/rdf-mt` (RDF and RDFS) and
`rdf12/rdf-semantics` (RDF 1.2), see `tests.w3c.manifest`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import rdflib
from rdflib import OWL, RDF, RDFS, XSD
from rdflib.collection import Collection

from tests.w3c.manifest import RDF11, RDF12, SUITES
from triplake.loaders import quads_of, sources
from triplestore.model.terms import to_ntriples, to_rdflib

Triple = tuple[rdflib.term.Node, rdflib.term.Node, rdflib.term.Node]
Tokens = tuple[str, str, str]

IMPORTED = SUITES / "owl2-rl" / "imports" / "support011-A.rdf"


@dataclass(frozen=True)
class Case:
    """One case. conclusion: a graph that is entailed (`entailed` True) or is not (False). consistent: whether the
    premise is; None where the suite does not say. rules: the rulesets of the case's entailment regime."""

    suite: str
    name: str
    premise: Path
    conclusion: Path | None
    entailed: bool
    consistent: bool | None
    rules: tuple[str, ...] = ("owl2rl",)

    def __str__(self) -> str:
        return f"{self.suite}-{self.name}"

    @property
    def premises(self) -> list[Tokens]:
        """The triples of the premise and of what it imports."""
        found = read(self.premise)
        imports = any(p == f"<{OWL.imports}>" for _, p, _ in found)
        return found + (read(IMPORTED, 2) if imports and IMPORTED.exists() else [])

    @property
    def conclusions(self) -> list[Triple]:
        """The triples of the conclusion."""
        assert self.conclusion is not None
        return [(to_rdflib(s), to_rdflib(p), to_rdflib(o)) for s, p, o in read(self.conclusion, 9)]


@cache
def read(path: Path, number: int = 1) -> list[Tokens]:
    """The triples of a file as tokens; blank nodes are named by `number`."""
    if path.suffix != ".ofn":
        (source,) = sources([path])
        return list(quads_of(source, number))
    return _functional(path, number)


def _functional(path: Path, number: int) -> list[Tokens]:
    import tempfile

    import pyhornedowl

    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "ontology.rdf"
        ontology = pyhornedowl.open_ontology(path.read_text(encoding="utf-8"), serialization="ofn")
        written.write_text(ontology.save_to_string("owl"), encoding="utf-8")
        return read(written, number)


def owl2_rl() -> list[Case]:
    """The 27 positive and 23 negative cases of owl2-rl."""
    found = []
    for folder in sorted((SUITES / "owl2-rl" / "cases").glob("*")):
        (conclusion,) = folder.glob("*conclusion.rdf")
        found.append(
            Case("rl", folder.name, folder / "premise.rdf", conclusion, not conclusion.name.startswith("non"), True)
        )
    return found


def owl2_w3c() -> list[Case]:
    """The 93 cases of profile RL of owl2-w3c."""
    index = SUITES / "owl2-w3c" / "index.tsv"
    if not index.exists():
        return []
    found = []
    with index.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            folder, files = SUITES / "owl2-w3c" / "cases" / row["id"], row["files"].split(";")

            def one(*stems: str, files: list[str] = files, folder: Path = folder) -> Path | None:
                names = [f"{stem}.{suffix}" for stem in stems for suffix in ("rdf", "ofn")]
                return next((folder / name for name in names if name in files), None)

            premise = one("premise", "input")
            assert premise is not None
            kinds = row["types"].split(";")
            consistent = {"ConsistencyTest": True, "InconsistencyTest": False}
            told = [consistent[kind] for kind in kinds if kind in consistent]
            found.append(
                Case(
                    "w3c",
                    row["id"],
                    premise,
                    one("conclusion", "nonconclusion"),
                    "PositiveEntailmentTest" in kinds,
                    told[0] if told else None,
                )
            )
    return found


_MF = rdflib.Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
REGIMES = {"simple": ("none",), "RDF": ("rdfs", "rdfs-axiomatic"), "RDFS": ("rdfs", "rdfs-axiomatic")}
"""Entailment regime -> rulesets. RDFS stands for RDF too: a stronger regime, in which each case of RDF has the same
answer."""


def rdf_mt() -> list[Case]:
    """The cases of RDF and RDFS entailment."""
    return _semantics(RDF11 / "rdf-mt" / "manifest.ttl", "mt")


def rdf12_semantics() -> list[Case]:
    """The cases of RDF 1.2: triple terms, and values of rdf:JSON."""
    return _semantics(RDF12 / "rdf-semantics" / "manifest.ttl", "rdf12")


def _semantics(manifest: Path, suite: str) -> list[Case]:
    if not manifest.exists():
        return []
    graph = rdflib.Graph().parse(manifest, publicID=manifest.as_uri())
    base = manifest.parent.as_uri() + "/"
    found = []
    for entry in Collection(graph, next(graph.objects(None, _MF.entries))):
        action, result = graph.value(entry, _MF.action), graph.value(entry, _MF.result)
        recognised = list(Collection(graph, graph.value(entry, _MF.recognizedDatatypes)))
        positive = str(graph.value(entry, RDF.type)).endswith("PositiveEntailmentTest")
        contradiction = result == rdflib.Literal(False)
        conclusion = None if contradiction else manifest.parent / str(result).removeprefix(base)
        found.append(
            Case(
                suite,
                str(entry).split("#")[-1],
                manifest.parent / str(action).removeprefix(base),
                conclusion,
                positive,
                not positive if contradiction else None,
                REGIMES[str(graph.value(entry, _MF.entailmentRegime))] + (("datatypes",) if recognised else ()),
            )
        )
    return found


def ntriples(triples: Iterable[Tokens]) -> str:
    """Triples as the text of an N-Triples file."""
    return "".join(f"{' '.join(map(to_ntriples, triple))} .\n" for triple in triples)


def apart(case: Case) -> list[Tokens]:
    """The premise with its IRIs in a namespace of the case's own, so that cases can be put together, and IRIs for its
    blank nodes, so that closures can be compared as sets."""
    known = (str(RDF), str(RDFS), str(OWL), str(XSD))

    def moved(token: str) -> str:
        if token[0] == '"' or token[1:].startswith(known):
            return token
        return f"<http://case.example/{case}/{re.sub('[^A-Za-z0-9%]', '/', token)}>"

    return [(moved(s), moved(p), moved(o)) for s, p, o in case.premises]
