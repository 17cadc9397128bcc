"""Statements as data, where an engine does more with them than run their text.

A statement owns its inputs, working tables of a `Scratch`: it is made with the names of the very tables that it reads,
and no other computation, before it or beside it, can make a table of such a name again. Names come from a counter of
the process.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol

from triplestore.engine.dialect import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


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


_NUMBERS: Final = itertools.count(1)


def unique(label: str) -> str:
    """A name for a working table, unlike any other that was or will be given in this process, and unlike those of the
    subqueries of a statement (`label_3`), which would hide a table of their name."""
    return f"{label}_t{next(_NUMBERS)}"


class _Tables(Protocol):
    """What a scratch needs of a `Workbench`."""

    def load(self, name: str, table: pa.Table) -> int: ...

    def create(self, name: str, sql: Statement) -> int: ...

    def drop(self, *names: str) -> None: ...


class Scratch:
    """The working tables of one computation, until the context ends or `clear` is called."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables
        self._names: list[str] = []

    def table(self, label: str) -> str:
        """A name for a table (or view) that the caller makes; it is dropped with the others."""
        self._names.append(unique(label))
        return self._names[-1]

    def load(self, label: str, table: pa.Table) -> str:
        """Make a table from Arrow; its name."""
        name = self.table(label)
        self._tables.load(name, table)
        return name

    def create(self, label: str, sql: Statement) -> str:
        """Make a table from a SELECT, evaluated now; its name."""
        name = self.table(label)
        self._tables.create(name, sql)
        return name

    def clear(self) -> None:
        """Drop the tables: the statements that read them have run."""
        names, self._names = self._names, []
        if names:
            self._tables.drop(*names)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """After an error, or where an answer is not read to its end, dropping is only tried; after Ctrl-C, when the
        statement may still run, left out: the tables are dropped with the engine."""
        if error is None:
            self.clear()
        elif isinstance(error, Exception | GeneratorExit):
            with suppress(Exception):
                self.clear()


class _Reader(Protocol):
    """The part of `Queries` that counting needs."""

    def query(self, sql: Statement) -> pa.Table: ...


def count(engine: _Reader, source: str) -> int:
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
