"""Columns for the values of subexpressions, so that SQL text does not repeat them and each is evaluated once a row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from triplestore.engine.dialect import Dialect
from triplestore.expressions.columns import columns_read, is_repeatable, reference, unmarked
from triplestore.expressions.compiler import PARTS
from triplestore.expressions.values import Value


@dataclass(slots=True)
class Staging:
    """The staged values of one step. A value that is built on others comes a level after them."""

    parts: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Column -> (level, SQL), each after those that it reads."""
    values: int = 0

    def stage(self, value: Value) -> Value:
        """The value with its parts as columns."""
        texts = {part: getattr(value, part) for part in PARTS}
        for part in ("truth", "small"):
            if (sql := getattr(value, part)) is not None:
                texts[part] = sql
        read = columns_read(*texts.values()) & self.parts.keys()
        level = 1 + max((self.parts[name][0] for name in read), default=-1)
        names = {part: f"s{self.values}_{part}" for part, sql in texts.items() if not is_repeatable(sql)}
        self.parts |= {name: (level, texts[part]) for part, name in names.items()}
        self.values += 1
        return replace(value.computed, **{part: reference(name) for part, name in names.items()})  # type: ignore[arg-type]

    def prune(self, *sql: str) -> set[str]:
        """Take away the columns that neither `sql` reads nor any that it reads. All that is read then."""
        read, kept = columns_read(*sql), {}
        for name, (level, text) in reversed(self.parts.items()):
            if name in read:
                kept[name] = level, text
                read |= columns_read(text)
        self.parts = dict(reversed(kept.items()))
        return read

    def length(self, *sql: str) -> int:
        """Characters of some SQL together with that of the columns."""
        return len(unmarked(" ".join([*sql, *(text for _, text in self.parts.values())])))

    def source(self, dialect: Dialect, table: str) -> str:
        """`table` (a name) with the staged columns, to stand after FROM."""
        found = table
        for place, level in enumerate(sorted({level for level, _ in self.parts.values()})):
            columns = ", ".join(f"{sql} AS {name}" for name, (at, sql) in self.parts.items() if at == level)
            found = f"(SELECT y{place}.*, {columns} FROM {found} y{place})"
        return dialect.fenced(found) if self.parts else found
