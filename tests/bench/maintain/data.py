"""Data of the kinds in Table 1 of Motik, Nenov, Piro and Horrocks (2015), and SSPE of Hu, Motik and Horrocks (2018):
generated, and of a size that a laptop materialises in about a second."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from datasets.links.generate import EX as LINKS
from datasets.links.generate import links
from datasets.links.generate import triples as link_triples
from datasets.output import write
from datasets.taxonomy.generate import taxonomy
from datasets.taxonomy.generate import triples as taxonomy_triples
from datasets.university.dice import Dice
from datasets.university.generate import UB, generate
from tests import ROOT

UNIVERSITY = ROOT / "datasets/university"
EX = "http://example.org/maintain/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


Make = Callable[[Path, int], None]
"""Writes the files of a data set into a folder, by a seed."""


@dataclass(frozen=True)
class DataSet:
    """Data and axioms, in files of a folder: deletions are drawn from `data`, an N-Triples file."""

    name: str
    like: str  # which of the papers' data sets it stands for
    about: str
    make: Make  # of a folder and a seed: writes data.nt, and axioms.ttl or rules.dlog beside it
    rules: tuple[str, ...] = ("owl2rl",)
    equality: str | None = None  # the mode; None: that of the ruleset
    counted: bool = False  # measured in a store with derivation counts, too

    def data(self, folder: Path) -> Path:
        return folder / "data.nt"

    def files(self, folder: Path) -> list[Path]:
        return sorted(f for f in folder.iterdir() if f.suffix in (".nt", ".ttl"))

    def rulesets(self, folder: Path) -> list[str]:
        return [*self.rules, *map(str, sorted(folder.glob("*.dlog")))]


PREFIXES = """@prefix : <http://example.org/maintain/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> .
"""


def _axioms(folder: Path, text: str) -> None:
    (folder / "axioms.ttl").write_text(PREFIXES + text, encoding="utf-8")


def universities(count: int, aliases: float, upper: bool = False) -> Make:
    """`count` universities with axioms that merge people. upper: and, as an upper bound has it (Zhou et al. 2013), with
    one constant for what only exists: all graduate students have it for their one advisor, so all advisors are one."""

    def someone(pieces: Iterable[str]) -> Iterator[str]:
        kind = f" {TYPE} <{UB}GraduateStudent> ."
        for text in pieces:
            students = (line.removesuffix(kind) for line in text.splitlines() if line.endswith(kind))
            yield text + "".join(f"{student} <{UB}advisor> <{EX}someone> .\n" for student in students)

    def make(folder: Path, seed: int) -> None:
        pieces = generate(count, seed, 0, aliases)
        write(someone(pieces) if upper else pieces, str(folder / "data.nt"))
        for name in ("ontology.ttl", "merging.ttl"):
            shutil.copy(UNIVERSITY / name, folder / name)
        if upper:
            _axioms(folder, "ub:advisor a owl:FunctionalProperty .\n")

    return make


def linked(resources: int, links_: int, largest: int, facts: int) -> Make:
    """Resources with facts by properties of a hierarchy, and links between those that are the same."""

    def lines(seed: int) -> Iterator[str]:
        found, dice = links(links_, largest, seed=seed), Dice(seed, 10)
        yield from link_triples(found)
        size = max(resources, int(found.members.max()) + 1)
        subject, value = dice.below(size, facts), dice.below(size, facts)
        # Few properties have many facts, many have few.
        by = (len(PROPERTIES) * dice.uniform(facts) ** 2).astype(np.int64)
        for s, p, o in zip(subject.tolist(), by.tolist(), value.tolist(), strict=True):
            yield f"<{LINKS}e{s}> <{EX}{PROPERTIES[p]}> <{LINKS}e{o}> .\n"
        kind = dice.below(CLASSES, size)
        for number, of in enumerate(kind.tolist()):
            yield f"<{LINKS}e{number}> {TYPE} <{EX}C{of}> .\n"

    def make(folder: Path, seed: int) -> None:
        write(lines(seed), str(folder / "data.nt"))
        below = [f":{p} rdfs:subPropertyOf :{PROPERTIES[i // 3]} ." for i, p in enumerate(PROPERTIES) if i]
        ends = [
            f":{p} rdfs:domain :C{i % CLASSES} ; rdfs:range :C{7 * i % CLASSES} ." for i, p in enumerate(PROPERTIES)
        ]
        classes = [f":C{i} rdfs:subClassOf :C{i // 4} ." for i in range(1, CLASSES)]
        _axioms(folder, "\n".join([*below, *ends, *classes]))

    return make


PROPERTIES = [f"p{i}" for i in range(40)]
CLASSES = 200


def records(works: int, catalogues: int) -> Make:
    """Catalogues that describe the same works: a record is known by its title and year, its author by a work."""

    def lines(seed: int) -> Iterator[str]:
        dice = Dice(seed, 11)
        author = dice.below(works // 4, works)
        year = dice.between(1900, 1999, works)
        place = dice.below(works // 50, works)
        for catalogue in range(catalogues):
            there = dice.uniform(works) < 0.7
            for number in np.flatnonzero(there).tolist():
                record, writer = f"<{EX}r{catalogue}_{number}>", f"<{EX}a{catalogue}_{author[number]}>"
                yield (
                    f'{record} <{EX}title> "Work {number}" .\n'
                    f'{record} <{EX}year> "{year[number]}"^^{INTEGER} .\n'
                    f"{record} <{EX}author> {writer} .\n"
                    f"{record} {TYPE} <{EX}Work> .\n"
                    f"{record} <{EX}keptIn> <{EX}m{place[number]}> .\n"
                )

    def make(folder: Path, seed: int) -> None:
        write(lines(seed), str(folder / "data.nt"))
        _axioms(
            folder,
            """:Work owl:hasKey ( :title :year ) ; rdfs:subClassOf :Thing .
