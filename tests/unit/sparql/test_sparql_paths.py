"""Repeated paths start from what binds one of their ends: pairs are counted, and no answer depends on it."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Final

import pytest

from tests.support.answers import check_seed
from tests.support.datasets_random import random_quads
from tests.support.seeds import seeds
from tests.support.sparql import Quad, Triple, bag, make_graph
from tests.support.sparql_random import everywhere, random_bound_path_query, random_graph
from triplake.sparql import Graph, query
from triplestore.engine import Engine
from triplestore.model.terms import RDF
from triplestore.storage.statistics import Counts, Statistics


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "rdflib.term")  # ill-typed literals are meant here


FIRST, REST, NIL = (f"<{RDF}{name}>" for name in ("first", "rest", "nil"))
SHORT, LONG = 4, 300
PREFIXES: Final = f"PREFIX : <http://e/> PREFIX rdf: <{RDF}>\n"


def collection(name: str, items: int) -> list[Triple]:
    """A list of `items` items at `<http://e/name>`, each with a number."""
    cells = [*(f"<http://e/{name}{n}>" for n in range(items)), NIL]
    found = [(f"<http://e/{name}>", "<http://e/is>", cells[0])]
    for number, (cell, rest) in enumerate(pairwise(cells)):
        found += [(cell, FIRST, f"<http://e/{name}item{number}>"), (cell, REST, rest)]
    return found


def two_lists(engine: Engine, graph: str = "") -> Graph:
    """A short list :s of items :sitem0 .., and a long one :l. graph: the one that they are in, if it is a named one."""
    triples = collection("s", SHORT) + collection("l", LONG)
    quads: list[Quad] = [(s, p, o, graph) for s, p, o in triples] if graph else []
    return make_graph(engine, [] if graph else triples, quads=quads)


def pairs_of(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts, from now on, the rows of working tables by the start of their names."""
    rows: Counter[str] = Counter()
    create, append = engine.create, engine.append

    def creating(name: str, sql: object) -> int:
        made = create(name, sql)  # type: ignore[arg-type]
        rows[name.rpartition("_t")[0]] += made
        return made

    def appending(name: str, selects: object) -> list[int]:
        made = append(name, selects)  # type: ignore[arg-type]
        rows[name.rpartition("_t")[0]] += sum(made)
        return made

    monkeypatch.setattr(engine, "create", creating)
    monkeypatch.setattr(engine, "append", appending)
    return rows


BOUND: Final = {
    ":s :is/rdf:rest*/rdf:first ?x": SHORT,
    "?l :is/rdf:rest*/rdf:first :sitem3": 1,
    ":s :is ?c . ?c rdf:rest* ?d . ?d rdf:first ?x": SHORT,
    "?d rdf:first ?x . ?c rdf:rest* ?d . :s :is ?c": SHORT,
    "?d ^rdf:rest+ ?c . :s :is ?c": SHORT,
    "VALUES ?c { :s0 } ?c rdf:rest+ ?d": SHORT,
    "?c rdf:rest+ ?d VALUES ?c { :s0 }": SHORT,
    "VALUES ?d { :s3 } ?c rdf:rest+ ?d": SHORT - 1,
    "BIND(:s0 AS ?c) ?c rdf:rest+ ?d": SHORT,
    "BIND(IRI(CONCAT(STR(:s), '0')) AS ?c) ?c rdf:rest+ ?d": SHORT,
    "?c rdf:rest+ ?d FILTER(?c = :s0)": SHORT,
    "?c rdf:rest+ ?d FILTER(?c IN (:s0, :s1) && isIRI(?d))": 2 * SHORT - 1,
    "VALUES ?l { :s } ?l (:is/rdf:rest*)+/rdf:first ?x": SHORT,
    "VALUES ?l { :s } ?l (:is|rdf:rest)+ ?x": SHORT + 1,
    "VALUES ?l { :s } ?l (:is/(rdf:rest|^rdf:first)*)/rdf:first ?x": SHORT,
    "VALUES ?l { :s0 } ?l !(rdf:first|^rdf:rest)+ ?x": SHORT + 2,
    "VALUES ?l { :s0 } ?l rdf:rest? ?x": 2,
    ":s :is ?c . { ?c rdf:rest+ ?d } UNION { ?d ^rdf:rest+ ?c }": 2 * SHORT,
    ":s :is ?c OPTIONAL { ?c rdf:rest+ ?d }": SHORT,
    ":s :is ?c OPTIONAL { ?e rdf:rest+ ?c }": 1,
    "?c :is ?d FILTER(?c = :s) MINUS { ?d rdf:rest+ :s3 }": 0,
    ":s :is ?c FILTER EXISTS { ?c rdf:rest+ ?d . ?d rdf:first :sitem2 }": 1,
    "?c rdf:rest+ ?d FILTER EXISTS { :s :is ?c }": SHORT,
    "?c rdf:rest+ ?d FILTER(EXISTS { :s :is ?c } && isIRI(?d))": SHORT,
    "?c rdf:rest+ ?d FILTER EXISTS { ?l :is ?c . ?d rdf:first :sitem3 }": 1,
    ":s :is ?c FILTER EXISTS { ?c rdf:rest* ?d FILTER EXISTS { ?d rdf:first :sitem2 } }": 1,
    ":s :is ?c FILTER NOT EXISTS { ?c rdf:rest* ?d FILTER(?d = ?c) }": 0,
    ":s :is ?c { SELECT ?c (MAX(?n) AS ?m) { ?c rdf:rest+ ?d BIND(STR(?d) AS ?n) } GROUP BY ?c }": 1,
    ":s :is ?c { SELECT DISTINCT ?c ?d { ?c rdf:rest+ ?d } }": SHORT,
    "{ SELECT ?c { :s :is ?c } LIMIT 1 } ?c rdf:rest+ ?d": SHORT,
    "VALUES ?c { :s0 } ?c rdf:rest+ ?d . ?d rdf:rest* ?e . ?e rdf:first ?x": 6,
}
"""Patterns of which something binds an end of each path: how many solutions they have. (rdf:nil has no rdf:first.)"""


