"""SPARQL algebra as frozen data: what `sparql.parser` makes of a query and `sparql.to_sql` turns into joins.

Names are those of the SPARQL 1.1 recommendation, section 18. A variable is its name without the question mark; a blank
node of a pattern is a variable too, named ``_:label``, which no query can name otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from triplake.sparql.paths import Repeat
from triplestore.model.expression import Call, Constant, Exists, Expression, Variable, walk

T = TypeVar("T")

Term = Variable | Constant
Triple = tuple[Term, Term, Term]
GraphTemplate = tuple[Term | None, tuple[Triple, ...]]
"""Triples of a template, and the graph that they are in; None: the default graph."""


@dataclass(frozen=True, slots=True)
class Bgp:
    """A basic graph pattern."""

    triples: tuple[Triple, ...]


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A repeated property path between two terms: a set of solutions."""

    subject: Term
    path: Repeat
    object: Term


@dataclass(frozen=True, slots=True)
class GraphPattern:
    """``GRAPH name { pattern }``."""

    name: Term
    pattern: Node


@dataclass(frozen=True, slots=True)
class Join:
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """``left OPTIONAL { right FILTER(condition) }``."""

    left: Node
    right: Node
    condition: Expression | None


@dataclass(frozen=True, slots=True)
class Union:
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Minus:
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Filter:
    pattern: Node
    condition: Expression


@dataclass(frozen=True, slots=True)
class Extend:
    """``BIND(expression AS ?variable)``, also made of select expressions. bound: it is never an error."""

    pattern: Node
    variable: str
    expression: Expression
    bound: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class Values:
    """Inline data: one token or None (UNDEF) per variable and row."""

    variables: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Solutions that a working table has, found before (`triplake.sparql.stages`): column c0 is the first variable's,
    and so on; all of them are bound."""

    name: str
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Service:
    """``SERVICE name { pattern }``, for another endpoint to answer.

    prologue, text: the declarations that the pattern uses, and the pattern as written, in its braces. variables: those
    in scope that a query can name; bound: those that every solution binds. where: its place, for messages.
    """

    name: Term
    silent: bool
    prologue: str
    text: str
    variables: tuple[str, ...]
    bound: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``function(DISTINCT argument; SEPARATOR=separator) AS ?variable``; argument None is ``COUNT(*)``."""

    variable: str
    function: str
    argument: Expression | None
    distinct: bool
    separator: str = " "

    @property
    def result(self) -> Variable:
        return Variable(self.variable)


@dataclass(frozen=True, slots=True)
class Group:
    """``GROUP BY keys`` with its aggregates; without keys there is exactly one group, maybe empty."""

    pattern: Node
    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True, slots=True)
class Project:
    pattern: Node
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    pattern: Node


@dataclass(frozen=True, slots=True)
class OrderBy:
    """`keys` are (expression, descending)."""

    pattern: Node
    keys: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """``OFFSET start LIMIT length``; length None is no limit."""

    pattern: Node
    start: int
    length: int | None


