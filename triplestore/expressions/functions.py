"""The functions and operators of SPARQL 1.1 expressions (section 17.4) over `Value`s, by name, in one table.

A function gets the values of its arguments and gives a value; what is not in `FUNCTIONS` is unsupported. Those that
need more than values (BOUND, IF, COALESCE, REGEX, IN, the logical ones) are in `triplestore.expressions.compiler`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions import constructors, strings, times
from triplestore.expressions.decimals import divide, multiply, shift
from triplestore.expressions.values import (
    DATE,
    DATE_TIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    STRING,
    Value,
    boolean,
    double_text,
    exact_text,
    instant,
    number,
    string,
    string_literal,
    well_formed_boolean,
)
from triplestore.terms import XSD

Function = Callable[..., Value]


def _rank(left: Value, right: Value, least: str = "1") -> str:
    if left.rank.isdigit() and right.rank.isdigit():
        return max(left.rank, right.rank, least)
    known = f"CASE WHEN ({left.rank}) IS NOT NULL AND ({right.rank}) IS NOT NULL THEN"
    return f"{known} greatest({left.rank}, {right.rank}, {least}) END"


def _add(d: Dialect, a: Value, b: Value) -> Value:
    double = d.arithmetic("+", a.double, b.double)
    return number(d, _rank(a, b), shift(d, a.decimal, "+", b.decimal), double)


def _subtract(d: Dialect, a: Value, b: Value) -> Value:
    double = d.arithmetic("-", a.double, b.double)
    return number(d, _rank(a, b), shift(d, a.decimal, "-", b.decimal), double)


def _multiply(d: Dialect, a: Value, b: Value) -> Value:
    return number(d, _rank(a, b), multiply(d, a.decimal, b.decimal), d.arithmetic("*", a.double, b.double))


def _divide(d: Dialect, a: Value, b: Value) -> Value:
    by_zero = (
        f"CASE WHEN ({a.double}) = 0 OR isnan({a.double}) THEN CAST('NaN' AS DOUBLE) "
        f"WHEN ({a.double}) > 0 THEN CAST('Infinity' AS DOUBLE) ELSE CAST('-Infinity' AS DOUBLE) END"
    )
    double = f"CASE WHEN ({b.double}) = 0 THEN {by_zero} ELSE ({a.double}) / nullif({b.double}, CAST(0 AS DOUBLE)) END"
    return number(d, _rank(a, b, "2"), divide(d, a.decimal, b.decimal), double)


def _each(decimal: str, double: str) -> Function:
    """A function of one number, by SQL templates for its two forms; the type stays."""

    def apply(d: Dialect, a: Value) -> Value:
        exact = f"CAST({decimal.format(a.decimal)} AS DECIMAL(38,18))"
        return number(d, a.rank, exact, double.format(a.double))

    return apply


def _is(kind: int) -> Function:
    return lambda d, a: boolean(f"({a.kind}) = {kind}")


def _is_numeric(d: Dialect, a: Value) -> Value:
    return boolean(f"CASE WHEN ({a.kind}) IS NOT NULL THEN ({a.rank}) IS NOT NULL END")


def _source(a: Value) -> tuple[str, str]:
    """For casts: (text of a string, truth of a boolean), NULL where it is neither."""
    return f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} END", well_formed_boolean(a)


def _to_exact(rank: str, regex: str) -> Function:
    def apply(d: Dialect, a: Value) -> Value:
        text, flag = _source(a)
        parsed = f"CASE WHEN {d.matches(d.trim(text), regex)} THEN TRY_CAST({d.trim(text)} AS DECIMAL(38,18)) END"
        # A double beyond 15 digits would bring digits that it has not got.
        safe = f"CASE WHEN abs({a.double}) < 1e20 THEN TRY_CAST({a.double} AS DECIMAL(38,18)) END"
        one = f"CASE WHEN ({flag}) THEN 1 WHEN NOT ({flag}) THEN 0 END"
        found = f"coalesce({a.decimal}, {parsed}, CASE WHEN ({a.rank}) >= 3 THEN {safe} END, {one})"
        if rank == "1":
            found = f"CASE WHEN ({found}) < 0 THEN ceil({found}) ELSE floor({found}) END"
        exact = f"CAST({found} AS DECIMAL(38,18))"
        return number(d, rank, exact, f"CAST({exact} AS DOUBLE)")

    return apply


def _to_float(rank: str) -> Function:
    def apply(d: Dialect, a: Value) -> Value:
        text, flag = _source(a)
        parsed = f"CASE WHEN {d.matches(d.trim(text), DOUBLE)} THEN {d.double(d.trim(text))} END"
        one = f"CASE WHEN ({flag}) THEN CAST(1 AS DOUBLE) WHEN NOT ({flag}) THEN CAST(0 AS DOUBLE) END"
        found = f"coalesce({a.double}, {parsed}, {one})"
        return number(d, rank, "CAST(NULL AS DECIMAL(38,18))", found)

    return apply


def _to_string(d: Dialect, a: Value) -> Value:
    """Numbers and booleans in canonical form: XPath and XQuery Functions 3.1, section 19.1.2."""
    rounded = exact_text(f"TRY_CAST(CAST({a.double} AS STRING) AS DECIMAL(38,18))")
    small = f"({a.double}) = 0 OR (abs({a.double}) >= 1e-6 AND abs({a.double}) < 1e6)"
    return string(
        f"CASE WHEN ({a.kind}) = 2 THEN NULL WHEN ({well_formed_boolean(a)}) THEN 'true' "
        f"WHEN NOT ({well_formed_boolean(a)}) THEN 'false' "
        f"WHEN ({a.decimal}) IS NOT NULL THEN {exact_text(a.decimal)} "
        f"WHEN ({a.rank}) >= 3 THEN CASE WHEN {small} THEN {rounded} ELSE {double_text(d, a.double)} END "
        f"ELSE {a.lexical} END"
    )


def _to_boolean(d: Dialect, a: Value) -> Value:
    text, flag = _source(a)
    named = f"CASE WHEN {text} IN ('true', '1') THEN TRUE WHEN {text} IN ('false', '0') THEN FALSE END"
    number_ = f"CASE WHEN ({a.rank}) IS NOT NULL THEN ({a.double}) <> 0 AND NOT isnan({a.double}) END"
    return boolean(f"coalesce({flag}, {named}, {number_})")


def _to_date_time(d: Dialect, a: Value) -> Value:
    text = f"CASE WHEN {a.datatype} IN ({STRING}, '{XSD}dateTime') THEN {a.lexical} END"
    micros = instant(d, text, date=False)
    return Value(f"CASE WHEN ({micros}) IS NOT NULL THEN 3 END", text, f"'{XSD}dateTime'", micros=micros)


_ANY_DATE: Final = f"{DATE}|{DATE_TIME}"

FUNCTIONS: Final[dict[str, Function]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "plus": _each("({})", "({})"),
    "negate": _each("(-({}))", "(-({}))"),
    "ABS": _each("abs({})", "abs({})"),
    "CEIL": _each("ceil({})", "CAST(ceil({}) AS DOUBLE)"),
    "FLOOR": _each("floor({})", "CAST(floor({}) AS DOUBLE)"),
    "ROUND": _each("floor(({}) + CAST(0.5 AS DECIMAL(38,18)))", "CAST(floor(({}) + 0.5) AS DOUBLE)"),
    "STR": constructors.str_,
    "LANG": constructors.lang,
    "DATATYPE": constructors.datatype,
    "ISIRI": _is(1),
    "ISBLANK": _is(2),
    "ISLITERAL": _is(3),
    "ISNUMERIC": _is_numeric,
    "STRLEN": strings.strlen,
    "SUBSTR": strings.substr,
    "UCASE": lambda d, a: strings.same_lang(a, d.upper(string_literal(a))),
    "LCASE": lambda d, a: strings.same_lang(a, f"lower({string_literal(a)})"),
    "CONTAINS": strings.contains,
    "STRSTARTS": strings.search("substr({0}, 1, length({1})) = ({1})"),
    "STRENDS": strings.search("(length({0}) >= length({1}) AND substr({0}, length({0}) - length({1}) + 1) = ({1}))"),
    "STRBEFORE": strings.before,
    "STRAFTER": strings.after,
    "CONCAT": strings.concat,
    "STRLANG": constructors.strlang,
    "STRDT": constructors.strdt,
    "ENCODE_FOR_URI": strings.encode_for_uri,
    **{name: strings.hashed(name.lower()) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")},
    "LANGMATCHES": strings.lang_matches,
    "YEAR": times.part(1, 4, _ANY_DATE),
    "MONTH": times.part(6, 2, _ANY_DATE),
    "DAY": times.part(9, 2, _ANY_DATE),
    "HOURS": times.part(12, 2, DATE_TIME),
    "MINUTES": times.part(15, 2, DATE_TIME),
    "SECONDS": times.seconds,
    "TZ": times.tz,
    "TIMEZONE": times.timezone,
    XSD + "integer": _to_exact("1", INTEGER),
    XSD + "decimal": _to_exact("2", DECIMAL),
    XSD + "float": _to_float("3"),
    XSD + "double": _to_float("4"),
    XSD + "string": _to_string,
    XSD + "boolean": _to_boolean,
    XSD + "dateTime": _to_date_time,
}
