"""SPARQL text to algebra (SPARQL 1.1, sections 18.2 and 19.8): queries, sub-SELECTs and solution modifiers.

The grammar is parsed here, since what a store needs (terms exactly as written, places of errors, one pass for queries
and updates, no stack that a text can overflow) no library gives; rules of scopes, which the grammar does not tell, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from triplake.sparql.algebra import (
    UNIT,
    Aggregate,
    Bgp,
    Dataset,
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
    Values,
    in_scope,
    join,
    visible,
)
from triplake.sparql.cursor import Cursor, solutions
from triplake.sparql.pattern_parser import Chains, PatternParser
from triplestore.expressions.functions import is_known
from triplestore.model.errors import LimitError
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.prefixes import Prefixes
from triplestore.model.thresholds import SIZES

QUERIES: Final = ("SELECT", "CONSTRUCT", "DESCRIBE", "ASK")
"""The words that a query begins with, behind its prologue."""

UPDATES: Final = ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH")
"""The words that an operation of an update begins with."""


def parse_query(
    text: str, base: str | None = None, known: Prefixes | None = None, given: Values | None = None
) -> Query:
    """The algebra of a SPARQL query. base: what relative IRIs are resolved against, unless the text has a BASE. known:
    prefixes that it need not declare. given: inline data that its WHERE begins with. The last short ones are kept.

    Raises UsageError with line and column for a syntax error, UnsupportedError naming a construct that is refused.
    """
    given_length = 0 if given is None else sum(len(token) for row in given.rows for token in row if token is not None)
    parse = _remembered if len(text) + given_length <= SIZES.text else _parsed
    return parse(text, base, known, given)


def _parsed(text: str, base: str | None, known: Prefixes | None, given: Values | None) -> Query:
    """See `parse_query`."""
    with not_too_deep("query"):
        at = Cursor(text, base=base, known={} if known is None else known.known)
        parser = Parser(at)
        parser.patterns.given = given
        try:
            found = replace(parser.query(), prefixes=tuple(at.prefixes.items()))
            if parser.patterns.given is not None:
                at.fail("bindings are for a query with a WHERE, which this one lacks")
            warnings = (*at.warnings, *_unknown_functions(found))
            return replace(found, warnings=warnings) if warnings else found
        finally:
            at.text = ""  # the parsers know each other, and so wait to be collected: the text must not


_remembered: Final = lru_cache(maxsize=256)(_parsed)


@contextmanager
def not_too_deep(what: str) -> Iterator[None]:
    """Tell it as a limit where Python's stack is too small for what is inside. Raises LimitError."""
    try:
        yield
    except RecursionError as error:
        raise LimitError(
            f"the {what} is nested too deeply for this place: nest less, or say it in fewer parts"
        ) from error


@dataclass(slots=True)
class _Modifiers:
    """What stands behind a WHERE clause, as parsed."""

    group: list[tuple[Expression, str | None]] = field(default_factory=list)
    having: list[tuple[Expression, int]] = field(default_factory=list)  # with their places
    order: list[tuple[Expression, bool]] = field(default_factory=list)
    order_start: int = 0
    start: int | None = None
    length: int | None = None
    values: Node = UNIT


@dataclass(frozen=True, slots=True)
class _Selected:
    """A variable that SELECT names, or gives a value; start: the offset of its name."""

    name: str
    expression: Expression | None
    start: int


