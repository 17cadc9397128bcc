"""Texts that an expression makes have a greatest length; beyond it they are an error, on each engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import query
from triplestore import Store
from triplestore.engine import Engine
from triplestore.expressions.strings import MOST_BYTES
from triplestore.model.errors import LimitError

HALF = MOST_BYTES // 2
TEN = "aaaaaaaaaa"
LENGTHS: dict[str, int | None] = {
    "CONCAT(?half, ?half)": MOST_BYTES,
    "CONCAT(?half, ?half, '')": MOST_BYTES,
    "CONCAT(?half, ?half, 'a')": None,
    "CONCAT(?half, CONCAT(?half, 'a'))": None,
    "CONCAT(?wide, ?wide)": HALF,  # of two bytes each
    "CONCAT(?wide, ?wide, 'a')": None,
    f"CONCAT({', '.join(['?x'] * 250)})": 2_500,
    f"CONCAT({', '.join(['?half'] * 250)})": None,
    "REPLACE(?half, 'a', 'b')": HALF,
    "REPLACE(?half, 'a', 'bb')": MOST_BYTES,
    "REPLACE(?half, 'a', 'bbb')": None,
    "REPLACE(?half, 'b', 'bbb')": HALF,  # which is nowhere
    "REPLACE(?half, '(a)', '$1')": MOST_BYTES // 2,
    "REPLACE(?half, '(a)', '$1$1$1')": None,
    "REPLACE(?half, 'a', '')": 0,
    "REPLACE(?half, ?a, 'bb')": MOST_BYTES,
    "REPLACE(?half, ?a, 'bbb')": None,
    "REPLACE(?x, ?a, 'bbb')": 30,
    "ENCODE_FOR_URI(?half)": HALF,
    "ENCODE_FOR_URI(REPLACE(?half, 'a', ' '))": None,
}


@pytest.mark.long_on_spark
def test_longest_texts(engine: Engine) -> None:
    texts = {"half": "a" * HALF, "wide": "é" * (HALF // 2)}
    graph = make_graph(engine, [("<u:s>", f"<u:{name}>", f'"{text}"') for name, text in texts.items()])
    selected = " ".join(f"(STRLEN({text}) AS ?n{place})" for place, text in enumerate(LENGTHS))
    where = f"?s <u:half> ?half; <u:wide> ?wide BIND('a' AS ?a) BIND('{TEN}' AS ?x)"
    found = query(graph, f"SELECT {selected} {{ {where} }}")
    ((*lengths,),) = found
    told = [None if length is None else int(length) for length in lengths]
    assert dict(zip(LENGTHS, told, strict=True)) == LENGTHS


@pytest.mark.long_on_spark
def test_longest_group_concat(engine: Engine) -> None:
    """By groups, with DISTINCT, and of solutions that occur many times."""
    tenth = "a" * (MOST_BYTES // 10 - 1)
    facts = [(f"<u:{group}{n}>", f"<u:{group}>", f'"{tenth}"') for group in "pq" for n in range(10 + (group == "q"))]
    graph = make_graph(engine, [*facts, *((f"<u:{n}>", "<u:r>", f'"{n}"') for n in range(600))])
    found = query(
        graph,
        "SELECT ?p (STRLEN(GROUP_CONCAT(?o)) AS ?all) (STRLEN(GROUP_CONCAT(DISTINCT ?o)) AS ?one) (COUNT(?o) AS ?n) "
        "{ ?s ?p ?o FILTER(?p IN (<u:p>, <u:q>)) } GROUP BY ?p ORDER BY ?p",
    )
    told = [[None if term is None else int(term) for term in row[1:]] for row in found]
    assert told == [[10 * len(tenth) + 9, len(tenth), 10], [None, len(tenth), 11]]
    cube = "?a <u:r> ?o . ?b <u:r> ?c"
    ((joined, total),) = query(graph, f"SELECT (GROUP_CONCAT(?o) AS ?x) (SUM(STRLEN(?o)) AS ?n) {{ {cube} }}")
    assert (joined, int(total)) == (None, 600 * sum(len(str(n)) for n in range(600)))


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
    rules = tmp_path / "long.dlog"
    rules.write_text(
        "[?x, <u:n>, ?n] :- [?x, <u:p>, ?y], BIND(strlen(concat(?y, concat(?y, ''))) AS ?n) .\n"
        "[?x, <u:m>, ?n] :- [?x, <u:p>, ?y], BIND(strlen(concat(?y, concat(?y, 'a'))) AS ?n) .\n"
    )
    with Store.create(tmp_path / "kg", rules=[str(rules)]) as store:
        store.sparql_update(f"INSERT DATA {{ <u:s> <u:p> '{'a' * HALF}' }}")
        assert int(next(iter(store.query("SELECT ?n { ?s <u:n> ?n }")))[0]) == MOST_BYTES
        assert not store.query("ASK { ?s <u:m> ?n }").boolean
