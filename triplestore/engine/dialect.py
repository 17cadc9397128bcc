"""What differs between the engines' SQL, as small functions from SQL expressions to SQL expressions.

Everything else is written once. Never a transpiler: a function here is one that some statement needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

BEYOND: Final = "beyond a limit: "
"""With this begins what a statement fails with by `Dialect.error`, up to the end of its line."""


OWN: Final = "/*own*/"
"""Marks SQL that only one engine reads as it is meant."""


_OVERFLOW: Final = re.compile(
    r"Overflow in multiplication of INT64|Type INT128 .* destination type INT64"
    r'|ARITHMETIC_OVERFLOW\] long|CAST_OVERFLOW\].*"BIGINT"'
)


def beyond(message: str) -> str | None:
    """The message of `Dialect.error` in what an engine says, if it is there; or that of a count without an end."""
    if _OVERFLOW.search(message):
        return f"{BEYOND}a solution occurs more often than can be counted, 2^63 times: join fewer patterns"
    found = re.search(f"{BEYOND}.*", message)
    return found and found[0]


def string(text: str) -> str:
    """A text as an SQL string literal of ANSI form; engines with other escapes override `Dialect.string`."""
    return "'" + text.replace("'", "''") + "'"


class Dialect:
    """DuckDB's SQL, and the base of the others."""

    def type(self, name: str) -> str:
        """A column type of `triplestore.model.tables` in this engine's spelling."""
        return {"STRING": "VARCHAR", "ARRAY<BIGINT>": "BIGINT[]"}.get(name, name)

    def string(self, text: str) -> str:
        """A text as an SQL string literal."""
        return string(text)

    def listed(self, texts: Iterable[str]) -> str:
        """Texts as what IN takes."""
        return f"({', '.join(map(self.string, texts))})"

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

    def sha256(self, expression: str) -> str:
        """The SHA-256 of a text in UTF-8, as 64 hexadecimal digits."""
        return f"sha256({expression})"

    def binary(self, expression: str) -> str:
        """Hexadecimal digits as the bytes that they are."""
        return f"unhex({expression})"

    def micros(self, expression: str) -> str:
        """An xsd:dateTime text as microseconds since 1970 UTC (no zone: UTC), NULL where it is none."""
        return f"epoch_us(TRY_CAST({expression} AS TIMESTAMPTZ))"

    # What `triplestore.expressions` needs.

    linear_regex = True
    """Whether regular expressions are RE2's, which take linear time. Java's may take exponential time: those of users
    are matched in Python instead."""

    exact_sums = True
    """Whether DECIMAL(38,18) keeps its eighteen digits in sums."""

    whole = "HUGEINT"
    """A type for whole numbers of 38 digits."""

    def let(self, name: str, expression: str, body: str) -> str:
        """`body`, in which `name` stands for the expression's value."""
        return f"list_transform([{expression}], lambda {name}: {body})[1]"

    def attempt(self, expression: str) -> str:
        """The expression, NULL where it overflows; in Spark the parts see to it."""
        return f"TRY({expression})"

    def arithmetic(self, operator: str, left: str, right: str) -> str:
        """+, - or * of whole numbers or doubles inside `attempt`."""
        return f"(({left}) {operator} ({right}))"

    def divide_whole(self, left: str, right: str) -> str:
        """The quotient of whole numbers, cut towards zero."""
        return f"(({left}) // ({right}))"

    def contains_match(self, expression: str, regex: str) -> str:
        """Whether a part of the text matches the regular expression."""
        return f"regexp_matches({expression}, {self.string(regex)})"

    def replace_matches(self, expression: str, regex: str, replacement: str) -> str:
        """The text with every match replaced, where `linear_regex`."""
        return f"regexp_replace({expression}, {self.string(regex)}, {self.string(replacement)}, 'g')"

    def bytes(self, expression: str) -> str:
        """The bytes of a text in UTF-8."""
        return f"strlen({expression})"

    plans_slowly = False
    """Whether planning a statement with many nested queries takes seconds."""

    lazy_functions = True
    """Whether functions of Python's are called only where a row comes to them, and cost nothing else."""

    full_case = False
    """Whether upper() and lower() are Unicode's full mappings."""

    def position(self, part: str, whole: str) -> str:
        """Where (from 1) a text is found in another, 0 if nowhere."""
        return f"instr({whole}, {part})"

    def record(self, names: Sequence[str], expressions: Sequence[str]) -> str:
        """A struct, ordered by its fields in turn."""
        pairs = (f"{name} := {expression}" for name, expression in zip(names, expressions, strict=True))
        return f"struct_pack({', '.join(pairs)})"

    def fenced(self, subquery: str) -> str:
        """The subquery, evaluated before any condition on its columns."""
        return subquery

    random = "random()"
    """A new DOUBLE from 0 up to 1 for each row."""

    uuid = "CAST(uuid() AS VARCHAR)"
    """A new UUID for each row, as text."""

    def concatenation(self, expression: str, separator: str) -> str:
        """An aggregate: the texts of a group in their order, with a separator between them."""
        return f"string_agg({expression}, {self.string(separator)} ORDER BY {expression})"

    def sorted_set(self, expression: str) -> str:
        """An aggregate: the distinct numbers of a group as an array, in order."""
        return f"array_agg(DISTINCT {expression} ORDER BY {expression})"

    def gathered(self, expression: str) -> str:
        """An aggregate: the texts of a group in any order, with a blank between them."""
        return f"string_agg({expression}, ' ')"

    def repeat(self, times: str) -> str:
        """A select-list expression that yields its row that many times, with the numbers from 1."""
        return f"unnest(range(1, ({times}) + 1))"

    def error(self, message: str) -> str:
        """An expression that fails where it is evaluated; the engine raises LimitError with the message."""
        return f"error({self.string(BEYOND + message)})"


