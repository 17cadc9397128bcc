"""Columns of an answer as tables have them: numbers, dates, truth values and texts instead of RDF terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from triplestore.dictionary.datatypes import BOUNDS
from triplestore.dictionary.term_rows import ZONE
from triplestore.model.terms import XSD, split_literal, to_ntriples

_INTEGERS: Final = frozenset(BOUNDS)
_FLOATS: Final = frozenset({XSD + "double", XSD + "float"})
_EXACT: Final = _INTEGERS | {XSD + "decimal"}
_BOOLEAN: Final = frozenset({XSD + "boolean"})
_DATE: Final = frozenset({XSD + "date"})
_TIMES: Final = frozenset({XSD + "dateTime", XSD + "dateTimeStamp"})
_SCALE: Final = 18
"""Digits behind the point of a column of decimals."""


@dataclass(frozen=True)
class Conversion:
    """What makes values of the literals of a column. datatypes: those that it may have; some: one of these is among
    them. pattern: what the lexical forms match, without space around them. value: that of a lexical form; it raises
    ValueError, ArithmeticError or KeyError for one that has none. type: of the column. cast: as `value` in Spark's SQL,
    `{}` stands for the lexical form; NULL for one that has none."""

    datatypes: frozenset[str]
    some: frozenset[str]
    pattern: str
    value: Callable[[str], Any]
    type: pa.DataType
    cast: str


def typed_column(tokens: Sequence[str | None]) -> pa.Array:
    """Some terms (tokens; None: unbound) as a column: int64, decimal128, float64, bool, date32 or timestamp where all
    are literals of such datatypes, whose values it can hold; else the texts of literals, and IRIs and blank nodes as
    they are written, without angle brackets."""
    bound = [token for token in tokens if token is not None]
    literals = [split_literal(token) for token in bound if token.startswith('"')]
    if bound and len(literals) == len(bound):
        for conversion in fitting({datatype for _, datatype, _ in literals}):
            try:
                values = [None if token is None else _value(split_literal(token)[0], conversion) for token in tokens]
                return pa.array(values, conversion.type)
            except (ValueError, ArithmeticError, KeyError, pa.ArrowException):
                continue
    return pa.array([None if token is None else _text(token) for token in tokens], pa.string())


def fitting(datatypes: Set[str]) -> Iterator[Conversion]:
    """The conversions for literals of all these datatypes; the first one whose values there are is the column's."""
    return (known for known in CONVERSIONS if datatypes <= known.datatypes and datatypes & known.some)


def _value(lexical: str, conversion: Conversion) -> Any:
    text = lexical.strip(" \t\r\n")
    if re.fullmatch(conversion.pattern, text) is None:
        raise ValueError(text)
    return conversion.value(text)


def _text(token: str) -> str:
    if token.startswith('"'):
        return split_literal(token)[0]
    return token[1:-1] if token.startswith("<") else token if token.startswith("_") else to_ntriples(token)


def _float(text: str) -> float:
    return float({"INF": "inf", "+INF": "inf", "-INF": "-inf"}.get(text, text))


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


_NUMERAL: Final = r"([0-9]+([.][0-9]*)?|[.][0-9]+)"
_DAY: Final = "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = f"{_DAY}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?"
_ZONE: Final = ZONE.removesuffix("?")
_DECIMAL: Final = rf"[+-]?(?=[.]?[0-9])0*[0-9]{{0,{38 - _SCALE}}}([.][0-9]{{0,{_SCALE}}}0*)?"
_DOUBLE: Final = rf"[+-]?{_NUMERAL}([eE][+-]?[0-9]+)?|[+-]?INF|NaN"

CONVERSIONS: Final = (
    Conversion(_INTEGERS, _INTEGERS, "[+-]?[0-9]+", int, pa.int64(), "TRY_CAST({} AS BIGINT)"),
    Conversion(
        _EXACT, _EXACT, _DECIMAL, Decimal, pa.decimal128(38, _SCALE), f"TRY_CAST({{}} AS DECIMAL(38, {_SCALE}))"
    ),
    Conversion(_EXACT | _FLOATS, _FLOATS, _DOUBLE, _float, pa.float64(), "TRY_CAST({} AS DOUBLE)"),
    Conversion(
        _BOOLEAN, _BOOLEAN, "true|false|1|0", lambda text: text in ("true", "1"), pa.bool_(), "({} IN ('true', '1'))"
    ),
    Conversion(_DATE, _DATE, _DAY, date.fromisoformat, pa.date32(), "TRY_CAST({} AS DATE)"),
    Conversion(_TIMES, _TIMES, _TIME, datetime.fromisoformat, pa.timestamp("us"), "TRY_CAST({} AS TIMESTAMP_NTZ)"),
    Conversion(_TIMES, _TIMES, _TIME + _ZONE, _instant, pa.timestamp("us", "UTC"), "TRY_CAST({} AS TIMESTAMP)"),
)
"""The first one that fits a column is its own."""