@dataclass(slots=True)
class Parser:
    """Parses one query (or the parts of an update) at a cursor."""

    at: Cursor
    patterns: PatternParser = field(init=False)
    dataset: Dataset | None = None  # of the query

    def __post_init__(self) -> None:
        self.patterns = PatternParser(self.at, self.subselect)

    # -- query forms ------------------------------------------------------------------------------------------------

    def query(self) -> Query:
        """Rule 2: a whole query."""
        self.at.prologue()
        self.patterns.expressions.aggregates = []
        if self.at.is_(*UPDATES):
            self.at.fail("this is an update, not a query (see `triplake update`)")
        form = self.at.expect(*QUERIES)
        found = {"SELECT": self._select, "CONSTRUCT": self._construct, "DESCRIBE": self._describe, "ASK": self._ask}[
            form
        ]()
        if self.at.peek().kind != "end":
            self.at.fail("expected the end of the query")
        return replace(found, dataset=self.dataset)

    def _select(self) -> Query:
        node, variables = self._selected(top=True)
        return Query("select", node, variables, base=self.at.base)

    def subselect(self) -> Node:
        """Rule 8: a sub-SELECT, with the VALUES behind it."""
        self.at.expect("SELECT")
        return self._selected()[0]

    def _selected(self, top: bool = False) -> tuple[Node, tuple[str, ...]]:
        expressions = self.patterns.expressions
        outer, expressions.aggregates = expressions.aggregates, []
        distinct = self.at.accept("DISTINCT")
        if not distinct:
            self.at.accept("REDUCED")
        start = self.at.peek()
        star = self.at.accept("*")
        selected: list[_Selected] = []
        while not star:
            word = self.at.peek()
            if (variable := self.at.variable()) is not None:
                selected.append(_Selected(variable.name, None, word.start))
            elif self.at.accept("("):
                aggregated = len(expressions.aggregates or ())
                expression = expressions.expression()
                self.at.pattern(len(expressions.aggregates or ()) == aggregated)  # aggregates are counted already
                self.at.expect("AS")
                word = self.at.peek()
                selected.append(_Selected(self.at.named().name, expression, word.start))
                self.at.expect(")")
            else:
                break
        if not star and not selected:
            self.at.fail("expected variables or '*'")
        if top:
            self._from()
        pattern = self._where()
        modifiers = self._modifiers(pattern)
        if star and (modifiers.group or expressions.aggregates):
            self.at.illegal("SELECT * has no meaning with GROUP BY: name what to select", start.start)
        self._check(pattern, modifiers, selected)
        variables = visible(pattern) if star else tuple(dict.fromkeys(one.name for one in selected))
        if star and modifiers.values != UNIT:
            variables = visible(join(pattern, modifiers.values))
        node = self._modified(pattern, modifiers, selected)
        expressions.aggregates = outer
        node = Project(node, variables)
        if distinct:
            node = Distinct(node)
        return self._sliced(node, modifiers), variables

    def _check(self, pattern: Node, given: _Modifiers, selected: Sequence[_Selected]) -> None:
        """Rules of scopes for SELECT: 18.2.4.4, and 11.4 where there are groups."""
        groups = bool(given.group or self.patterns.expressions.aggregates)
        seen = set(in_scope(pattern))
        if groups:
            keys = (name or (key.name if isinstance(key, Variable) else "") for key, name in given.group)
            results = (aggregate.variable for aggregate in self.patterns.expressions.aggregates or ())
            seen = {*keys, *results}
        seen.update(in_scope(given.values))
        before: set[str] = set()
        for one in selected:
            read = {one.name} if one.expression is None else outside(one.expression)
            if groups and (free := sorted(name for name in read - seen - before if not name.startswith("_:"))):
                reason = f"?{free[0]} is neither a key of the groups nor in an aggregate"
                self.at.illegal(f"{reason}: add it to GROUP BY, or take SAMPLE(?{free[0]})", one.start)
            if one.expression is not None and one.name in seen | before:
                self.at.illegal(f"?{one.name} has a value already: take another name behind AS", one.start)
            before.add(one.name)
        computed = {one.name for one in selected if one.expression is not None} - seen
        for condition, start in given.having:
            for name in sorted(outside(condition) & computed):
                self.at.warnings.append(
                    f"{self.at.where(start)}: HAVING reads ?{name}, which has no value there: SELECT gives it one only "
                    "afterwards. Repeat its expression, as in HAVING(COUNT(*) > 1)"
                )
            self._warn_of_unbound("HAVING", start, outside(condition) - seen - computed if groups else ())
        ordering = set[str]().union(*(outside(key) for key, _ in given.order))
        self._warn_of_unbound("ORDER BY", given.order_start, ordering - seen - computed if groups else ())

    def _warn_of_unbound(self, clause: str, start: int, names: Iterable[str]) -> None:
        """Warn of variables of a clause that no group has a value of."""
        for name in sorted(name for name in names if not name.startswith("_:")):
            self.at.warnings.append(
                f"{self.at.where(start)}: {clause} reads ?{name}, which has no value there: it is neither a key of the "
                f"groups nor in an aggregate. Add it to GROUP BY, or take SAMPLE(?{name})"
            )

    def _construct(self) -> Query:
        if not self.at.is_("{"):
            self._from()
            self.at.expect("WHERE")
            template = self.patterns.template(matched=True)
            pattern = join(self.patterns.taken(), self.patterns.terms.matched(Bgp(template)))
        else:
            template = self.patterns.template()
            self._from()
            terms = self.patterns.terms
            template = terms.renamed(template)
            pattern = terms.filled(self._where())
        modifiers = self._modifiers(pattern)
        if (modifiers.group or modifiers.values != UNIT) and isinstance(pattern, Extend) and pattern.variable[0] == ".":
            self.at.unsupported("a triple term with variables in a template, with GROUP BY or VALUES behind WHERE")
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
        self._from()
        pattern = self._where() if self.at.is_("WHERE", "{") else None
        modifiers = self._modifiers(pattern or UNIT)
        if pattern is None and modifiers.values == UNIT:
            return Query("describe", None, targets=tuple(targets), base=self.at.base)
        node = self._modified(pattern or UNIT, modifiers, ())
        targets += [Variable(name) for name in visible(node)] if star else []
        return Query("describe", self._sliced(node, modifiers), targets=tuple(targets), base=self.at.base)

    def _ask(self) -> Query:
        self._from()
        pattern = self._where()
        modifiers = self._modifiers(pattern)
        return Query("ask", self._sliced(self._modified(pattern, modifiers, ()), modifiers), base=self.at.base)

    def _from(self) -> None:
        """Rules 13 to 16: FROM and FROM NAMED."""
        given = self.dataset_clause("FROM")
        if given is not None:
            self.dataset = given

    def dataset_clause(self, word: str) -> Dataset | None:
        """The graphs that clauses of a word choose, FROM or USING; None without any."""
        default, named, some = list[str](), list[str](), False
        while self.at.accept(word):
            some = True
            graphs = named if self.at.accept("NAMED") else default
            graphs.append(f"<{self.at.iri()}>")
        return Dataset(tuple(dict.fromkeys(default)), tuple(dict.fromkeys(named))) if some else None

    def _where(self) -> Node:
        self.at.accept("WHERE")
        return self.patterns.group()

    # -- solution modifiers -----------------------------------------------------------------------------------------

    def _modifiers(self, pattern: Node) -> _Modifiers:
        """Rules 18 to 28."""
        found = _Modifiers()
        expressions = self.patterns.expressions
        if self.at.accept("GROUP"):
            self.at.expect("BY")
            scope = set(in_scope(pattern))
            aggregates, expressions.aggregates = expressions.aggregates, None
            while (key := self._group_key(scope)) is not None:
                self.at.pattern()
                found.group.append(key)
            expressions.aggregates = aggregates
            if not found.group:
                self.at.fail("expected what to group by")
        if self.at.accept("HAVING"):
            while not found.having or self._at_constraint():
                start = self.at.peek().start
                self.at.pattern()
                found.having.append((expressions.constraint(), start))
        if self.at.accept("ORDER"):
            self.at.expect("BY")
            found.order_start = self.at.peek().start
            while (order := self._order_key()) is not None:
                self.at.pattern()
                found.order.append(order)
            if not found.order:
                self.at.fail("expected what to order by")
        for _ in range(2):
            if found.length is None and self.at.accept("LIMIT"):
                found.length = self._integer()
            elif found.start is None and self.at.accept("OFFSET"):
                found.start = self._integer()
        if self.at.accept("VALUES"):
            found.values = self.patterns.values()
        return found

    def _at_constraint(self) -> bool:
        word = self.at.peek()
        modifier = self.at.is_("ORDER", "LIMIT", "OFFSET", "VALUES", "HAVING")
        return self.at.is_("(") or self.at.at_iri() or (word.kind == "word" and not modifier)

    def _group_key(self, scope: set[str]) -> tuple[Expression, str | None] | None:
        if (variable := self.at.variable()) is not None:
            return variable, None
        if not self._at_constraint():
            return None
        if not self.at.accept("("):
            return self.patterns.expressions.constraint(), None
        expression = self.patterns.expressions.expression()
        name = self.patterns.new(scope, "GROUP BY") if self.at.accept("AS") else None
        scope.update([name] if name else [])
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
        return solutions(self.at.next().text)

    def _modified(self, pattern: Node, given: _Modifiers, selected: Sequence[_Selected]) -> Node:
        """18.2.4: grouping, HAVING, VALUES, select expressions and ORDER BY around a pattern."""
        aggregates = self.patterns.expressions.aggregates or ()
        node = pattern
        if given.group or aggregates:
            node = _grouped(node, given.group, aggregates)
        for condition, _ in given.having:
            node = Filter(node, condition)
        node, chains = join(node, given.values), Chains(self.at)
        for one in selected:
            if one.expression is not None:
                chains.add(one.name, one.expression, one.start)
                node = Extend(node, one.name, one.expression)
        return OrderBy(node, tuple(given.order)) if given.order else node

    def _sliced(self, node: Node, given: _Modifiers) -> Node:
        return Slice(node, given.start or 0, given.length) if given.start or given.length is not None else node


def _grouped(pattern: Node, given: Iterable[tuple[Expression, str | None]], aggregates: Sequence[Aggregate]) -> Group:
    keys: list[str] = []
    for number, (expression, name) in enumerate(given):
        if isinstance(expression, Variable) and name is None:
            keys.append(expression.name)
        else:
            keys.append(name or f".key{number}")
            pattern = Extend(pattern, keys[-1], expression)
    return Group(pattern, tuple(dict.fromkeys(keys)), tuple(aggregates))


def outside(expression: Expression) -> set[str]:
    """The variables that an expression reads, those inside of EXISTS left out: they may be the pattern's own."""
    match expression:
        case Variable(name):
            return {name}
        case Call(_, arguments):
            return set().union(*map(outside, arguments))
        case _:
            return set()


__all__ = ["Parser", "not_too_deep", "parse_query"]


def _unknown_functions(query: Query) -> list[str]:
    """A warning for each function that there is none of: where it is evaluated it gives an error (section 17.6)."""
    names = [name for name in query.parts.calls if ":" in name and not is_known(name)]
    return [f"there is no function <{name}>: it gives an error" for name in names]
