"""SPARQL text to algebra (SPARQL 1.1, sections 18.2 and 19.8): queries, sub-SELECTs and solution modifiers.

The grammar is parsed here, since what a store needs (terms exactly as written, places of errors, one pass for queries
and updates) no library gives; Oxigraph is asked besides, as a second opinion on what is legal (scopes of variables).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import pyoxigraph

from sparql.algebra import (
    UNIT,
    Aggregate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Node,
    OrderBy,
    Project,
    Query,
    Slice,
    Term,
    visible,
)
from sparql.cursor import Cursor
from sparql.lexer import words
from sparql.pattern_parser import PatternParser, join
from triplestore.errors import UsageError
from triplestore.expression import Constant, Expression, Variable


@lru_cache(maxsize=256)
def parse_query(text: str, base: str | None = None) -> Query:
    """The algebra of a SPARQL query. base: what relative IRIs are resolved against, unless the text has a BASE.

    Raises UsageError with line and column for a syntax error, UnsupportedError naming a construct that is refused.
    """
    parser = Parser(Cursor(text, base=base))
    query = parser.query()
    validate(text, base)
    return query


def validate(text: str, base: str | None) -> None:
    """Let Oxigraph look for what the grammar does not tell. Raises UsageError."""
    if reason := illegal(text, base):
        raise UsageError(syntax_message("query", reason))


def illegal(text: str, base: str | None) -> str | None:
    """What Oxigraph finds wrong with a query, or nothing; nothing is evaluated.

    Two things that it does not know are put in other words for it: `TRUE`, and keys of groups like `(?x AS ?k)`.
    """
    plain = list(text)
    found = list(words(text))
    for word in found:
        if word.kind == "word" and word.text.lower() in ("true", "false"):
            plain[word.start : word.end] = word.text.lower()
    if (reason := _faulty("".join(plain), base)) is None or _UNBOUND not in reason:
        return reason
    last = None  # word but closing brackets
    for word in found:
        if word.text.upper() == "AS" and last is not None and last.kind == "variable":
            plain[last.start] = f"+{plain[last.start]}"
        last = last if word.text == ")" else word
    return _faulty("".join(plain), base)


_UNBOUND: Final = "variable that is unbound"


def _faulty(text: str, base: str | None) -> str | None:
    try:
        pyoxigraph.Store().query(text, base_iri=base)
    except SyntaxError as error:
        return str(error)
    except RuntimeError:
        pass  # legal, but beyond Oxigraph
    return None


def syntax_message(what: str, reason: str) -> str:
    """Oxigraph's "error at 1:25: expected ..." with line and column spelt out."""
    found = re.match(r"error at (\d+):(\d+): (.*)", reason, re.DOTALL)
    if not found:
        return f"the {what} is not legal SPARQL: {reason}"
    return f"the {what} is not legal SPARQL: line {found[1]}, column {found[2]}: {found[3]}"


@dataclass(slots=True)
class _Modifiers:
    """What stands behind a WHERE clause, as parsed."""

    group: list[tuple[Expression, str | None]] = field(default_factory=list)
    having: list[Expression] = field(default_factory=list)
    order: list[tuple[Expression, bool]] = field(default_factory=list)
    start: int = 0
    length: int | None = None
    values: Node = UNIT


