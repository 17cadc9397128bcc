"""Answers to queries over random graphs, compared with Oxigraph's and RDFLib's over the expanded graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from random import Random

import rdflib
import rdflib.plugins.sparql

from tests.support.sparql import Row, Triple, bag, expanded, make_graph, ox_store, reference
from tests.support.sparql_random import random_graph, random_query
from triplake.sparql import Graph, query
from triplestore.engine import Engine
from triplestore.model.terms import from_rdflib, to_rdflib

rdflib.plugins.sparql.SPARQL_LOAD_GRAPHS = False  # else FROM fetches what it names


def rdflib_answer(quads: Iterable[Row], text: str, variables: tuple[str, ...]) -> Counter[tuple[object, ...]]:
    graph = rdflib.Dataset()
    for quad in quads:
        s, p, o, *name = (to_rdflib(token) for token in quad)
        (graph.graph(name[0]) if name else graph.default_graph).add((s, p, o))
    rows = graph.query(text).bindings
    names = [rdflib.Variable(name) for name in variables]
    return bag([[from_rdflib(row[name]) if row.get(name) is not None else None for name in names] for row in rows])


def check(graph: Graph, triples: Collection[Row], text: str, note: str) -> None:
    """Compare the answer to a query with that over triples, and quads."""
    result = query(graph, text)
    ours = bag(result.tokens())
    theirs = bag(reference(ox_store(triples), text, result.variables))
    if ours != theirs:
        try:
            theirs = rdflib_answer(triples, text, result.variables)
        except AttributeError:  # which RDFLib's SUM and AVG end with where they meet an IRI
            ours, theirs = as_integers(ours), as_integers(theirs)
        assert ours == theirs, f"{note}: {text}"


def as_integers(rows: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Rows as Oxigraph has them, which takes every integer for one of xsd:integer."""
    types = "nonNegativeInteger|positiveInteger|long|int|short|byte|unsignedLong|unsignedInt|unsignedShort|unsignedByte"
    found: Counter[tuple[object, ...]] = Counter()
    for row, count in rows.items():
        plain = (re.sub(f"#({types})>$", "#integer>", t) if isinstance(t, str) and t[0] == '"' else t for t in row)
        found[tuple(plain)] += count
    return found


QUERIES = 6


def check_seed(
    engine: Engine,
    seed: int,
    ask: Callable[[Random], str] = random_query,
    queries: int = QUERIES,
    more: Sequence[Triple] = (),
) -> None:
    """So many queries over the random graph of a seed, with more facts in it."""
    rng = Random(seed)
    facts, classes, asserted = random_graph(rng)
    facts += more
    graph, triples = make_graph(engine, facts, classes, asserted), expanded(facts, classes, asserted)
    for number in range(queries):
        check(graph, triples, ask(rng), f"seed {seed}, query {number}")