:author a owl:FunctionalProperty ; owl:inverseOf :wrote ; rdfs:range :Person ; rdfs:subPropertyOf :maker .
:Person rdfs:subClassOf :Agent .
:keptIn rdfs:range :Museum ; rdfs:domain :Kept .
""",
        )

    return make


def cliques(groups: int, largest: int) -> Make:
    """Documents that are related to each other: groups of 2 to `largest`, each held together by a few links more than a
    tree's; closed, a group of m has m * m facts."""

    def lines(seed: int) -> Iterator[str]:
        dice = Dice(seed, 12)
        for group, size in enumerate(dice.between(2, largest, groups).tolist()):
            for member in range(size):
                yield f"<{EX}g{group}_{member}> {TYPE} <{EX}Document> .\n"
                for other in dice.below(member, 2).tolist() if member else []:
                    yield f"<{EX}g{group}_{member}> <{EX}related> <{EX}g{group}_{other}> .\n"

    def make(folder: Path, seed: int) -> None:
        write(lines(seed), str(folder / "data.nt"))
        _axioms(folder, ":related a owl:SymmetricProperty , owl:TransitiveProperty ; rdfs:subPropertyOf :near .\n")

    return make


def rule_heavy(classes: int, instances: int) -> Make:
    """A taxonomy: nearly every class is a few rules, and few of them have much to do."""

    def make(folder: Path, seed: int) -> None:
        data = taxonomy(classes, 10, 0.1, classes // 10, instances, seed)
        parts: dict[bool, list[str]] = {True: [], False: []}
        for text in taxonomy_triples(data):
            parts[f"/i{len(parts[True])}> {TYPE}" in text].append(text)
        write(parts[True], str(folder / "data.nt"))
        write(parts[False], str(folder / "schema.nt"))

    return make


def paths(nodes: int, edges: int, layers: int) -> Make:
    """Single-source path enumeration: the lengths of all paths from one node of a graph without cycles."""

    def lines(seed: int) -> Iterator[str]:
        dice = Dice(seed, 13)
        width = nodes // layers
        layer, ahead = dice.below(layers - 1, edges), dice.between(1, 2, edges)
        one, other = dice.below(width, edges), dice.below(width, edges)
        yield f'<{EX}n0_0> <{EX}length> "0"^^{INTEGER} .\n'
        edge = {
            f"<{EX}n{a}_{x}> <{EX}edge> <{EX}n{min(a + d, layers - 1)}_{y}> .\n"
            for a, d, x, y in zip(layer.tolist(), ahead.tolist(), one.tolist(), other.tolist(), strict=True)
        }
        yield from chain(sorted(edge), (f"<{EX}n0_0> <{EX}edge> <{EX}n1_{i}> .\n" for i in range(width)))

    def make(folder: Path, seed: int) -> None:
        write(lines(seed), str(folder / "data.nt"))
        (folder / "lengths.dlog").write_text(
            f"PREFIX : <{EX}>\n@rule step\n"
            "[?y, :length, ?m] :- [?x, :length, ?n], [?x, :edge, ?y], BIND(?n + 1 AS ?m) .\n",
            encoding="utf-8",
        )

    return make


def citations(papers: int) -> Make:
    """Papers that cite earlier ones, data sets that derive from others in chains, and copies of papers in archives that
    are the same paper. Few papers are cited often."""

    def lines(seed: int) -> Iterator[str]:
        dice = Dice(seed, 14)
        number = np.arange(1, papers, dtype=np.int64)
        for _ in range(4):
            cited = (number * dice.uniform(papers - 1) ** 2).astype(np.int64)
            for paper, other in zip(number.tolist(), cited.tolist(), strict=True):
                yield f"<{EX}paper{paper}> <{EX}cites> <{EX}paper{other}> .\n"
        chain_, step = dice.below(papers // 8, papers), dice.below(12, papers)
        for paper, line, at in zip(range(papers), chain_.tolist(), step.tolist(), strict=True):
            yield f"<{EX}paper{paper}> <{EX}uses> <{EX}d{line}_{at}> .\n"
            yield f"<{EX}d{line}_{at + 1}> <{EX}derivedFrom> <{EX}d{line}_{at}> .\n"
        for paper, author in zip(range(papers), dice.below(papers // 3, papers).tolist(), strict=True):
            yield f"<{EX}paper{paper}> <{EX}author> <{EX}person{author}> .\n"
        copied = np.flatnonzero(dice.uniform(papers) < 0.15).tolist()
        for copy, paper in enumerate(copied):
            yield f"<{EX}copy{copy}> {SAME_AS} <{EX}paper{paper}> .\n"
            yield f"<{EX}copy{copy}> <{EX}heldBy> <{EX}archive{copy % 20}> .\n"

    def make(folder: Path, seed: int) -> None:
        write(lines(seed), str(folder / "data.nt"))
        _axioms(
            folder,
            """:derivedFrom a owl:TransitiveProperty ; rdfs:subPropertyOf :influencedBy ; rdfs:domain :Entity .
:cites rdfs:subPropertyOf :influencedBy ; rdfs:domain :Paper ; rdfs:range :Paper ; owl:inverseOf :citedBy .
:uses rdfs:range :DataSet ; rdfs:domain :Paper . :Paper rdfs:subClassOf :Entity . :DataSet rdfs:subClassOf :Entity .
:author rdfs:range :Person ; rdfs:subPropertyOf :attributedTo .
:restsOn owl:propertyChainAxiom ( :uses :derivedFrom ) .
:heldBy rdfs:range :Archive ; rdfs:domain :Entity . :Person rdfs:subClassOf :Agent . :Archive rdfs:subClassOf :Agent .
""",
        )

    return make


def catalogue(products: int) -> Make:
    """Products of three dealers, known by maker and number; parts within parts; makers within groups of companies."""

    def lines(seed: int) -> Iterator[str]:
        dice = Dice(seed, 15)
        makers = max(products // 40, 10)
        above = (np.arange(1, makers, dtype=np.int64) * dice.uniform(makers - 1)).astype(np.int64)
        for maker, parent in enumerate(above.tolist(), 1):
            yield f"<{EX}org{maker}> <{EX}unitOf> <{EX}org{parent}> .\n"
        maker, category = dice.below(makers, products), dice.below(60, products)
        part = dice.between(1, 30, products)
        for dealer in range(3):
            offered = dice.uniform(products) < 0.6
            for number in np.flatnonzero(offered).tolist():
                product = f"<{EX}p{dealer}_{number}>"
                yield (
                    f'{product} <{EX}number> "{number}" .\n'
                    f"{product} <{EX}maker> <{EX}org{maker[number]}> .\n"
                    f"{product} {TYPE} <{EX}Category{category[number]}> .\n"
                    f"<{EX}dealer{dealer}> <{EX}offers> {product} .\n"
                )
                if number >= part[number] and number % 4:
                    yield f"{product} <{EX}partOf> <{EX}p{dealer}_{number - part[number]}> .\n"

    def make(folder: Path, seed: int) -> None:
        write(lines(seed), str(folder / "data.nt"))
        below = [":Category0 rdfs:subClassOf :Product ."]
        below += [f":Category{i} rdfs:subClassOf :Category{i // 3} ." for i in range(1, 60)]
        _axioms(
            folder,
            """:Product owl:hasKey ( :number :maker ) .
:unitOf a owl:TransitiveProperty ; rdfs:domain :Organisation ; rdfs:range :Organisation .
:maker owl:inverseOf :makes ; rdfs:range :Organisation .
:suppliedBy owl:propertyChainAxiom ( :maker :unitOf ) . :maker rdfs:subPropertyOf :suppliedBy .
:partOf rdfs:range :Assembly ; owl:inverseOf :contains . :Assembly rdfs:subClassOf :Product .
:needs owl:propertyChainAxiom ( :contains :maker ) .
"""
            + "\n".join(below),
        )

    return make


_OFF: Final[dict[str, Any]] = {"equality": "off", "counted": True}
_AXIOMS: Final[dict[str, Any]] = {"equality": "axioms", "counted": True}

DATA_SETS = (
    DataSet("university-L", "UOBM-L", "two universities, people merged by mail and office", universities(2, 0.2)),
    DataSet("university-U", "UOBM-U", "one university, all advisors merged into one", universities(1, 0.1, upper=True)),
    DataSet("links", "DBpedia", "equalities between described resources", linked(30_000, 12_000, 40, 120_000)),
    DataSet("records", "Claros-L, OpenCyc", "records of four catalogues, merged by keys", records(20_000, 4)),
    DataSet("cliques", "Claros-LE", "a symmetric and transitive property", cliques(150, 50), **_OFF),
    DataSet("taxonomy", "OpenCyc", "five hundred classes", rule_heavy(500, 20_000), **_OFF),
    DataSet("paths", "SSPE", "lengths of paths, by arithmetic", paths(10_000, 60_000, 12), ("none",)),
    DataSet("university-off", "LUBM", "one university, nothing merged", universities(1, 0.1), **_OFF),
    DataSet("university-axioms", "UOBM-L", "one university, equality as axioms", universities(1, 0.05), **_AXIOMS),
    DataSet("links-axioms", "DBpedia", "a tenth, equality as axioms", linked(3_000, 1_200, 10, 12_000), **_AXIOMS),
    DataSet("records-axioms", "Claros-L", "a tenth, equality as axioms", records(2_000, 4), **_AXIOMS),
)
"""The bench, in the order of its table."""

FRESH: Final = (
    DataSet("citations-small", "provenance", "2,000 papers", citations(2_000)),
    DataSet("citations", "provenance", "12,000 papers that derive from others, and copies of them", citations(12_000)),
    DataSet("citations-off", "provenance", "8,000 papers, no copy merged", citations(8_000), **_OFF),
    DataSet("catalogue-small", "master data", "1,500 products", catalogue(1_500)),
    DataSet("catalogue", "master data", "15,000 products of three dealers, merged by keys", catalogue(15_000)),
    DataSet("catalogue-axioms", "master data", "2,000 products, equality as axioms", catalogue(2_000), **_AXIOMS),
)
"""Data sets that nobody looked at while the policy was written: no constant is to be tuned on them."""
