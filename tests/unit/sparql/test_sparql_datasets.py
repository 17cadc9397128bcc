"""Random queries over random datasets: GRAPH, FROM and FROM NAMED, beside a default graph with equality classes."""

from __future__ import annotations

import logging
from collections import Counter
from random import Random

import pytest

from tests.support.answers import check
from tests.support.datasets_random import random_dataset_query, random_quads
from tests.support.seeds import seeds
from tests.support.sparql import bag, expanded, make_graph
from tests.support.sparql_random import everywhere, random_graph
from triplake.sparql import query
from triplestore.engine import Engine


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "rdflib.term")  # ill-typed literals are meant here


def check_dataset(engine: Engine, seed: int, queries: int) -> None:
    """So many queries over the random dataset of a seed, the default graph expanded, the named ones as they are."""
    rng = Random(seed)
    facts, classes, asserted = random_graph(rng)
    facts += everywhere()
    quads = random_quads(rng, facts)
    graph = make_graph(engine, facts, classes, asserted, quads=quads)
    whole = {*expanded(facts, classes, asserted), *quads}
    for number in range(queries):
        check(graph, whole, random_dataset_query(rng), f"seed {seed}, query {number}")


@pytest.mark.parametrize("seed", seeds(range(40), 3))
def test_answers_are_those_over_the_dataset(fresh: Engine, seed: int) -> None:
    check_dataset(fresh, seed, 5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1075))
def test_many_answers_are_those_over_the_dataset(fresh: Engine, seed: int) -> None:
    check_dataset(fresh, seed, 5)


@pytest.mark.spark
@pytest.mark.parametrize("seed", [2000, pytest.param(2001, marks=pytest.mark.long)])
def test_the_same_on_spark(spark_engine: Engine, seed: int) -> None:
    check_dataset(spark_engine, seed, 1 if seed == 2000 else 4)


INSIDE = (
    "?x ?p ?y",
    "",
    "{ SELECT (COUNT(*) AS ?n) { ?x <http://e/p> ?y } }",
    "{ SELECT (COUNT(?x) AS ?n) (SUM(?y) AS ?m) { ?x <http://e/nowhere> ?y } }",
    "{ SELECT ?x (COUNT(*) AS ?n) { ?x ?p ?y } GROUP BY ?x HAVING (COUNT(*) > 1) }",
    "{ SELECT ?x (COUNT(*) AS ?n) { ?y ?p ?z } GROUP BY ?x }",
    "{ SELECT ?x { ?x ?p ?y } ORDER BY STR(?x) STR(?p) STR(?y) LIMIT 2 OFFSET 1 }",
    "{ SELECT DISTINCT ?p { ?x ?p ?y } ORDER BY ?p LIMIT 1 }",
    "{ SELECT DISTINCT ?v ?w { ?x <http://e/p> ?y } }",
    "{ SELECT DISTINCT ?p { ?x ?p ?y } }",
    "?x <http://e/p> ?y MINUS { ?y ?q ?x }",
    "?x <http://e/p> ?y MINUS { ?u ?q ?v }",
    "?x (<http://e/p>|<http://e/q>)* ?y",
    "<http://e/a> <http://e/p>* ?y",
    "<http://e/a> <http://e/p>* <http://e/a>",
    "?x <http://e/p>+ ?x",
    "?x !(<http://e/all>|^<http://e/p>) ?y",
    "VALUES ?x { 1 2 } OPTIONAL { ?y <http://e/q> ?z }",
    "BIND(1 AS ?x)",
    "?x <http://e/p> ?y FILTER NOT EXISTS { ?y <http://e/q> ?z MINUS { ?z ?u ?x } }",
    "?x <http://e/p> ?g",
    "?x ?p ?y FILTER EXISTS { GRAPH ?h { ?y ?q ?z } FILTER(?h != ?x) }",
    "GRAPH ?h { ?x <http://e/p> ?y } OPTIONAL { ?y <http://e/q> ?z }",
)


@pytest.mark.parametrize("seed", seeds(range(3), 1))
@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.sampled(each=3)
def test_each_graph_by_itself(fresh: Engine, inside: str, canonical: bool, seed: int) -> None:
    """GRAPH of a variable gives what GRAPH of each name gives, whatever is inside."""
    rng = Random(seed)
    facts, classes, asserted = random_graph(rng)
    quads = random_quads(rng, facts)
    graph = make_graph(fresh, facts, classes, asserted, quads=quads)
    mode = "canonical" if canonical else "expand"
    named = sorted({quad[3] for quad in quads})
    found = query(graph, f"SELECT * {{ GRAPH ?g {{ {inside} }} }}", mode)
    one_by_one = Counter[tuple[object, ...]]()
    for name in named:
        text = f"SELECT * {{ GRAPH {name} {{ {inside} }} VALUES ?g {{ {name} }} }}"
        answer = query(graph, text, mode)
        places = [answer.variables.index(variable) for variable in found.variables]
        one_by_one.update(bag([row[place] for place in places] for row in answer.tokens()))
    assert bag(found.tokens()) == one_by_one, f"seed {seed}"


@pytest.mark.long_on_spark
@pytest.mark.spark_alone
def test_some_solutions_of_each_graph(engine: Engine) -> None:
    """In no order: Spark has no numbers of rows without one."""
    p, graphs = "<http://e/p>", ["<http://e/g>", "<http://e/h>"]
    quads = [(f"<http://e/s{n}>", p, f'"{n}"', graph) for graph in graphs for n in range(3)]
    graph = make_graph(engine, [], quads=quads)
    found = query(graph, f"SELECT ?g {{ GRAPH ?g {{ SELECT ?x {{ ?x {p} ?y }} LIMIT 1 OFFSET 1 }} }}")
    assert Counter(found.tokens()) == {(name,): 1 for name in graphs}


def test_canonical_answers_join_graphs_by_class(fresh: Engine) -> None:
    """What a graph asserts of one member of a class is, in canonical answers, asserted of the class."""
    a, b, p, q, g = (f"<http://e/{name}>" for name in "abpqg")
    graph = make_graph(fresh, [(a, p, '"1"')], [[a, b]], [], quads=[(b, q, '"2"', g)])
    text = f"SELECT ?x ?y ?z {{ ?x {p} ?y GRAPH {g} {{ ?x {q} ?z }} }}"
    assert list(query(graph, text).tokens()) == [(b, '"1"', '"2"')]
    assert list(query(graph, text, "canonical").tokens()) == [(a, '"1"', '"2"')]


@pytest.mark.parametrize("name", "ab")
def test_canonical_answers_have_names_of_graphs_by_class(engine: Engine, name: str) -> None:
    """A graph was found by none of its equal names, where another is shown for them."""
    a, b, p, q = (f"<http://e/{name}>" for name in "abpq")
    graph = make_graph(engine, [(a, p, '"1"')], [[a, b]], [], quads=[(p, q, '"2"', b), (p, q, '"3"', q)])
    equal = f"<http://e/{name}>"
    for part in (
        f"FILTER(?g = {equal})",
        f"VALUES ?g {{ {equal} }}",
        f"?g {p} ?x",
        f"GRAPH ?g {{ VALUES ?g {{ {a} }} }}",
    ):
        text = f"SELECT ?g ?z {{ GRAPH ?g {{ ?s {q} ?z }} {part} }}"
        assert list(query(graph, text, "canonical").tokens()) == [(a, '"2"')], part
