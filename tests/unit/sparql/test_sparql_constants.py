"""Comparing with a constant is comparing with a stored term: whatever a variable holds, and is compared with."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.support.seeds import seeds
from tests.support.sparql import make_graph
from triplake.sparql import query
from triplestore.engine import Engine
from triplestore.model.terms import XSD

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
TEXTS = {
    "integer": "0 -0 1 +1 007 5 -5 16777216 16777217 99999999999999999999 100000000000000000000 "
    "-1000000000000000000001",
    "decimal": "0.0 1.0 0.1 -0.1 .5 16777217.0 0.123456789012345678 0.1234567890123456789 -0.00000000000000000001",
    "float": "0 -0 1 0.1 16777216 16777217 INF -INF NaN 1e30 3.5e38",
    "double": "0 -0 1 0.1 16777217 0.5 INF -INF NaN 1e20 1e300",
    "unsignedByte": "1 255",
    "boolean": "true false 1 maybe",
    "string": "a 1 true",
    "dateTime": "2020-01-01T00:00:00 2020-01-01T00:00:00Z 2020-01-01T14:00:00 2020-01-01T14:00:00.000001Z "
    "2020-01-01T14:00:00.0000001Z 2020-01-01T13:59:59.9999999 2019-12-31T24:00:00 2020-01-01T02:00:00+02:00 "
    "2020-01-01T00:00:00.5000000 12020-01-01T00:00:00Z -0044-03-15T12:00:00 0000-01-01T01:00:00Z "
    "-0001-12-31T23:00:00-02:00 9999-12-31T24:00:00Z 10000-01-01T00:00:00Z 2020-13-01T00:00:00",
    "dateTimeStamp": "2020-01-01T00:00:00Z",
    "date": "2020-01-01 2020-01-01Z 2020-01-02+14:00 2020-01-01-14:00 12020-01-01 2020-02-30",
    "time": "00:00:00 24:00:00 00:00:00Z 14:00:00 13:59:59.9999999 10:00:00+02:00",
    "duration": "P1Y P12M P1D -P1D P1Y1D",
    "dayTimeDuration": "P1D PT24H PT0.0000001S",
    "yearMonthDuration": "P1Y P12M",
}
TERMS = [f'"{text}"^^<{XSD}{name}>' for name, texts in TEXTS.items() for text in texts.split() if name != "string"]
TERMS += [f'"{text}"' for text in TEXTS["string"].split()]
TERMS += ['"a"@en', '"a"^^<http://e/own>', "<http://e/a>", "_:a"]


def random_terms(seed: int) -> list[str]:
    """Numbers and times that are near to each other."""
    rng = Random(seed)
    found = []
    for _ in range(12):
        digits = rng.choice(["1", "10", "16777217", "99999999999999999999", "0.1", "1.000000000000000000"])
        found.append((rng.choice(["integer", "decimal", "float", "double"]), rng.choice(["", "-"]) + digits))
        moment = f"2020-01-{rng.randint(1, 2):02}T{rng.randint(0, 23):02}:00:00"
        moment += rng.choice(["", "", ".5", ".0000000001"]) + rng.choice(["", "", "Z", "+14:00", "-03:30"])
        found.append(("dateTime", moment))
    return list(
        dict.fromkeys(f'"{text}"^^<{XSD}{name}>' for name, text in found if name != "integer" or "." not in text)
    )


def compared(engine: Engine, terms: list[str], constants: list[str]) -> None:
    """Compare all terms with the constants, as variables and as constants."""
    graph = make_graph(engine, [("<http://e/s>", "<http://e/p>", term) for term in terms])
    wanted: dict[tuple[str, str], tuple[str | None, ...]] = {}
    by_variables = " ".join(f"(?a {operator} ?b AS ?r{n})" for n, operator in enumerate(OPERATORS))
    by_variables += " " + " ".join(f"(?b {operator} ?a AS ?t{n})" for n, operator in enumerate(OPERATORS))
    for a, b, *results in query(graph, f"SELECT ?a ?b {by_variables} {{ ?s <http://e/p> ?a, ?b }}").tokens():
        wanted[str(a), str(b)] = tuple(results)
    for constant in constants:
        tests = [f"?a {operator} {constant}" for operator in OPERATORS]
        tests += [f"{constant} {operator} ?a" for operator in OPERATORS]
        tests.append(f"?a IN ({constant}, <http://e/none>)")
        selected = " ".join(f"({test} AS ?r{n})" for n, test in enumerate(tests))
        for a, *got in query(graph, f"SELECT ?a {selected} {{ ?s <http://e/p> ?a }}").tokens():
            expected = wanted[str(a), constant]
            assert tuple(got[:-1]) == expected, (a, constant)
            assert got[-1] == expected[0], (a, "IN", constant)
    for place, constant in enumerate(constants):
        others = [constants[(place + step) % len(constants)] for step in (0, 1, 7, 19)]
        tests = [f"{constant} {operator} {other}" for other in others for operator in OPERATORS]
        selected = " ".join(f"({test} AS ?r{n})" for n, test in enumerate(tests))
        (row,) = query(graph, f"SELECT {selected} {{}}").tokens()
        assert list(row) == [result for other in others for result in wanted[constant, other][: len(OPERATORS)]], tests
    true = f'"true"^^<{XSD}boolean>'
    some = constants[:40]
    for place, condition in enumerate([f"?a IN ({', '.join(some)})", " || ".join(f"?a < {c}" for c in some)]):
        kept = query(graph, f"SELECT ?a {{ ?s <http://e/p> ?a FILTER({condition}) }}").tokens()
        result = (0, OPERATORS.index("<"))[place]
        assert Counter(a for (a,) in kept) == Counter(
            a for a in terms if any(wanted[a, c][result] == true for c in some)
        )


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.long)])
def test_constants_compare_as_stored_terms_do(embedded: Engine, each: int) -> None:
    compared(embedded, TERMS, [term for term in TERMS if term != "_:a"][::each])


@pytest.mark.parametrize("seed", seeds(range(6), 1))
def test_random_constants_compare_as_stored_terms_do(embedded: Engine, seed: int) -> None:
    terms = random_terms(seed)
    compared(embedded, terms, terms)


@pytest.mark.spark
@pytest.mark.long
def test_constants_compare_as_stored_terms_do_on_spark(spark_engine: Engine) -> None:
    compared(spark_engine, TERMS, [TERMS[n] for n in range(0, len(TERMS) - 1, 9)])
