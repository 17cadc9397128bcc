"""Which columns SQL reads: those that it refers to, not those that a text in it or a longer name resembles."""

from __future__ import annotations

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import Graph
from triplake.sparql.query import query, statement
from triplestore.engine import Engine
from triplestore.engine.dialect import Dialect, SparkDialect
from triplestore.expressions.columns import columns_read, is_repeatable, reference, unmarked
from triplestore.expressions.staging import Staging
from triplestore.expressions.values import Value, string

DATA = [("<http://e/a>", "<http://e/p>", '"v0_rest s0_text"'), ("<http://e/b>", "<http://e/p>", '"no"')]

NAMES = ["v0_lexical", "v1_rest", "v2_rank x.v2_datatype", "s0_text", "s1_truth", "tl_encode(v1_lang)", "l.v2_id"]


def test_columns_are_read_where_they_are_referred_to() -> None:
    text = reference("v1_text") + " || " + reference("l.v11_text") + " || v2_text"
    assert columns_read(text, f"lower({reference('s0_text')})") == {"v1_text", "l.v11_text", "s0_text"}
    assert columns_read("v1_text", "'v1_text'", "") == set()
    assert unmarked(text) == "v1_text || l.v11_text || v2_text"


@pytest.mark.parametrize("dialect", [Dialect(), SparkDialect()])
@pytest.mark.parametrize("character", ["\0", "\x01", "\x1f", "\x7f", "'", '"', "\\", "\ue000", "\ufffe", "\U0010ffff"])
def test_no_text_is_a_reference(dialect: Dialect, character: str) -> None:
    sql = f"{dialect.string(f'{character}v1_text{character}')} = {reference('v2_text')}"
    assert columns_read(sql) == {"v2_text"}
    assert unmarked(sql) == f"{dialect.string(f'{character}v1_text{character}')} = v2_text"


def test_no_text_holds_the_mark() -> None:
    with pytest.raises(UnicodeEncodeError):
        reference("v1_text").encode()


def test_what_calls_a_function_or_is_long_is_not_repeated() -> None:
    assert is_repeatable(reference("v0_lexical"))
    assert not is_repeatable("random()")
    assert not is_repeatable(f"{reference('v0_lexical')} || {reference('v1_lexical')} || 'and more'")


def test_columns_that_nothing_reads_are_pruned() -> None:
    staging = Staging()

    def staged(sql: str) -> Value:
        return staging.stage(string(sql))

    first = staged(f"lower({reference('v0_lexical')})")
    unread = staged(f"lower({reference('v1_lexical')})")
    text = staged("lower('s1_text')")
    last = staged(f"upper({first.text}) || 's1_text'")
    assert staging.prune(f"{last.text} = {text.text}") == {"s3_text", "s2_text", "s0_text", "v0_lexical"}
    assert [*staging.parts] == ["s0_text", "s2_text", "s3_text"]
    assert unread.text == reference("s1_text")
    inner = "(SELECT y0.*, lower(v0_lexical) AS s0_text, lower('s1_text') AS s2_text FROM x y0)"
    outer = f"(SELECT y1.*, upper(s0_text) || 's1_text' AS s3_text FROM {inner} y1)"
    assert unmarked(staging.source(Dialect(), "x")) == outer


TEXTS = {
    "filter": "SELECT ?s { ?s ?p ?o FILTER(?o != '{}') }",
    "bind": "SELECT ?b { ?s ?p ?o BIND(CONCAT(STR(?s), '{}', IF(isIRI(?s), '{}', ?o)) AS ?b) }",
    "optional": "SELECT * { ?s ?p ?o OPTIONAL { ?s ?q ?r FILTER(?r > '{}' && STR(?s) != '{}') } }",
    "order": "SELECT ?s { ?s ?p ?o } ORDER BY CONCAT(?o, '{}')",
    "group": "SELECT (GROUP_CONCAT(CONCAT(?o, '{}'); SEPARATOR='{}') AS ?g) { ?s ?p ?o } GROUP BY ?p",
}


@pytest.fixture
def graph(embedded: Engine) -> Graph:
    return make_graph(embedded, DATA)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_names_in_the_texts_of_a_query_change_nothing_else(graph: Graph, text: str) -> None:
    for name in NAMES:
        other = "-" * len(name)
        expected = statement(graph, text.replace("{}", other)).replace(other, name)
        assert statement(graph, text.replace("{}", name)) == expected
        assert len(query(graph, text.replace("{}", name)))


def test_only_what_is_read_of_a_term_is_selected(graph: Graph) -> None:
    sql = statement(graph, "SELECT ?s { ?s ?p ?o FILTER(LANG(?o) = STRAFTER(STR(?s), '#')) }")
    assert "AS v2_lexical" in sql
    assert "AS v0_lang" in sql
    assert "AS v0_micros" not in sql
