"""Small statements that many modules need, over any engine."""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.engine.protocol import Queries
from triplestore.engine.sql import Count


def count(engine: Queries, source: str) -> int:
    """Rows of a table, or of anything else that can stand after FROM."""
    return int(engine.query(Count(source)).column(0)[0].as_py())


def minus(left: str, right: str, columns: Sequence[str]) -> str:
    """The rows of `left` that are not in `right`, as SQL."""
    # No alias may be a column's name as well: Spark takes `a.a` for a field of column `a`.
    same = " AND ".join(f"lhs.{c} = rhs.{c}" for c in columns)
    names = ", ".join(f"lhs.{c}" for c in columns)
    return f"SELECT {names} FROM {left} lhs WHERE NOT EXISTS (SELECT 1 FROM {right} rhs WHERE {same})"


def common(left: str, right: str, columns: Sequence[str]) -> str:
    """The rows of `left` that are in `right`, as SQL."""
    same = " AND ".join(f"lhs.{c} = rhs.{c}" for c in columns)
    names = ", ".join(f"lhs.{c}" for c in columns)
    return f"SELECT {names} FROM {left} lhs WHERE EXISTS (SELECT 1 FROM {right} rhs WHERE {same})"


def places(sql: str, by: str, select: str) -> str:
    """See `Workbench.number`, as SQL: sorted in one task."""
    return f"SELECT {select} FROM (SELECT *, row_number() OVER (ORDER BY {by}) AS n FROM ({sql}) r) numbered"
