"""Numbers and times of any size and precision: expected values from XPath and XQuery Functions 3.1, worked by hand."""

from __future__ import annotations

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import query
from triplake.sparql.parser import parse_query
from triplestore.engine import Engine
from triplestore.model.terms import XSD, lexical_of

PREFIX = f"PREFIX xsd: <{XSD}> PREFIX : <http://e/> "
CHUNK = 40

NUMBERS: dict[str, str | None] = {
    "xsd:integer(1700000000e0)": "1700000000",
    "xsd:integer(1e15)": "1000000000000000",
    "xsd:decimal(1e18)": "1000000000000000000",
    "xsd:integer(1e30)": "1000000000000000019884624838656",
    "xsd:decimal(0.1e0)": "0.1000000000000000055511151231257827021181583404541015625",
    'xsd:integer("1e3"^^xsd:double)': "1000",
    "xsd:integer(-2.9e0)": "-2",
    'xsd:integer("NaN"^^xsd:double)': None,
    'xsd:decimal("0.1"^^xsd:float)': "0.100000001490116119384765625",
    "100000000000000000000000000 > 99999999999999999999": "true",
    "100000000000000000001 = 100000000000000000002": "false",
    '"-100000000000000000001"^^xsd:integer < -100000000000000000000': "true",
    "+100000000000000000001 = 100000000000000000001": "true",
    "0.1234567890123456789 > 0.123456789012345678": "true",
    "-0.1234567890123456789 < -0.123456789012345678": "true",
    "0.1234567890123456789 < 0.123456789012345679": "true",
    "100000000000000000001 + 1": "100000000000000000002",
    "99999999999999999999 + 1": "100000000000000000000",
    "100000000000000000000 - 99999999999999999999": "1",
    "1000000000000 * 1000000000000 * 1000000000000": "1000000000000000000000000000000000000",
    "0.1234567890123456789 + 1": "1.1234567890123456789",
    "100000000000000000000 / 3": "33333333333333333333.333333333333333333",
    "1/3": "0.333333333333333333",
    "-(100000000000000000001)": "-100000000000000000001",
    "ABS(-100000000000000000001)": "100000000000000000001",
    "ROUND(100000000000000000000.5)": "100000000000000000001",
    "CEIL(0.1234567890123456789)": "1",
    "1/-0.0e0": "-INF",
    "1e0/0": "INF",
    'xsd:string("-0"^^xsd:double)': "-0",
    "xsd:string(1e0/3)": "0.3333333333333333",
    "xsd:string(1e6)": "1.0E6",
    "STR(-0.0e0 * 1)": "-0.0E0",
    "-0.0 * -3e0": "-0.0E0",
    "xsd:double(-0.0)": "0.0E0",
    'xsd:float("-0"^^xsd:integer)': "0.0E0",
    'xsd:double("-0")': "-0.0E0",
    'STRDT("-0.0", xsd:decimal) * 1e0': "0.0E0",
    'STRDT("-0.0", xsd:double) * 1': "-0.0E0",
    "ROUND(-0.4e0)": "-0.0E0",
    "ROUND(0.49999999999999994e0)": "0.0E0",
    "CEIL(-0.5e0)": "-0.0E0",
    "ROUND(1e300)": "1.0E300",
    '"0.1"^^xsd:float = 0.1e0': "false",
    '"0.1"^^xsd:float = 0.1': "true",
    '"0.1"^^xsd:float = "0.1"^^xsd:float': "true",
    '"0.1"^^xsd:float + 0': "1.0E-1",
    '"16777217"^^xsd:float = 16777216': "true",
    "xsd:float(1e39)": "INF",
    'xsd:float("0.1")': "1.0E-1",
    'xsd:double("0.1"^^xsd:float)': "1.0000000149011612E-1",
    "xsd:long(5.7)": "5",
    "xsd:byte(128)": None,
    'xsd:byte("127")': "127",
    "xsd:unsignedLong(18446744073709551615)": "18446744073709551615",
    "xsd:unsignedLong(18446744073709551616)": None,
    "xsd:nonNegativeInteger(-1)": None,
    "xsd:positiveInteger(1e25)": "10000000000000000905969664",
    "xsd:negativeInteger(1e25)": None,
    "xsd:int(true)": "1",
    "DATATYPE(xsd:int(3))": "http://www.w3.org/2001/XMLSchema#int",
    "xsd:double(0.1+0.2) = 0.3e0": "true",
    "0.1+0.2 = 0.3e0": "true",
    "xsd:boolean(100000000000000000001)": "true",
    "IF(100000000000000000001 - 1,1,2)": "1",
    "100000000000000000001 IN (1,100000000000000000001)": "true",
    "100000000000000000001 NOT IN (1,100000000000000000002)": "true",
    '"0.1"^^xsd:float IN (0.1)': "true",
    '"0.1"^^xsd:float IN (0.1e0)': "false",
    'xsd:decimal("100000000000000000000.50")': "100000000000000000000.5",
    'xsd:integer("x")': None,
    'xsd:integer(" 7 ")': "7",
    "xsd:string(100000000000000000001)": "100000000000000000001",
    'STRDT("100000000000000000001", xsd:integer) + 1': "100000000000000000002",
}
TIMES: dict[str, str | None] = {
    'HOURS("2020-12-31T24:00:00Z"^^xsd:dateTime)': "0",
    'YEAR("2020-12-31T24:00:00Z"^^xsd:dateTime)': "2021",
    'DAY("2020-12-31T24:00:00Z"^^xsd:dateTime)': "1",
    'YEAR("-0044-03-15T00:00:00Z"^^xsd:dateTime)': "-44",
    'SECONDS("2020-01-01T00:00:01.123456789Z"^^xsd:dateTime)': "1.123456789",
    'MONTH("12020-03-04"^^xsd:date)': "3",
    'MINUTES("2020-01-01T10:11:12Z"^^xsd:dateTime)': "11",
    '"2020-01-01T00:00:00.1234567Z"^^xsd:dateTime < "2020-01-01T00:00:00.12345671Z"^^xsd:dateTime': "true",
    '"2020-01-01T00:00:00.123456Z"^^xsd:dateTime < "2020-01-01T00:00:00.1234561Z"^^xsd:dateTime': "true",
    '"2020-01-01T00:00:00.1234560Z"^^xsd:dateTime = "2020-01-01T00:00:00.123456Z"^^xsd:dateTime': "true",
    '"10000-01-01T00:00:00Z"^^xsd:dateTime > "9999-12-31T00:00:00Z"^^xsd:dateTime': "true",
    '"-0001-01-01T00:00:00Z"^^xsd:dateTime < "0001-01-01T00:00:00Z"^^xsd:dateTime': "true",
    '"10000-01-01T00:00:00+01:00"^^xsd:dateTime = "9999-12-31T23:00:00Z"^^xsd:dateTime': "true",
    '"12020-01-01"^^xsd:date > "2020-01-01"^^xsd:date': "true",
    '"2020-01-01T24:00:00Z"^^xsd:dateTime = "2020-01-02T00:00:00Z"^^xsd:dateTime': "true",
    '"12345-01-01T00:00:00"^^xsd:dateTime = "12345-01-01T00:00:00Z"^^xsd:dateTime': None,
    'xsd:date("2020-02-30")': None,
    'xsd:date("2020-02-28T10:00:00Z"^^xsd:dateTime)': "2020-02-28Z",
    'xsd:dateTime("2020-02-28Z"^^xsd:date)': "2020-02-28T00:00:00Z",
    'xsd:date("2020-02-28")': "2020-02-28",
    'xsd:dateTime("2020-01-01T00:00:00+14:00")': "2020-01-01T00:00:00+14:00",
    'xsd:dateTime("2020-01-01T00:00:00+15:00")': None,
    'xsd:dateTime("12020-01-01T00:00:00-14:01")': None,
    'xsd:date("2020-01-01+14:01")': None,
    'xsd:date("2020-01-01-13:60")': None,
    'xsd:time("10:00:00+99:99")': None,
    'YEAR("2020-01-01T00:00:00+15:00"^^xsd:dateTime)': None,
    'TZ("2020-01-01T00:00:00+15:00"^^xsd:dateTime)': None,
    '"2020-01-01+14:01"^^xsd:date < "2021-01-01"^^xsd:date': None,
    '"2020-01-01T00:00:00+15:00"^^xsd:dateTime + "P1D"^^xsd:dayTimeDuration': None,
}
STRINGS: dict[str, str | None] = {
    'UCASE("ß")': "SS",
    'LCASE("ÀÉ")': "àé",
    'UCASE("ﬁx")': "FIX",
}
CASES = [*NUMBERS.items(), *TIMES.items(), *STRINGS.items()]
"""Expression -> the lexical form of its value, None for an error."""


