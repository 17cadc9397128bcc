"""Arithmetic (SPARQL 1.1, section 17.4.4; XPath and XQuery Functions 3.1, section 4) and casts to numbers.

Exact numbers are computed as DECIMAL(38,18), and by `triplestore.expressions.exact` in those rows where that does not
hold what comes out. `keep` gives the SQL of a column for the value of some SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from triplestore.dictionary.datatypes import BOUNDS
from triplestore.engine.dialect import Dialect
from triplestore.expressions.constants import decimal_sql
from triplestore.expressions.decimals import NULL, divide, multiply, shift
from triplestore.expressions.numerals import DECIMAL, DOUBLE, EXACT, FRACTION, INTEGER, key_sql
from triplestore.expressions.values import ERROR, STRING, WHOLE, Value, bounded, number, well_formed_boolean
from triplestore.model.terms import XSD

Keep = Callable[[str], str]
Function = Callable[..., Value]

_INFINITE: Final = "CAST('Infinity' AS DOUBLE)"
_WHOLE_DOUBLE: Final = "CAST('4503599627370496' AS DOUBLE)"
"""2^52: doubles from here on are whole numbers."""
_WORD: Final = 18
"""Digits up to which a DECIMAL is one word: of two such DuckDB's sum or product is one too, which may overflow."""
WIDEST: Final = 38
"""Digits of the widest DECIMAL. Spark cuts the digits of a product or sum that might need more."""
_INT64: Final = "CAST('9223372036854774784' AS DOUBLE)"
"""The greatest double that is a BIGINT."""


def _rank(left: Value, right: Value, least: str = "1") -> str:
    if left.rank.isdigit() and right.rank.isdigit():
        return max(left.rank, right.rank, least)
    known = f"CASE WHEN ({left.rank}) IS NOT NULL AND ({right.rank}) IS NOT NULL THEN"
    return f"{known} greatest({left.rank}, {right.rank}, {least}) END"


def _exactly(d: Dialect, keep: Keep, rank: str, fast: str, operator: str, a: str, b: str = "''") -> tuple[str, str]:
    """(decimal, rest) of an exact result: `fast`, a DECIMAL(38,18), or if that is NULL, of `exact.computed`.

    a, b: its arguments. rank: of the result."""
    fast = keep(fast)
    need = f"{fast} IS NULL" if rank.isdigit() else f"{rank} <= 2 AND {fast} IS NULL"
    slow = f"CASE WHEN {need} THEN tl_exact('{operator}', CASE WHEN {need} THEN {a} END, {b}) END"
    return split(keep(slow), fast)


def split(text: str, fast: str = NULL) -> tuple[str, str]:
    """(decimal, rest) of what `exact.computed` gives."""
    narrow = f"CASE WHEN {text} < 'n' THEN TRY_CAST({text} AS DECIMAL(38,18)) END"
    return (narrow if fast == NULL else f"coalesce({fast}, {narrow})"), f"CASE WHEN {text} >= 'n' THEN {text} END"


def _operand(value: Value) -> str:
    if value.rest == NULL:
        return f"CAST({value.decimal} AS STRING)"
    return value.rest if value.decimal == NULL else f"coalesce({value.rest}, CAST({value.decimal} AS STRING))"


def _binary(operator: str, exact: Callable[[Dialect, str, str], str], least: str = "1") -> Function:
    def apply(d: Dialect, keep: Keep, a: Value, b: Value) -> Value:
        if NULL in (a.rank, b.rank):
            return ERROR.computed
        if (found := _bounded_result(d, keep, operator, a, b)) is not None:
            return found
        rank = keep(_rank(a, b, least))
        if rank in ("1", "2") or (a.is_exact and b.is_exact):
            inexact = NULL
        else:
            x, y = (
                keep(f"CASE WHEN {rank} >= 3 THEN {v.double} END") if v.writer and not rank.isdigit() else v.double
                for v in (a, b)
            )
            rounded = _quotient(x, y) if operator == "/" else d.arithmetic(operator, x, y)
            inexact = keep(rounded if rank.isdigit() else f"CASE WHEN {rank} >= 3 THEN {rounded} END")
        if rank in ("3", "4"):
            return number(d, rank, NULL, inexact)
        fast = exact(d, a.decimal, b.decimal)
        fast = "CAST(NULL AS DECIMAL(38,18))" if fast == NULL else fast
        decimal, rest = _exactly(d, keep, rank, fast, operator, _operand(a), _operand(b))
        return number(d, rank, decimal, inexact, rest)

    return apply


