"""Statements as data, where an engine does more with them than run their text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triplestore.engine.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Select:
    """The SELECT of some columns of a table (or view), as they are."""

    table: str
    columns: Sequence[str]

    def columns_read(self) -> frozenset[str]:
        """The columns of the table that it reads."""
        return frozenset(self.columns)

    def __str__(self) -> str:
        return f"SELECT {', '.join(self.columns)} FROM {self.table}"


@dataclass(frozen=True, slots=True)
class Count:
    """The SELECT of the number of rows, `n`, of a table, or of anything else that can stand after FROM."""

    source: str

    def __str__(self) -> str:
        return f"SELECT count(*) AS n FROM {self.source}"


@dataclass(frozen=True, slots=True)
class Spelled:
    """A SELECT whose text depends on the dialect, which is that of the engine that runs it, unless this leaves it to
    another. All texts mean the same."""

    dialect: Dialect
    text: Callable[[Dialect], str]

    def __str__(self) -> str:
        return self.text(self.dialect)


Statement = str | Select | Count | Spelled
"""A SELECT."""
