"""Small statements that many modules need, over any engine."""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.engine import Engine


def count(engine: Engine, source: str) -> int:
    """Rows of a table, or of anything else that can stand after FROM."""
    return int(engine.query(f"SELECT count(*) AS n FROM {source}").column(0)[0].as_py())


def minus(left: str, right: str, columns: Sequence[str]) -> str:
    """The rows of `left` that are not in `right`, as SQL."""
    same = " AND ".join(f"a.{c} = b.{c}" for c in columns)
    names = ", ".join(f"a.{c}" for c in columns)
    return f"SELECT {names} FROM {left} a WHERE NOT EXISTS (SELECT 1 FROM {right} b WHERE {same})"


def common(left: str, right: str, columns: Sequence[str]) -> str:
    """The rows of `left` that are in `right`, as SQL."""
    same = " AND ".join(f"a.{c} = b.{c}" for c in columns)
    names = ", ".join(f"a.{c}" for c in columns)
    return f"SELECT {names} FROM {left} a WHERE EXISTS (SELECT 1 FROM {right} b WHERE {same})"
