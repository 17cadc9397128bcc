"""Types of expressions that are known from their form: they make short SQL, and the same answers."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from tests.support.seeds import seeds
from tests.support.sparql import bag, make_graph
from tests.support.sparql_random import random_graph, random_typed_query
from triplake.sparql import Graph, query, to_sql
from triplake.sparql.query import statement
from triplestore.engine import Engine
from triplestore.model.terms import XSD

PREFIX: Final = "PREFIX : <http://e/>\n"
P: Final = "<http://e/p>"


def numbers(engine: Engine) -> Graph:
    """:a0 .. :a9, of which :an has :p the numbers up to n."""
    facts = [(f"<http://e/a{n}>", P, f'"{m}"^^<{XSD}integer>') for n in range(10) for m in range(n + 1)]
    return make_graph(engine, facts)


SHORT: Final = {
    "SELECT ?x { ?x :p ?y } GROUP BY ?x HAVING(COUNT(*) > 8)": 2,
    "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x ORDER BY DESC(?n)": 10,
    "SELECT ?x { { SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x } FILTER(?n * 2 + 1 > 17) }": 2,
    "SELECT ?x (COUNT(*) - 1 AS ?m) { ?x :p ?y } GROUP BY ?x HAVING(-COUNT(*) < ABS(-3))": 10,
    "SELECT ?x { ?x :p ?y BIND(STRLEN(STR(?x)) AS ?l) FILTER(?l + 1 > 2) }": 55,
    "SELECT ?x { ?x :p ?y BIND(STRLEN(STR(?x)) AS ?l) BIND(?l > 2 AS ?b) FILTER(?b) }": 55,
    "SELECT ?x { ?x :p ?y BIND(STR(?x) AS ?s) FILTER(STRSTARTS(?s, 'http')) }": 55,
    "SELECT (SUM(?n) AS ?m) { { SELECT (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x } }": 1,
    "SELECT (MAX(?n) AS ?m) { { SELECT (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x } }": 1,
    "SELECT (GROUP_CONCAT(STR(?x)) AS ?m) { ?x :p 9 } HAVING(STRLEN(GROUP_CONCAT(STR(?x))) > 2)": 1,
}
"""Queries that compute with nothing but what is known to be whole numbers, strings or truths: their answers' rows."""

PARSING: Final = ("regexp", "tl_exact", "tl_rest", "TRY_CAST", "LIKE")
"""What the SQL of numbers has whose type is known only row by row."""


@pytest.mark.parametrize("text", SHORT)
def test_known_types_make_short_statements(engine: Engine, text: str) -> None:
    graph = numbers(engine)
    sql = statement(graph, PREFIX + text)
    assert [word for word in PARSING if word in sql] == [], sql
    assert len(sql) < 2_500, sql
    assert len(query(graph, PREFIX + text)) == SHORT[text]


WIDE: Final = f'"{"9" * 20}"^^<{XSD}integer>'
VALUES: Final = {
    "?n + 99999999999999999999": f'"{"1" + "0" * 19 + "1"}"^^<{XSD}integer>',
    "?n * 99999999999999999999": f'"{2 * (10**20 - 1)}"^^<{XSD}integer>',
    "?n - 99999999999999999999 - 99999999999999999999": f'"{2 - 2 * (10**20 - 1)}"^^<{XSD}integer>',
    "?n / 2": f'"1"^^<{XSD}decimal>',
    "-?n": f'"-2"^^<{XSD}integer>',
    "FLOOR(?n) + CEIL(?n) + ROUND(?n) + ABS(-?n)": f'"8"^^<{XSD}integer>',
    "COALESCE(' 7 '^^xsd:integer + 0, ?n) * ?n": f'"14"^^<{XSD}integer>',
    "IF(?n = 2, ' 7 '^^xsd:integer, ?n)": f'" 7 "^^<{XSD}integer>',
    "IF(?n = 2, '07'^^xsd:int, '8'^^xsd:int)": f'"07"^^<{XSD}int>',
    "IF(?n = 2, '1'^^xsd:boolean, false)": f'"1"^^<{XSD}boolean>',
    "?n + 1.5": f'"3.5"^^<{XSD}decimal>',
    "?n + 1e0": f'"3.0E0"^^<{XSD}double>',
    "xsd:float(?n) / 3": None,
    "STR(?n)": '"2"',
    "?n = 2.0": f'"true"^^<{XSD}boolean>',
    "1/0": None,
    "COALESCE(IF(1/0 = 1, ?n, ?n), 5)": f'"5"^^<{XSD}integer>',
    "COALESCE(IF(1/0 = 1, '1e0'^^xsd:double, '1e0'^^xsd:double), 5)": f'"5"^^<{XSD}integer>',
    "COALESCE(IF(1/0 = 1, true, true), 5)": f'"5"^^<{XSD}integer>',
}


@pytest.mark.parametrize("expression", VALUES)
def test_values_of_known_types_are_exact(engine: Engine, expression: str) -> None:
    """And their columns are read again: compared, added to, ordered by."""
    graph = make_graph(engine, [("<http://e/a>", P, f'"{n}"') for n in range(2)])
    inner = f"{{ SELECT (COUNT(*) AS ?n) {{ ?x :p ?y }} }} BIND({expression} AS ?v)"
    columns = f"?v ((?v = ({expression})) AS ?same) (STR(?v) AS ?s)"
    text = f"PREFIX xsd: <{XSD}> {PREFIX} SELECT {columns} {{ {inner} }} ORDER BY ?v"
    ((found, same, shown),) = query(graph, text).tokens()
    if expression == "1/0":
        assert (found, same, shown) == (None, None, None)
        return
    assert found is not None
    assert shown == f'"{found[1:].rpartition(chr(34))[0]}"'
    assert found == VALUES[expression] or VALUES[expression] is None
    assert same == (f'"true"^^<{XSD}boolean>')


@pytest.mark.parametrize("seed", seeds(range(8000, 8060), 4))
def test_no_answer_depends_on_what_is_known(fresh: Engine, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Values of known types are those of the same expressions with nothing known of them."""
    rng = Random(seed)
    facts, classes, asserted = random_graph(rng)
    graph = make_graph(fresh, facts, classes, asserted)
    for number in range(5):
        text = random_typed_query(rng)
        found = bag(query(graph, text).tokens())
        with monkeypatch.context() as patch:
            patch.setattr(to_sql, "known_of", lambda _: None)
            patch.setattr("triplake.sparql.aggregates.known_result", lambda *_: None)
            patch.setattr("triplestore.expressions.arithmetic._bounded_result", lambda *_: None)
            assert bag(query(graph, text).tokens()) == found, f"seed {seed}, query {number}: {text}"
