"""The limits of what expressions make. Beyond one a statement fails with a LimitError, which names it: a value that is
silently unbound would look like an answer."""

from __future__ import annotations

from typing import Final

from triplestore.engine.dialect import BEYOND
from triplestore.model.errors import LimitError

MOST_BYTES: Final = 1 << 18
"""Bytes (UTF-8) of the longest text that CONCAT, GROUP_CONCAT, REPLACE and ENCODE_FOR_URI make of shorter ones. Engines
work on thousands of rows at a time, and are not stopped within them."""


def too_long(name: str) -> str:
    """What the error says of a text that a function would make."""
    return (
        f"{name} would make a text of more than {MOST_BYTES:,} bytes: shorten what it is made from with SUBSTR, or "
        "leave long texts out with IF(STRLEN(..) < .., .., ..)"
    )


def within(text: str, name: str, size: int = 0) -> str:
    """The text that a function makes. size: bytes of the text that it is made from, which it may have in any case.
    Raises LimitError."""
    most = max(MOST_BYTES, size)
    if len(text) > most or (len(text) > most // 4 and len(text.encode()) > most):
        raise LimitError(BEYOND + too_long(name))
    return text


def too_many_digits(most: int, unit: str) -> LimitError:
    """The error for a number, time or duration that is too long to be computed with."""
    return LimitError(
        f"{BEYOND}a number, time or duration of more than {most:,} {unit} takes part in a computation: leave such "
        "values out by a subquery with FILTER(STRLEN(STR(..)) < ..)"
    )
