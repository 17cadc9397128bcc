"""Where repeated paths start: from the solutions that theirs will be joined with (sideways information passing).

Source: Beeri and Ramakrishnan 1991 ("On the power of magic"). A pattern may be compiled with solutions that its own
will be joined with, the `Context.givens`, and a path that finds one of its ends among their variables starts from those
terms alone. The answer is the same as long as no solution is left out that the join would keep, so operators pass on
only the variables for which that holds: OPTIONAL and MINUS those of their left side to the right, GROUP BY its keys,
LIMIT none.

The solutions that are given are kept as a working table, since they are read twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce

import pyarrow as pa

from triplake.sparql import inline, joins
from triplake.sparql.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    GraphPattern,
    Group,
    Join,
    Kept,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Service,
    Slice,
    Triple,
    Union,
    Values,
    chosen_of,
    conjuncts,
    in_scope,
)
from triplake.sparql.classes import CHOSEN, MEMBERS
from triplake.sparql.context import Context, Given, Needed
from triplake.sparql.path_closure import Seeds
from triplake.sparql.patterns import planned
from triplake.sparql.relation import Relation
from triplake.sparql.thresholds import THRESHOLDS
from triplestore.dictionary.encoding import lookup
from triplestore.engine.arrow import int64s
from triplestore.model.expression import Constant, Exists, Expression, Variable
from triplestore.model.thresholds import SIZES


def _seeds(compiler: Context, one: Given, variable: str) -> Seeds | None:
    """The terms of a variable as the ends of paths that are read here; None where they are unknown."""
    how = compiler.reading.matching
    key = variable, f"{how.base} {how.expanding} {how.choosing}"
    if key not in one.seeds:
        one.seeds[key] = _made_seeds(compiler, one, variable)
    return one.seeds[key]


def _made_seeds(compiler: Context, one: Given, variable: str) -> Seeds | None:
    """The inverse of what becomes of an end in an answer (`PathTables`): a term as the representative of its class
    where variables range over classes. Some more than necessary do no harm."""
    steps, how, paths = compiler.steps, compiler.reading.matching, compiler.reading.paths
    column, own, table = one.relation.columns[variable], steps.column(variable), one.table
    graph = compiler.graph if compiler.graph in one.relation.columns else None
    by_class = how.expanding or how.choosing
    if column.token:
        loaded = _looked_up(compiler, one, own)
        if loaded is None:
            return None
        table, own, graph = loaded, "id", None
    joined, term = "", f"t.{own}"
    if column.members is not None and not by_class:
        if column.members == CHOSEN:
            return None
        joined, term = f" LEFT JOIN {column.members} e ON e.representative = t.{own}", f"coalesce(e.term, t.{own})"
    elif column.members is None and by_class:
        classes = how.members if how.expanding else MEMBERS
        joined, term = f" LEFT JOIN {classes} e ON e.term = t.{own}", f"coalesce(e.representative, t.{own})"
    listed = f"t.{steps.column(graph)} AS g, " if graph is not None else ""
    name = paths.scratch.table("seed")
    rows = paths.engine.create(name, f"SELECT DISTINCT {listed}{term} AS x FROM {table} t{joined}")
    return Seeds(name, rows, graph is not None)


def _looked_up(compiler: Context, one: Given, column: str) -> str | None:
    """A table of the ids of computed terms; None where they are too many."""
    paths = compiler.reading.paths
    sql = f"SELECT DISTINCT {column} AS token FROM {one.table} LIMIT {SIZES.small + 1}"
    tokens = [token for (token,) in paths.engine.rows(sql)]
    if len(tokens) > SIZES.small:
        return None
    ids = lookup(paths.engine, tokens)
    return paths.scratch.load("seed_id", pa.table({"id": int64s(ids.values())}))


def given(compiler: Context, relation: Relation) -> Given:
    """The solutions of a relation, kept in a working table from now on: use `Given.relation` in its place."""
    steps, paths = compiler.steps, compiler.reading.paths
    listed = steps.listed(relation)
    table = paths.scratch.table("given")
    rows = paths.engine.create(table, steps.statement(f"SELECT {listed} FROM {relation.name}"))
    columns = dict(relation.columns)
    if maybe := [name for name, column in columns.items() if column.nullable]:
        counts = ", ".join(f"count({steps.column(name)})" for name in maybe)
        ((*counted,),) = paths.engine.rows(f"SELECT {counts} FROM {table}")
        for name, number in zip(maybe, counted, strict=True):
            columns[name] = replace(columns[name], nullable=number < rows)
    kept = replace(relation, name=steps.add("given", f"SELECT {listed} FROM {table}"), columns=columns)
    return Given(kept, table, frozenset(n for n, column in columns.items() if not column.nullable), rows)


@contextmanager
def passing(compiler: Context, names: Collection[str] | None = None, more: Sequence[Given] = ()) -> Iterator[None]:
    """Compile with what is given here, restricted to some variables (None: all), and more."""
    before = compiler.givens
    kept = before if names is None else tuple((one, own.intersection(names)) for one, own in before)
    compiler.givens = (*kept, *((one, one.names) for one in more))
    try:
        yield
    finally:
        compiler.givens = before


@contextmanager
def alone(compiler: Context, more: Sequence[Given] = ()) -> Iterator[None]:
    """Compile a pattern whose solutions are not joined with what is given here, but with `more`."""
    with passing(compiler, (), more):
        yield


def seeds_for(compiler: Context, node: PathPattern) -> tuple[str, Seeds] | None:
    """The variable at an end of a path and the terms that it starts from, the fewest that are given."""
    found: list[tuple[str, Seeds]] = []
    for one, names in reversed(compiler.givens):
        for name in sorted(names & _open_ends(compiler, node) & one.relation.columns.keys()):
            seeds = _seeds(compiler, one, name)
            found += [] if seeds is None else [(name, seeds)]
    return min(found, key=lambda pair: pair[1].rows, default=None)


def asks(compiler: Context, node: Node, names: frozenset[str], quads: bool = False) -> bool:
    """Whether a path in a pattern would start from the terms of one of these variables, if they were given. quads: the
    pattern is inside of a GRAPH that is yet to be compiled."""
    match node:
        case PathPattern():
            return bool(names & _open_ends(compiler, node, quads))
        case GraphPattern(_, pattern):
            return asks(compiler, pattern, names, True)
        case Filter(pattern) | Extend(pattern) | Distinct(pattern) | OrderBy(pattern):
            return asks(compiler, pattern, names, quads)
        case Join(left, right) | Union(left, right):
            return asks(compiler, left, names, quads) or asks(compiler, right, names, quads)
        case LeftJoin(left) | Minus(left):
            return asks(compiler, left, names, quads)
        case Project(pattern, kept) | Group(pattern, kept):
            return asks(compiler, pattern, names.intersection(kept), quads)
    return False


def _open_ends(compiler: Context, node: PathPattern, quads: bool = False) -> frozenset[str]:
    """The variables at the ends of a path that is better started from their terms: none where an end is a constant, or
    all its pairs are few."""
    ends = [end.name for end in (node.subject, node.object) if isinstance(end, Variable)]
    few = len(ends) < 2 or (not quads and compiler.reading.paths.cost(node) <= SIZES.small)
    return frozenset() if few else frozenset(ends)


def right_of(compiler: Context, left: Relation, node: Node, needed: Needed) -> tuple[Relation, Relation]:
    """The left side of an OPTIONAL or MINUS, and the solutions of the right side, which matter for those of the left
    side only."""
    left, more = kept_for(compiler, left, node)
    with alone(compiler, more):
        return left, compiler.node(node, needed)


def kept_for(compiler: Context, relation: Relation, pattern: Node) -> tuple[Relation, list[Given]]:
    """Solutions that those of a pattern are joined with, and what of them is given to it."""
    if not asks(compiler, pattern, frozenset(relation.columns)):
        return relation, []
    one = given(compiler, relation)
    return one.relation, [one]


def chosen(compiler: Context, pattern: Node, condition: Expression) -> list[Given]:
    """The ends that a FILTER gives to its pattern: IRIs that a variable must be one of, and matches of the
    triples of an EXISTS, of which each solution agrees with one."""
    found = []
    for part in conjuncts(condition):
        choice = chosen_of(part)
        if isinstance(part, Exists) and not part.negated and isinstance(part.pattern, Bgp):
            shared = frozenset(in_scope(part.pattern)) & frozenset(in_scope(pattern))
            if asks(compiler, pattern, shared):
                outer, compiler.outer = compiler.outer, None
                with alone(compiler):
                    found.append(given(compiler, compiler.node(part.pattern, shared)))
                compiler.outer = outer
        if choice is not None and asks(compiler, pattern, frozenset(choice[:1])):
            name, tokens = choice
            values, rows = [[token] for token in dict.fromkeys(tokens)], compiler.rows
            found.append(given(compiler, inline.values(compiler, [name], values)))
            compiler.rows = rows
    return found


# -- the order of joins -----------------------------------------------------------------------------------------------


def join(compiler: Context, node: Join, needed: Needed) -> Relation | None:
    """The solutions of a join of several patterns, paths after what gives them their ends; None where that is not
    needed, as no path asks for its ends."""
    parts = _flat(node)
    if not any(asks(compiler, part, frozenset(in_scope(part))) for part in parts):
        return None
    triples = tuple(triple for part in parts if isinstance(part, Bgp) for triple in part.triples)
    parts = [*_connected(triples), *(part for part in parts if not (isinstance(part, Bgp) and part.triples))]
    scopes = [frozenset(in_scope(part)) for part in parts]
    joined = [_Order(compiler, [(parts[n], scopes[n]) for n in group], needed).join() for group in _groups(scopes)]
    return reduce(lambda a, b: joins.join(compiler, a, b, needed), joined)


def _flat(node: Node) -> list[Node]:
    """The patterns of a tree of joins, from left to right."""
    found, left = list[Node](), [node]
    while left:
        one = left.pop()
        if isinstance(one, Join):
            left += [one.right, one.left]
        else:
            found.append(one)
    return found


def _connected(triples: Sequence[Triple]) -> list[Bgp]:
    """Basic graph patterns of triples that share variables: what they do not share, paths may connect."""
    names = [frozenset(term.name for term in triple if isinstance(term, Variable)) for triple in triples]
    return [Bgp(tuple(triples[number] for number in group)) for group in _groups(names)]


def _groups(names: Sequence[frozenset[str]]) -> list[list[int]]:
    """The places of sets that are connected by their members, in order."""
    groups: list[tuple[list[int], set[str]]] = []
    for number, own in enumerate(names):
        met = [group for group in groups if not group[1].isdisjoint(own)]
        groups = [group for group in groups if group[1].isdisjoint(own)]
        places = sorted([number, *(place for group in met for place in group[0])])
        groups.append((places, set(own).union(*(group[1] for group in met))))
    return sorted(places for places, _ in groups)


class _Order:
    """Joins connected patterns one after another, (pattern, its variables) each."""

    def __init__(self, compiler: Context, parts: Sequence[tuple[Node, frozenset[str]]], needed: Needed) -> None:
        self._compiler, self._needed = compiler, needed
        self._left = list(parts)
        self._made: dict[Node, Relation] = {}
        scopes = [scope for _, scope in parts]
        self._shared = frozenset(name for scope in scopes for name in scope if sum(name in s for s in scopes) > 1)

    def join(self) -> Relation:
        """The solutions of all of them."""
        now: Relation | None = None
        while self._left:
            node, scope = self._next(now)
            self._left.remove((node, scope))
            if now is None:
                now = self._solutions(node)
                continue
            more: list[Given] = []
            if node not in self._made and asks(self._compiler, node, scope & now.columns.keys()):
                more.append(given(self._compiler, now))
                now = more[0].relation
            if node not in self._made and asks(self._compiler, node, scope):
                more += self._from_behind(scope, more[0].rows if more else None)
            with passing(self._compiler, more=more):
                found = self._solutions(node)
            later = frozenset().union(*(scope for _, scope in self._left))
            now = joins.join(self._compiler, now, found, self._needed | later)
        assert now is not None
        return now

    def _solutions(self, node: Node) -> Relation:
        return self._made.get(node) or self._compiler.node(node, self._needed | self._shared)

    def _next(self, now: Relation | None) -> tuple[Node, frozenset[str]]:
        """A pattern that is connected with what has been joined: the smallest without a path that asks for its ends,
        if there is one."""
        reached = frozenset() if now is None else frozenset(now.columns)
        near = [part for part in self._left if not part[1].isdisjoint(reached)] or self._left
        closed = [part for part in near if not asks(self._compiler, *part)]
        if closed:
            return min(closed, key=lambda part: estimate(self._compiler, part[0]))
        ends = reached.union(*(names for _, names in self._compiler.givens))
        return next((part for part in near if asks(self._compiler, part[0], part[1] & ends)), near[0])

    def _from_behind(self, scope: frozenset[str], rows: int | None) -> list[Given]:
        """What a path is yet to be joined with, where it is less than what it has been."""
        found = []
        for node, other in self._left:
            connected = not scope.isdisjoint(other) and not asks(self._compiler, node, other)
            if connected and node not in self._made and (rows is None or estimate(self._compiler, node) < rows):
                found.append(given(self._compiler, self._solutions(node)))
                self._made[node] = found[-1].relation
        return found


def estimate(compiler: Context, node: Node) -> float:
    """How many solutions a pattern has, roughly."""
    match node:
        case Bgp(triples):
            constants, how = compiler.reading.constants, compiler.reading.matching
            ids = {
                term.token: constants.matched(term.token) for t in triples for term in t if isinstance(term, Constant)
            }
            order = planned(triples, ids, how.statistics)
            return order[-1].rows if order else 1.0
        case Values(_, rows):
            return float(len(rows))
        case Join(left, right):
            return max(estimate(compiler, left), estimate(compiler, right))
        case Union(left, right):
            return estimate(compiler, left) + estimate(compiler, right)
        case Slice(pattern, _, length):
            return min(estimate(compiler, pattern), float("inf") if length is None else length)
        case Group(_, ()):
            return 1.0
        case Filter(pattern) | Extend(pattern) | GraphPattern(_, pattern) | Project(pattern) | Distinct(pattern):
            return estimate(compiler, pattern)
        case OrderBy(pattern) | Group(pattern) | LeftJoin(pattern) | Minus(pattern):
            return estimate(compiler, pattern)
        case PathPattern() | Kept() | Service():
            return THRESHOLDS.unknown
    raise AssertionError(node)
