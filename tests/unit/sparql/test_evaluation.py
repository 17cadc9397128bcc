"""Expressions that are evaluated row by row have the values that the engine's SQL gives: of all pairs of terms of many
kinds, and of random expressions over them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.support.seeds import seeds
from tests.support.sparql import make_graph
from tests.support.thresholds import set_fields
from triplake.sparql import query
from triplestore.engine import Engine
from triplestore.expressions.thresholds import Thresholds
from triplestore.model.terms import XSD
from triplestore.model.thresholds import SIZES

NUMBERS = {
    "integer": ["0", "1", "-7", "012", "99999999999999999999", "100000000000000000000", f"-{'1234567890' * 3}"],
    "byte": ["5", "x", "1200"],
    "positiveInteger": ["0"],
    "decimal": ["1.50", "-0.0", ".5", "0.0000000000000000001", "12345678901234567890123.25", "1e3"],
    "float": ["1.5", "0.1", "16777217", "-0", "NaN", "INF", "3e38", "1e-46"],
    "double": ["1e0", "0.1", "1e300", "-0.0", "NaN", "-INF", "1e21", "1.7976931348623157e308"],
}
TIMES = {
    "dateTime": [
        *("2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00", "2020-01-01T08:00:00", "2019-12-31T24:00:00Z"),
        *("-0044-03-15T00:00:00Z", "12020-01-01T00:00:00.1234567Z", "2020-02-30T00:00:00Z", " 2020-03-31T12:00:00.5Z "),
    ],
    "dateTimeStamp": ["2020-01-01T00:00:00.000Z"],
    "date": ["2020-01-01", "2020-01-01Z", "2020-01-02+14:00"],
    "time": ["10:00:00Z", "24:00:00", "10:00:00.25"],
    "duration": ["P1Y", "P12M", "PT0S", "P1DT1H"],
    "dayTimeDuration": ["P1D", "PT24H", "-PT0.5S", "PT1.1234567S"],
    "yearMonthDuration": ["P1Y", "-P13M", "P0M"],
}
OTHERS = {"boolean": ["true", "1", "false", "yes"], "token": ["a"], "gYear": ["2020", "2021"]}
KINDS = NUMBERS | TIMES | OTHERS
TERMS = [
    *(f'"{text}"^^<{XSD}{name}>' for name, texts in KINDS.items() for text in texts),
    *('"a"', '"b"', '""', '"10"', '"a"@en', '"a"@de', '"b"@en', '"\U0001f600x"', "<http://e/a>", "<http://e/b>", "_:b"),
]
BINARY = ("+", "-", "*", "/", "=", "!=", "<", "<=", ">", ">=")
UNARY = ("!{}", "-{}", "+{}", "IF({}, 1, 2)", "BOUND({})", "STR(-{})", "DATATYPE({} + 1)", "ISNUMERIC(+{})")
SEVERAL = [
    *("?x && ?y", "?x || ?y", "COALESCE(?x + 1, ?y)", "IF(?x < ?y, ?x, ?y)", "CONCAT(?x, 'c', ?y)"),
    *("?x IN (?y, 1, <http://e/a>)", "?x NOT IN (?y, ?z)", "sameTerm(?x, ?y)", "(?x + ?y) IN (2, ?x)"),
]
LEAVES = ("?x", "?x", "?y", "?y", "?z", "1", "2.5", "1e0", '"a"', "true", f'"P1D"^^<{XSD}dayTimeDuration>')
FORMS = (
    *(f"({{0}} {operator} {{1}})" for operator in BINARY),
    *("({0} && {1} || {2})", "({0} || {1} && {2})", "IF({0}, {1}, {2})", "COALESCE({0}, {1}, {2})", "!({0})", "-({0})"),
    *("({0} IN ({1}, {2}))", "({0} NOT IN ({1}, {2}))", "CONCAT({0}, STR({1}))", "STRLEN({0})", "({0} + {1} - {2})"),
)


def values(engine: Engine, monkeypatch: pytest.MonkeyPatch, text: str, terms: list[str]) -> list[list[tuple[str, ...]]]:
    """The sorted rows by SQL, and evaluated row by row."""
    graph = make_graph(engine, [("<u:s>", f"<u:{place}>", term) for place, term in enumerate(terms)])
    found = []
    for least in (10**9, 1):
        set_fields(monkeypatch, Thresholds, cheap=least, heavy=least)
        found.append(sorted(tuple(map(str, row)) for row in query(graph, text).tokens()))
    return found


def same_float(a: str, b: str) -> bool:
    """Whether both are one xsd:float: an engine writes it with more digits than it needs."""
    texts = [text.removesuffix(f'"^^<{XSD}float>').strip('"') for text in (a, b) if text.endswith("#float>")]
    return len(texts) == 2 and bool(np.float32(texts[0]) == np.float32(texts[1]))


def compare(engine: Engine, monkeypatch: pytest.MonkeyPatch, expressions: list[str], terms: list[str]) -> None:
    """All pairs of terms, as ?x and ?y."""
    selected = " ".join(f"({expression} AS ?e{place})" for place, expression in enumerate(expressions))
    text = f"SELECT ?x ?y {selected} {{ ?s ?p ?x . ?t ?q ?y }}"
    sql, rows = values(engine, monkeypatch, text, terms)
    assert len(sql) == len(rows) == len(terms) ** 2
    wrong = [
        (expressions[place - 2], *a[:2], a[place], b[place])
        for a, b in zip(sql, rows, strict=True)
        for place in range(2, len(a))
        if a[place] != b[place] and not same_float(a[place], b[place])
    ]
    assert wrong == []


@pytest.mark.parametrize("expressions", [[f"?x {operator} ?y" for operator in BINARY], SEVERAL], ids=["binary", "more"])
def test_all_pairs(embedded: Engine, monkeypatch: pytest.MonkeyPatch, expressions: list[str]) -> None:
    compare(embedded, monkeypatch, expressions, TERMS)


@pytest.mark.long_on_spark
def test_one_term(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(engine, monkeypatch, [form.format("?x") for form in UNARY], TERMS[::3])


def random_expression(rng: Random, depth: int) -> str:
    """An expression over ?x, ?y, an unbound ?z, and constants."""
    if depth == 0:
        return rng.choice(LEAVES)
    return rng.choice(FORMS).format(*(random_expression(rng, rng.randrange(depth)) for _ in range(3)))


@pytest.mark.parametrize("seed", seeds(range(3), 1))
def test_random_expressions(embedded: Engine, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng = Random(seed)
    compare(embedded, monkeypatch, [random_expression(rng, 3) for _ in range(8)], rng.sample(TERMS, 25))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 100))
def test_random_expressions_often(embedded: Engine, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    test_random_expressions(embedded, monkeypatch, seed)


@pytest.mark.parametrize("strings", [False, pytest.param(True, marks=pytest.mark.long)], ids=["numbers", "mixed"])
@pytest.mark.parametrize("operands", [103, *(pytest.param(n, marks=pytest.mark.long) for n in (199, 211))])
def test_long_chains_over_many_rows(embedded: Engine, operands: int, strings: bool) -> None:
    """More operands than the parser nests, over more rows than long expressions are evaluated for."""
    rows, times = SIZES.objects + 1, (operands - 1) // 3
    terms = [f'"{n}"' if strings and n % 4 == 0 else f'"{n}"^^<{XSD}integer>' for n in range(1, rows + 1)]
    graph = make_graph(embedded, [(f"<u:s{n}>", "<u:p>", term) for n, term in enumerate(terms)])
    chain = "?v" + " + ?v - ?v + ?v" * times
    found = query(graph, f"SELECT ?n {{ ?s <u:p> ?v BIND({chain} AS ?e) FILTER(?e > 0) BIND(?e / ?v AS ?n) }}").tokens()
    assert [row[0].split('"')[1].removesuffix(".0") for row in found] == [str(times + 1)] * sum(XSD in t for t in terms)


@pytest.mark.long_on_spark
def test_a_chain_of_sums_over_many_rows(engine: Engine) -> None:
    """More rows than long expressions are evaluated for on DuckDB; as SQL, an engine may not end planning these."""
    rows = SIZES.objects + 1
    graph = make_graph(engine, [(f"<u:s{n}>", "<u:p>", f'"{n}"^^<{XSD}integer>') for n in range(rows)])
    binds = " ".join(f"BIND(?b{n} + ?v AS ?b{n + 1})" for n in range(8))
    found = query(graph, f"SELECT (MAX(?b8) AS ?most) {{ ?s <u:p> ?v BIND(?v AS ?b0) {binds} }}").tokens()
    assert list(found) == [(f'"{9 * (rows - 1)}"^^<{XSD}integer>',)]
