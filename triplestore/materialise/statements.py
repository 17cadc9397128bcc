"""What the statements of a run share: which can find anything, their instances, facts of Python's as tables."""

from __future__ import annotations

from collections.abc import Container, Sequence

import pyarrow as pa

from triplestore.compile.plan import K, Pattern, Read, Row, Shape
from triplestore.compile.schema import Fact
from triplestore.compile.sql import INLINE, Instances, inline
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s


def reads(atom: int, focus: int) -> Read:
    """Which facts an atom reads when another (or itself) is the focus; the convention is `Read`'s."""
    if atom == focus:
        return Read.DELTA
    return Read.OLD if atom < focus else Read.ALL


def possible(shape: Shape, row: Row, predicates: Container[int]) -> bool:
    """Whether every predicate that an instance asks for is among those that occur."""
    return all(row[e.p.number] in predicates for e in shape.body if isinstance(e, Pattern) and isinstance(e.p, K))


def instances(engine: Engine, shape: Shape, rows: Sequence[Row], name: str) -> Instances:
    """Rows of parameters for a statement: in its text if they are few, else a working table named after `name`."""
    if not rows[0]:
        return Instances(None)
    if len(rows) <= INLINE:
        return inline(rows)
    table = f"instances_{name}_{abs(hash(shape)) % 10**8}"
    columns = zip(*rows, strict=True)
    engine.load(table, pa.table({f"k{i}": int64s(column) for i, column in enumerate(columns)}))
    return Instances(table)


def absent(alias: str, table: str) -> str:
    """That a triple of `alias` is not in `table`, as SQL."""
    same = " AND ".join(f"k.{c} = {alias}.{c}" for c in "spo")
    return f"NOT EXISTS (SELECT 1 FROM {table} k WHERE {same})"


def triples_table(facts: Sequence[Fact]) -> pa.Table:
    """Facts as an Arrow table (s, p, o)."""
    columns = zip(*facts, strict=True) if facts else ((), (), ())
    return pa.table({name: int64s(column) for name, column in zip("spo", columns, strict=True)})
