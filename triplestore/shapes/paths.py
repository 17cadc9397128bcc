"""Property paths of a shapes graph (SHACL, section 2.3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from triplake.sparql.paths import Alternative, Inverse, Path, Repeat, Sequence
from triplestore.model.expression import Constant
from triplestore.shapes.graph import FIRST, ShapesGraph, show
from triplestore.shapes.model import SH, sh

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

INVERSE, ALTERNATIVE = sh("inversePath"), sh("alternativePath")

_REPEATS: Final = {
    sh("zeroOrMorePath"): (True, True),
    sh("oneOrMorePath"): (False, True),
    sh("zeroOrOnePath"): (True, False),
}
"""Predicate -> whether zero steps will do, and many."""


def read_path(graph: ShapesGraph, shape: str, node: str, around: tuple[str, ...] = ()) -> Path:
    """The path that a term stands for. Raises InputError."""
    if node[0] == "<":
        return Constant(node)
    if node[0] != "_":
        raise graph.fault(shape, f"the path has {show(node)}: only IRIs and blank nodes are paths")
    if node in around:
        raise graph.fault(shape, "the path leads back to itself")

    def inner(part: str) -> Path:
        return read_path(graph, shape, part, (*around, node))

    found = graph.predicates(node)
    kinds = [p for p in found if p in (FIRST, INVERSE, ALTERNATIVE, *_REPEATS)]
    if FIRST in kinds:  # a list, whatever else it is: the tests path-strange of the W3C
        return _chain(Sequence, [inner(part) for part in _several(graph, shape, node)])
    if len(kinds) != 1:
        few = "is not a path of SHACL's" if not kinds else "is several kinds of path at once"
        raise graph.fault(shape, f"the path's blank node {few}: write an IRI, a list, [ sh:inversePath .. ] ..")
    kind = kinds[0]
    part, *others = found[kind]
    if others:
        raise graph.fault(shape, f"the path has {len(found[kind])} values of {show(kind)}, and may have one")
    if kind == ALTERNATIVE:
        return _chain(Alternative, [inner(part) for part in _several(graph, shape, part)])
    return Inverse(inner(part)) if kind == INVERSE else Repeat(inner(part), *_REPEATS[kind])


def _several(graph: ShapesGraph, shape: str, head: str) -> tuple[str, ...]:
    found = graph.members(shape, sh("path"), head)
    if len(found) < 2:
        raise graph.fault(shape, "a list in a path needs two members at least")
    return found


def _chain(made: type[Sequence] | type[Alternative], parts: list[Path]) -> Path:
    first, *rest = parts
    for part in rest:
        first = made(first, part)
    return first


def inverse(path: Path) -> Path:
    """The path backwards."""
    match path:
        case Inverse(inner):
            return inner
        case Sequence(first, second):
            return Sequence(inverse(second), inverse(first))
        case Alternative(one, other):
            return Alternative(inverse(one), inverse(other))
        case Repeat(inner, zero, many):
            return Repeat(inverse(inner), zero, many)
        case _:
            return Inverse(path)


def text(path: Path, around: int = 0, write: Callable[[str], str] = lambda token: token) -> str:
    """A path as SPARQL writes it. around: how tightly what stands around it binds. write: how an IRI is written."""
    match path:
        case Constant(token):
            return write(token)
        case Inverse(inner):
            return f"^{text(inner, 3, write)}"
        case Alternative(one, other):
            made, binds = f"{text(one, 0, write)}|{text(other, 0, write)}", 0
        case Sequence(first, second):
            made, binds = f"{text(first, 1, write)}/{text(second, 1, write)}", 1
        case Repeat(inner, zero, many):
            made, binds = f"{text(inner, 3, write)}{'*' if zero and many else '+' if many else '?'}", 2
        case _:
            raise AssertionError(path)
    return f"({made})" if binds < around else made


def written(path: Path, graph: Graph) -> Node:
    """A path as SHACL writes it: its term, after its triples were added to a graph."""
    from rdflib import BNode, Namespace, URIRef
    from rdflib.collection import Collection

    terms = Namespace(SH)

    def listed(kind: type[Sequence] | type[Alternative]) -> Node:
        return Collection(graph, BNode(), [written(part, graph) for part in _parts(path, kind)]).uri

    node = BNode()
    match path:
        case Constant(token):
            return URIRef(token[1:-1])
        case Sequence():
            return listed(Sequence)
        case Inverse(inner):
            graph.add((node, terms.inversePath, written(inner, graph)))
        case Alternative():
            graph.add((node, terms.alternativePath, listed(Alternative)))
        case Repeat(inner, zero, many):
            kind = next(kind for kind, repeat in _REPEATS.items() if repeat == (zero, many))
            graph.add((node, URIRef(kind[1:-1]), written(inner, graph)))
    return node


def _parts(path: Path, kind: type[Sequence] | type[Alternative]) -> list[Path]:
    """What a chain is made of."""
    match path:
        case Sequence(one, other) | Alternative(one, other) if isinstance(path, kind):
            return [*_parts(one, kind), other]
        case _:
            return [path]