@dataclass(slots=True)
class Parser:
    """Parses one query (or the parts of an update) at a cursor."""

    at: Cursor
    patterns: PatternParser = field(init=False)

    def __post_init__(self) -> None:
        self.patterns = PatternParser(self.at, self.subselect)

    # -- query forms ------------------------------------------------------------------------------------------------

    def query(self) -> Query:
        """Rule 2: a whole query."""
        self.at.prologue()
        form = self.at.expect("SELECT", "CONSTRUCT", "DESCRIBE", "ASK")
        found = {"SELECT": self._select, "CONSTRUCT": self._construct, "DESCRIBE": self._describe, "ASK": self._ask}[
            form
        ]()
        if self.at.peek().kind != "end":
            self.at.fail("expected the end of the query")
        return found

    def _select(self) -> Query:
        node, variables = self._selected()
        return Query("select", node, variables, base=self.at.base)

    def subselect(self) -> Node:
        """Rule 8: a sub-SELECT, with the VALUES behind it."""
        self.at.expect("SELECT")
        return self._selected()[0]

    def _selected(self) -> tuple[Node, tuple[str, ...]]:
        outer, self.patterns.expressions.aggregates = self.patterns.expressions.aggregates, []
        distinct = self.at.accept("DISTINCT")
        if not distinct:
            self.at.accept("REDUCED")
        star = self.at.accept("*")
        selected: list[tuple[str, Expression | None]] = []
        while not star:
            if (variable := self.at.variable()) is not None:
                selected.append((variable.name, None))
            elif self.at.accept("("):
                expression = self.patterns.expressions.expression()
                self.at.expect("AS")
                selected.append((self.at.named().name, expression))
                self.at.expect(")")
            else:
                break
        if not star and not selected:
            self.at.fail("expected variables or '*'")
        self._no_dataset()
        pattern = self._where()
        modifiers = self._modifiers()
        variables = visible(pattern) if star else tuple(dict.fromkeys(name for name, _ in selected))
        if star and modifiers.values != UNIT:
            variables = visible(join(pattern, modifiers.values))
        node = self._modified(pattern, modifiers, selected)
        self.patterns.expressions.aggregates = outer
        node = Project(node, variables)
        if distinct:
            node = Distinct(node)
        return self._sliced(node, modifiers), variables

    def _construct(self) -> Query:
        if not self.at.is_("{"):
            self._no_dataset()
            self.at.expect("WHERE")
            template = self.patterns.template()
            pattern: Node = Bgp(template)
        else:
            template = self.patterns.template()
            self._no_dataset()
            pattern = self._where()
        modifiers = self._modifiers()
        node = self._sliced(self._modified(pattern, modifiers, ()), modifiers)
        return Query("construct", node, template=template, base=self.at.base)

    def _describe(self) -> Query:
        targets: list[Term] = []
        star = self.at.accept("*")
        while not star:
            if (variable := self.at.variable()) is not None:
                targets.append(variable)
            elif self.at.at_iri():
                targets.append(Constant(f"<{self.at.iri()}>"))
            else:
                break
        if not star and not targets:
            self.at.fail("expected variables, IRIs or '*'")
        self._no_dataset()
        pattern = self._where() if self.at.is_("WHERE", "{") else None
        modifiers = self._modifiers()
        if pattern is None and modifiers.values == UNIT:
            return Query("describe", None, targets=tuple(targets), base=self.at.base)
        node = self._modified(pattern or UNIT, modifiers, ())
        targets += [Variable(name) for name in visible(node)] if star else []
        return Query("describe", self._sliced(node, modifiers), targets=tuple(targets), base=self.at.base)

    def _ask(self) -> Query:
        self._no_dataset()
        pattern = self._where()
        modifiers = self._modifiers()
        return Query("ask", self._sliced(self._modified(pattern, modifiers, ()), modifiers), base=self.at.base)

    def _no_dataset(self) -> None:
        if self.at.is_("FROM"):
            self.at.unsupported("FROM: named graphs are not supported: a store is one graph, the default graph")

    def _where(self) -> Node:
        self.at.accept("WHERE")
        return self.patterns.group()

    # -- solution modifiers -----------------------------------------------------------------------------------------

    def _modifiers(self) -> _Modifiers:
        """Rules 18 to 28."""
        found = _Modifiers()
        expressions = self.patterns.expressions
        if self.at.accept("GROUP"):
            self.at.expect("BY")
            while (key := self._group_key()) is not None:
                found.group.append(key)
            if not found.group:
                self.at.fail("expected what to group by")
        if self.at.accept("HAVING"):
            found.having.append(expressions.constraint())
            while self._at_constraint():
                found.having.append(expressions.constraint())
        if self.at.accept("ORDER"):
            self.at.expect("BY")
            while (order := self._order_key()) is not None:
                found.order.append(order)
            if not found.order:
                self.at.fail("expected what to order by")
        while self.at.is_("LIMIT", "OFFSET"):
            if self.at.next().text.upper() == "LIMIT":
                found.length = self._integer()
            else:
                found.start = self._integer()
        if self.at.accept("VALUES"):
            found.values = self.patterns.values()
        return found

    def _at_constraint(self) -> bool:
        word = self.at.peek()
        modifier = self.at.is_("ORDER", "LIMIT", "OFFSET", "VALUES", "HAVING")
        return self.at.is_("(") or self.at.at_iri() or (word.kind == "word" and not modifier)

    def _group_key(self) -> tuple[Expression, str | None] | None:
        if (variable := self.at.variable()) is not None:
            return variable, None
        if not self._at_constraint():
            return None
        if not self.at.accept("("):
            return self.patterns.expressions.constraint(), None
        expression = self.patterns.expressions.expression()
        name = self.at.named().name if self.at.accept("AS") else None
        self.at.expect(")")
        return expression, name

    def _order_key(self) -> tuple[Expression, bool] | None:
        if self.at.is_("ASC", "DESC"):
            descending = self.at.next().text.upper() == "DESC"
            return self.patterns.expressions.bracketed(), descending
        if (variable := self.at.variable()) is not None:
            return variable, False
        return (self.patterns.expressions.constraint(), False) if self._at_constraint() else None

    def _integer(self) -> int:
        word = self.at.peek()
        if word.kind != "number" or not word.text.isdigit():
            self.at.fail("expected a whole number")
        return int(self.at.next().text)

    def _modified(self, pattern: Node, given: _Modifiers, selected: Sequence[tuple[str, Expression | None]]) -> Node:
        """18.2.4: grouping, HAVING, VALUES, select expressions and ORDER BY around a pattern."""
        aggregates = self.patterns.expressions.aggregates
        node = pattern
        if given.group or aggregates:
            node = _grouped(node, given.group, aggregates)
        for condition in given.having:
            node = Filter(node, condition)
        node = join(node, given.values)
        for name, expression in selected:
            if expression is not None:
                node = Extend(node, name, expression)
        return OrderBy(node, tuple(given.order)) if given.order else node

    def _sliced(self, node: Node, given: _Modifiers) -> Node:
        return Slice(node, given.start, given.length) if given.start or given.length is not None else node


def _grouped(pattern: Node, given: Iterable[tuple[Expression, str | None]], aggregates: Sequence[Aggregate]) -> Group:
    keys: list[str] = []
    for number, (expression, name) in enumerate(given):
        if isinstance(expression, Variable) and name is None:
            keys.append(expression.name)
        else:
            keys.append(name or f".key{number}")
            pattern = Extend(pattern, keys[-1], expression)
    return Group(pattern, tuple(dict.fromkeys(keys)), tuple(aggregates))


__all__ = ["Parser", "parse_query", "syntax_message"]
