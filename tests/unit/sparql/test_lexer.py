"""Texts of queries that a reader may send take time that grows with their length, not faster."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import suppress

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import query
from triplake.sparql.cursor import words
from triplake.sparql.parser import parse_query
from triplestore.engine import Engine
from triplestore.model.errors import TriplakeError

SECONDS = 10.0
"""Far more than any takes; the square of their lengths, or more, took minutes."""

LONG = {
    "digits in a word": f"ASK {{ A{'1' * 200_000}_ ?p ?o }}",
    "keywords in a word": f"ASK {{ {'INTO' * 30_000}_ ?p ?o }}",
    "a keyword of one letter in a word": f"ASK {{ {'A' * 2_000_000} ?p ?o }}",
    "an IRI that is not closed": "ASK { <" + r"\uAAAA" * 50_000,
    "a string": f'ASK {{ ?s ?p "{"a" * 2_000_000}" }}',
    "a string of escapes": f'ASK {{ ?s ?p "{chr(92)}u0041{(chr(92) + "u0041") * 200_000}" }}',
    "a string that is not closed": 'ASK { ?s ?p "' + "a" * 2_000_000,
    "quotation marks that are escaped": '"\\' * 100_000,
    "apostrophes that are escaped": "'\\" * 100_000,
    "a long string that is not closed": "'''" + r"\'''" * 50_000,
    "a decimal of zeros": f"ASK {{ FILTER({'0' * 20}.{'0' * 3_000_000}1 < 1) }}",
    "an integer that is added up": f"SELECT (SUM(?x) AS ?sum) {{ VALUES ?x {{ {'9' * 2_000_000} }} }}",
    "an integer that is a truth": f"ASK {{ FILTER({'1 < 0 || ' * 30}{'9' * 8_000_000}) }}",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_words_are_found_in_time(embedded: Engine, text: str) -> None:
    began = time.monotonic()
    assert sum(1 for _ in words(text)) > 0
    with suppress(TriplakeError):
        query(make_graph(embedded, []), text)
    assert time.monotonic() - began < SECONDS


def test_a_long_name_takes_its_own_memory() -> None:
    text = f"ex:{'a' * 1_000_000}.%20{'.a' * 1_000_000}. "
    tracemalloc.start()
    assert next(words(text)).text == text[:-2]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_long_queries_are_not_kept() -> None:
    tracemalloc.start()
    for number in range(6):
        parse_query(f"ASK {{ VALUES ?x {{ {number} {'1 ' * 10_000} }} }}")
        parse_query(f"ASK {{}} #{number}{'a' * 1_000_000}")
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 5 << 20


def test_keywords_need_nothing_between_them() -> None:
    assert [word.text for word in words("FILTERsameTerm")] == ["FILTER", "sameTerm"]
    assert [word.text for word in words("LIMIT10OFFSET2")] == ["LIMIT", "10", "OFFSET", "2"]
    assert [word.text for word in words("LIMITED10")] == ["LIMITED10"]
    assert [(word.kind, word.text) for word in words('"a')] == [("mark", '"')]


def test_a_number_of_a_million_digits(embedded: Engine) -> None:
    with pytest.raises(TriplakeError, match="too long"):
        query(make_graph(embedded, []), f"SELECT (({'9' * 1_000_000} + 1) AS ?x) {{}}")
