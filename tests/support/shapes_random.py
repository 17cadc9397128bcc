"""Random data and shapes of SHACL Core, and what pySHACL finds: results as text that can be compared."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyshacl
import rdflib
from rdflib.namespace import SH

from triplestore.shapes.report import ValidationReport

PREFIXES = """@prefix : <http://e/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""

NODES = [f":n{number}" for number in range(6)]
PREDICATES = [":p", ":q", ":r"]
CLASSES = [":A", ":B", ":C"]
NUMBERS = [":k", ":m"]
"""Predicates whose values are numbers: others pySHACL orders by their datatypes, and SHACL does not compare."""

LITERALS = ["1", "2", "3", "2.5", '"a"', '"b"@en', '"c"@en', '"d"@de', '"x"^^xsd:integer']

Row = tuple[str, str, str, str, str]


def data(random: Random, equal: bool) -> str:
    """A graph in Turtle. equal: some terms are the same as others."""
    lines = [f"{n} {random.choice(PREDICATES)} {random.choice(NODES + LITERALS)} ." for n in NODES * 3]
    lines += [f"{random.choice(NODES)} {p} {random.choice(['1', '2', '2.5'])} ." for p in NUMBERS * 4]
    lines += [f"{n} a {random.choice(CLASSES)} ." for n in random.sample(NODES, 4)]
    lines += [":B rdfs:subClassOf :A ."] * random.randint(0, 1)
    if equal:
        lines.append(f"{random.choice(NODES)} owl:sameAs {random.choice(NODES)} .")
    return PREFIXES + "\n".join(lines)


def _path(random: Random, depth: int = 0) -> str:
    if depth > 1 or random.random() < 0.5:
        return random.choice(PREDICATES)
    inner = [_path(random, depth + 1) for _ in range(2)]
    return random.choice(
        [
            f"[ sh:inversePath {random.choice(PREDICATES)} ]",  # of sequences, pySHACL does not turn the order round
            f"( {inner[0]} {inner[1]} )",
            f"[ sh:alternativePath ( {inner[0]} {inner[1]} ) ]",
            f"[ sh:zeroOrMorePath {inner[0]} ]",
            f"[ sh:oneOrMorePath {inner[0]} ]",
            f"[ sh:zeroOrOnePath {inner[0]} ]",
        ]
    )


def _some(random: Random, terms: list[str]) -> str:
    """One of some terms, or two: a constraint each, with the parameters that may have several values."""
    return ", ".join(random.sample(terms, random.choice([1, 1, 2])))


def _on_values(random: Random, depth: int) -> str:
    """A constraint that node shapes have, too."""
    kinds = [
        f"sh:class {_some(random, CLASSES)}",
        f"sh:datatype {random.choice(['xsd:integer', 'xsd:string', 'xsd:date'])}",
        f"sh:nodeKind {random.choice(['sh:IRI', 'sh:Literal', 'sh:BlankNodeOrIRI'])}",
        f"sh:{random.choice(['min', 'max'])}{random.choice(['Exclusive', 'Inclusive'])} {random.randint(1, 3)}",
        f"sh:{random.choice(['min', 'max'])}Length {random.randint(0, 12)}",
        f"sh:pattern '{random.choice(['n[0-3]', '^.$', '[0-9]'])}'",
        "sh:languageIn ( 'en' )",
        f"sh:in ( {' '.join(random.sample(NODES + LITERALS, 3))} )",
        f"sh:hasValue {_some(random, NODES + LITERALS)}",
        f"sh:equals {_some(random, PREDICATES)}",
        f"sh:disjoint {_some(random, PREDICATES)}",
    ]
    if depth < 2:
        inner = [_anonymous(random, depth + 1) for _ in range(2)]
        kinds += [f"sh:not {_some(random, inner)}", f"sh:node [ {_on_values(random, depth + 1)} ]"]
        kinds += [f"sh:{name} ( {' '.join(inner)} )" for name in ("and", "or", "xone")]
        kinds += [f"sh:property {_property(random, depth + 1)}"] * 2
    return random.choice(kinds)


def _property(random: Random, depth: int) -> str:
    if random.random() < 0.1:
        return f"[ sh:path :k ; sh:{random.choice(['lessThan', 'lessThanOrEquals'])} :m ]"
    constraint = random.choice(
        [
            *(_on_values(random, depth) for _ in range(4)),
            f"sh:minCount {random.randint(0, 2)}",
            f"sh:maxCount {random.randint(0, 2)}",
            "sh:uniqueLang true",
            f"sh:qualifiedValueShape [ {_on_values(random, 2)} ] ; sh:qualified{random.choice(['Min', 'Max'])}Count 1",
        ]
    )
    return f"[ sh:path {_path(random)} ; {constraint} ]"


def _anonymous(random: Random, depth: int) -> str:
    return _property(random, depth) if random.random() < 0.3 else f"[ {_on_values(random, depth)} ]"


def shapes(random: Random) -> str:
    """A shapes graph in Turtle."""
    found = [":ShapeClass rdfs:subClassOf sh:NodeShape, rdfs:Class ."]
    for number in range(3):
        name, kind = f":s{number}", "sh:NodeShape"
        target = random.choice(
            [
                f"sh:targetClass {random.choice(CLASSES)}",
                f"sh:targetSubjectsOf {random.choice(PREDICATES)}",
                f"sh:targetObjectsOf {random.choice(PREDICATES)}",
                f"sh:targetNode {random.choice([*NODES, ':absent', '1'])}",
            ]
        )
        if random.random() < 0.2:  # the shape is a class, whose instances are targets too
            name, kind = CLASSES[number], random.choice(["sh:NodeShape, rdfs:Class", ":ShapeClass"])
        parts = [_on_values(random, 0), f"sh:property {_property(random, 0)}"]
        if random.random() < 0.2:
            parts.append(f"sh:closed true ; sh:ignoredProperties ( {' '.join(random.sample(PREDICATES, 2))} )")
        found.append(f"{name} a {kind} ; {target} ; {' ; '.join(random.sample(parts, len(parts)))} .")
    return PREFIXES + "\n".join(found)


def rows(report: ValidationReport) -> Counter[Row]:
    """Results without their shapes, which are blank nodes: focus, path, value, component, severity."""
    return of_graph(report.graph())


def by_pyshacl(closure: rdflib.Graph, text: str) -> Counter[Row]:
    """The results that pySHACL has."""
    given = rdflib.Graph().parse(data=text, format="turtle")
    _, report, _ = pyshacl.validate(closure, shacl_graph=given, inference="none", advanced=False)
    assert isinstance(report, rdflib.Graph)
    return of_graph(report)


def of_graph(graph: rdflib.Graph) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for result in graph.objects(None, SH.result):  # others are details of these
        values = [
            graph.value(result, p) for p in (SH.focusNode, SH.value, SH.sourceConstraintComponent, SH.resultSeverity)
        ]
        texts = ["" if value is None else value.n3() for value in values]
        path = graph.value(result, SH.resultPath)
        found[(texts[0], "" if path is None else " ".join(_iris(graph, path)), *texts[1:])] += 1
    return found


def _iris(graph: rdflib.Graph, path: rdflib.term.Node) -> list[str]:
    """The IRIs of a path, in order of text: chains within chains may be written as one."""
    if isinstance(path, rdflib.URIRef):
        return [] if path == rdflib.RDF.nil else [str(path)]
    return sorted(iri for _, o in graph.predicate_objects(path) for iri in _iris(graph, o))
