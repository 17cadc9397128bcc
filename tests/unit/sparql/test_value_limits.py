"""Values that are too long or too deep to be computed with fail a query; they do not come out unbound.

Texts have tests of their own (`test_text_limits`), and so have patterns (`test_sparql_regex`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import query
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import LimitError
from triplestore.model.legal_terms import TERM_DEPTH
from triplestore.model.terms import XSD, to_ntriples

LONG = "1" * 10_001
FACTS = {
    "whole": f'"{LONG}"^^<{XSD}integer>',
    "fraction": f'"0.{LONG}"^^<{XSD}decimal>',
    "half": f'"{"1" * 5_001}"^^<{XSD}integer>',
    "duration": f'"PT0.{LONG}S"^^<{XSD}dayTimeDuration>',
    "time": f'"2020-01-01T00:00:00.{LONG}Z"^^<{XSD}dateTime>',
    "day": f'"P1D"^^<{XSD}dayTimeDuration>',
}
DEEP = "<u:o>"
for _ in range(TERM_DEPTH):
    DEEP = f"(<u:s> <u:p> {to_ntriples(DEEP)})"
FACTS["deep"] = DEEP
NUMBERS = "a number, time or duration of more than"
WHERE = "{ ?s " + "; ".join(f"<u:{name}> ?{name}" for name in FACTS) + " }"
TOO_LONG = {
    "?whole + 1": f"{NUMBERS} 10,000 digits",
    "1 - ?fraction": f"{NUMBERS} 10,000 digits",
    "-?whole": f"{NUMBERS} 10,000 digits",
    "ROUND(?fraction)": f"{NUMBERS} 10,000 digits",
    "?half * ?half": f"{NUMBERS} 10,000 digits",
    "SUM(?whole)": f"{NUMBERS} 10,000 digits",
    "AVG(?fraction)": f"{NUMBERS} 10,000 digits",
    "?duration + ?day": f"{NUMBERS} 4,000 characters",
    "?time - ?day": f"{NUMBERS} 4,000 characters",
    "SUM(?duration)": f"{NUMBERS} 4,000 characters",
    "TRIPLE(<u:s>, <u:p>, ?deep)": "TRIPLE would make a triple term more than 100 deep",
}
FITTING = {
    "OBJECT(TRIPLE(<u:s>, <u:p>, OBJECT(?deep))) = OBJECT(?deep)": "true",
    "IF(?half > 1, 7, TRIPLE(<u:s>, <u:p>, ?deep))": "7",
    "STRLEN(STR(?whole))": "10001",
    "IF(?whole > 1, 2, 3)": "2",
    "?half + 0 = ?half": "true",
}


@pytest.mark.long_on_spark
def test_values_that_are_too_long(engine: Engine) -> None:
    graph = make_graph(engine, [("<u:s>", f"<u:{name}>", token) for name, token in FACTS.items()])
    for expression, limit in TOO_LONG.items():
        with pytest.raises(LimitError, match=f"beyond a limit: {limit}"):
            print(expression, list(query(graph, f"SELECT ({expression} AS ?v) {WHERE}")))
    selected = " ".join(f"({expression} AS ?v{n})" for n, expression in enumerate(FITTING))
    ((*found,),) = query(graph, f"SELECT {selected} {WHERE}")
    assert dict(zip(FITTING, map(str, found), strict=True)) == FITTING
    short = "FILTER(STRLEN(STR(?n)) < 100)"  # what the message recommends
    assert not list(query(graph, f"SELECT (?n + 1 AS ?v) {{ ?s <u:whole> ?n {short} }}"))


def test_a_rule_over_such_a_number(tmp_path: Path) -> None:
    (tmp_path / "sum.dlog").write_text("[?x, <u:q>, ?n] :- [?x, <u:p>, ?y], BIND(?y + 1 AS ?n) .\n")
    with Store.create(tmp_path / "kg", rules=[str(tmp_path / "sum.dlog")]) as store:
        with pytest.raises(LimitError, match=f"beyond a limit: {NUMBERS} 10,000 digits"):
            store.sparql_update(f"INSERT DATA {{ <u:s> <u:p> {LONG} }}")
        assert not store.query("ASK { ?s ?p ?o }").boolean
