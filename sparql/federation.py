"""SERVICE (SPARQL 1.1 Federated Query): each is replaced by what its endpoint answers, before the query is compiled.

What a SERVICE is joined with is evaluated first. Where that has few solutions, the endpoint gets them in batches, as a
VALUES block behind the pattern: a bound join (Haas et al. 1997; Schwarte et al. 2011, "FedX"). Only variables that
every solution of the SERVICE binds are sent, so that the answer is the whole one without some solutions that would not
be joined: it may be restricted like that wherever this is so, which `Beside` keeps account of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Final

from triplake.sparql.algebra import (
    Aggregate,
    Distinct,
    Extend,
    Filter,
    GraphPattern,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Project,
    Query,
    Service,
    Slice,
    Term,
    Union,
    Values,
    certain,
    conjuncts,
    in_scope,
    pattern_of,
)
from triplake.sparql.endpoint import Row, ask, solutions
from triplestore.expressions.evaluation import is_volatile
from triplestore.model.endpoints import normalised
from triplestore.model.errors import EndpointError, LimitError, UsageError
from triplestore.model.expression import Call, Constant, Exists, Expression, Variable, variables_of, walk
from triplestore.model.terms import to_ntriples
from triplestore.model.thresholds import SIZES

MOST_REQUESTS: Final = 100
"""Requests of one query."""

MOST_ROWS: Final = 200_000
"""Solutions that all endpoints of a query answer with."""

Solve = Callable[[Node, Sequence[str]], list[Row]]
"""Evaluates a pattern here: the tokens of some variables, one row for each solution."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What restricts the solutions of a pattern that are of use: they must be compatible with one of `pattern` (None:
    with anything). conditions: those that its solutions, joined with others, must satisfy."""

    pattern: Node | None = None
    conditions: tuple[Expression, ...] = ()

    def along(self, others: Sequence[Node]) -> Beside:
        """Of a pattern that is joined with others, too."""
        return replace(self, pattern=_joined([self.pattern, self._satisfying(others)]))

    def within(self, pattern: Node) -> Beside:
        """Of the right side of an OPTIONAL, MINUS or EXISTS, whose left side is `pattern`."""
        found = _joined([self.pattern, self._satisfying([pattern])])
        return Beside(None if found is None else Project(found, in_scope(pattern)))

    def under(self, variables: Collection[str]) -> Beside:
        """Of the pattern of a sub-SELECT of these variables."""
        if self.pattern is None:
            return Beside()
        return Beside(Project(self.pattern, tuple(name for name in in_scope(self.pattern) if name in variables)))

    def _satisfying(self, patterns: Sequence[Node]) -> Node | None:
        """The join of patterns, without solutions that fail a condition; those left out that are not stable."""
        found = _joined([pattern for pattern in patterns if _is_stable(pattern)])
        if found is None:
            return None
        for condition in self.conditions:
            exists = any(isinstance(part, Exists) for part in walk(condition))
            if not exists and _is_stable(condition) and variables_of(condition) <= certain(found):
                found = Filter(found, condition)
        return found


@dataclass(slots=True)
class Federation:
    """Replaces the SERVICEs of one query. allowed: the endpoints that it may ask, `normalised`. solve: with all
    equalities expanded. expand: the query is answered so, too. beside: what is asked in this process, by the name that
    stands for an endpoint. Use once."""

    allowed: Collection[str]
    solve: Solve
    expand: bool
    beside: Mapping[str, Callable[[str], list[Row]]] = field(default_factory=dict)
    graph: Term | None = None
    requests: int = 0
    rows: int = 0

    def resolved(self, query: Query) -> Query:
        """The query with inline data in place of each SERVICE.

        Raises UsageError for an endpoint that is not allowed, before any is asked if the query names it; EndpointError
        where one fails that is not SILENT; LimitError.
        """
        for part in walk(query):
            if isinstance(part, Service) and isinstance(part.name, Constant):
                self._address(part, part.name.token)
        if query.pattern is None or not _has_service(query.pattern):
            return query
        return replace(query, pattern=self._node(query.pattern, Beside()))

    # -- patterns ---------------------------------------------------------------------------------------------------

    def _node(self, node: Node, beside: Beside) -> Node:
        """The pattern without SERVICE."""
        if not _has_service(node):
            return node
        match node:
            case Service():
                return self._service(node, beside)
            case Join():
                return self._join(node, beside)
            case LeftJoin(left, right, condition):
                left = self._fixed(self._node(left, beside))
                right = self._node(right, beside.within(self._read(left)))
                return LeftJoin(left, right, condition and self._expression(condition, Beside()))
            case Minus(left, right):
                left = self._fixed(self._node(left, beside))
                return Minus(left, self._node(right, beside.within(self._read(left))))
            case Union(left, right):
                return Union(self._node(left, beside), self._node(right, beside))
            case Filter(pattern, condition):
                conditions = (*beside.conditions, *conjuncts(condition))
                found = self._node(pattern, replace(beside, conditions=conditions))
                return Filter(*self._tested(found, condition, beside))
            case Extend(pattern, _, expression):
                found, expression = self._tested(self._node(pattern, beside), expression, beside)
                return replace(node, pattern=found, expression=expression)
            case GraphPattern(name, pattern):
                before, self.graph = self.graph, name
                found = self._node(pattern, beside)
                self.graph = before
                return GraphPattern(name, found)
            case Project(pattern, variables):
                return Project(self._node(pattern, beside.under(variables)), variables)
            case Distinct(pattern):
                return Distinct(self._node(pattern, beside))
            case OrderBy(pattern, keys):
                found = self._node(pattern, beside)
                return OrderBy(found, tuple((self._expression(key, Beside()), down) for key, down in keys))
            case Slice(pattern, start, length):
                return Slice(self._node(pattern, Beside()), start, length)
            case Group(pattern, names, aggregates):
                return Group(self._node(pattern, Beside()), names, tuple(map(self._aggregate, aggregates)))
        return node

    def _join(self, node: Join, beside: Beside) -> Node:
        """Patterns that are joined: those without SERVICE first, those last whose endpoint is a variable."""
        parts = _operands(node)
        found = {place: self._fixed(part) for place, part in enumerate(parts) if not _has_service(part)}
        rest = [place for place in range(len(parts)) if place not in found]
        for place in sorted(rest, key=lambda place: _names_by_variable(parts[place])):
            scope = set(in_scope(parts[place]))
            others = [self._read(other) for other in found.values() if scope & set(in_scope(other))]
            found[place] = self._fixed(self._node(parts[place], beside.along(others)))
        return reduce(Join, (found[place] for place in range(len(parts))))

    def _tested(self, pattern: Node, expression: Expression, beside: Beside) -> tuple[Node, Expression]:
        """An expression that is evaluated for each solution of a pattern, and the pattern."""
        if not _has_service(expression):
            return pattern, expression
        pattern = self._fixed(pattern)
        return pattern, self._expression(expression, beside.within(self._read(pattern)))

    def _expression(self, expression: Expression, beside: Beside) -> Expression:
        """The expression, without SERVICE in its EXISTS. beside: of the patterns of these."""
        match expression:
            case Exists():
                return replace(expression, pattern=self._node(pattern_of(expression), beside))
            case Call(name, arguments):
                return Call(name, tuple(self._expression(argument, beside) for argument in arguments))
        return expression

    def _aggregate(self, aggregate: Aggregate) -> Aggregate:
        argument = aggregate.argument
        return aggregate if argument is None else replace(aggregate, argument=self._expression(argument, Beside()))

    def _read(self, node: Node) -> Node:
        """A pattern as it is read where it stands."""
        return node if self.graph is None else GraphPattern(self.graph, node)

    def _fixed(self, node: Node) -> Node:
        """A pattern that would have other solutions when it is evaluated again, as its solutions, if they are few."""
        if _is_stable(node) or not self.expand or self.graph is not None:
            return node
        names = in_scope(node)
        rows = self.solve(Slice(Project(node, names), 0, SIZES.objects + 1), names)
        return node if len(rows) > SIZES.objects else Values(names, tuple(rows))

    # -- endpoints --------------------------------------------------------------------------------------------------

    def _service(self, node: Service, beside: Beside) -> Values:
        if isinstance(node.name, Constant):
            return self._asked(node, node.name.token, beside)
        name = node.name.name
        if beside.pattern is None or name not in in_scope(beside.pattern):
            raise UsageError(
                f"{node.where}: ?{name}, the endpoint of a SERVICE, has no value: give it one in the same group, by a "
                "triple pattern or VALUES"
            )
        tokens = [token for (token,) in self._distinct(beside.pattern, (name,), MOST_REQUESTS + 1)]
        if len(tokens) > MOST_REQUESTS:
            raise self._too_many(node)
        for token in tokens:
            self._address(node, token)
        found: list[tuple[Row, Values]] = []
        for token in tokens:
            chosen = Values((name,), ((token,),))
            found.append(((token,), self._asked(node, token, beside.along([chosen]))))
        return _with_names(name, node.variables, found)

    def _asked(self, node: Service, token: str | None, beside: Beside) -> Values:
        """What an endpoint answers."""
        address = self._address(node, token)
        rows: list[Row] = []
        try:
            for text in self._texts(node, beside):
                rows += self._answered(node, address, text)
        except EndpointError as error:
            if node.silent:
                return Values((), ((),))
            raise EndpointError(f"{node.where}: {error}") from error
        return Values(node.variables, tuple(rows))

    def _answered(self, node: Service, address: str, text: str) -> list[Row]:
        """The solutions that an endpoint has for one request."""
        if address in self.beside:
            return self.beside[address](text)
        self.requests += 1
        if self.requests > MOST_REQUESTS:
            raise self._too_many(node)
        answer = ask(address, text, self.allowed)
        rows = solutions(address, answer, node.variables, MOST_ROWS - self.rows)
        self.rows += len(rows)
        return rows

    def _texts(self, node: Service, beside: Beside) -> Iterator[str]:
        """The queries to send."""
        listed = " ".join(f"?{name}" for name in node.variables) or "(1 AS ?one)"
        text = f"{node.prologue} SELECT {listed} WHERE {node.text}".lstrip()
        bound = self._bound(node, beside)
        if bound is None:
            yield text
            return
        names = " ".join(f"?{name}" for name in bound.variables)
        batch = (
            SIZES.objects if isinstance(node.name, Constant) and node.name.token[1:-1] in self.beside else SIZES.inline
        )
        for start in range(0, len(bound.rows), batch):
            rows = bound.rows[start : start + batch]
            data = " ".join(f"({' '.join(to_ntriples(token) for token in row if token)})" for row in rows)
            yield f"{text}\nVALUES ({names}) {{ {data} }}"

    def _bound(self, node: Service, beside: Beside) -> Values | None:
        """The values to send; None: there are none, or too many. A blank node of ours is none that a SERVICE binds."""
        known = () if beside.pattern is None else set(in_scope(beside.pattern))
        names = tuple(name for name in node.bound if name in known)
        if beside.pattern is None or not names:
            return None
        rows = self._distinct(beside.pattern, names, SIZES.objects + 1)
        if len(rows) > SIZES.objects:
            return None
        rows = [row for row in rows if not any(token is not None and token[0] == "_" for token in row)]
        sent = [place for place in range(len(names)) if all(row[place] is not None for row in rows)]
        if not sent:
            return None
        return Values(tuple(names[p] for p in sent), tuple(dict.fromkeys(tuple(row[p] for p in sent) for row in rows)))

    def _distinct(self, pattern: Node, names: tuple[str, ...], most: int) -> list[Row]:
        """Different solutions of a pattern, up to `most`."""
        return self.solve(Slice(Distinct(Project(pattern, names)), 0, most), names)

    def _address(self, node: Service, token: str | None) -> str:
        """The address of an endpoint. Raises UsageError where it is not allowed."""
        if token is not None and token[1:-1] in self.beside:
            return token[1:-1]
        shown = "an endpoint without a value" if token is None else to_ntriples(token)
        try:
            address = normalised(token[1:-1]) if token is not None and token[0] == "<" else ""
        except UsageError:
            address = ""
        if address not in self.allowed:
            raise UsageError(
                f"{node.where}: SERVICE {shown} is refused: queries may ask the endpoints that --allow-service URL "
                "names (in Python `store.services`), and no other"
            )
        return address

    def _too_many(self, node: Service) -> LimitError:
        return LimitError(
            f"{node.where}: the query makes more than {MOST_REQUESTS} requests to endpoints: ask for less"
        )


def _with_names(name: str, variables: tuple[str, ...], found: Sequence[tuple[Row, Values]]) -> Values:
    """The answers of several endpoints as one, with a variable for which endpoint gave them."""
    others = tuple(variable for variable in variables if variable != name)
    rows: list[Row] = []
    for endpoint, answer in found:
        for row in answer.rows:
            given = dict(zip(answer.variables, row, strict=True))
            if given.get(name) in (None, *endpoint):
                rows.append((*endpoint, *(given.get(other) for other in others)))
    return Values((name, *others), tuple(rows))


def _joined(patterns: Sequence[Node | None]) -> Node | None:
    found = [pattern for pattern in patterns if pattern is not None]
    return reduce(Join, found) if found else None


def _operands(node: Node) -> list[Node]:
    """What is joined, from left to right."""
    found, left = list[Node](), [node]
    while left:
        match left.pop():
            case Join(one, other):
                left += [other, one]
            case part:
                found.append(part)
    return found


def _has_service(node: Node | Expression) -> bool:
    return any(isinstance(part, Service) for part in walk(node))


def _names_by_variable(node: Node) -> bool:
    """Whether the endpoint of a SERVICE in a pattern is a variable."""
    return any(isinstance(part, Service) and isinstance(part.name, Variable) for part in walk(node))


def _is_stable(node: Node | Expression) -> bool:
    """Whether a pattern has the same solutions, an expression the same value, each time that it is evaluated."""
    return not any(isinstance(part, Slice) or (isinstance(part, Call) and is_volatile(part)) for part in walk(node))