@pytest.mark.parametrize(
    "start",
    [pytest.param(n, marks=[pytest.mark.long_on_spark] if n else []) for n in range(0, len(CASES), CHUNK)],
)
def test_constants(engine: Engine, start: int) -> None:
    """Each expression over constants, a chunk of them in one query."""
    cases = CASES[start : start + CHUNK]
    selected = " ".join(f"({expression} AS ?e{place})" for place, (expression, _) in enumerate(cases))
    (row,) = query(make_graph(engine, []), f"{PREFIX} SELECT {selected} {{}}").tokens()
    got = {e: None if t is None else lexical_of(t) for (e, _), t in zip(cases, row, strict=True)}
    assert got == dict(cases)


INTEGERS = [
    "-100000000000000000002",
    "-100000000000000000001",
    "5",
    "99999999999999999999",
    "100000000000000000001",
    "100000000000000000002",
]
INSTANTS = [
    "-0044-01-01T00:00:00Z",
    "2020-01-01T00:00:00.123456Z",
    "2020-01-01T00:00:00.1234567Z",
    "2020-01-01T00:00:00.12345671Z",
    "9999-12-31T00:00:00Z",
    "10000-01-01T00:00:00Z",
]
"""Both in their order, which no two of them share."""

QUERIES: dict[str, list[tuple[str, ...]]] = {
    "SELECT ?o { ?s :p ?o } ORDER BY ?o": [(text,) for text in INTEGERS],
    "SELECT ?o { ?s :t ?o } ORDER BY ?o": [(text,) for text in INSTANTS],
    "SELECT (MIN(?o) AS ?x) (MAX(?o) AS ?y) { ?s :t ?o }": [(INSTANTS[0], INSTANTS[-1])],
    "SELECT (MIN(?o) AS ?x) (MAX(?o) AS ?y) { ?s :p ?o }": [(INTEGERS[0], INTEGERS[-1])],
    "SELECT (SUM(?o) AS ?x) (AVG(?o) AS ?y) { ?s :p ?o }": [
        ("100000000000000000004", "16666666666666666667.333333333333333333")
    ],
    "SELECT ?o { ?s :p ?o FILTER(?o > 100000000000000000001) }": [("100000000000000000002",)],
    "SELECT ?o { ?s :p ?o FILTER(?o = 100000000000000000001) }": [("100000000000000000001",)],
    "SELECT ?o { ?s :p ?o FILTER(?o IN (100000000000000000001, 7)) }": [("100000000000000000001",)],
    "SELECT (COUNT(*) AS ?n) { ?s :p ?o, ?x FILTER(?o < ?x) }": [("15",)],
    "SELECT (COUNT(*) AS ?n) { ?s :t ?o, ?x FILTER(?o < ?x) }": [("15",)],
    "SELECT ?o { ?s :f ?o FILTER(?o = 0.1) }": [("0.1",)],
    "SELECT ?o { ?s :f ?o FILTER(?o = 0.1e0) }": [],
    "SELECT (SUM(?o) AS ?x) { ?s :p|:f ?o }": [("1.0E20",)],
    "SELECT (?o * 1e0 AS ?x) { ?s :z ?o }": [("0.0E0",)],
    "SELECT (COALESCE(MONTH(?o), ?o < '2021-01-01T00:00:00Z'^^xsd:dateTime, 0) AS ?x) { ?s :bad ?o }": [("0",)],
    "SELECT ?o { ?s :q ?o FILTER(?o NOT IN ('x', 1)) }": [],  # they cannot be compared
}


