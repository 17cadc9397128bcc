"""Random queries over random graphs with equality classes: the answers, as bags, are those over the expanded graph.

Oxigraph answers over the expanded graph; where it disagrees with us RDFLib decides (each has known bugs, and not the
same ones). Random programs leave out what either gets wrong by design: terms that Oxigraph rewrites ("01"), and
alternative paths, which both of them deduplicate against SPARQL 1.1, section 18.5.
"""

from __future__ import annotations

import logging
from random import Random

import pytest

from tests.support.answers import check, check_seed
from tests.support.exists_random import random_exists_query
from tests.support.seeds import seeds
from tests.support.sparql import expanded, make_graph
from tests.support.sparql_random import everywhere, random_graph, random_grouped_query, random_path_query, random_query
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine

BOTH_WRONG = {5066}
"""Seeds of queries that neither reference answers: to Oxigraph, STR("1e0") is "1"; to RDFLib, an AVG of dates is 0."""


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "rdflib.term")  # ill-typed literals are meant here


@pytest.mark.parametrize("seed", seeds(range(40), 3))
def test_answers_are_those_over_the_expanded_graph(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1075))
def test_many_answers_are_those_over_the_expanded_graph(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed)


@pytest.mark.parametrize(
    "seed", [502, *(pytest.param(seed, marks=pytest.mark.long_on_spark) for seed in (500, 501, 503, 504, 505))]
)
def test_both_engines_agree_with_the_expanded_graph(engine: Engine, seed: int) -> None:
    check_seed(engine, seed, queries=2)


@pytest.mark.parametrize("seed", seeds(range(600, 612), 2))
def test_axioms_mode_reads_the_facts_as_they_are(seed: int) -> None:
    """With equality `axioms` the expanded graph itself is stored, and answers are the same."""
    rng = Random(seed)
    facts, classes, asserted = random_graph(rng)
    triples = expanded(facts, classes, asserted)
    engine = DuckDBEngine(threads=1)
    graph = make_graph(engine, triples, equality="axioms")
    for number in range(4):
        check(graph, triples, random_query(rng), f"seed {seed}, query {number}")
    engine.close()


@pytest.mark.parametrize("seed", seeds(range(2000, 2015), 2))
def test_paths_are_those_of_the_expanded_graph(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed, random_path_query, 3, everywhere())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3000, 3040))
def test_many_paths_are_those_of_the_expanded_graph(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed, random_path_query, 3, everywhere())


@pytest.mark.parametrize("seed", seeds(range(6000, 6100), 3))
def test_exists_reads_what_is_outside(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed, random_exists_query, 4, everywhere())


@pytest.mark.parametrize("seed", seeds(range(4000, 4015), 2))
def test_groups_are_those_of_the_expanded_graph(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed, random_grouped_query, 4)


@pytest.mark.long
@pytest.mark.parametrize("seed", sorted({*range(5060, 5120)} - BOTH_WRONG))
def test_many_groups_are_those_of_the_expanded_graph(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed, random_grouped_query, 4)