@pytest.mark.parametrize("pattern", BOUND)
@pytest.mark.long_on_spark
@pytest.mark.sampled(each=3)
def test_a_path_starts_from_what_binds_it(engine: Engine, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    """A few steps along the short list, whatever the length of the other one, which has 45,000 pairs."""
    graph = two_lists(engine)
    rows = pairs_of(engine, monkeypatch)
    assert len(query(graph, f"{PREFIXES} SELECT * {{ {pattern} }}")) == BOUND[pattern]
    assert rows["path"] <= 8 * SHORT, rows
    assert rows["given"] <= 4 * LONG, rows


@pytest.mark.parametrize(
    "pattern",
    [
        ":s :is ?c . ?c rdf:rest+ ?d",
        "VALUES ?c { :s0 } ?c rdf:rest* ?d",
        "?c rdf:rest+ ?d FILTER(?c = :s0)",
        "?c rdf:rest+ ?d FILTER EXISTS { :s :is ?c }",
        ":s :is/rdf:rest*/rdf:first ?x",
    ],
)
@pytest.mark.parametrize("name", [":g", "?g"])
@pytest.mark.long_on_spark
def test_a_path_in_a_graph_starts_from_what_binds_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, name: str, pattern: str
) -> None:
    graph = two_lists(engine, "<http://e/g>")
    graph = replace(graph, statistics=Statistics({1: Counts(1, 1, 1)}))  # which do not count what graphs have
    for outside in (False, True):
        rows = pairs_of(engine, monkeypatch)
        text = f"GRAPH {name} {{ {pattern} }}"
        if outside:
            text = f"{{ BIND(:s0 AS ?c) }} GRAPH {name} {{ ?c rdf:rest+ ?d }}"
        assert len(query(graph, f"{PREFIXES} SELECT * {{ {text} }}")) in (SHORT, SHORT + 1)
        assert rows["path"] <= 4 * SHORT, rows


def test_a_path_without_bound_ends_has_all_pairs(fresh: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the counts above are of something."""
    graph = two_lists(fresh)
    rows = pairs_of(fresh, monkeypatch)
    assert len(query(graph, f"{PREFIXES} SELECT * {{ ?c rdf:rest+ ?d }}")) == rows["path"]
    assert rows["path"] == (LONG + 1) * LONG // 2 + (SHORT + 1) * SHORT // 2


def test_what_paths_connect_is_not_multiplied(fresh: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two patterns of one block that only a path connects are no cross product on the way."""
    graph = two_lists(fresh)
    rows = pairs_of(fresh, monkeypatch)
    text = f"{PREFIXES} SELECT ?x ?y {{ ?x rdf:first ?i . ?y rdf:first ?j . ?x rdf:rest+ ?y }}"
    assert len(query(graph, text)) == (LONG - 1) * LONG // 2 + (SHORT - 1) * SHORT // 2
    assert rows["given"] <= LONG + SHORT, rows


@pytest.mark.parametrize("seed", seeds(range(7000, 7060), 4))
def test_answers_are_those_of_the_expanded_graph(fresh: Engine, seed: int) -> None:
    check_seed(fresh, seed, random_bound_path_query, 4, everywhere())


@pytest.mark.long_on_spark
def test_both_engines_agree_with_the_expanded_graph(engine: Engine) -> None:
    check_seed(engine, 7100, random_bound_path_query, 3, everywhere())


@pytest.mark.parametrize("mode", ["expand", "canonical"])
@pytest.mark.parametrize("seed", seeds(range(7200, 7260), 3))
def test_no_answer_depends_on_where_a_path_starts(
    fresh: Engine, monkeypatch: pytest.MonkeyPatch, seed: int, mode: str
) -> None:
    """Also in GRAPH, in canonical answers, and of terms that are in no graph."""
    rng = Random(seed)
    facts, classes, asserted = random_graph(rng)
    graph = make_graph(fresh, facts, classes, asserted, quads=random_quads(rng, facts))
    for number in range(6):
        text = random_bound_path_query(rng)
        if number % 3 == 1:
            head, brace, rest = text.partition("{")
            inside, end, after = rest.rpartition("}")
            text = f"{head}{brace} GRAPH ?g {brace}{inside}{end} }}{after}"
        if number % 3 == 2:
            text = f"SELECT * {{ {{ {text} }} VALUES ?x {{ <http://e/a> <http://e/b> }} GRAPH ?g {{ ?x ?p ?w }} }}"
        answers = []
        for few in (0, 1e99):
            monkeypatch.setattr("triplestore.model.thresholds.Sizes.small", few)
            answers.append(bag(query(graph, text, mode).tokens()))
        assert answers[0] == answers[1], f"seed {seed}, query {number}: {text}"