@pytest.mark.long_on_spark
def test_stored_terms(engine: Engine) -> None:
    """The same of terms in the dictionary."""
    facts = [("<http://e/a>", "<http://e/p>", f'"{text}"^^<{XSD}integer>') for text in INTEGERS]
    facts += [("<http://e/a>", "<http://e/t>", f'"{text}"^^<{XSD}dateTime>') for text in INSTANTS]
    facts.append(("<http://e/a>", "<http://e/f>", f'"0.1"^^<{XSD}float>'))
    facts.append(("<http://e/a>", "<http://e/z>", f'"-0.0"^^<{XSD}decimal>'))
    facts.append(("<http://e/a>", "<http://e/bad>", f'"2020-01-01T00:00:00+15:00"^^<{XSD}dateTime>'))
    facts.append(("<http://e/a>", "<http://e/q>", '"q"^^<http://e/t>'))
    graph = make_graph(engine, facts)
    for text, expected in QUERIES.items():
        got = [tuple(lexical_of(t or "") for t in row) for row in query(graph, PREFIX + text).tokens()]
        assert got == expected, text


NESTED = {
    "in": lambda n: "?o IN (" + ", ".join(map(str, range(10 * n))) + ")",
    "not in": lambda n: "!(?o NOT IN (" + ", ".join(map(str, range(10 * n))) + "))",
    "sum": lambda n: "(?o + " * n + "?o" + ")" * n + " < 1000",
    "if": lambda n: "".join(f"IF(?o = {k}, ?o + {k}, " for k in range(n)) + "?o" + ")" * n + " < 1000",
}


