"""No SQL of ours is parsed: `triplestore.expressions.columns` knows what it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.project.test_layers import MODULES

ROOMS: Final = (
    "triplestore.expressions",
    "triplestore.compile",
    "triplestore.materialise",
    "triplestore.maintain",
    "triplestore.closure",
    "triplake.sparql",
)
"""They write SQL."""

ALLOWED: Final = {
    "triplestore.expressions.calendar": "lexical forms",
    "triplestore.expressions.casts": "lexical forms",
    "triplestore.expressions.charsets": "characters, by their properties",
    "triplestore.expressions.columns": "literals, whole",
    "triplestore.expressions.constants": "lexical forms",
    "triplestore.expressions.durations": "lexical forms",
    "triplestore.expressions.instants": "lexical forms",
    "triplestore.expressions.numerals": "lexical forms",
    "triplestore.expressions.regex": "the patterns of REGEX and REPLACE",
    "triplestore.expressions.terms": "lexical forms",
    "triplestore.expressions.values": "lexical forms of constants",
    "triplestore.expressions.vectorised": "IRI references and times",
    "triplake.sparql.cursor": "the text of queries and updates",
    "triplake.sparql.graph_formats": "the text of terms",
    "triplake.sparql.text_search": "what is searched for",
    "triplake.sparql.to_rules": "names of files and variables",
    "triplake.sparql.typed": "lexical forms",
    "triplake.sparql.update": "the text of updates, messages of the parser",
}
"""The modules of these rooms that use regular expressions, and what these match."""

LOOKING: Final = {
    "triplestore.expressions.columns": "it finds the marks",
    "triplestore.engine.spark.driver": "whether the dialect has marked it",
    "triplestore.engine.spark.tables": "which tables it may name, so that they are shown; one too many does no harm",
    "triplestore.engine.spark.queries": "whether an empty table may be named, so that the optimiser is asked at all",
}
"""The modules that look into SQL, and for what."""


def uses_regular_expressions(file: Path) -> bool:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import) and any(alias.name in ("re", "regex") for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"):
            return True
    return False


def parsings(tree: ast.AST) -> Iterator[int]:
    """The lines that look into the text of a variable `sql`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="sql"), attr=method)) if method in dir(str):
                yield node.lineno
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id="sql")]):
                yield node.lineno
            case ast.Subscript(value=ast.Name(id="sql")):
                yield node.lineno


def test_regular_expressions_are_for_other_texts() -> None:
    found = {name for name, file in MODULES.items() if name.startswith(ROOMS) and uses_regular_expressions(file)}
    assert found == ALLOWED.keys()


@pytest.mark.parametrize("name", sorted(MODULES.keys() - LOOKING.keys()))
def test_no_sql_is_parsed(name: str) -> None:
    lines = [*parsings(ast.parse(MODULES[name].read_text(encoding="utf-8")))]
    assert lines == [], f"{MODULES[name]}: mark what SQL reads (triplestore.expressions.columns) instead of parsing it"


@pytest.mark.parametrize("text", ["sql.split('_')", "'(' in sql", "'x' not in sql", "sql[0] == '('", "sql.count('s')"])
def test_what_parses_sql_is_found(text: str) -> None:
    assert [*parsings(ast.parse(text))] == [1]