class SparkDialect(Dialect):
    """Spark SQL. All that it writes in its own way is marked: what is not, DuckDB reads alike."""

    def type(self, name: str) -> str:
        return name

    def string(self, text: str) -> str:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'" if escaped == text else f"{OWN}'{escaped}'"

    def matches(self, expression: str, regex: str) -> str:
        whole = self.string(rf"^(?:{regex})\z")  # $ would let a final newline pass
        return f"{expression} RLIKE{OWN} {whole}"

    def array(self, items: Sequence[str]) -> str:
        return f"{OWN}array({', '.join(items)})"

    def explode(self, expression: str) -> str:
        return f"{OWN}explode({expression})"

    def double(self, expression: str) -> str:
        return f"TRY_CAST({expression} AS DOUBLE)"

    def trim(self, expression: str) -> str:
        return f"{OWN}trim(BOTH ' \\t\\r\\n' FROM {expression})"

    def sha256(self, expression: str) -> str:
        return f"{OWN}sha2({expression}, 256)"

    def micros(self, expression: str) -> str:
        return f"{OWN}unix_micros(TRY_CAST({expression} AS TIMESTAMP))"

    linear_regex = False
    exact_sums = False
    whole = f"{OWN}DECIMAL(38,0)"

    def let(self, name: str, expression: str, body: str) -> str:
        return f"{OWN}transform(array({expression}), {name} -> {body})[0]"

    def attempt(self, expression: str) -> str:
        return f"{OWN}{expression}"

    def arithmetic(self, operator: str, left: str, right: str) -> str:
        function = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}[operator]
        return f"{OWN}{function}({left}, {right})"

    def divide_whole(self, left: str, right: str) -> str:
        return f"{OWN}CAST(try_divide(({left}) - ({left}) % ({right}), {right}) AS DECIMAL(38,0))"

    def contains_match(self, expression: str, regex: str) -> str:
        return f"{expression} RLIKE{OWN} {self.string(regex)}"

    def bytes(self, expression: str) -> str:
        return f"{OWN}octet_length({expression})"

    full_case = True
    plans_slowly = True
    lazy_functions = False

    def record(self, names: Sequence[str], expressions: Sequence[str]) -> str:
        pairs = (f"{expression} AS {name}" for name, expression in zip(names, expressions, strict=True))
        return f"{OWN}struct({', '.join(pairs)})"

    def fenced(self, subquery: str) -> str:
        # The optimiser writes the columns of a subquery into the conditions above it, each time that they are read:
        # 24 KB of SQL became 4 MB. It does not, where one of the columns is not deterministic, and read.
        return f"{OWN}(SELECT * EXCEPT (fence) FROM (SELECT f.*, rand() AS fence FROM {subquery} f) WHERE fence >= 0)"

    random = f"{OWN}rand()"
    uuid = f"{OWN}uuid()"

    def concatenation(self, expression: str, separator: str) -> str:
        return f"{OWN}array_join(sort_array(collect_list({expression})), {self.string(separator)})"

    def sorted_set(self, expression: str) -> str:
        return f"{OWN}array_sort(collect_set({expression}))"

    def gathered(self, expression: str) -> str:
        return f"{OWN}array_join(collect_list({expression}), ' ')"

    def repeat(self, times: str) -> str:
        return f"{OWN}explode(sequence(1, {times}))"

    def error(self, message: str) -> str:
        return f"{OWN}raise_error({self.string(BEYOND + message)})"
