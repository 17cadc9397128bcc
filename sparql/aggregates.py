"""GROUP BY and the aggregates (SPARQL 1.1, sections 11 and 18.5.1).

Classes are counted by their sizes, and a class is a key for all its members at once (`sparql.classes`).

An error in the argument is an error of SUM, AVG, MIN and MAX, and is not counted by COUNT. SUM and AVG of no rows are
0, MIN, MAX and SAMPLE of none an error. MIN and MAX order as ORDER BY does; SAMPLE takes the first in that order.
"""

from __future__ import annotations

from dataclasses import replace

from triplake.sparql import exists
from triplake.sparql.algebra import Aggregate, Group, mentioned, visible
from triplake.sparql.classes import expanded, folded, repeated, size_of, sized
from triplake.sparql.context import Context
from triplake.sparql.elimination import counted
from triplake.sparql.relation import Column, Relation
from triplestore.expressions.aggregates import COUNTED_ONCE, known_result, parts, result, size
from triplestore.expressions.evaluation import is_volatile
from triplestore.expressions.staging import Staging
from triplestore.expressions.values import Value, token
from triplestore.model.expression import Variable


def group(compiler: Context, node: Group) -> Relation:
    """The groups of a pattern's solutions, one row each: keys and aggregates as columns."""
    scope = visible(node.pattern)
    node = node if compiler.graph is None else replace(node, keys=(*node.keys, compiler.graph))
    read: frozenset[str] = frozenset(node.keys)
    for aggregate in node.aggregates:
        read |= mentioned(aggregate.argument)
        if aggregate.argument is None and aggregate.distinct:
            read |= frozenset(scope)
    steps, staging = compiler.steps, Staging()
    arguments = [a.argument for a in node.aggregates if a.argument is not None]
    relation = replace(counted(compiler, node.pattern, read), order=())
    # A variable that is merely counted stays a class, and so does a key.
    computed = (a.argument for a in node.aggregates if not (a.function == "COUNT" and isinstance(a.argument, Variable)))
    relation = expanded(steps, relation, frozenset().union(*map(mentioned, computed)))
    if any(map(is_volatile, arguments)):
        relation = compiler.flat(relation)
    classes = folded(relation, relation.columns.keys() - set(node.keys))
    relation = sized(steps, relation, classes) if classes else relation
    if any(a.function in ("SUM", "AVG", "GROUP_CONCAT") for a in node.aggregates):
        relation = repeated(steps, relation)
    relation, flags = exists.with_flags(compiler, relation, arguments)
    ids = replace(relation, columns={n: replace(c, members=None) for n, c in relation.columns.items()})
    values = compiler.expressions(steps.value(ids, ""), staging, flags)
    keys = [steps.column(key) for key in node.keys if key in relation.columns]
    found = [None if a.argument is None else values.value(a.argument) for a in node.aggregates]

    # 1. Decode what the arguments read; mark the first of equal arguments for DISTINCT.
    marks: list[str] = []
    for place, (aggregate, value) in enumerate(zip(node.aggregates, found, strict=True)):
        if aggregate.distinct and aggregate.function in COUNTED_ONCE:
            same = (
                [*keys, *(steps.column(n) for n in scope if n in relation.columns)]
                if value is None
                else [*keys, _identity(value)]
            )
            listed = ", ".join(same) or "1"
            marks.append(f"row_number() OVER (PARTITION BY {listed} ORDER BY {listed}) AS d{place}")

    sizes = [
        size(steps.dialect, place, aggregate.distinct, value, aggregate.separator, keys)
        for place, (aggregate, value) in enumerate(zip(node.aggregates, found, strict=True))
        if aggregate.function == "GROUP_CONCAT" and value is not None
    ]

    def weight(aggregate: Aggregate) -> str:
        if not aggregate.distinct:
            return "n" if relation.weighted else "1"
        argument = aggregate.argument
        names = scope if argument is None else (argument.name,) if isinstance(argument, Variable) else ()
        return " * ".join(steps.column(size_of(name)) for name in names if name in classes) or "1"

    raw = [
        sql
        for place, (a, v) in enumerate(zip(node.aggregates, found, strict=True))
        for sql in parts(steps.dialect, place, a.function, a.distinct, v, weight(a), a.separator)
    ]
    inner = steps.staged(relation, staging, *marks, *sizes, *raw)
    for more in filter(None, (marks, sizes)):  # sizes read the marks
        inner = f"(SELECT x.*, {', '.join(more)} FROM {inner} x)"

    # 2. Aggregate to plain SQL values. 3. Make terms of them.
    grouped = f"SELECT {', '.join([*keys, *raw]) or '1 AS unit'} FROM {inner} y"
    grouped += f" GROUP BY {', '.join(keys)}" if keys else (" GROUP BY 1 HAVING FALSE" if node.keys else "")
    if node.keys and not keys:  # grouped by what is never bound: one group, if there is any row
        grouped = (
            f"SELECT * FROM (SELECT {', '.join([*raw, 'count(*) AS present'])} FROM {inner} y) z WHERE present > 0"
        )
    step = steps.add("grouped", grouped)
    results = [
        f"{result(steps.dialect, place, a.function, v)} AS {steps.column(a.variable)}"
        for place, (a, v) in enumerate(zip(node.aggregates, found, strict=True))
    ]
    columns = {key: relation.columns[key] for key in node.keys if key in relation.columns}
    for aggregate, value in zip(node.aggregates, found, strict=True):
        known = known_result(aggregate.function, value)
        columns[aggregate.variable] = Column(token=True, nullable=aggregate.function != "COUNT", known=known)
    return Relation(steps.add("group", f"SELECT {', '.join([*keys, *results]) or '1 AS unit'} FROM {step}"), columns)


def _identity(value: Value) -> str:
    return value.id if value.id is not None else token(value)