def _bounded_result(d: Dialect, keep: Keep, operator: str, a: Value, b: Value) -> Value | None:
    """A sum, difference or product of numbers with bounds (`Value.most`), where a DECIMAL holds it that no engine cuts
    or overflows; None elsewhere."""
    if a.most is None or b.most is None or operator == "/":
        return None
    scale = a.scale + b.scale if operator == "*" else max(a.scale, b.scale)
    x, y = a.most + (a.scale > 0), b.most + (b.scale > 0)
    most = max((x * y if operator == "*" else x + y) - (scale > 0), 0)
    wide = len(str(most)) + scale > _WORD
    widened = a if a.constant is None else b
    widths = [max(v.digits, _WORD + 1 if v is widened and wide else 0) for v in (a, b)]
    within = scale == 0 or (sum(widths) if operator == "*" else len(str(most)) + scale) < WIDEST
    if most > WHOLE or scale > FRACTION or not within:
        return None
    sql = f" {operator} ".join(_narrow(v, width, scale > 0) for v, width in zip((a, b), widths, strict=True))
    small = f"CAST({sql} AS DECIMAL({len(str(most)) + scale},{scale}))" if scale else f"({sql})"
    rank = _rank(replace(a, rank=a.least_rank), replace(b, rank=b.least_rank))
    return bounded(d, keep(rank), small, most, scale)


def _narrow(value: Value, width: int, exactly: bool) -> str:
    """A number with a bound as an operand. exactly: as a DECIMAL of no more digits than `width`."""
    if value.constant is not None and (text := decimal_sql(value)) != value.decimal and width <= _WORD:
        return f"({text})"
    if width == value.digits and not exactly:
        return value.narrow
    return f"CAST({value.plain} AS DECIMAL({width},{value.scale}))"


def _quotient(a: str, b: str) -> str:
    """A quotient of doubles by IEEE 754, where zero has a sign."""
    minus = f"(({a}) < 0) <> (CAST({b} AS STRING) LIKE '-%')"
    by_zero = (
        f"CASE WHEN ({a}) = 0 OR isnan({a}) THEN CAST('NaN' AS DOUBLE) "
        f"WHEN {minus} THEN -{_INFINITE} ELSE {_INFINITE} END"
    )
    return f"CASE WHEN ({b}) = 0 THEN {by_zero} ELSE ({a}) / nullif({b}, CAST(0 AS DOUBLE)) END"


def _unary(operator: str, decimal: str, double: str) -> Function:
    """A function of one number, by SQL templates for its two forms; the type stays (of a derived one, its base)."""

    def apply(d: Dialect, keep: Keep, a: Value) -> Value:
        if a.rank == NULL:
            return ERROR.computed
        if a.rank in ("3", "4"):
            return number(d, a.rank, NULL, keep(double.format(a.double)))
        if a.most is not None and (a.scale == 0 or operator in ("negate", "ABS")):
            small = a.narrow if a.scale == 0 and operator not in ("negate", "ABS") else decimal.format(a.narrow)
            return bounded(d, a.least_rank, small, a.most, a.scale)
        if a.decimal == NULL:
            fast = "CAST(NULL AS DECIMAL(38,18))"
        else:
            fast = d.attempt(f"TRY_CAST({decimal.format(a.decimal)} AS DECIMAL(38,18))")
        exact, rest = _exactly(d, keep, a.rank, fast, operator, _operand(a))
        inexact = NULL
        if not a.rank.isdigit():
            double_ = keep(a.inexact if a.writer else f"CASE WHEN {a.rank} >= 3 THEN {a.double} END")
            inexact = keep(double.format(double_))
        return number(d, a.rank, exact, inexact, rest)

    return apply


def _rounding(template: str) -> str:
    """A function to whole numbers of doubles: the larger ones are whole, and what is rounded to zero keeps its sign."""
    found = template.replace("{}", "({0})")
    small = (
        f"CASE WHEN ({found}) = 0 AND CAST({{0}} AS STRING) LIKE '-%' THEN CAST('-0.0' AS DOUBLE) "
        f"ELSE CAST({found} AS DOUBLE) END"
    )
    return f"CASE WHEN isnan({{0}}) OR abs({{0}}) >= {_WHOLE_DOUBLE} THEN {{0}} ELSE {small} END"


_HALF: Final = "CASE WHEN {} - floor({}) >= 0.5 THEN floor({}) + 1 ELSE floor({}) END"


def plus(d: Dialect, keep: Keep, a: Value) -> Value:
    """A number itself."""
    if a.rank == NULL:
        return ERROR.computed
    if a.most is not None:
        return bounded(d, a.least_rank, a.narrow, a.most, a.scale)
    return number(d, a.rank, a.decimal, a.double, a.rest)