@pytest.mark.parametrize("name", sorted(NESTED))
def test_a_statement_grows_with_its_expression(embedded: Engine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Twice the expression is about twice the statement."""
    graph = make_graph(embedded, [("<http://e/a>", "<http://e/q>", f'"{n}"^^<{XSD}integer>') for n in range(3)])
    asked: list[str] = []
    run = embedded.query
    monkeypatch.setattr(embedded, "query", lambda sql: (asked.append(str(sql)), run(sql))[1])
    sizes = []
    for size in (10, 20):
        asked.clear()
        text = f"{PREFIX} SELECT ?o {{ :a :q ?o FILTER({NESTED[name](size)}) }}"
        assert len(list(query(graph, text).tokens())) == 3
        sizes.append(max(map(len, asked)))
    assert sizes[1] < 2.2 * sizes[0]
    assert sizes[1] < 100_000


@pytest.mark.long_on_spark(but=1)
@pytest.mark.parametrize("condition", ["?o * 2 + 1 > 5", "IF(?o * 2 > 2, ?o + 1, ?o) < 7 && ?t + 1 < 7"])
def test_the_plan_of_a_filter_is_as_long_as_its_statement(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    """Spark's optimiser copies what a condition reads into the condition, unless it is fenced off: megabytes."""
    graph = make_graph(engine, [("<http://e/a>", "<http://e/q>", f'"{n}"^^<{XSD}integer>') for n in range(3)])
    asked: list[str] = []
    run = engine.query
    monkeypatch.setattr(engine, "query", lambda sql: (asked.append(str(sql)), run(sql))[1])
    list(query(graph, f"{PREFIX} SELECT ?o {{ :a :q ?o BIND(?o * 2 AS ?t) FILTER({condition}) }}").tokens())
    sql = max(map(str, asked), key=len)
    explained = "EXPLAIN EXTENDED " if engine.name == "spark" else "EXPLAIN "
    assert sum(len(text) for row in engine.rows(explained + sql) for text in row) < 20 * len(sql)


def test_an_unknown_function_is_an_error_where_it_is_evaluated(engine: Engine) -> None:
    """And nowhere else, with a warning that names it."""
    text = f"{PREFIX} SELECT (:f(1) AS ?x) (COALESCE(:f(1), 2) AS ?y) (IF(true, 3, :f(1)) AS ?z) {{}}"
    ((x, y, z),) = query(make_graph(engine, []), text).tokens()
    assert (x, lexical_of(y or ""), lexical_of(z or "")) == (None, "2", "3")
    assert parse_query(text).warnings == ("there is no function <http://e/f>: it gives an error",)


@pytest.mark.long_on_spark
@pytest.mark.spark_alone
def test_the_least_of_equal_numbers_is_the_same_on_each_engine(engine: Engine) -> None:
    """Where records are compared, NULL comes last to DuckDB, first to Spark."""
    ones = [f'"{text}"^^<{XSD}{name}>' for text, name in (("1", "integer"), ("1.0", "decimal"), ("1e0", "double"))]
    graph = make_graph(engine, [("<http://e/a>", "<http://e/p>", one) for one in ones])
    (found,) = query(graph, "SELECT (MIN(?o) AS ?x) (MAX(?o) AS ?y) (SAMPLE(?o) AS ?z) { ?s ?p ?o }").tokens()
    assert found == (ones[2], ones[1], ones[2])
