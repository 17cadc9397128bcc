"""What `query --explain` shows: algebra, SQL, and the plan with the rows that the engine counted."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import explain, query
from triplestore.engine import Engine
from triplestore.engine.protocol import PlanStep
from triplestore.model.errors import UsageError

A, B, C, P, Q = (f"<http://e/{name}>" for name in "abcpq")
FACTS = [(A, P, B), (B, P, C), (A, Q, '"x"'), (B, Q, '"y"')]
PREFIX = "PREFIX : <http://e/> "


def steps(plan: PlanStep) -> Iterator[PlanStep]:
    yield plan
    for step in plan.inputs:
        yield from steps(step)


def test_the_plan_counts_rows(engine: Engine) -> None:
    """On each engine: every row of the answer is seen, and the tables that were read have at least as many."""
    graph = make_graph(engine, FACTS, equality="off")
    found = explain(graph, PREFIX + "SELECT ?x ?n { ?x :p ?y . ?x :q ?n FILTER(?n != 'z') }")
    assert found.plan is not None
    counts = [step.rows for step in steps(found.plan) if step.rows is not None]
    assert 2 in counts
    assert max(counts) >= 2
    assert "fact" in found.sql
    assert json.loads(json.dumps(found.as_json()))["plan"]["operation"] == found.plan.operation


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT ?x { ?x :p :b }", "Project  variables: x\n  Bgp  triples: ?x <http://e/p> <http://e/b>"),
        (
            "SELECT ?x { ?x :p+ ?y OPTIONAL { ?y :q ?n FILTER(?n > 1 && ?x != ?y) } } ORDER BY DESC(?x) LIMIT 3",
            "Slice  start: 0  length: 3\n  Project  variables: x\n    OrderBy  keys: (?x, True)\n"
            '      LeftJoin  condition: ((?n > "1"^^<http://www.w3.org/2001/XMLSchema#integer>) && (?x != ?y))\n'
            "        PathPattern  subject: ?x  path: (<http://e/p>)+  object: ?y\n"
            "        Bgp  triples: ?y <http://e/q> ?n",
        ),
        (
            "ASK { { ?x (:p/^:q)* ?y } UNION { :a :p ?x MINUS { ?x :q ?z } } BIND(STRLEN(?x) AS ?l) }",
            "Extend  variable: l",
        ),
        (
            "CONSTRUCT { ?x :r [] } WHERE { ?x :p ?y . ?y :p ?z }",
            "Bgp  triples: ?x <http://e/p> ?y . ?y <http://e/p> ?z",
        ),
        ("DESCRIBE ?x { ?x :p :b }", "Join\n  Distinct\n    Filter  condition: BOUND(?.subject)\n      Project"),
        ("DESCRIBE :a :b", "Join\n  Values  variables: .subject  rows: (<http://e/a>), (<http://e/b>)\n  Bgp"),
        ("DESCRIBE :a", "Extend  variable: .subject  expression: <http://e/a>\n  Bgp"),
    ],
)
def test_the_algebra_is_shown(embedded: Engine, text: str, shown: str) -> None:
    found = explain(make_graph(embedded, FACTS), PREFIX + text)
    assert found.algebra is not None
    assert found.plan is not None
    assert found.text().splitlines()[0] == f"-- algebra ({text.split()[0].lower()})"
    assert "\n-- SQL\nWITH " in found.text()
    assert "\n".join(found.text().splitlines()[1:]).startswith(shown)


def test_every_operator_is_shown(embedded: Engine) -> None:
    text = """
        SELECT (COUNT(DISTINCT ?x) AS ?n) {
            VALUES (?x ?y) { (:a UNDEF) (:b 'c') }
            { ?x (:p/^:q)* ?z } UNION { :a (:p|:q)? ?x MINUS { ?x :q ?z } }
            FILTER NOT EXISTS { ?x (!(:p|^:q))+ 1 }
            BIND(STRLEN(?x) AS ?l)
        }
    """
    found = explain(make_graph(embedded, FACTS), PREFIX + text).text()
    for shown in (
        'Values  variables: x, y  rows: (<http://e/a>, None), (<http://e/b>, "c")',
        "path: ((<http://e/p>/^<http://e/q>))*",
        "path: ((<http://e/p>|<http://e/q>))?",
        "condition: NOT EXISTS { PathPattern  subject: ?x  path: (!(<http://e/p>|^<http://e/q>))+",
        "Extend  variable: l  expression: STRLEN(?x)",
        "aggregates: COUNT(DISTINCT ?x) AS ?_",
        "Union\n",
        "Minus\n",
    ):
        assert shown.replace("?_", "?") in found, found


def test_nothing_to_describe(embedded: Engine) -> None:
    graph = make_graph(embedded, FACTS)
    with pytest.raises(UsageError, match="canonical"):
        explain(graph, "ASK {}", "some")
    assert query(graph, PREFIX + "ASK { :a :p :b }").boolean
