"""Solutions that are given, not matched: inline data (VALUES), and working tables of solutions found before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from triplake.sparql.algebra import Kept
from triplake.sparql.context import Context
from triplake.sparql.object_types import of_terms
from triplake.sparql.relation import Column, Relation
from triplestore.model.thresholds import SIZES


def values(compiler: Context, variables: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Relation:
    """Inline data: one token or None (UNDEF) per variable and row."""
    compiler.rows *= max(len(rows), 1)
    steps = compiler.steps
    columns = {name: Column(nullable=any(row[place] is None for row in rows)) for place, name in enumerate(variables)}
    if not rows:
        nulls = ", ".join(f"CAST(NULL AS BIGINT) AS {steps.column(name)}" for name in variables)
        return Relation(steps.add("values", f"SELECT {nulls or '1 AS unit'} WHERE FALSE"), columns)
    if not variables:
        return Relation(steps.add("values", f"SELECT CAST({len(rows)} AS BIGINT) AS n"), columns, weighted=True)
    names = [steps.column(name) for name in variables]
    if len(rows) > SIZES.inline:
        step = steps.add("values", f"SELECT {', '.join(names)} FROM {_loaded(compiler, names, rows)}")
        return Relation(step, columns)
    ids = compiler.ids
    for place, name in enumerate(variables):
        terms = of_terms((token, ids[token]) for row in rows if (token := row[place]) is not None)
        columns[name] = replace(columns[name], types=terms)
    listed = ", ".join(f"({', '.join('NULL' if t is None else str(ids[t]) for t in row)})" for row in rows)
    cast = ", ".join(f"CAST({name} AS BIGINT) AS {name}" for name in names)
    return Relation(steps.add("values", f"SELECT {cast} FROM (VALUES {listed}) x({', '.join(names)})"), columns)


def _loaded(compiler: Context, names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    """A working table of the ids of inline data."""
    ids = [[None if token is None else compiler.ids[token] for token in column] for column in zip(*rows, strict=True)]
    table = pa.table([pa.array(column, pa.int64()) for column in ids], names=list(names))
    return compiler.reading.paths.scratch.load("inline", table)


def kept(compiler: Context, node: Kept) -> Relation:
    """The solutions of a working table."""
    columns = [f"c{place} AS {compiler.steps.column(name)}" for place, name in enumerate(node.variables)]
    step = compiler.steps.add("kept", f"SELECT {', '.join(columns)} FROM {node.name}")
    return Relation(step, dict.fromkeys(node.variables, Column()))
