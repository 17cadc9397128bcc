"""Exact numbers of any size: what DECIMAL(38,18) cannot hold or compute, by Python's whole numbers.

A number comes as the text of a decimal or as a key (`triplestore.expressions.numerals`), and goes as a key if
DECIMAL(38,18) does not hold it. Products and quotients are cut after eighteen digits, or as many as an operand has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from triplestore.expressions.limits import too_many_digits
from triplestore.expressions.numerals import key, unkeyed

_DIGITS: Final = 18
_MOST: Final = 10_000
"""Digits of the operands of one computation; beyond, it fails."""
_WRITTEN: Final = "+-.eEnp~0123456789"
"""The characters of numbers and their keys."""


def computed(operator: str, left: str, right: str) -> str | None:
    """`left` operator `right`, or a function of `left` alone; None for an error. Raises ValueError for what is no
    number, LimitError for one that is too long.

    operator: + - * /, "sum" (`left` is numbers with blanks between them), "ABS", "negate", "CEIL", "FLOOR", "ROUND",
    "trunc", or "double" (`left` is the text of a double, to be taken exactly).
    """
    if operator != "sum" and len(left) + len(right) > _MOST:
        if (left + right).strip(_WRITTEN):
            raise ValueError("no number")
        raise too_many_digits(_MOST, "digits")
    if operator == "double":
        return _of_double(float(left))
    if operator == "sum":
        return _sum(left.split())
    a, digits = read(left)
    if operator not in "+-*/":
        return _of_one(operator, a, digits)
    b, more = read(right)
    most = max(digits, more)
    if operator in "+-":
        x, y = a * 10 ** (most - digits), b * 10 ** (most - more)
        return written(x + y if operator == "+" else x - y, most)
    kept = max(most, _DIGITS)
    if operator == "*":
        return written(_cut(a * b, 10 ** max(0, digits + more - kept)), min(digits + more, kept))
    return written(_cut(a * 10 ** (kept + more), b * 10**digits), kept) if b else None


def _sum(texts: Sequence[str]) -> str | None:
    """The sum of numbers; None where there are none. Raises LimitError where one is too long."""
    total, most = 0, 0
    for text, times in Counter(texts).items():
        if len(text) > _MOST:
            raise too_many_digits(_MOST, "digits")
        units, digits = read(text)
        if digits > most:
            total, most = total * 10 ** (digits - most), digits
        total += times * units * 10 ** (most - digits)
    return written(total, most) if texts else None


def _of_one(operator: str, units: int, digits: int) -> str | None:
    one = 10**digits
    match operator:
        case "ABS":
            return written(abs(units), digits)
        case "negate":
            return written(-units, digits)
        case "FLOOR":
            return written(units // one, 0)
        case "CEIL":
            return written(-(-units // one), 0)
        case "ROUND":
            return written((2 * units + one) // (2 * one), 0)
        case _:
            return written(_cut(units, one), 0)


def _of_double(number: float) -> str | None:
    if number != number or number in (float("inf"), float("-inf")):
        return None
    above, below = number.as_integer_ratio()
    digits = below.bit_length() - 1  # a power of two: as many digits as it has twos
    return written(above * 5**digits, digits)


def read(text: str) -> tuple[int, int]:
    """(units, digits): the number is units of 10 to the power of -digits. Raises ValueError or ArithmeticError for
    what is not a number."""
    sign, digits, exponent = Decimal(unkeyed(text)).as_tuple()
    if not isinstance(exponent, int) or abs(exponent) > _MOST:
        raise ValueError(text)
    units = _whole("".join(map(str, digits))) * int(10 ** max(exponent, 0))
    return -units if sign else units, max(-exponent, 0)


def _whole(digits: str) -> int:
    """int() of any length, which Python bounds."""
    if len(digits) <= 4000:
        return int(digits or "0")
    half = len(digits) // 2
    return _whole(digits[:-half]) * int(10**half) + _whole(digits[-half:])


def _digits(number: int) -> str:
    """str() of a positive number of any length, which Python bounds."""
    if number.bit_length() <= 13_000:  # 3,914 digits at most
        return str(number)
    half = number.bit_length() * 3 // 20
    high, low = divmod(number, 10**half)
    return _digits(high) + _digits(low).rjust(half, "0")


def _cut(number: int, by: int) -> int:
    """The quotient cut towards zero."""
    found = abs(number) // abs(by)
    return found if (number < 0) == (by < 0) else -found


def written(units: int, digits: int) -> str:
    text = _digits(abs(units)).rjust(digits + 1, "0")
    whole, fraction = (text[:-digits], text[-digits:].rstrip("0")) if digits else (text, "")
    signed = ("-" if units < 0 else "") + whole + (f".{fraction}" if fraction else "")
    return key(signed) or signed
