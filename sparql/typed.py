"""Columns of an answer as tables have them: numbers, dates, truth values and texts instead of RDF terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from triplestore.dictionary.datatypes import BOUNDS
from triplestore.model.terms import XSD, split_literal, to_ntriples

_INTEGERS: Final = frozenset(BOUNDS)
_FLOATS: Final = frozenset({XSD + "double", XSD + "float"})
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}
_SCALE: Final = 18
"""Digits behind the point of a column of decimals."""


def typed_column(tokens: Sequence[str | None]) -> pa.Array:
    """Some terms (tokens; None: unbound) as a column: int64, decimal128, float64, bool, date32 or timestamp where all
    are literals of such datatypes, whose values it can hold; else the texts of literals, and IRIs and blank nodes as
    they are written, without angle brackets."""
    bound = [token for token in tokens if token is not None]
    literals = [split_literal(token) for token in bound if token.startswith('"')]
    if bound and len(literals) == len(bound):
        kinds = {datatype for _, datatype, _ in literals}
        for known, some, convert, type_ in _CONVERSIONS:
            if kinds <= known and kinds & some:
                try:
                    values = [None if token is None else convert(split_literal(token)[0].strip()) for token in tokens]
                    return pa.array(values, type_)
                except (ValueError, ArithmeticError, KeyError, pa.ArrowException):
                    continue
    return pa.array([None if token is None else _text(token) for token in tokens], pa.string())


def _text(token: str) -> str:
    if token.startswith('"'):
        return split_literal(token)[0]
    return token[1:-1] if token.startswith("<") else token if token.startswith("_") else to_ntriples(token)


def _float(text: str) -> float:
    return float({"INF": "inf", "+INF": "inf", "-INF": "-inf"}.get(text, text))


def _date(text: str) -> date:
    if len(text) != len("2000-01-01"):
        raise ValueError(text)  # with a time zone
    return date.fromisoformat(text)


def _local(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is not None or "T" not in text:
        raise ValueError(text)
    return found


def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(text)
    return found.astimezone(UTC)


_TIMES: Final = frozenset({XSD + "dateTime", XSD + "dateTimeStamp"})
_EXACT: Final = _INTEGERS | {XSD + "decimal"}
_BOOLEAN, _DATE = frozenset({XSD + "boolean"}), frozenset({XSD + "date"})
_CONVERSIONS: Final[tuple[tuple[frozenset[str], frozenset[str], Callable[[str], Any], pa.DataType], ...]] = (
    (_INTEGERS, _INTEGERS, int, pa.int64()),
    (_EXACT, _EXACT, Decimal, pa.decimal128(38, _SCALE)),
    (_EXACT | _FLOATS, _FLOATS, _float, pa.float64()),
    (_BOOLEAN, _BOOLEAN, lambda text: _TRUTH[text], pa.bool_()),
    (_DATE, _DATE, _date, pa.date32()),
    (_TIMES, _TIMES, _local, pa.timestamp("us")),
    (_TIMES, _TIMES, _instant, pa.timestamp("us", "UTC")),
)
"""Datatypes of a column, those of which it has some, what makes a value of a lexical form, and the type of the column;
the first that fits."""
