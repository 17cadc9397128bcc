"""REGEX and REPLACE: expected values from XPath and XQuery Functions 3.1, section 5.6."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.conftest import MakeStore
from tests.support.regex_random import found, random_pattern, random_text
from tests.support.seeds import seeds
from tests.support.sparql import make_graph
from tests.unit.sparql.test_sparql_functions import ERROR, FALSE, TRUE
from triplake.sparql import query
from triplestore.engine import Engine
from triplestore.expressions.regex import LONGEST, LONGEST_TEXT
from triplestore.model.errors import InputError, LimitError
from triplestore.model.terms import literal_token

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
    # class subtraction
    r"REGEX('bcd', '^[a-z-[aeiou]]+$')": TRUE,
    r"REGEX('bad', '^[a-z-[aeiou]]+$')": FALSE,
    r"REGEX('e', '[a-z-[aeiou-[e]]]')": TRUE,
    r"REGEX('a', '[a-z-[^e]]')": FALSE,
    r"REGEX('-', '[a-z--[b]]')": TRUE,
    r"REGEX('a', '[a-[b]c]')": ERROR,
    r"REGEX('a', '[a-[a]]')": FALSE,
    r"REGEX('o', '[A-Z-[IO]]', 'i')": FALSE,  # the examples of section 5.6.2
    r"REGEX('b', '[A-Z-[IO]]', 'i')": TRUE,
    r"REGEX('\u212A', '[A-Z]', 'i')": TRUE,
    r"REGEX('q', '[^Q]', 'i')": FALSE,
    r"REGEX('a', '\\p{Lu}', 'i')": FALSE,
    r"REGEX('b', '[\\p{Lu}a]', 'i')": FALSE,
    r"REGEX('A', '[\\p{Lt}a]', 'i')": TRUE,
    # escapes for many characters
    r"REGEX('_a-1', '^\\i\\c*$')": TRUE,
    r"REGEX('1a', '^\\i\\c*$')": FALSE,
    r"REGEX('a b', '\\C')": TRUE,
    r"REGEX('a', '^[\\c-[\\I]]$')": TRUE,
    r"REGEX('1', '^[\\c-[\\I]]$')": FALSE,
    r"REGEX('\u03B1', '^\\p{IsGreek}\\P{IsGreek}?$')": TRUE,
    r"REGEX('\u03B1', '^[\\p{IsGreekandCoptic}]$')": TRUE,
    r"REGEX('\u00E9', '\\p{IsLatin-1Supplement}')": TRUE,
    r"REGEX('\u00E9', '[^\\p{IsBasicLatin}]')": TRUE,
    r"REGEX('a', '\\p{IsNoSuchBlock}')": ERROR,
    r"REGEX('\u0378', '^\\p{C}\\p{Cn}?$')": TRUE,
    r"REGEX('\u0378', '^[\\W]$')": TRUE,
    r"REGEX('a', '[^\\W_]')": TRUE,
    r"REGEX('a&b|c~d', '^[a-d&|~]+$')": TRUE,
    # back-references
    r"REGEX('abab', '^(ab)\\1$')": TRUE,
    r"REGEX('abba', '^(a)(b)\\2\\1$')": TRUE,
    r"REGEX('Mum', '^([md])[aeiou]\\1$', 'i')": TRUE,
    r"REGEX('Mum', '^([md])[aeiou]\\1$')": FALSE,
    r"REGEX('c', '^(?:(a)|(b)|c)\\1\\2$')": TRUE,
    r"REGEX('aa0', '^(a)\\10$')": TRUE,
    r"REGEX('abcdefghijj', '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\\10$')": TRUE,
    r"REGEX('a', '\\1(a)')": ERROR,
    r"REGEX('a', '(a\\1)')": ERROR,
    r"REGEX('a', '(?:a)\\1')": ERROR,
    r"REGEX('a', '[\\1]')": ERROR,
    r"REPLACE('abbccd', '(.)\\1', '<$1>')": '"a<b><c>d"',
    r"REPLACE('Hello World', '(\\p{Ll})\\1', '$1')": '"Helo World"',
    r"REPLACE('abab', '(x?)\\1', '-')": ERROR,
    r"REPLACE('abcdefghij', '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)', '$10$9$8$7$6$5$4$3$2$1')": '"jihgfedcba"',
    # lines
    r"REGEX('a\n', '^$', 'm')": FALSE,
    r"REGEX('a\n\nb', '^$', 'm')": TRUE,
    r"REPLACE('a\nb\n', '^.', 'x', 'm')": '"x\nx\n"',
    r"REPLACE('a\n\nb', '^.', 'x', 'sm')": '"x\nxx"',
    # what the grammar does not have
    r"REGEX('a', '(?=a)')": ERROR,
    r"REGEX('a', '(?i)a')": ERROR,
    r"REGEX('a', 'a]')": ERROR,
    r"REGEX('a', '}')": ERROR,
    r"REGEX('a', '[]')": ERROR,
    r"REGEX('a', '[a[b]]')": ERROR,
    r"REGEX('a', '(a')": ERROR,
    r"REGEX('a', 'a)')": ERROR,
    r"REGEX('a', '*a')": ERROR,
    r"REGEX('a', '(|+)')": ERROR,
    r"REGEX('a', 'a{2,1}')": ERROR,
    r"REGEX('a', '\\b')": ERROR,
    r"REGEX('a', '\\')": ERROR,
    r"REGEX('a', 'a', 'g')": ERROR,
    r"REGEX('aaa', 'a{0003}')": TRUE,
    r"REGEX('', '^*$?()')": TRUE,
    r"REGEX('\u212A', 'k', 'qi')": TRUE,
    r"REGEX('a b', 'a b', 'qx')": TRUE,
    r"REGEX('ab', '[a-z-[c -[ ]]] b', 'x')": TRUE,
}

_LITERAL = re.compile(r"(?:'(?:\\.|[^'\\])*'|\"[^\"]*\")(@[a-z]+)?")


def computed(expression: str) -> str:
    """The expression with each of its texts computed, but for those in a language."""
    return _LITERAL.sub(lambda text: text[0] if text[1] else f"CONCAT({text[0]}, ?none)", expression)


@pytest.mark.parametrize("form", [str, computed])
def test_patterns(engine: Engine, form: Callable[[str], str]) -> None:
    """The same for constant and computed patterns."""
    selected = " ".join(f"({form(expression)} AS ?e{place})" for place, expression in enumerate(CASES))
    (row,) = query(make_graph(engine, []), f"SELECT {selected} {{ VALUES ?none {{ '' }} }}").tokens()
    assert dict(zip(CASES, row, strict=True)) == CASES


LIMITS = {
    "a{1001}": "is too large",
    "((a{1000}){1000}){1000}": "is too large",
    "(" * 900 + "a" + ")" * 900 + r"\\1": "is too large",
    r"(a)(a{1000}){1000}\\1": "is too large",
    "a" * (LONGEST + 1): "80,000 is the limit",
    r"[\\p{L}-[a]]" * 200: "160,000 characters",
}


@pytest.mark.long_on_spark(each=6)
@pytest.mark.parametrize("pattern", LIMITS, ids=range(len(LIMITS)))
@pytest.mark.parametrize("form", ["'{}'", "CONCAT('{}', ?none)"])
def test_a_pattern_that_is_too_large(engine: Engine, pattern: str, form: str) -> None:
    """It is legal, so that it must not count as an error of the expression."""
    asked = f"SELECT (REGEX('a', {form.format(pattern)}) AS ?v) {{ VALUES ?none {{ '' }} }}"
    with pytest.raises(LimitError, match=rf"beyond a limit: the regular expression .*{LIMITS[pattern]}"):
        query(make_graph(engine, []), asked)


@pytest.mark.long_on_spark
@pytest.mark.parametrize(
    ("text", "pattern", "reason"),
    [
        (f"CONCAT('{'a' * 60}', ?none)", r"^(a|aa|aaa)*\\1(b|B)$", "takes more than"),
        ("?long", r"(a)\\1", "1,048,577 characters is matched"),
    ],
)
def test_a_search_with_back_references_ends(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, text: str, pattern: str, reason: str
) -> None:
    monkeypatch.setattr("triplestore.expressions.regex.SECONDS", 0.1)
    graph = make_graph(engine, [("<u:s>", "<u:p>", f'"{"a" * (LONGEST_TEXT + 1)}"')])
    for asked in (f"REGEX({text}, '{pattern}')", f"REPLACE({text}, '{pattern}', '-')"):
        with pytest.raises(LimitError, match=rf"beyond a limit: the regular expression .* {reason}"):
            query(graph, f"SELECT ({asked} AS ?v) {{ ?s <u:p> ?long VALUES ?none {{ '' }} }}")


def test_exponential_patterns_take_linear_time(engine: Engine) -> None:
    """An engine that tries all ways, as those of Java and Python do, would not end."""
    patterns = ["^(a+)+b$", "^(a|a)*b$", "(.*a){20}b"]
    asked = " ".join(f"(REGEX(?t, '{pattern}') AS ?v{n})" for n, pattern in enumerate(patterns))
    text = f"SELECT {asked} {{ VALUES ?t {{ '{'a' * 5000}' }} }}"
    assert list(query(make_graph(engine, []), text).tokens()) == [(FALSE,) * 3]


@pytest.mark.parametrize("seed", seeds(range(12), 2))
@pytest.mark.long_on_spark
def test_random_patterns_on_an_engine(engine: Engine, seed: int) -> None:
    """Constant and computed, as the oracle matches them."""
    rng = Random(seed)
    texts = list(dict.fromkeys(random_text(rng) for _ in range(10)))
    graph = make_graph(engine, [("<u:s>", "<u:p>", literal_token(text)) for text in texts])
    asked, wanted = [], []
    for _ in range(12):
        flags = "".join(flag for flag in "ismx" if rng.random() < 0.3)
        pattern, _ = random_pattern(rng, flags)
        asked.append(f"{escaped(str(pattern))}, '{flags}'")
        wanted.append([TRUE if found(pattern, text, flags) else FALSE for text in texts])
    for form in (str, computed):
        selected = " ".join(f"(REGEX(?o, {form(one)}) AS ?v{n})" for n, one in enumerate(asked))
        rows = query(graph, f"SELECT ?o {selected} {{ ?s ?p ?o VALUES ?none {{ '' }} }}").tokens()
        answers = {row[0]: list(row[1:]) for row in rows}
        assert [answers[literal_token(text)] for text in texts] == [list(row) for row in zip(*wanted, strict=True)]


def escaped(text: str) -> str:
    """A text as a string of SPARQL."""
    signs = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r"}
    return "'" + "".join(signs.get(char, char) for char in text) + "'"


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


def test_patterns_of_rules_and_shapes(make_store: MakeStore, tmp_path: Path) -> None:
    """They are those of queries, and so are their errors."""
    (tmp_path / "twice.dlog").write_text(
        '[?x, <u:twice>, ?r] :- [?x, <u:p>, ?y], FILTER(REGEX(?y, "(.)\\\\1")), '
        'BIND(REPLACE(?y, "([a-z-[b]])\\\\1", "<$1>") AS ?r) .\n'
    )
    (tmp_path / "shape.ttl").write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . "
        "<u:shape> a sh:NodeShape ; sh:targetSubjectsOf <u:p> ; "
        'sh:property [ sh:path <u:p> ; sh:pattern "^([a-z-[x]])\\\\1$" ; sh:flags "i" ] .'
    )
    store = make_store([str(tmp_path / "twice.dlog")])
    store.sparql_update("INSERT DATA { <u:a> <u:p> 'aA' . <u:b> <u:p> 'bb' . <u:c> <u:p> 'cc' . <u:d> <u:p> 'xx' }")
    found = store.query("SELECT ?x ?r { ?x <u:twice> ?r } ORDER BY ?x").tokens()
    assert list(found) == [("<u:b>", '"bb"'), ("<u:c>", '"<c>"'), ("<u:d>", '"<x>"')]
    report = store.validate(tmp_path / "shape.ttl")
    assert [result.as_dict()["focus"] for result in report.results] == ["<u:d>"]
    (tmp_path / "wrong.ttl").write_text((tmp_path / "shape.ttl").read_text().replace("\\\\1", "\\\\2"))
    with pytest.raises(InputError, match=r"\\2 refers to no group"):
        store.validate(tmp_path / "wrong.ttl")
