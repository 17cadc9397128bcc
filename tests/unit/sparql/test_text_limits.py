"""Texts that an expression makes have a greatest length; beyond it they are an error, on each engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import Graph, query
from triplestore import Store
from triplestore.engine import Engine
from triplestore.expressions.limits import MOST_BYTES
from triplestore.model.errors import LimitError

HALF = MOST_BYTES // 2
TEN = "aaaaaaaaaa"
LENGTHS = {
    "CONCAT(?half, ?half)": MOST_BYTES,
    "CONCAT(?half, ?half, '')": MOST_BYTES,
    "CONCAT(?wide, ?wide)": HALF,  # of two bytes each
    f"CONCAT({', '.join(['?x'] * 250)})": 2_500,
    "CONCAT(?large)": 2 * MOST_BYTES,  # makes nothing
    "REPLACE(?half, 'a', 'b')": HALF,
    "REPLACE(?half, 'a', 'bb')": MOST_BYTES,
    "REPLACE(?half, 'b', 'bbb')": HALF,  # which is nowhere
    "REPLACE(?half, '(a)', '$1')": HALF,
    "REPLACE(?half, '(a)(a)(a)?(a)?', '$1$2$3$4')": HALF,
    "REPLACE(?half, '(a)\\\\1', '$1$1')": HALF,
    "REPLACE(?half, 'a', '')": 0,
    "REPLACE(?half, ?a, 'bb')": MOST_BYTES,
    "REPLACE(?x, ?a, 'bbb')": 30,
    "REPLACE(?large, '^(a)', '$1')": 2 * MOST_BYTES,  # no longer than what it is made of
    "ENCODE_FOR_URI(?half)": HALF,
    "IF(STRLEN(?half) > 10, 'long', CONCAT(?half, ?half, 'a'))": 4,
    "COALESCE(STR(?x), CONCAT(?half, ?half, 'a'))": 10,
}
TOO_LONG = [
    *("CONCAT(?half, ?half, 'a')", "CONCAT(?half, CONCAT(?half, 'a'))", "CONCAT(?wide, ?wide, 'a')"),
    *(f"CONCAT({', '.join(['?half'] * 250)})", "CONCAT(?large, 'a')"),
    *("REPLACE(?half, 'a', 'bbb')", "REPLACE(?half, '(a)', '$1$1$1')", "REPLACE(?half, ?a, 'bbb')"),
    *("REPLACE(?half, '(a)\\\\1', '$1$1$1$1$1')", "REPLACE(?large, '^(a)', '$1$1')"),
    *("ENCODE_FOR_URI(REPLACE(?half, 'a', ' '))", "COALESCE(CONCAT(?half, ?half, 'a'), 'x')"),
]


def texts(engine: Engine) -> Graph:
    found = {"half": "a" * HALF, "wide": "é" * (HALF // 2), "large": "a" * (2 * MOST_BYTES)}
    return make_graph(engine, [("<u:s>", f"<u:{name}>", f'"{text}"') for name, text in found.items()])


WHERE = f"{{ ?s <u:half> ?half; <u:wide> ?wide; <u:large> ?large BIND('a' AS ?a) BIND('{TEN}' AS ?x) }}"


@pytest.mark.long_on_spark
def test_longest_texts(engine: Engine) -> None:
    selected = " ".join(f"(STRLEN({text}) AS ?n{place})" for place, text in enumerate(LENGTHS))
    ((*lengths,),) = query(texts(engine), f"SELECT {selected} {WHERE}")
    assert dict(zip(LENGTHS, map(int, lengths), strict=True)) == LENGTHS


@pytest.mark.long_on_spark
def test_longer_texts_fail(engine: Engine) -> None:
    graph = texts(engine)
    for text in TOO_LONG:
        function = text.split("(")[1 if text.startswith("COALESCE") else 0]
        with pytest.raises(
            LimitError, match=rf"beyond a limit: {function} would make a text of more than 262,144 bytes"
        ):
            print(text, list(query(graph, f"SELECT (STRLEN({text}) AS ?n) {WHERE}")))


@pytest.mark.long_on_spark
def test_longest_group_concat(engine: Engine) -> None:
    """By groups, with DISTINCT, and of solutions that occur many times."""
    tenth = "a" * (MOST_BYTES // 10 - 1)
    facts = [(f"<u:{group}{n}>", f"<u:{group}>", f'"{tenth}"') for group in "pq" for n in range(10 + (group == "q"))]
    graph = make_graph(engine, [*facts, *((f"<u:{n}>", "<u:r>", f'"{n}"') for n in range(600))])
    text = (
        "SELECT ?p (STRLEN(GROUP_CONCAT(DISTINCT ?o)) AS ?one) (COUNT(?o) AS ?n) {} "
        "{{ ?s ?p ?o FILTER(?p IN (<u:p>, <u:q>)) }} GROUP BY ?p ORDER BY ?p"
    )
    told = [[int(term) for term in row[1:]] for row in query(graph, text.format(""))]
    assert told == [[len(tenth), 10], [len(tenth), 11]]
    failing = "beyond a limit: GROUP_CONCAT would make a text of more than 262,144 bytes"
    with pytest.raises(LimitError, match=failing):
        list(query(graph, text.format("(STRLEN(GROUP_CONCAT(?o)) AS ?all)")))
    ((one,),) = query(graph, "SELECT (STRLEN(GROUP_CONCAT(?o)) AS ?all) { ?s <u:p> ?o }")
    assert int(one) == 10 * len(tenth) + 9
    cube = "?a <u:r> ?o . ?b <u:r> ?c"
    ((total,),) = query(graph, f"SELECT (SUM(STRLEN(?o)) AS ?n) {{ {cube} }}")
    assert int(total) == 600 * sum(len(str(n)) for n in range(600))
    with pytest.raises(LimitError, match=failing):
        list(query(graph, f"SELECT (GROUP_CONCAT(?o) AS ?x) {{ {cube} }}"))


@pytest.mark.long_on_spark
def test_solutions_that_occur_too_often(engine: Engine) -> None:
    graph = make_graph(engine, [(f"<u:{n}>", "<u:r>", f'"{n}"') for n in range(150)])
    product = " ".join(f"?a{n} <u:r> ?b{n} ." for n in range(5))
    assert int(next(iter(query(graph, f"SELECT (COUNT(*) AS ?n) {{ {product} }}")))[0]) == 150**5
    with pytest.raises(LimitError, match="beyond a limit: a solution occurs more than 268,435,456 times"):
        query(graph, f"SELECT (SUM(STRLEN(?b0)) AS ?n) {{ {product} }}")
    for read in ("", "?b0"):
        more = " ".join(f"?a{n} <u:r> ?b{n} ." for n in range(10))
        with pytest.raises(LimitError, match="a solution occurs more often than can be counted"):
            query(graph, f"SELECT {read} (COUNT(*) AS ?n) {{ {more} }} {read and f'GROUP BY {read}'}")


def test_rules_have_the_same_limit(tmp_path: Path) -> None:
    """A text that is too long fails the change: without it an inference would be missing."""
    rules = tmp_path / "long.dlog"
    rules.write_text(
        "[?x, <u:n>, ?n] :- [?x, <u:p>, ?y], BIND(strlen(concat(?y, concat(?y, ''))) AS ?n) .\n"
        "[?x, <u:m>, ?n] :- [?x, <u:p>, ?y], BIND(strlen(concat(?y, concat(?y, 'a'))) AS ?n) .\n"
    )
    with Store.create(tmp_path / "kg", rules=[str(rules)]) as store:
        with pytest.raises(LimitError, match="beyond a limit: CONCAT would make a text of more than 262,144 bytes"):
            store.sparql_update(f"INSERT DATA {{ <u:s> <u:p> '{'a' * HALF}' }}")
        assert not store.query("ASK { ?s ?p ?o }").boolean
        store.sparql_update(f"INSERT DATA {{ <u:s> <u:p> '{'a' * (HALF - 1)}' }}")
        assert [int(row[0]) for row in store.query("SELECT ?n { ?s <u:n>|<u:m> ?n } ORDER BY ?n")] == [
            MOST_BYTES - 2,
            MOST_BYTES - 1,
        ]
