"""Joining solutions: Join, LeftJoin, Union and Minus (SPARQL 1.1, section 18.5) over relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from triplake.sparql.algebra import Node, in_scope, mentioned
from triplake.sparql.classes import aligned, expanded, folded, joinable, only
from triplake.sparql.context import Context, Needed
from triplake.sparql.relation import Column, Relation, Steps
from triplestore.expressions.columns import columns_read
from triplestore.expressions.staging import Staging
from triplestore.expressions.values import Value, stored
from triplestore.model.expression import Exists, Expression, walk


def join(compiler: Context, a: Relation, b: Relation, needed: Needed) -> Relation:
    """Compatible solutions of both, merged."""
    steps = compiler.steps
    a, b = joinable(steps, a, b, inner=True)
    columns, selected = _merged_columns(steps, a, b, needed, inner=True)
    weight = _product(a, b, "r.n")
    conditions = [steps.compatible(a, b, name) for name in a.columns if name in b.columns]
    how = f"JOIN {b.name} r ON {' AND '.join(conditions)}" if conditions else f"CROSS JOIN {b.name} r"
    sql = f"SELECT {', '.join([*selected, *weight]) or '1 AS unit'} FROM {a.name} l {how}"
    return only(steps, Relation(steps.add("join", sql), columns, bool(weight)), needed)


def left_join(compiler: Context, a: Relation, b: Relation, condition: Expression | None, needed: Needed) -> Relation:
    """Solutions of `a`, each with those of `b` that are compatible and fulfil the condition, or alone."""
    steps = compiler.steps
    a, b = (expanded(steps, side, mentioned(condition)) for side in (a, b))
    a, b = joinable(steps, a, b)
    conditions = [steps.compatible(a, b, name) for name in a.columns if name in b.columns]
    if condition is not None:
        if any(isinstance(part, Exists) for part in walk(condition)):
            return _in_two_steps(compiler, a, b, condition, needed)
        staging = Staging()
        conditions.append(compiler.expressions(_merged_values(compiler, a, b), staging).condition(condition))
        if staging.parts:
            return _in_two_steps(compiler, a, b, condition, needed)
    columns, selected = _merged_columns(steps, a, b, needed, inner=False)
    weight = _product(a, b, "coalesce(r.n, 1)")
    if condition is not None:
        read = columns_read(conditions[-1])
        a, b = steps.decode(a, read, "l."), steps.decode(b, read, "r.")
    on = " AND ".join(conditions) or "TRUE"
    sql = f"SELECT {', '.join([*selected, *weight]) or '1 AS unit'} FROM {a.name} l LEFT JOIN {b.name} r ON {on}"
    return only(steps, Relation(steps.add("optional", sql), columns, bool(weight)), needed)


def _merged_columns(
    steps: Steps, a: Relation, b: Relation, needed: Needed, inner: bool
) -> tuple[dict[str, Column], list[str]]:
    """The columns of a join, and the select list: what is needed, and what is folded and has yet to be counted."""
    columns, selected = {}, []
    for name in dict.fromkeys((*a.columns, *b.columns)):
        if name in needed or folded(a, (name,)) or folded(b, (name,)):
            columns[name], sql = steps.merged(a, b, name, inner)
            selected.append(f"{sql} AS {steps.column(name)}")
    return columns, selected


def _in_two_steps(compiler: Context, a: Relation, b: Relation, condition: Expression, needed: Needed) -> Relation:
    """A condition that does not fit into ON: join and filter, then add the solutions of `a` that have no partner."""
    steps = compiler.steps
    copies = {name: f".left.{name}" for name in a.columns}
    copied = [f"{steps.column(name)} AS {steps.column(copy)}" for name, copy in copies.items()]
    step = steps.add("kept", f"SELECT {steps.listed(a, more=copied)} FROM {a.name}")
    copied_columns = {copies[name]: replace(column, members=None) for name, column in a.columns.items()}
    kept = replace(a, name=step, columns={**a.columns, **copied_columns})
    every = frozenset((*kept.columns, *b.columns))
    met = compiler.filtered(join(compiler, kept, b, every), condition)
    same = [f"l.{steps.column(name)} IS NOT DISTINCT FROM r.{steps.column(copy)}" for name, copy in copies.items()]
    alone = semi_join(compiler, a, met, same, negated=True)

    return union(compiler, only(steps, met, needed), only(steps, alone, needed))


def _merged_values(compiler: Context, a: Relation, b: Relation) -> Callable[[str], Value]:
    """Values of the merged solution inside an ON clause, before the sides are merged."""
    steps = compiler.steps
    left, right = steps.value(a, "l"), steps.value(b, "r")

    def find(variable: str) -> Value:
        if variable not in b.columns or not a.nullable(variable):
            return left(variable)
        if variable not in a.columns:
            return right(variable)
        column = a.columns[variable]
        sides = [steps.qualifier(variable, column, alias) for alias in "lr"]
        return stored(lambda part: f"coalesce({sides[0](part)}, {sides[1](part)})", column.token)

    return find


def union(compiler: Context, a: Relation, b: Relation) -> Relation:
    """The solutions of both, one after the other."""
    steps = compiler.steps
    a, b = aligned(steps, a, b)
    weighted = a.weighted or b.weighted
    columns: dict[str, Column] = {}
    for name in dict.fromkeys((*a.columns, *b.columns)):
        nullable = a.nullable(name) or b.nullable(name)
        one, other = a.columns.get(name), b.columns.get(name)
        both = one.or_else(other) if one is not None and other is not None else one or other
        assert both is not None
        columns[name] = replace(both, nullable=nullable)
    selects = []
    for side in (a, b):
        parts = []
        for name, column in columns.items():
            own = steps.column(name)
            null = f"CAST(NULL AS {'STRING' if column.token else 'BIGINT'}) AS {own}"
            parts.append(own if name in side.columns else null)
        if weighted:
            parts.append("n" if side.weighted else "CAST(1 AS BIGINT) AS n")
        selects.append(f"SELECT {', '.join(parts) or '1 AS unit'} FROM {side.name}")
    return Relation(steps.add("union", " UNION ALL ".join(selects)), columns, weighted)


def minus(compiler: Context, left: Node, right: Node, needed: Needed) -> Relation:
    """Solutions of `left` that no solution of `right` is compatible with and shares a variable with.

    A variable that an EXISTS has substituted is a constant here: agreeing on it is sharing nothing.
    """
    steps, outer = compiler.steps, compiler.outer.columns if compiler.outer is not None else {}
    shared = frozenset(in_scope(left)) & frozenset(in_scope(right))
    if all(name in outer and not outer[name].nullable for name in shared):
        return compiler.node(left, needed)
    a, b = joinable(steps, *compiler.beside(compiler.node(left, needed | shared), right, shared))
    common = [name for name in a.columns if name in b.columns]
    conditions = [steps.compatible(a, b, name) for name in common]
    free = [
        name
        for name in common
        if name != compiler.graph and (name not in outer or (outer[name].nullable and name in shared))
    ]
    if all(a.nullable(name) or b.nullable(name) for name in free):
        both = []
        for name in free:
            column = steps.column(name)
            test = f"l.{column} IS NOT NULL AND r.{column} IS NOT NULL"
            if name in outer:
                test += f" AND l.{steps.column(f'.outer.{name}')} IS NULL"
            both.append(f"({test})")
        conditions.append(f"({' OR '.join(both) or 'FALSE'})")
    return semi_join(compiler, a, b, conditions, negated=True)


def semi_join(compiler: Context, a: Relation, b: Relation, conditions: Sequence[str], negated: bool) -> Relation:
    """The rows l of `a` that a row r of `b` exists for, or none does."""
    steps = compiler.steps
    test = f"EXISTS (SELECT 1 FROM {b.name} r WHERE {' AND '.join(conditions) or 'TRUE'})"
    sql = f"SELECT {steps.listed(a, 'l.')} FROM {a.name} l WHERE {'NOT ' * negated}{test}"
    return replace(a, name=steps.add("minus" if negated else "exists", sql))


def _product(a: Relation, b: Relation, right: str) -> list[str]:
    factors = ["l.n"] * a.weighted + [right] * b.weighted
    return [f"{' * '.join(factors)} AS n"] if factors else []
