"""The parts of a stored term's value that the dictionary has no column for: `rank` and `rest` (see `Value`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from triplestore.dictionary.term_rows import DECIMALS
from triplestore.engine.dialect import Dialect
from triplestore.expressions import calendar, numerals
from triplestore.expressions.columns import reference
from triplestore.expressions.values import Value, stored
from triplestore.model.terms import XSD

STORED: Final = ("id", "lexical", "datatype", "lang", "double", "decimal", "micros")
"""The parts that it has columns for."""

DERIVED: Final = ("rank", "rest")


def parts_read(start: str, read: Collection[str]) -> list[str]:
    """The parts of a stored term of which some columns that are `read` have the names, ``<start>_<part>``."""
    return [part for part in (*STORED, *DERIVED) if f"{start}_{part}" in read]


def derived(dialect: Dialect, table: str, parts: Collection[str]) -> str:
    """A table of terms with the derived ones of some parts as columns, to stand after FROM."""
    made = {"rank": _rank(), "rest": _rest(dialect)}
    columns = "".join(f", {sql} AS {part}" for part, sql in made.items() if part in parts)
    return f"(SELECT d.*{columns} FROM {table} d)" if columns else table


def decoded(dialect: Dialect, table: str, kept: Sequence[str], columns: Sequence[str], read: Collection[str]) -> str:
    """The rows of a table of ids with the parts of its terms that are `read`, to stand after FROM: v0_id, v0_lexical ..
    for columns[0]. kept: columns that are kept as they are, besides."""
    selected, joins = [f"m.{column}" for column in dict.fromkeys([*kept, *columns])], ""
    for place, column in enumerate(columns):
        if found := parts_read(f"v{place}", read):
            sources = {part: f"m.{column}" if part == "id" else f"t{place}.{part}" for part in found}
            selected += [f"{sql} AS v{place}_{part}" for part, sql in sources.items()]
            if found != ["id"]:
                joins += f" JOIN {derived(dialect, 'term', found)} t{place} ON t{place}.id = m.{column}"
    return f"(SELECT {', '.join(selected)} FROM {table} m{joins})"


def decoded_value(variable: str) -> Value:
    """The value of the term in a column of a table that is `decoded`: "0" for columns[0]."""
    return stored(lambda part: reference(f"v{variable}_{part}"), token=False)


def _rank() -> str:
    return (
        f"CASE WHEN d.double IS NULL THEN NULL WHEN d.datatype = '{XSD}integer' THEN 1 "
        f"WHEN d.datatype = '{XSD}decimal' THEN 2 WHEN d.datatype = '{XSD}float' THEN 3 "
        f"WHEN d.datatype = '{XSD}double' THEN 4 ELSE 1 END"
    )


def _rest(dialect: Dialect) -> str:
    floating = f"d.datatype NOT IN ('{XSD}double', '{XSD}float')"
    number = f"d.double IS NOT NULL AND d.decimal IS NULL AND {floating}"
    # DuckDB makes a join of an IN with so many items, one of each copy that it puts into a filter.
    temporal = " OR ".join(f"d.datatype = '{datatype}'" for datatype in calendar.TEMPORAL)
    moment = f"d.micros IS NULL AND ({temporal})"
    text = dialect.trim("d.lexical")
    if dialect.lazy_functions:
        return f"CASE WHEN {number} OR {moment} THEN tl_rest({text}, d.datatype) END"
    instant = calendar.rest_sql(dialect, text, "d.datatype")
    return f"CASE WHEN {number} THEN {numerals.key_sql(text)} WHEN {moment} THEN {instant} END"


def rest(text: str, datatype: str) -> str | None:
    """The part `rest` of a literal that no column of TERM tells the value of."""
    return numerals.key(text) if datatype in DECIMALS else calendar.rest(text, datatype)
