"""SPARQL algebra to one SQL statement over ids, as named steps (WITH), the same text for every engine.

Each pattern becomes a step with a column per variable that something above still needs: an id as long as the term
comes from the data, a token where it was computed. Terms are decoded (joined with `term`) where an expression reads
them and at the very end. Solutions are bags: a count column `n` stands for repeated rows (`sparql.patterns`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from sparql.aggregates import group
from sparql.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Project,
    Slice,
    Union,
    Values,
    in_scope,
    pattern_of,
)
from sparql.patterns import Matching, match
from sparql.relation import Column, Relation, Steps
from triplestore.errors import UnsupportedError
from triplestore.expression import Call, Constant, Exists, Expression, Variable, variables_of, walk
from triplestore.expressions.compare import sort_keys
from triplestore.expressions.compiler import Expressions
from triplestore.expressions.values import Value, stored, token

Needed = frozenset[str]


@dataclass(slots=True)
class Compiler:
    """Compiles the patterns of one query. Use once."""

    steps: Steps
    matching: Matching
    ids: dict[str, int]
    """The id each constant has where it is a value (canonical answers: its representative's)."""

    def select(self, node: Node, variables: Sequence[str]) -> str:
        """The statement that yields the tokens of `variables` as columns c0, c1 ...; NULL is unbound."""
        relation = self.node(node, frozenset(variables))
        decoded, tokens = self.steps.tokens(relation, variables)
        selected = ", ".join(f"{sql} AS c{place}" for place, sql in enumerate(tokens)) or "1 AS unit"
        if relation.weighted:
            keys = "".join(f", {key}" for key, _ in relation.order)
            repeat = self.steps.dialect.repeat("n")
            names = ", ".join(f"c{place}" for place in range(len(tokens))) or "unit"
            inner = f"SELECT {selected}{keys}, {repeat} AS copy FROM {decoded}"
            return self.steps.statement(f"SELECT {names} FROM ({inner}) r{relation.sorting}")
        return self.steps.statement(f"SELECT {selected} FROM {decoded}{relation.sorting}")

    def ask(self, node: Node) -> str:
        """The statement that yields a row if the pattern has a solution."""
        relation = self.node(node, frozenset())
        return self.steps.statement(f"SELECT 1 AS unit FROM {relation.name} LIMIT 1")

    # -- patterns ---------------------------------------------------------------------------------------------------

    def node(self, node: Node, needed: Needed) -> Relation:
        """The solutions of a pattern, with (at least) the columns of those needed variables that it binds."""
        match node:
            case Bgp(triples):
                return self._bgp(triples, needed)
            case Join(left, right):
                return self._join(left, right, needed)
            case LeftJoin(left, right, condition):
                return self._left_join(left, right, condition, needed)
            case Union(left, right):
                return self._union(self.node(left, needed), self.node(right, needed))
            case Minus(left, right):
                return self._minus(left, right, needed)
            case Filter(pattern, condition):
                return self._filter(pattern, condition, needed)
            case Extend():
                return self._extend(node, needed)
            case Values(variables, rows):
                return self._values(variables, rows)
            case Project(pattern, variables):
                inner = self.node(pattern, needed & frozenset(variables))
                kept = {name: column for name, column in inner.columns.items() if name in variables}
                return replace(inner, columns=kept)
            case Distinct(pattern):
                return self._distinct(self.node(pattern, frozenset(in_scope(pattern))))
            case OrderBy(pattern, keys):
                return self._order(pattern, keys, needed)
            case Slice(pattern, start, length):
                return self._slice(self.node(pattern, needed), start, length)
            case Group():
                return group(self, node)

    def _bgp(self, triples: Sequence[tuple[Variable | Constant, ...]], needed: Needed) -> Relation:
        names = {t.name for triple in triples for t in triple if isinstance(t, Variable)}
        kept = sorted(names & needed)
        columns = {name: self.steps.column(name) for name in sorted(names)}
        representatives = {t: self.steps.constants.representative(t) for t in self.ids}
        sql, weighted = match(triples, kept, columns, representatives, self.matching)  # type: ignore[arg-type]
        return Relation(self.steps.add("pattern", sql), dict.fromkeys(kept, Column()), weighted)

    def _join(self, left: Node, right: Node, needed: Needed) -> Relation:
        shared = frozenset(in_scope(left)) & frozenset(in_scope(right))
        a, b = self.steps.aligned(self.node(left, needed | shared), self.node(right, needed | shared))
        common = [name for name in a.columns if name in b.columns]
        columns, selected = {}, []
        for name in dict.fromkeys((*a.columns, *b.columns)):
            if name not in needed:
                continue
            columns[name], sql = self.steps.merged(a, b, name, inner=True)
            selected.append(f"{sql} AS {self.steps.column(name)}")
        weight = _product(a, b, "r.n")
        conditions = [self.steps.compatible(a, b, name) for name in common]
        how = f"JOIN {b.name} r ON {' AND '.join(conditions)}" if conditions else f"CROSS JOIN {b.name} r"
        sql = f"SELECT {', '.join([*selected, *weight]) or '1 AS unit'} FROM {a.name} l {how}"
        return Relation(self.steps.add("join", sql), columns, bool(weight))

    def _left_join(self, left: Node, right: Node, condition: Expression | None, needed: Needed) -> Relation:
        read = variables_of(condition)
        wanted = needed | read | (frozenset(in_scope(left)) & frozenset(in_scope(right)))
        a, b = self.steps.aligned(self.node(left, wanted), self.node(right, wanted))
        common = [name for name in a.columns if name in b.columns]
        columns, selected = {}, []
        for name in dict.fromkeys((*a.columns, *b.columns)):
            if name not in needed:
                continue
            columns[name], sql = self.steps.merged(a, b, name, inner=False)
            selected.append(f"{sql} AS {self.steps.column(name)}")
        weight = _product(a, b, "coalesce(r.n, 1)")
        conditions = [self.steps.compatible(a, b, name) for name in common]
        if condition is not None:
            conditions.append(self.expressions(self._merged_values(a, b)).condition(condition))
            a, b = (
                self.steps.decode(side, " ".join(re.findall(rf"\b{alias}\.\w+", conditions[-1])))
                for side, alias in ((a, "l"), (b, "r"))
            )
        on = " AND ".join(conditions) or "TRUE"
        sql = f"SELECT {', '.join([*selected, *weight]) or '1 AS unit'} FROM {a.name} l LEFT JOIN {b.name} r ON {on}"
        return Relation(self.steps.add("optional", sql), columns, bool(weight))

    def _merged_values(self, a: Relation, b: Relation) -> Callable[[str], Value]:
        """Values of the merged solution inside an ON clause, before the sides are merged."""
        left, right = self.steps.value(a, "l"), self.steps.value(b, "r")

        def find(variable: str) -> Value:
            if variable not in b.columns or not a.nullable(variable):
                return left(variable)
            if variable not in a.columns:
                return right(variable)
            column = a.columns[variable]
            sides = [self.steps.qualifier(variable, column, alias) for alias in "lr"]
            return stored(lambda part: f"coalesce({sides[0](part)}, {sides[1](part)})", column.token)

        return find

    def _union(self, a: Relation, b: Relation) -> Relation:
        a, b = self.steps.aligned(a, b)
        weighted = a.weighted or b.weighted
        columns: dict[str, Column] = {}
        for name in dict.fromkeys((*a.columns, *b.columns)):
            token_ = (a.columns.get(name) or b.columns[name]).token
            columns[name] = Column(token_, a.nullable(name) or b.nullable(name))
        selects = []
        for side in (a, b):
            parts = []
            for name, column in columns.items():
                own = self.steps.column(name)
                null = f"CAST(NULL AS {'STRING' if column.token else 'BIGINT'}) AS {own}"
                parts.append(own if name in side.columns else null)
            if weighted:
                parts.append("n" if side.weighted else "CAST(1 AS BIGINT) AS n")
            selects.append(f"SELECT {', '.join(parts) or '1 AS unit'} FROM {side.name}")
        return Relation(self.steps.add("union", " UNION ALL ".join(selects)), columns, weighted)

    def _minus(self, left: Node, right: Node, needed: Needed) -> Relation:
        shared = frozenset(in_scope(left)) & frozenset(in_scope(right))
        if not shared:
            return self.node(left, needed)
        a, b = self.steps.aligned(self.node(left, needed | shared), self.node(right, shared))
        common = [name for name in a.columns if name in b.columns]
        conditions = [self.steps.compatible(a, b, name) for name in common]
        if all(a.nullable(name) or b.nullable(name) for name in common):
            columns = [self.steps.column(name) for name in common]
            both = " OR ".join(f"(l.{c} IS NOT NULL AND r.{c} IS NOT NULL)" for c in columns)
            conditions.append(f"({both or 'FALSE'})")
        return self._semi_join(a, b, conditions, negated=True)

    def _semi_join(self, a: Relation, b: Relation, conditions: Sequence[str], negated: bool) -> Relation:
        test = f"EXISTS (SELECT 1 FROM {b.name} r WHERE {' AND '.join(conditions) or 'TRUE'})"
        sql = f"SELECT {self.steps.listed(a, 'l.')} FROM {a.name} l WHERE {'NOT ' * negated}{test}"
        return replace(a, name=self.steps.add("minus" if negated else "exists", sql))

    def _filter(self, pattern: Node, condition: Expression, needed: Needed) -> Relation:
        parts = _conjuncts(condition)
        tests = [part for part in parts if isinstance(part, Exists)]
        plain = [part for part in parts if not isinstance(part, Exists)]
        scope = frozenset(in_scope(pattern))
        read = frozenset().union(*(variables_of(part) for part in parts)) & scope
        relation = self.node(pattern, needed | read)
        if plain:
            expressions = self.expressions(self.steps.value(relation, ""))
            where = " AND ".join(expressions.condition(part) for part in plain)
            decoded = self.steps.decode(relation, where)
            sql = f"SELECT {self.steps.listed(relation)} FROM {decoded.name} WHERE {where}"
            relation = replace(relation, name=self.steps.add("filter", sql))
        for test in tests:
            inner = pattern_of(test)
            _check_substitution(inner, scope)
            shared = scope & frozenset(in_scope(inner))
            a, b = self.steps.aligned(relation, self.node(inner, shared))
            conditions = [self.steps.compatible(a, b, name) for name in a.columns if name in b.columns]
            relation = self._semi_join(a, b, conditions, test.negated)
        return relation

    def _extend(self, node: Extend, needed: Needed) -> Relation:
        """A chain of BINDs: those that nothing needs left out, those that do not read each other in one step."""
        inner: Node = node
        wanted, chain = set(needed), list[Extend]()
        while isinstance(inner, Extend):
            if inner.variable in wanted:
                wanted.discard(inner.variable)
                wanted |= variables_of(inner.expression)
                chain.append(inner)
            inner = inner.pattern
        relation = self.node(inner, frozenset(wanted))
        while chain:
            layer: list[Extend] = []
            while chain and not variables_of(chain[-1].expression) & {bind.variable for bind in layer}:
                layer.append(chain.pop())
            relation = self._bind(relation, layer)
        return relation

    def _bind(self, relation: Relation, layer: Sequence[Extend]) -> Relation:
        """One step of BINDs over the same relation."""
        columns, selected = dict(relation.columns), []
        for bind in layer:
            name = self.steps.column(bind.variable)
            match bind.expression:
                case Variable(other):
                    if other not in relation.columns:
                        continue
                    columns[bind.variable] = relation.columns[other]
                    selected.append(f"{self.steps.column(other)} AS {name}")
                case Constant(text):
                    columns[bind.variable] = Column()
                    selected.append(f"CAST({self.ids[text]} AS BIGINT) AS {name}")
                case computed:
                    columns[bind.variable] = Column(token=True, nullable=True)
                    value = self.expressions(self.steps.value(relation, "")).value(computed)
                    selected.append(f"{token(value)} AS {name}")
        source = self.steps.decode(relation, " ".join(selected))
        step = self.steps.add("bind", f"SELECT {self.steps.listed(relation, more=selected)} FROM {source.name}")
        return replace(relation, name=step, columns=columns)

    def _values(self, variables: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Relation:
        columns = {
            name: Column(nullable=any(row[place] is None for row in rows)) for place, name in enumerate(variables)
        }
        if not variables or not rows:
            nulls = [f"CAST(NULL AS BIGINT) AS {self.steps.column(name)}" for name in variables]
            keep = " WHERE FALSE" if not rows else ""
            return Relation(self.steps.add("values", f"SELECT {', '.join(nulls) or '1 AS unit'}{keep}"), columns)
        names = [self.steps.column(name) for name in variables]
        listed = ", ".join(f"({', '.join('NULL' if t is None else str(self.ids[t]) for t in row)})" for row in rows)
        cast = ", ".join(f"CAST({name} AS BIGINT) AS {name}" for name in names)
        sql = f"SELECT {cast} FROM (VALUES {listed}) x({', '.join(names)})"
        return Relation(self.steps.add("values", sql), columns)

    # -- solution modifiers -----------------------------------------------------------------------------------------

    def _distinct(self, relation: Relation) -> Relation:
        listed = ", ".join(self.steps.column(name) for name in relation.columns) or "1 AS unit"
        if not relation.order:
            step = self.steps.add("distinct", f"SELECT DISTINCT {listed} FROM {relation.name}")
            return Relation(step, relation.columns)
        # The first of equal rows keeps its place.
        place = f"row_number() OVER ({relation.sorting.strip()}) AS place"
        ranked = self.steps.add("ranked", f"SELECT {listed}, {place} FROM {relation.name}")
        keys = ", ".join(self.steps.column(name) for name in relation.columns)
        grouped = f"SELECT {listed}, min(place) AS place FROM {ranked}" + (f" GROUP BY {keys}" if keys else "")
        return Relation(self.steps.add("distinct", grouped), relation.columns, order=(("place", False),))

    def _order(self, pattern: Node, keys: Sequence[tuple[Expression, bool]], needed: Needed) -> Relation:
        read = frozenset().union(*(variables_of(key) for key, _ in keys))
        relation = replace(self.node(pattern, needed | read), order=())
        expressions = self.expressions(self.steps.value(relation, ""))
        order: list[tuple[str, bool]] = []
        selected: list[str] = []
        for key, descending in keys:
            for sql in sort_keys(expressions.value(key)):
                order.append((f"k{len(order)}", descending))
                selected.append(f"{sql} AS {order[-1][0]}")
        source = self.steps.decode(relation, ", ".join(selected))
        step = self.steps.add("ordered", f"SELECT {self.steps.listed(relation, more=selected)} FROM {source.name}")
        return replace(relation, name=step, order=tuple(order))

    def _slice(self, relation: Relation, start: int, length: int | None) -> Relation:
        relation = self.flat(relation)
        limit = "" if length is None else f" LIMIT {length}"
        offset = f" OFFSET {start}" if start else ""
        sql = f"SELECT {self.steps.listed(relation)} FROM {relation.name}{relation.sorting}{limit}{offset}"
        return replace(relation, name=self.steps.add("slice", sql))

    def flat(self, relation: Relation) -> Relation:
        """The relation with each row as many times as it counts."""
        if not relation.weighted:
            return relation
        plain = replace(relation, weighted=False)
        repeat = f"{self.steps.dialect.repeat('n')} AS copy"
        inner = f"SELECT {self.steps.listed(plain, more=[repeat])} FROM {relation.name}"
        sql = f"SELECT {self.steps.listed(plain)} FROM ({inner}) x"
        return replace(plain, name=self.steps.add("flat", sql))

    # -- parts ------------------------------------------------------------------------------------------------------

    def expressions(self, variable: Callable[[str], Value]) -> Expressions:
        """A compiler of expressions over these variables."""
        return Expressions(self.steps.dialect, self.ids, variable)


def _product(a: Relation, b: Relation, right: str) -> list[str]:
    factors = ["l.n"] * a.weighted + [right] * b.weighted
    return [f"{' * '.join(factors)} AS n"] if factors else []


def _conjuncts(condition: Expression) -> list[Expression]:
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for argument in condition.arguments for part in _conjuncts(argument)]
    if isinstance(condition, Call) and condition.name == "!" and isinstance(condition.arguments[0], Exists):
        inner = condition.arguments[0]
        return [Exists(inner.pattern, not inner.negated)]
    return [condition]


def _check_substitution(pattern: Node, outer: frozenset[str]) -> None:
    """EXISTS substitutes the outer solution into its pattern; we join with it. Refuse where that could differ."""
    for part in walk(pattern):
        reads: frozenset[str] = frozenset()
        inside: Collection[str] = ()
        match part:
            case Filter(inner, condition):
                reads, inside = variables_of(condition), in_scope(inner)
            case Extend(inner, variable, expression):
                reads, inside = variables_of(expression) | {variable}, set(in_scope(inner)) - {variable}
            case LeftJoin(left, right, condition):
                reads, inside = variables_of(condition) | set(in_scope(right)), in_scope(left)
            case Minus() | Group() | Slice():
                raise UnsupportedError("MINUS, aggregates or LIMIT inside EXISTS are not supported")
        if clash := sorted((reads - set(inside)) & outer):
            raise UnsupportedError(
                f"EXISTS whose inner FILTER, BIND or OPTIONAL reads ?{clash[0]} from outside is not supported"
            )
