"""Exact decimal arithmetic in SQL, the same on every engine: DECIMAL(38,18) in, DECIMAL(38,18) out, NULL on overflow.

Engines round or overflow early when they multiply or divide decimals of this width, so the work is done on whole
numbers of units of 10^-18. Products and quotients are cut (not rounded) after eighteen digits.
"""

from __future__ import annotations

from typing import Final

from triplestore.engine.dialect import Dialect

_SCALE: Final = 10**18
_STEP: Final = 1000
NULL: Final = "NULL"


def _units(dialect: Dialect, decimal: str) -> str:
    return f"CAST(replace(CAST(CAST({decimal} AS DECIMAL(38,18)) AS STRING), '.', '') AS {dialect.whole})"


def _decimal(dialect: Dialect, units: str) -> str:
    digits = "CASE WHEN length(d) < 19 THEN substr('0000000000000000000' || d, length(d) + 1) ELSE d END"
    text = dialect.let(
        "d",
        "replace(CAST(u AS STRING), '-', '')",
        dialect.let("p", digits, "substr(p, 1, length(p) - 18) || '.' || substr(p, length(p) - 17)"),
    )
    signed = f"TRY_CAST(CASE WHEN u < 0 THEN '-' ELSE '' END || {text} AS DECIMAL(38,18))"
    return dialect.let("u", units, signed)


def shift(dialect: Dialect, left: str, operator: str, right: str) -> str:
    """left + right or left - right."""
    if NULL in (left, right):
        return NULL
    a, b = f"CAST({left} AS DECIMAL(38,18))", f"CAST({right} AS DECIMAL(38,18))"
    if dialect.exact_sums:
        return dialect.attempt(f"({a}) {operator} ({b})")
    return _decimal(dialect, dialect.arithmetic(operator, _units(dialect, a), _units(dialect, b)))


def multiply(dialect: Dialect, left: str, right: str) -> str:
    """left * right."""
    if NULL in (left, right):
        return NULL

    def times(a: str, b: str) -> str:
        return dialect.arithmetic("*", a, b)

    def plus(a: str, b: str) -> str:
        return dialect.arithmetic("+", a, b)

    scale = f"CAST({_SCALE} AS {dialect.whole})"
    wx, wy = dialect.divide_whole("x", scale), dialect.divide_whole("y", scale)
    fx, fy = f"(x % {scale})", f"(y % {scale})"
    crossed = plus(times(wx, fy), times(fx, wy))
    product = plus(plus(times(times(wx, wy), scale), crossed), dialect.divide_whole(times(fx, fy), scale))
    inner = dialect.let("y", _units(dialect, right), product)
    return dialect.attempt(_decimal(dialect, dialect.let("x", _units(dialect, left), inner)))


def divide(dialect: Dialect, left: str, right: str) -> str:
    """left / right; NULL for a zero divisor. Long division, three digits at a time."""
    if NULL in (left, right):
        return NULL
    step = f"CAST({_STEP} AS {dialect.whole})"

    def step_up(remainder: str) -> str:
        return dialect.arithmetic("*", remainder, step)

    units = dialect.divide_whole("x", "y")
    for place in range(1, 7):
        units = dialect.arithmetic("+", step_up(units), dialect.divide_whole(step_up(f"r{place}"), "y"))
    for place in range(6, 0, -1):
        rest = "x % y" if place == 1 else f"{step_up(f'r{place - 1}')} % y"
        units = dialect.let(f"r{place}", rest, units)
    divisor = f"nullif({_units(dialect, right)}, CAST(0 AS {dialect.whole}))"
    body = dialect.let("x", _units(dialect, left), dialect.let("y", divisor, units))
    return dialect.attempt(_decimal(dialect, body))
