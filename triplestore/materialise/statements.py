"""What the statements of a run share: which can find anything, their instances, facts of Python's as tables."""

from __future__ import annotations

from collections.abc import Container, Sequence

import pyarrow as pa

from triplestore.compile.plan import K, Pattern, Read, Row, Shape, V
from triplestore.compile.schema import Fact
from triplestore.compile.sql import Instances, inline
from triplestore.engine.arrow import int64s
from triplestore.engine.sql import Scratch
from triplestore.model.terms import TYPE
from triplestore.model.thresholds import SIZES


def reads(atom: int, focus: int) -> Read:
    """Which facts an atom reads when another (or itself) is the focus; the convention is `Read`'s."""
    if atom == focus:
        return Read.DELTA
    return Read.OLD if atom < focus else Read.ALL


def possible(shape: Shape, row: Row, predicates: Container[int]) -> bool:
    """Whether every predicate that an instance asks for is among those that occur."""
    return all(row[e.p.number] in predicates for e in shape.body if isinstance(e, Pattern) and isinstance(e.p, K))


def touched(pattern: Pattern, row: Row, sizes: Container[tuple[int, int]], predicates: Container[int]) -> bool:
    """Whether a delta can hold a match of the pattern of an instance. sizes: what the delta has, by predicate and class
    (see `triplestore.materialise.facts.Facts`); predicates: those of them; neither is empty."""
    if isinstance(pattern.p, V):
        return True
    p = row[pattern.p.number]
    if p == TYPE and isinstance(pattern.o, K):
        return (p, row[pattern.o.number]) in sizes
    return p in predicates


def instances(scratch: Scratch, rows: Sequence[Row]) -> Instances:
    """Rows of parameters for a statement: in its text if they are few, else a working table of its own."""
    if not rows[0]:
        return Instances(None)
    if len(rows) <= SIZES.inline:
        return inline(rows)
    columns = zip(*rows, strict=True)
    return Instances(scratch.load("instances", pa.table({f"k{i}": int64s(c) for i, c in enumerate(columns)})))


def absent(alias: str, table: str) -> str:
    """That a triple of `alias` is not in `table`, as SQL."""
    same = " AND ".join(f"k.{c} = {alias}.{c}" for c in "spo")
    return f"NOT EXISTS (SELECT 1 FROM {table} k WHERE {same})"


def triples_table(facts: Sequence[Fact]) -> pa.Table:
    """Facts as an Arrow table (s, p, o)."""
    columns = zip(*facts, strict=True) if facts else ((), (), ())
    return pa.table({name: int64s(column) for name, column in zip("spo", columns, strict=True)})