def _to_exact(rank: str, regex: str, datatype: str = "") -> Function:
    """xsd:integer, xsd:decimal and the derived datatypes, which have bounds: casts of F&O 3.1, section 19.1."""

    def apply(d: Dialect, keep: Keep, a: Value) -> Value:
        text, flag = _source(d, a)
        text = keep(f"CASE WHEN {d.matches(text, regex)} THEN {text} END")
        parsed = f"CASE WHEN {d.matches(text, EXACT)} THEN TRY_CAST({text} AS DECIMAL(38,18)) END"
        one = f"CASE WHEN ({flag}) THEN 1 WHEN NOT ({flag}) THEN 0 END"
        decimals, keys = [part for part in (a.decimal, parsed, one) if part != NULL], []
        if a.rest != NULL:
            keys.append(f"CASE WHEN ({a.rank}) <= 2 THEN {a.rest} END")
        keys.append(f"CASE WHEN {text} IS NOT NULL AND NOT {d.matches(text, EXACT)} THEN {key_sql(text)} END")
        if a.rank not in ("1", "2", NULL):
            double = a.inexact if a.writer is not None else a.double
            floating = keep(f"CASE WHEN ({a.rank}) >= 3 THEN {double} END")
            small = f"abs({floating}) <= {_INT64} AND floor({floating}) = {floating}"
            decimals.insert(1, f"CASE WHEN {small} THEN CAST(CAST({floating} AS BIGINT) AS DECIMAL(38,18)) END")
            wide = f"NOT ({small}) AND NOT isnan({floating}) AND abs({floating}) < {_INFINITE}"
            text_of = f"CASE WHEN {wide} THEN CAST({floating} AS STRING) END"
            narrow, key = split(keep(f"CASE WHEN {wide} THEN tl_exact('double', {text_of}, '') END"))
            decimals.insert(1, narrow)
            keys.append(key)
        decimal = keep(f"CAST(coalesce({', '.join(decimals)}) AS DECIMAL(38,18))")
        rest = keep(keys[0] if len(keys) == 1 else f"coalesce({', '.join(keys)})")
        if rank == "2":
            return number(d, rank, decimal, NULL, rest)
        cut = f"CAST(CASE WHEN {decimal} < 0 THEN ceil({decimal}) ELSE floor({decimal}) END AS DECIMAL(38,18))"
        slow = keep(f"CASE WHEN {rest} IS NOT NULL THEN tl_exact('trunc', {rest}, '') END")
        narrow, rest = split(slow)
        found = number(d, rank, f"coalesce({cut}, {narrow})", NULL, rest)
        return _bounded(d, keep, found, datatype) if datatype else found

    return apply


def _bounded(d: Dialect, keep: Keep, found: Value, datatype: str) -> Value:
    """The integer as one of a derived datatype, an error out of its bounds."""
    low, high = BOUNDS[datatype]
    decimal, rest = keep(found.decimal), keep(found.rest)
    tests = [f"{decimal} {sign} {n}" for sign, n in ((">=", low), ("<=", high)) if n is not None]
    kept = f"CASE WHEN {' AND '.join(tests) or 'TRUE'} THEN {decimal} END"
    far = [f"{rest} {'>' if low is not None else '<'} 'o'"] if (low is None) != (high is None) else []
    beyond = f"CASE WHEN {' AND '.join(far) or str(low is None and high is None)} THEN {rest} END"
    return replace(number(d, "1", kept, NULL, beyond), datatype=f"'{datatype}'")


def _to_float(rank: str) -> Function:
    def apply(d: Dialect, keep: Keep, a: Value) -> Value:
        text, flag = _source(d, a)
        parsed = f"CASE WHEN {d.matches(text, DOUBLE)} THEN {d.double(text)} END"
        one = f"CASE WHEN ({flag}) THEN CAST(1 AS DOUBLE) WHEN NOT ({flag}) THEN CAST(0 AS DOUBLE) END"
        return number(d, rank, NULL, keep(f"coalesce({a.double}, {parsed}, {one})"))

    return apply


def _source(d: Dialect, a: Value) -> tuple[str, str]:
    """For casts: (text of a string, truth of a boolean), NULL where it is neither."""
    if a.static in ("number", "boolean", "iri", "node"):
        text = "CAST(NULL AS STRING)"
    else:
        text = d.trim(f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} END")
    return text, "CAST(NULL AS BOOLEAN)" if a.static == "number" else well_formed_boolean(a)


ARITHMETIC: Final[dict[str, Function]] = {
    "+": _binary("+", lambda d, a, b: shift(d, a, "+", b)),
    "-": _binary("-", lambda d, a, b: shift(d, a, "-", b)),
    "*": _binary("*", multiply),
    "/": _binary("/", divide, least="2"),
    "plus": plus,
    "negate": _unary("negate", "(-({0}))", "(-({0}))"),
    "ABS": _unary("ABS", "abs({0})", "abs({0})"),
    "CEIL": _unary("CEIL", "ceil({0})", _rounding("ceil{}")),
    "FLOOR": _unary("FLOOR", "floor({0})", _rounding("floor{}")),
    "ROUND": _unary("ROUND", "floor(({0}) + CAST(0.5 AS DECIMAL(38,18)))", _rounding(_HALF)),
    **{name: _to_exact("1", INTEGER, name) for name in BOUNDS},
    XSD + "integer": _to_exact("1", INTEGER),
    XSD + "decimal": _to_exact("2", DECIMAL),
    XSD + "float": _to_float("3"),
    XSD + "double": _to_float("4"),
}
"""By name; each takes the dialect, `keep`, and the values of its arguments."""
