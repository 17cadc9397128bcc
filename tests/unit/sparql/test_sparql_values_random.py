"""Random numbers of all types and sizes, and times: comparisons and sums as Python's fractions have them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tests.support.seeds import seeds
from tests.support.sparql import make_graph
from triplake.sparql import query
from triplestore.engine import Engine
from triplestore.model.terms import XSD, split_literal

Number = tuple[str, str, Fraction]
"""(rank and datatype, lexical form, value)."""


def random_number(rng: Random) -> Number:
    """Small, near to what DECIMAL(38,18) holds, beyond it, or with many digits after the point; often alike."""
    base = rng.choice([rng.randint(-5, 5), 10 ** rng.choice([19, 20, 21, 30]) * rng.choice([1, -1]), 2**53, 2**24])
    whole = base + rng.randint(-2, 2)
    kind = rng.choice(["integer", "decimal", "decimal", "float", "double"])
    text = str(whole)
    if kind == "decimal":
        digits = rng.choice(["5", "1" * 18, "1" * 17 + "2", "1" * 19, "1" * 18 + "2", "0"])
        text = f"{whole}.{digits}"
    if kind == "float":
        return kind, repr(float(np.float32(whole))), Fraction(float(np.float32(whole)))
    if kind == "double":
        return kind, repr(float(whole)), Fraction(float(whole))
    return kind, text, Fraction(Decimal(text))


def promoted(a: Number, b: Number) -> tuple[Fraction, Fraction]:
    """Both as the wider of their types."""
    kinds = {a[0], b[0]}
    if "double" in kinds:
        return Fraction(float(a[2])), Fraction(float(b[2]))
    if "float" in kinds:
        return Fraction(float(np.float32(float(a[2])))), Fraction(float(np.float32(float(b[2]))))
    return a[2], b[2]


def read(token: str | None) -> Fraction | str | None:
    if token is None:
        return None
    lexical, datatype, _ = split_literal(token)
    return lexical if datatype == XSD + "boolean" else Fraction(Decimal(lexical))


@pytest.mark.parametrize("seed", seeds(range(3), 1))
def test_numbers(embedded: Engine, seed: int) -> None:
    """In one query over pairs that are stored: =, <, IN, and sums and differences of exact ones."""
    rng = Random(seed)
    pairs = [(random_number(rng), random_number(rng)) for _ in range(150)]
    facts = [
        (f"<http://e/{place}>", f"<http://e/{name}>", f'"{number[1]}"^^<{XSD}{number[0]}>')
        for place, pair in enumerate(pairs)
        for name, number in zip("pq", pair, strict=True)
    ]
    text = (
        "SELECT ?s (?a = ?b AS ?x) (?a < ?b AS ?y) (?a + ?b AS ?z) (?a - ?b AS ?w) (?a IN (?b) AS ?v)"
        "{ ?s <http://e/p> ?a ; <http://e/q> ?b }"
    )
    found = {row[0]: tuple(map(read, row[1:])) for row in query(make_graph(embedded, facts), text).tokens()}
    for place, (a, b) in enumerate(pairs):
        x, y = promoted(a, b)
        same, before = str(x == y).lower(), str(x < y).lower()
        got = found[f"<http://e/{place}>"]
        assert (got[0], got[1], got[4]) == (same, before, same), (a, b)
        if {a[0], b[0]} <= {"integer", "decimal"}:
            assert got[2:4] == (a[2] + b[2], a[2] - b[2]), (a, b)


@pytest.mark.parametrize("seed", seeds(range(3), 1))
def test_order_of_numbers_and_totals(embedded: Engine, seed: int) -> None:
    """ORDER BY, MIN, MAX, SUM of exact numbers; `IN` a list of them."""
    rng = Random(seed)
    exact = [n for n in (random_number(rng) for _ in range(200)) if n[0] in ("integer", "decimal")]
    facts = [(f"<http://e/{place}>", "<http://e/p>", f'"{n[1]}"^^<{XSD}{n[0]}>') for place, n in enumerate(exact)]
    graph = make_graph(embedded, facts)
    ordered = [read(row[0]) for row in query(graph, "SELECT ?o { ?s <http://e/p> ?o } ORDER BY ?o").tokens()]
    assert ordered == sorted(number[2] for number in exact)
    text = "SELECT (MIN(?o) AS ?x) (MAX(?o) AS ?y) (SUM(?o) AS ?z) { ?s <http://e/p> ?o }"
    (row,) = query(graph, text).tokens()
    assert list(map(read, row)) == [ordered[0], ordered[-1], sum(number[2] for number in exact)]
    some = exact[::3]
    listed = ", ".join(f'"{n[1]}"^^<{XSD}{n[0]}>' for n in some)
    count = f"SELECT (COUNT(*) AS ?n) {{ ?s <http://e/p> ?o FILTER(?o IN ({listed})) }}"
    assert [read(t) for (t,) in query(graph, count).tokens()] == [
        Fraction(sum(number[2] in {n[2] for n in some} for number in exact))
    ]


@pytest.mark.parametrize("seed", seeds(range(2), 1))
def test_times(embedded: Engine, seed: int) -> None:
    """xsd:dateTime of years and fractions of any length, in order and compared."""
    rng = Random(seed)
    times = []
    for _ in range(60):
        year = rng.choice([2020, 2021, 9999, 10000, 123456789, -44, 0, 1])
        digits = rng.choice(["", "5", "123456", "1234561", "123456789", "1234567891"])
        day, second = rng.randint(1, 2), rng.randint(0, 1)
        written = f"{'-' * (year < 0)}{abs(year):04}-01-{day:02}T00:00:{second:02}{'.' * bool(digits)}{digits}Z"
        times.append(((year, day, second, Fraction(int(digits or 0), 10 ** len(digits))), written))
    facts = [(f"<http://e/{n}>", "<http://e/p>", f'"{t}"^^<{XSD}dateTime>') for n, (_, t) in enumerate(times)]
    graph = make_graph(embedded, facts)
    rows = query(graph, "SELECT ?o { ?s <http://e/p> ?o } ORDER BY ?o").tokens()
    values = {written: key for key, written in times}
    assert [values[split_literal(str(t))[0]] for (t,) in rows] == sorted(key for key, _ in times)
    pairs = "SELECT (COUNT(*) AS ?n) { ?s <http://e/p> ?o . ?t <http://e/p> ?x FILTER(?o < ?x) }"
    keys = [key for key, _ in times]
    assert [read(t) for (t,) in query(graph, pairs).tokens()] == [Fraction(sum(a < b for a in keys for b in keys))]
