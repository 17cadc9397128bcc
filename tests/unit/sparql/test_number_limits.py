"""Numbers, times and durations that are too long to be computed with fail a query; they do not lose their values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import query
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import LimitError
from triplestore.model.terms import XSD

LONG = "1" * 10_001
FACTS = {
    "whole": f'"{LONG}"^^<{XSD}integer>',
    "fraction": f'"0.{LONG}"^^<{XSD}decimal>',
    "half": f'"{"1" * 5_001}"^^<{XSD}integer>',
    "duration": f'"PT0.{LONG}S"^^<{XSD}dayTimeDuration>',
    "time": f'"2020-01-01T00:00:00.{LONG}Z"^^<{XSD}dateTime>',
    "day": f'"P1D"^^<{XSD}dayTimeDuration>',
}
WHERE = "{ ?s " + "; ".join(f"<u:{name}> ?{name}" for name in FACTS) + " }"
TOO_LONG = {
    "?whole + 1": "10,000 digits",
    "1 - ?fraction": "10,000 digits",
    "-?whole": "10,000 digits",
    "ROUND(?fraction)": "10,000 digits",
    "?half * ?half": "10,000 digits",
    "SUM(?whole)": "10,000 digits",
    "AVG(?fraction)": "10,000 digits",
    "?duration + ?day": "4,000 characters",
    "?time - ?day": "4,000 characters",
    "SUM(?duration)": "4,000 characters",
}
FITTING = {
    "STRLEN(STR(?whole))": "10001",
    "IF(?whole > 1, 2, 3)": "2",
    "?half + 0 = ?half": "true",
}


@pytest.mark.long_on_spark
def test_values_that_are_too_long(engine: Engine) -> None:
    graph = make_graph(engine, [("<u:s>", f"<u:{name}>", token) for name, token in FACTS.items()])
    for expression, limit in TOO_LONG.items():
        with pytest.raises(LimitError, match=f"beyond a limit: a number, time or duration of more than {limit}"):
            print(expression, list(query(graph, f"SELECT ({expression} AS ?v) {WHERE}")))
    selected = " ".join(f"({expression} AS ?v{n})" for n, expression in enumerate(FITTING))
    ((*found,),) = query(graph, f"SELECT {selected} {WHERE}")
    assert dict(zip(FITTING, map(str, found), strict=True)) == FITTING
    short = "FILTER(STRLEN(STR(?n)) < 100)"  # what the message recommends
    assert not list(query(graph, f"SELECT (?n + 1 AS ?v) {{ ?s <u:whole> ?n {short} }}"))


def test_a_rule_over_such_a_number(tmp_path: Path) -> None:
    (tmp_path / "sum.dlog").write_text("[?x, <u:q>, ?n] :- [?x, <u:p>, ?y], BIND(?y + 1 AS ?n) .\n")
    with Store.create(tmp_path / "kg", rules=[str(tmp_path / "sum.dlog")]) as store:
        with pytest.raises(LimitError, match="beyond a limit: a number, time or duration of more than 10,000 digits"):
            store.sparql_update(f"INSERT DATA {{ <u:s> <u:p> {LONG} }}")
        assert not store.query("ASK { ?s ?p ?o }").boolean
