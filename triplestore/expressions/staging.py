"""Columns for the values of subexpressions, so that SQL text does not repeat them and each is evaluated once a row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.compiler import PARTS
from triplestore.expressions.values import Value

_SHORT: Final = 40
"""Characters of SQL that are as well repeated."""

_STAGED: Final = re.compile(r"\bs([0-9]+)_[a-z]+\b")
_COLUMN: Final = re.compile(r"\bs[0-9]+_[a-z]+\b")


@dataclass(slots=True)
class Staging:
    """The staged values of one step. A value that is built on others comes a level after them."""

    levels: dict[int, int] = field(default_factory=dict)
    parts: list[tuple[int, str, str]] = field(default_factory=list)
    """(level, column, SQL)."""

    def stage(self, value: Value) -> Value:
        """The value with its parts as columns."""
        number = len(self.levels)
        texts = {part: getattr(value, part) for part in PARTS}
        if value.truth is not None:
            texts["truth"] = value.truth
        used = {int(found) for text in texts.values() for found in _STAGED.findall(text)}
        level = self.levels[number] = 1 + max((self.levels[one] for one in used), default=-1)
        named: dict[str, str] = {}
        for part, sql in texts.items():
            if len(sql) > _SHORT or "(" in sql:
                named[part] = f"s{number}_{part}"
                self.parts.append((level, named[part], sql))
        return replace(value.computed, **named)  # type: ignore[arg-type]  # of parts that are texts

    def prune(self, sql: str) -> None:
        """Take away the columns that neither `sql` reads nor any that it reads."""
        wanted = set(_COLUMN.findall(sql))
        kept = []
        for level, name, text in sorted(self.parts, reverse=True, key=lambda part: part[0]):
            if name in wanted:
                kept.append((level, name, text))
                wanted.update(_COLUMN.findall(text))
        self.parts = kept[::-1]

    @property
    def sql(self) -> str:
        """All of the SQL, to look for what it mentions."""
        return " ".join(sql for _, _, sql in self.parts)

    def source(self, dialect: Dialect, table: str) -> str:
        """`table` (a name) with the staged columns, to stand after FROM."""
        found = table
        for place, level in enumerate(sorted({level for level, _, _ in self.parts})):
            columns = ", ".join(f"{sql} AS {name}" for at, name, sql in self.parts if at == level)
            found = f"(SELECT y{place}.*, {columns} FROM {found} y{place})"
        return dialect.fenced(found) if self.parts else found
