"""Validation reports (SHACL, section 3): as Python objects, as a graph, as JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from triplake.sparql.paths import Path
from triplestore.model.expression import Constant
from triplestore.model.terms import node_to_ntriples, to_ntriples, to_rdflib_all
from triplestore.shapes import model
from triplestore.shapes.conditions import what_is_wanted
from triplestore.shapes.model import SH, Constraint, component
from triplestore.shapes.paths import text, written
from triplestore.shapes.validate import Found

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """What does not conform; terms are RDFLib's.

    focus: the node that was validated. shape, component, severity: of the constraint that it violates; component and
    severity are IRIs. path: a property path as SPARQL writes it, empty for a node shape. value: the value at fault,
    None where it is not one value. messages: those of the shape; else one of ours. steps: the path as data.
    """

    focus: Node
    shape: Node
    component: Node
    severity: Node
    path: str
    value: Node | None
    messages: tuple[Node, ...]
    steps: Path | None = None

    def line(self) -> str:
        """The result on a line."""
        terms = (node_to_ntriples(self.focus), self.path, "" if self.value is None else node_to_ntriples(self.value))
        return f"{' '.join(filter(None, terms))}: {self.what()}"

    def what(self) -> str:
        """The messages on a line: line breaks and what else controls a terminal are escaped."""
        texts = "; ".join(map(str, self.messages))
        return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), texts)

    def path_text(self, write: Callable[[str], str]) -> str:
        """The path with its IRIs (tokens) as `write` writes them."""
        return "" if self.steps is None else text(self.steps, write=write)

    def as_dict(self) -> dict[str, Any]:
        """For programs: the same without `steps`, terms as N-Triples writes them."""
        return {
            "focus": node_to_ntriples(self.focus),
            "path": self.path or None,
            "value": None if self.value is None else node_to_ntriples(self.value),
            "component": node_to_ntriples(self.component),
            "severity": node_to_ntriples(self.severity),
            "shape": node_to_ntriples(self.shape),
            "messages": [node_to_ntriples(message) for message in self.messages],
        }


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What a validation found."""

    results: tuple[ValidationResult, ...]

    @property
    def conforms(self) -> bool:
        """Whether there is no result, of whatever severity."""
        return not self.results

    def as_dict(self) -> dict[str, Any]:
        """For programs: `conforms`, and `results`, each as `ValidationResult.as_dict`."""
        return {"conforms": self.conforms, "results": [result.as_dict() for result in self.results]}

    def graph(self) -> Graph:
        """The report as the standard's graph, for RDFLib. Its blank nodes are new ones, but for those of the data."""
        from rdflib import RDF, BNode, Graph, Literal, Namespace

        terms, found, report = Namespace(SH), Graph(), BNode()
        shapes: dict[Node, Node] = {result.shape: BNode() for result in self.results if isinstance(result.shape, BNode)}
        found.bind("sh", terms)
        found.add((report, RDF.type, terms.ValidationReport))
        found.add((report, terms.conforms, Literal(self.conforms)))
        for number, result in enumerate(self.results, 1):
            node = BNode(f"{report}n{number}")  # in order where it is written
            found.add((report, terms.result, node))
            found.add((node, RDF.type, terms.ValidationResult))
            found.add((node, terms.focusNode, result.focus))
            found.add((node, terms.sourceShape, shapes.get(result.shape, result.shape)))
            found.add((node, terms.sourceConstraintComponent, result.component))
            found.add((node, terms.resultSeverity, result.severity))
            if result.value is not None:
                found.add((node, terms.value, result.value))
            if result.steps is not None:
                found.add((node, terms.resultPath, written(result.steps, found)))
            for message in result.messages:
                found.add((node, terms.resultMessage, message))
        return found

    def counts(self) -> dict[str, int]:
        """How many results each severity has, by its name."""
        return dict(Counter(str(result.severity).rpartition("#")[2] for result in self.results))


def report(found: Iterable[Found]) -> ValidationReport:
    """The report of what validation found."""
    rows = list(found)
    tokens = {token for row in rows for token in (row.focus, row.value) if token is not None}
    for shape in {row.shape.name: row.shape for row in rows}.values():
        tokens |= {shape.name, shape.severity, *shape.messages}
    named = sorted(tokens)
    terms = dict(zip(named, to_rdflib_all(named), strict=True))
    return ValidationReport(tuple(_result(row, terms) for row in rows))


def _result(found: Found, terms: Mapping[str, Node]) -> ValidationResult:
    from rdflib import Literal, URIRef

    shape, constraint = found.shape, found.constraint
    path = shape.path if found.path is None else Constant(found.path)
    return ValidationResult(
        terms[found.focus],
        terms[shape.name],
        URIRef(f"{SH}{component(constraint)}ConstraintComponent"),
        terms[shape.severity],
        "" if path is None else text(path),
        None if found.value is None else terms[found.value],
        tuple(terms[m] for m in shape.messages) or (Literal(message(constraint)),),
        path,
    )


def message(constraint: Constraint) -> str:
    """What is wrong, where a shape has no sh:message."""
    match constraint:
        case model.Class(cls):
            return f"the value is not an instance of {cls}"
        case model.Count(minimum, number):
            return f"there are {'fewer' if minimum else 'more'} than {number} values"
        case model.UniqueLang():
            return "several values have the same language"
        case model.Equals(predicate):
            return f"the values are not those of {predicate}"
        case model.Disjoint(predicate):
            return f"the value is a value of {predicate} too"
        case model.LessThan(predicate, or_equals):
            return f"the value is not {'at most' if or_equals else 'less than'} each value of {predicate}"
        case model.Not(shape):
            return f"the value conforms to {_named(shape)}, and may not"
        case model.And(shapes):
            return f"the value does not conform to each of {_listed(shapes)}"
        case model.Or(shapes):
            return f"the value conforms to none of {_listed(shapes)}"
        case model.Xone(shapes):
            return f"the value does not conform to exactly one of {_listed(shapes)}"
        case model.Node(shape) | model.Property(shape):
            return f"the value does not conform to {_named(shape)}"
        case model.Qualified(minimum, number, shape):
            return f"{'fewer' if minimum else 'more'} than {number} values conform to {_named(shape)}"
        case model.Closed():
            return "the shape is closed, and has no such property"
        case model.HasValue(value):
            return f"the value {to_ntriples(value)} is missing"
        case model.In(values):
            return f"the value is none of {', '.join(map(to_ntriples, values))}"
        case _:
            return f"the value has to be {what_is_wanted(constraint)}"


def _named(shape: model.Shape) -> str:
    return shape.name if shape.name[0] == "<" else "the shape"


def _listed(shapes: Iterable[model.Shape]) -> str:
    return ", ".join(map(_named, shapes))