Node = (
    Bgp
    | PathPattern
    | GraphPattern
    | Join
    | LeftJoin
    | Union
    | Minus
    | Filter
    | Extend
    | Values
    | Kept
    | Service
    | Group
    | Project
    | Distinct
    | OrderBy
    | Slice
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The graphs (tokens) that FROM and FROM NAMED choose, USING and WITH in updates. named None: all there are."""

    default: tuple[str, ...]
    named: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What occurs in a query: kinds of nodes and expressions, calls by their names, constants (tokens). carried: those
    constants that a solution can have."""

    kinds: frozenset[type]
    calls: tuple[str, ...]
    constants: frozenset[str]
    carried: frozenset[str]


@dataclass(frozen=True)
class Query:
    """A whole query.

    kind: select, ask, construct or describe. variables: what SELECT projects. template: the triples of CONSTRUCT.
    targets: the terms that DESCRIBE names. pattern None: DESCRIBE without WHERE. dataset: None: the store's.
    base: what IRI() resolves against. warnings: what is legal in its text, but hardly meant. prefixes: those that it
    declares, with their IRIs.
    """

    kind: str
    pattern: Node | None
    variables: tuple[str, ...] = ()
    template: tuple[Triple, ...] = ()
    targets: tuple[Term, ...] = ()
    base: str | None = None
    warnings: tuple[str, ...] = ()
    prefixes: tuple[tuple[str, str], ...] = ()
    dataset: Dataset | None = None

    @cached_property
    def parts(self) -> Parts:
        """The parts of the query, at any depth."""
        chosen = () if self.dataset is None else (*self.dataset.default, *(self.dataset.named or ()))
        carried = {*chosen, *(term.token for triple in self.template for term in triple if isinstance(term, Constant))}
        kinds, calls, constants = set[type](), dict[str, None](), set[str]()
        for part in walk(self):
            kinds.add(type(part))
            match part:
                case Constant(token):
                    constants.add(token)
                case Call(name):
                    calls[name] = None
                case Values(_, rows):
                    carried.update(token for row in rows for token in row if token is not None)
                case Extend(expression=Constant(token)):
                    carried.add(token)
                case PathPattern(one, _, other):
                    carried.update(end.token for end in (one, other) if isinstance(end, Constant))
        return Parts(frozenset(kinds), tuple(calls), frozenset(constants | carried), frozenset(carried))


UNIT = Bgp(())
"""The pattern with one solution that binds nothing."""


def pattern_of(test: Exists) -> Node:
    """What is inside an EXISTS of a query."""
    return cast(Node, test.pattern)


def in_scope(node: Node) -> tuple[str, ...]:
    """The variables a pattern can bind, in the order in which they appear (SPARQL 18.2.1)."""
    match node:
        case Bgp(triples):
            found = [t.name for triple in triples for t in triple if isinstance(t, Variable)]
        case PathPattern(subject, _, object_):
            found = [t.name for t in (subject, object_) if isinstance(t, Variable)]
        case GraphPattern(name, pattern):
            found = [*in_scope(pattern), *([name.name] if isinstance(name, Variable) else [])]
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            found = [*in_scope(left), *in_scope(right)]
        case Minus(left):
            found = list(in_scope(left))
        case Extend(pattern, variable):
            found = [*in_scope(pattern), variable]
        case Values(variables) | Kept(_, variables) | Project(_, variables):
            found = list(variables)
        case Service(name, variables=variables):
            found = [*variables, *([name.name] if isinstance(name, Variable) else [])]
        case Group(_, keys, aggregates):
            found = [*keys, *(a.variable for a in aggregates)]
        case Filter(pattern) | Distinct(pattern) | OrderBy(pattern) | Slice(pattern):
            found = list(in_scope(pattern))
    return tuple(dict.fromkeys(found))


def mentioned(item: object) -> frozenset[str]:
    """The variables that a pattern or an expression names anywhere, also in the patterns of EXISTS, in inline data and
    in what sub-SELECTs project: where it is an EXISTS, those of a solution that it can depend on."""
    found = set[str]()
    for part in walk(item):
        match part:
            case Variable(name) | Extend(variable=name) | Aggregate(variable=name):
                found.add(name)
            case Values(variables=names) | Kept(variables=names) | Project(variables=names) | Group(keys=names):
                found.update(names)
    return frozenset(found)


def visible(node: Node) -> tuple[str, ...]:
    """What ``SELECT *`` projects: the variables in scope that a query can name."""
    return tuple(name for name in in_scope(node) if not name.startswith(("_:", ".")))


def certain(node: Node) -> frozenset[str]:
    """Variables that every solution of a pattern binds: maybe not all of them."""
    match node:
        case Bgp() | PathPattern() | Kept():
            return frozenset(in_scope(node))
        case GraphPattern(name, pattern):
            return certain(pattern) | ({name.name} if isinstance(name, Variable) else set())
        case Join(left, right):
            return certain(left) | certain(right)
        case Union(left, right):
            return certain(left) & certain(right)
        case Extend(pattern, variable, Constant()) | Extend(pattern, variable, bound=True):
            return certain(pattern) | {variable}
        case Values(variables, rows):
            return frozenset(name for place, name in enumerate(variables) if all(row[place] for row in rows))
        case Project(pattern, names) | Group(pattern, names):
            return certain(pattern) & set(names)
        case LeftJoin(pattern) | Minus(pattern) | Filter(pattern) | Extend(pattern):
            return certain(pattern)
        case Distinct(pattern) | OrderBy(pattern) | Slice(pattern):
            return certain(pattern)
        case Service():
            return frozenset()


def join(left: Node, right: Node) -> Node:
    """Join, with the pattern that binds nothing left out and basic graph patterns made one."""
    if left == UNIT:
        return right
    if isinstance(left, Bgp) and isinstance(right, Bgp):
        return Bgp(left.triples + right.triples)
    return left if right == UNIT else Join(left, right)


def balanced(made: Callable[[T, T], T], parts: Sequence[T]) -> T:
    """Parts as one by an operator that is associative, in a tree that is not deep."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return made(balanced(made, parts[:middle]), balanced(made, parts[middle:]))


def chosen_of(condition: Expression) -> tuple[str, list[str]] | None:
    """A variable and the IRIs that it must be one of, where a condition says no more than that."""
    match condition:
        case Call("=" | "SAMETERM", (Constant() as iri, Variable(name))):
            terms: Sequence[Expression] = (iri,)
        case Call("=" | "SAMETERM" | "IN", (Variable(name), *terms)):
            pass
        case _:
            return None
    tokens = [term.token for term in terms if isinstance(term, Constant) and term.token[0] == "<"]
    return (name, tokens) if tokens and len(tokens) == len(terms) else None


def conjuncts(condition: Expression) -> list[Expression]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def exists_of(condition: Expression) -> Expression:
    """A condition, a negated EXISTS as NOT EXISTS."""
    if isinstance(condition, Call) and condition.name == "!" and isinstance(condition.arguments[0], Exists):
        inner = condition.arguments[0]
        return Exists(inner.pattern, not inner.negated)
    return condition
