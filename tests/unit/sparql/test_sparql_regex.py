"""REGEX and REPLACE: expected values from XPath and XQuery Functions 3.1, section 5.6."""

from __future__ import annotations

import pytest

from tests.support.sparql import make_graph
from tests.unit.sparql.test_sparql_functions import ERROR, FALSE, TRUE
from triplake.sparql import query
from triplestore.engine import Engine
from triplestore.model.errors import UsageError

CASES: dict[str, str | None] = {
    "REGEX('Alice', '^ali', 'i')": TRUE,
    "REGEX('Alice', '^ali')": FALSE,
    "REGEX('a\\nb', 'a.b')": FALSE,
    "REGEX('a\\nb', 'a.b', 's')": TRUE,
    "REGEX('a\\nb', '^b$')": FALSE,
    "REGEX('a\\nb', '^b$', 'm')": TRUE,
    "REGEX('ab\\n', 'b$')": FALSE,
    "REGEX('caf\u00e9', '^\\\\w+$')": TRUE,
    "REGEX('a.b', 'a.b', 'q')": TRUE,
    "REGEX('axb', 'a.b', 'q')": FALSE,
    "REGEX('it\\'s', \"it's\")": TRUE,
    "REGEX('a-b', '[\\\\w-]+')": TRUE,
    "REGEX('\u00c9', '\u00e9', 'i')": TRUE,
    "REGEX(1, '1')": ERROR,
    "REGEX('a'@en, 'a')": TRUE,
    "REGEX('aaa', '^a{2,}?a$')": TRUE,
    "REGEX('aaa', 'a{,2}')": ERROR,
    "REGEX('aaa', 'a{3')": ERROR,
    "REGEX('aaa', '^a*+a$')": ERROR,
    "REGEX('a-1', '^[\\\\w-]+[\\\\d-.]$')": TRUE,
    "REGEX('a', '[+-\\\\d]')": ERROR,
    "REGEX('a', '\\\\p{Ll}')": TRUE,
    "REGEX('a', '\\\\p{Lx}')": ERROR,
    "REGEX('ab', ' a b # ', 'x')": FALSE,
    "REGEX('ab', ' a\\tb ', 'x')": TRUE,
    "REGEX('a b', 'a[ ]b', 'x')": TRUE,
    "REGEX('a b', ' a [x\\\\] ] \\\\[? b', 'x')": TRUE,
    "REGEX('a\u00a0b', 'a\u00a0b', 'x')": TRUE,
    "REPLACE('abcd', 'b', 'Z')": '"aZcd"',
    "REPLACE('abab'@en, 'B', 'Z', 'i')": '"aZaZ"@en',
    "REPLACE('abab', '(a)(b)', '$2$1')": '"baba"',
    "REPLACE('abab', 'x*', '-')": ERROR,
    "REPLACE('abab', '^|$', '-')": ERROR,
    "REPLACE('abab', '', '-', 'q')": ERROR,
    "REPLACE('abab', 'x+|ab$', '-')": '"ab-"',
    "REPLACE('a$', '\\\\$', '\\\\$\\\\$')": '"a$$"',
    "REPLACE('abab', 'a', '$1')": '"bb"',
    "REPLACE('abab', '(a)(b)', '$2$1$3')": '"baba"',
    "REPLACE('ab', '(a)(?:b)', '$0-$1-$2')": '"ab-a-"',
    "REPLACE('a', 'a', '$1', 'q')": '"$1"',
    "REPLACE('a(', '(', '\\\\', 'q')": '"a\\"',
    "REPLACE('a', 'a', '$')": ERROR,
    "REPLACE('a', 'a', '\\\\1')": ERROR,
    "REPLACE('abcdefghijk', '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)', '$10')": '"jk"',
    "REPLACE('abcdefghijk', '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)', '$11')": '"a1k"',
    "REPLACE('ab', '([(])?(a)\\\\(?(b)', '$20$3$40')": '"a0b0"',
    "REPLACE('ab', '(a)', '$10')": '"a0b"',
}


def test_constant_patterns(engine: Engine) -> None:
    selected = " ".join(f"({expression} AS ?e{place})" for place, expression in enumerate(CASES))
    (row,) = query(make_graph(engine, []), f"SELECT {selected} {{}}").tokens()
    assert dict(zip(CASES, row, strict=True)) == CASES


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a)\\\\1", "not supported"),
        ("(?=a)", "not supported"),
        ("[a-z-[b]]", "subtraction"),
        ("\\\\p{IsGreek}", "not supported"),
    ],
)
def test_a_foreign_or_bad_regex_is_refused(engine: Engine, pattern: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        query(make_graph(engine, []), f"SELECT (REGEX('a', '{pattern}') AS ?v) {{}}")


def test_a_replacement_names_nine_groups(engine: Engine) -> None:
    groups, named = "(a)" * 10, "".join(f"${number}" for number in range(1, 11))
    with pytest.raises(UsageError, match=r"names 10 groups: more than 9 are not supported"):
        query(make_graph(engine, []), f"SELECT (REPLACE('a', '{groups}', '{named}') AS ?v) {{}}")


def test_a_computed_replacement(engine: Engine) -> None:
    """As the constant ones."""
    given = {("abab", "a", "$1", ""): '"bb"', ("abab", "(a)(b)", "$2$1$3", ""): '"baba"', ("a", "a", "$1", "q"): '"$1"'}
    values = " ".join(f"({' '.join(map(repr, one))})" for one in given)
    text = f"SELECT (REPLACE(?t, ?p, ?r, ?f) AS ?v) {{ VALUES (?t ?p ?r ?f) {{ {values} }} }}"
    assert sorted(query(make_graph(engine, []), text).tokens()) == sorted((one,) for one in given.values())


def test_a_computed_regex(engine: Engine) -> None:
    graph = make_graph(engine, [("<http://e/a>", "<http://e/p>", '"abc"'), ("<http://e/a>", "<http://e/p>", '"B"')])
    text = "SELECT ?o { ?s ?p ?o BIND(SUBSTR('xb', 2) AS ?r) "
    text += "FILTER REGEX(?o, ?r, 'i') FILTER(REPLACE(?o, ?r, '-') = 'a-c') }"
    assert list(query(graph, text).tokens()) == [('"abc"',)]
