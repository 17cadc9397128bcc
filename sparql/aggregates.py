"""GROUP BY and the aggregates (SPARQL 1.1, sections 11 and 18.5.1).

An error in the argument is an error of SUM, AVG, MIN and MAX, and is not counted by COUNT. SUM and AVG of no rows are
0, MIN, MAX and SAMPLE of none an error. MIN and MAX order as ORDER BY does; SAMPLE takes the first in that order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sparql.algebra import Aggregate, Group, variables_of, visible
from sparql.compare import sort_keys
from sparql.decimals import divide
from sparql.relation import Column, Relation
from sparql.values import Value, integer, number, token

if TYPE_CHECKING:
    from sparql.to_sql import Compiler


def group(compiler: Compiler, node: Group) -> Relation:
    """The groups of a pattern's solutions, one row each: keys and aggregates as columns."""
    scope = visible(node.pattern)
    read: frozenset[str] = frozenset(node.keys)
    for aggregate in node.aggregates:
        read |= variables_of(aggregate.argument)
        if aggregate.argument is None and aggregate.distinct:
            read |= frozenset(scope)
    relation = compiler.node(node.pattern, read)
    if any(a.function in ("SUM", "AVG") for a in node.aggregates):
        relation = compiler.flat(relation)
    relation = replace(relation, order=())
    steps = compiler.steps
    values = compiler.expressions(steps.value(relation, ""))
    keys = [steps.column(key) for key in node.keys if key in relation.columns]
    arguments = [None if a.argument is None else values.value(a.argument) for a in node.aggregates]

    # 1. Decode what the arguments read; mark the first of equal arguments for DISTINCT.
    marks: list[str] = []
    for place, (aggregate, value) in enumerate(zip(node.aggregates, arguments, strict=True)):
        if aggregate.distinct and aggregate.function in ("COUNT", "SUM", "AVG"):
            same = (
                [*keys, *(steps.column(n) for n in scope if n in relation.columns)]
                if value is None
                else [*keys, _identity(value)]
            )
            listed = ", ".join(same) or "1"
            marks.append(f"row_number() OVER (PARTITION BY {listed} ORDER BY {listed}) AS d{place}")
    raw = [
        sql
        for place, (a, v) in enumerate(zip(node.aggregates, arguments, strict=True))
        for sql in _raw(compiler, place, a, v, relation)
    ]
    source = steps.decode(relation, " ".join([*marks, *raw]))
    inner = f"(SELECT x.*, {', '.join(marks)} FROM {source.name} x)" if marks else source.name

    # 2. Aggregate to plain SQL values. 3. Make terms of them.
    grouped = f"SELECT {', '.join([*keys, *raw]) or '1 AS unit'} FROM {inner} y"
    grouped += f" GROUP BY {', '.join(keys)}" if keys else (" GROUP BY 1 HAVING FALSE" if node.keys else "")
    if node.keys and not keys:  # grouped by what is never bound: one group, if there is any row
        grouped = (
            f"SELECT * FROM (SELECT {', '.join([*raw, 'count(*) AS present'])} FROM {inner} y) z WHERE present > 0"
        )
    step = steps.add("grouped", grouped)
    results = [
        f"{_result(compiler, place, a)} AS {steps.column(a.variable)}" for place, a in enumerate(node.aggregates)
    ]
    columns = {key: relation.columns[key] for key in node.keys if key in relation.columns}
    columns |= {a.variable: Column(token=True, nullable=True) for a in node.aggregates}
    return Relation(steps.add("group", f"SELECT {', '.join([*keys, *results]) or '1 AS unit'} FROM {step}"), columns)


def _identity(value: Value) -> str:
    return value.id if value.id is not None else token(value)


def _raw(compiler: Compiler, place: int, aggregate: Aggregate, value: Value | None, relation: Relation) -> list[str]:
    """The SQL aggregates that the result of one SPARQL aggregate is made from, named a<place>_<part>."""
    weight = "n" if relation.weighted else "1"
    distinct = aggregate.distinct and aggregate.function in ("COUNT", "SUM", "AVG")
    once = f"d{place} = 1" if distinct else "TRUE"
    if distinct:
        weight = "1"
    if value is None:
        return [f"coalesce(sum(CASE WHEN {once} THEN {weight} ELSE 0 END), 0) AS a{place}_count"]
    present = f"{once} AND {value.bound}"
    count = f"coalesce(sum(CASE WHEN {present} THEN {weight} ELSE 0 END), 0) AS a{place}_count"
    match aggregate.function:
        case "COUNT":
            return [count]
        case "SUM" | "AVG":
            wrong = f"({value.rank}) IS NULL OR (({value.rank}) <= 2 AND ({value.decimal}) IS NULL)"
            return [
                count,
                f"sum(CASE WHEN {once} AND ({wrong}) THEN 1 ELSE 0 END) AS a{place}_wrong",
                f"max({value.rank}) AS a{place}_rank",
                f"sum(CASE WHEN {once} THEN {value.decimal} END) AS a{place}_decimal",
                f"sum(CASE WHEN {once} THEN {value.double} END) AS a{place}_double",
            ]
        case _:
            keys = sort_keys(value)
            names = [f"k{number_}" for number_ in range(len(keys))]
            best = "max" if aggregate.function == "MAX" else "min"
            record = compiler.steps.dialect.record([*names, "token"], [*keys, token(value)])
            wrong = f"sum(CASE WHEN {value.bound} THEN 0 ELSE 1 END) AS a{place}_wrong"
            return [wrong, f"{best}(CASE WHEN {value.bound} THEN {record} END) AS a{place}_best"]


def _result(compiler: Compiler, place: int, aggregate: Aggregate) -> str:
    """The token of an aggregate, from its parts."""
    dialect = compiler.steps.dialect
    if aggregate.function == "COUNT":
        return token(integer(dialect, f"a{place}_count"))
    if aggregate.function in ("MIN", "MAX"):
        return f"CASE WHEN a{place}_wrong = 0 THEN a{place}_best.token END"
    if aggregate.function == "SAMPLE":
        return f"a{place}_best.token"
    decimal, double, rank = (f"a{place}_{part}" for part in ("decimal", "double", "rank"))
    if aggregate.function == "AVG":
        decimal = divide(dialect, decimal, f"a{place}_count")
        double, rank = f"{double} / a{place}_count", f"greatest({rank}, 2)"
    zero = token(integer(dialect, "0"))
    found = token(number(dialect, rank, decimal, double))
    return f"CASE WHEN coalesce(a{place}_wrong, 0) > 0 THEN NULL WHEN a{place}_count = 0 THEN {zero} ELSE {found} END"
