"""What differs between the engines' SQL, as small functions from SQL expressions to SQL expressions.

Everything else is written once. Never a transpiler: a function here is one that some statement needs.
"""

from __future__ import annotations

from collections.abc import Sequence


def string(text: str) -> str:
    """A text as an SQL string literal of ANSI form; engines with other escapes override `Dialect.string`."""
    return "'" + text.replace("'", "''") + "'"


class Dialect:
    """DuckDB's SQL, and the base of the others."""

    def type(self, name: str) -> str:
        """A column type of `triplestore.tables` in this engine's spelling."""
        return {"STRING": "VARCHAR", "ARRAY<BIGINT>": "BIGINT[]"}.get(name, name)

    def string(self, text: str) -> str:
        """A text as an SQL string literal."""
        return string(text)

    def matches(self, expression: str, regex: str) -> str:
        """Whether the whole text matches the regular expression (one that RE2 and Java read alike)."""
        return f"regexp_full_match({expression}, {self.string(regex)})"

    def array(self, items: Sequence[str]) -> str:
        """An array of expressions."""
        return f"[{', '.join(items)}]"

    def explode(self, expression: str) -> str:
        """A select-list expression that yields one row per element of an array."""
        return f"unnest({expression})"

    def double(self, expression: str) -> str:
        """A text as DOUBLE, NULL where it is none."""
        return f"TRY_CAST({expression} AS DOUBLE)"

    def trim(self, expression: str) -> str:
        """A text without XML white space at its ends."""
        return f"trim({expression}, e' \\t\\r\\n')"

    def micros(self, expression: str) -> str:
        """An xsd:dateTime text as microseconds since 1970 UTC (no zone: UTC), NULL where it is none."""
        return f"epoch_us(TRY_CAST({expression} AS TIMESTAMPTZ))"


class SparkDialect(Dialect):
    """Spark SQL."""

    def type(self, name: str) -> str:
        return name

    def string(self, text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def matches(self, expression: str, regex: str) -> str:
        return f"{expression} RLIKE {self.string('^(?:' + regex + ')$')}"

    def array(self, items: Sequence[str]) -> str:
        return f"array({', '.join(items)})"

    def explode(self, expression: str) -> str:
        return f"explode({expression})"

    def double(self, expression: str) -> str:
        return f"TRY_CAST({expression} AS DOUBLE)"

    def trim(self, expression: str) -> str:
        return f"trim(BOTH ' \\t\\r\\n' FROM {expression})"

    def micros(self, expression: str) -> str:
        return f"unix_micros(TRY_CAST({expression} AS TIMESTAMP))"
