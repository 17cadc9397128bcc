"""Quads as text, as they come: N-Quads, TriG and JSON-LD. A format is a function from batches of quads (tokens; those
of a graph neighbours for TriG and JSON-LD), and how terms are written for people, to pieces of text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from triplake.sparql.graph_formats import TokenTriple, jsonld, turtle
from triplestore.model.dataset import TRIPLE, Quad
from triplestore.model.prefixes import Names
from triplestore.model.terms import to_ntriples

Quads = Iterable[list[Quad]]


def nquads(batches: Quads, names: Names) -> Iterator[str]:
    """Canonical N-Quads."""
    for rows in batches:
        yield "".join(" ".join(map(to_ntriples, row)) + " .\n" for row in rows)


def trig(batches: Quads, names: Names) -> Iterator[str]:
    """TriG: a block for each graph, in pieces where it is large."""
    for graph, triples in _runs(batches):
        text = "".join(turtle([triples], names))
        if not graph:
            yield text
            continue
        lines = list(io.StringIO(text))  # a literal may hold what else ends a line in Unicode
        declared = [line for line in lines if line.startswith("@prefix ")]
        space = [names.declaration(space) + "\n" for space in sorted(names.spaces(graph))]
        body = "".join("  " + line for line in lines if not line.startswith("@prefix "))
        yield "".join(dict.fromkeys([*space, *declared])) + f"{names.token(graph)} {{\n{body}}}\n"


def dataset_jsonld(batches: Quads, names: Names) -> Iterator[str]:
    """JSON-LD 1.1, expanded: named graphs as nodes with @graph, in pieces where they are large."""
    yield "["
    separator = "\n"
    for graph, triples in _runs(batches):
        nodes = "".join(jsonld([triples], names)).strip()[1:-1].strip()
        if graph:
            name = graph[1:-1] if graph[0] == "<" else graph
            nodes = f'{{"@id": "{name}", "@graph": [\n{nodes}\n]}}'
        yield separator + nodes
        separator = ",\n"
    yield "\n]\n"


def _runs(batches: Quads) -> Iterator[tuple[str, list[TokenTriple]]]:
    """Neighbours in one graph: (its name, empty for the unnamed one; the triples)."""
    for rows in batches:
        for graph, run in groupby(rows, lambda quad: "".join(quad[TRIPLE:])):
            yield graph, [(quad[0], quad[1], quad[2]) for quad in run]


DATASET_FORMATS: Final[dict[str, Callable[[Quads, Names], Iterator[str]]]] = {
    "nq": nquads,
    "trig": trig,
    "jsonld": dataset_jsonld,
}
