"""The functions and operators of SPARQL 1.1 expressions (section 17.4) over `Value`s, by name, in one table.

A function gets the values of its arguments and gives a value; what is not in `FUNCTIONS` is unsupported. Those that
need more than values (BOUND, IF, COALESCE, REGEX, IN, the logical ones) are in `triplestore.expressions.compiler`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.decimals import NULL, divide, multiply, shift
from triplestore.expressions.values import (
    DATE,
    DATE_TIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    LANG_STRING,
    STRING,
    Value,
    boolean,
    instant,
    integer,
    iri,
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


def _str(d: Dialect, a: Value) -> Value:
    return string(f"CASE WHEN ({a.kind}) <> 2 THEN {a.lexical} END")


def _lang(d: Dialect, a: Value) -> Value:
    return string(f"CASE WHEN ({a.kind}) = 3 THEN coalesce({a.lang}, '') END")


def _datatype(d: Dialect, a: Value) -> Value:
    return iri(f"CASE WHEN ({a.kind}) = 3 THEN {a.datatype} END")


def _iri(d: Dialect, a: Value) -> Value:
    text = f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} WHEN ({a.kind}) = 1 THEN {a.lexical} END"
    legal = d.matches(text, r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*')
    return iri(f"CASE WHEN {legal} THEN {text} END")


def _is(kind: int) -> Function:
    return lambda d, a: boolean(f"({a.kind}) = {kind}")


def _is_numeric(d: Dialect, a: Value) -> Value:
    return boolean(f"CASE WHEN ({a.kind}) IS NOT NULL THEN ({a.rank}) IS NOT NULL END")


def _same_lang(a: Value, sql: str) -> Value:
    """A string in the language of `a`."""
    return string(sql, a.lang)


def _strlen(d: Dialect, a: Value) -> Value:
    return integer(d, f"length({string_literal(a)})")


def _substr(d: Dialect, a: Value, start: Value, length: Value | None = None) -> Value:
    """Positions p with round(start) <= p < round(start) + round(length), from 1."""
    first, text = _rounded(start), string_literal(a)
    begin = f"greatest({first}, 1)"
    if length is None:
        sql = f"CASE WHEN ({first}) IS NOT NULL THEN substr({text}, {begin}) END"
    else:
        size = f"({first}) + ({_rounded(length)}) - {begin}"
        sql = f"CASE WHEN ({size}) IS NOT NULL THEN substr({text}, {begin}, greatest({size}, 0)) END"
    return _same_lang(a, sql)


def _rounded(value: Value) -> str:
    """A number as a position: an SQL INT, within the bounds of any text."""
    bounded = f"greatest(least(floor(({value.double}) + 0.5), CAST(1e9 AS DOUBLE)), CAST(-1e9 AS DOUBLE))"
    return f"CAST(CASE WHEN ({value.rank}) IS NOT NULL AND NOT isnan({value.double}) THEN {bounded} END AS INTEGER)"


def _compatible(a: Value, b: Value) -> str:
    """Argument compatibility (17.4.3.1.2): the second is a plain string, or of the first one's language."""
    if b.static == "string":
        return f"({string_literal(a)}) IS NOT NULL"
    both = f"({string_literal(a)}) IS NOT NULL AND ({string_literal(b)}) IS NOT NULL"
    return f"{both} AND (({b.lang}) IS NULL OR ({b.lang}) = coalesce({a.lang}, ''))"


def _search(template: str) -> Function:
    """A condition on two compatible strings, by an SQL template."""

    def apply(d: Dialect, a: Value, b: Value) -> Value:
        found = template.format(string_literal(a), string_literal(b))
        return boolean(f"CASE WHEN {_compatible(a, b)} THEN {found} END")

    return apply


def _contains(d: Dialect, a: Value, b: Value) -> Value:
    found = f"({string_literal(b)}) = '' OR {d.position(string_literal(b), string_literal(a))} > 0"
    return boolean(f"CASE WHEN {_compatible(a, b)} THEN {found} END")


def _before(d: Dialect, a: Value, b: Value) -> Value:
    text, part = string_literal(a), string_literal(b)
    at = f"CASE WHEN ({part}) = '' THEN 1 ELSE {d.position(part, text)} END"
    return _cut(a, b, at, f"substr({text}, 1, ({at}) - 1)")


def _after(d: Dialect, a: Value, b: Value) -> Value:
    text, part = string_literal(a), string_literal(b)
    at = f"CASE WHEN ({part}) = '' THEN 1 ELSE {d.position(part, text)} END"
    return _cut(a, b, at, f"substr({text}, ({at}) + length({part}))")


def _cut(a: Value, b: Value, at: str, found: str) -> Value:
    """STRBEFORE and STRAFTER: a plain empty string where the second is not found."""
    ok = _compatible(a, b)
    sql = f"CASE WHEN {ok} THEN CASE WHEN ({at}) = 0 THEN '' ELSE {found} END END"
    return string(sql, NULL if a.lang == NULL else f"CASE WHEN ({at}) > 0 THEN {a.lang} END")


def _concat(d: Dialect, *values: Value) -> Value:
    sql = " || ".join(f"({string_literal(v)})" for v in values) if values else "''"
    if not values or any(v.lang == NULL for v in values):
        return string(sql)
    first = values[0].lang
    same = " AND ".join(f"({v.lang}) = ({first})" for v in values) if len(values) > 1 else f"({first}) IS NOT NULL"
    return string(sql, f"CASE WHEN {same} THEN {first} END")


def _lang_matches(d: Dialect, tag: Value, range_: Value) -> Value:
    """RFC 4647 basic filtering."""
    a, b = f"lower({string_literal(tag)})", f"lower({string_literal(range_)})"
    start = f"substr({a}, 1, length({b}) + 1)"
    return boolean(f"CASE WHEN {b} = '*' THEN {a} <> '' ELSE {a} = {b} OR {start} = {b} || '-' END")


def _strlang(d: Dialect, a: Value, tag: Value) -> Value:
    text = f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} END"
    lang = f"CASE WHEN {tag.datatype} = {STRING} THEN lower({tag.lexical}) END"
    ok = d.matches(lang, "[a-z]{1,8}(-[a-z0-9]{1,8})*")
    return Value(f"CASE WHEN ({text}) IS NOT NULL AND {ok} THEN 3 END", text, LANG_STRING, lang, static="text")


def _part(start: int, length: int, least: str) -> Function:
    """YEAR to MINUTES: digits of a time's text. least: the regular expression that the text must match."""

    def apply(d: Dialect, a: Value) -> Value:
        digits = f"CAST(substr({a.lexical}, {start}, {length}) AS INTEGER)"
        well_formed = f"({a.micros}) IS NOT NULL AND {d.matches(a.lexical, least)}"
        return integer(d, f"CASE WHEN {well_formed} THEN {digits} END")

    return apply


def _seconds(d: Dialect, a: Value) -> Value:
    text = f"regexp_extract({a.lexical}, ':([0-9]+([.][0-9]+)?)(Z|[+-][0-9:]+)?$', 1)"
    well_formed = f"({a.micros}) IS NOT NULL AND {d.matches(a.lexical, DATE_TIME)}"
    exact = f"CASE WHEN {well_formed} THEN TRY_CAST({text} AS DECIMAL(38,18)) END"
    return number(d, "2", exact, f"CAST({exact} AS DOUBLE)")


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
    return string(f"CASE WHEN ({a.kind}) <> 2 THEN {a.lexical} END")


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
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "IRI": _iri,
    "ISIRI": _is(1),
    "ISBLANK": _is(2),
    "ISLITERAL": _is(3),
    "ISNUMERIC": _is_numeric,
    "STRLEN": _strlen,
    "SUBSTR": _substr,
    "UCASE": lambda d, a: _same_lang(a, d.upper(string_literal(a))),
    "LCASE": lambda d, a: _same_lang(a, f"lower({string_literal(a)})"),
    "CONTAINS": _contains,
    "STRSTARTS": _search("substr({0}, 1, length({1})) = ({1})"),
    "STRENDS": _search("(length({0}) >= length({1}) AND substr({0}, length({0}) - length({1}) + 1) = ({1}))"),
    "STRBEFORE": _before,
    "STRAFTER": _after,
    "CONCAT": _concat,
    "STRLANG": _strlang,
    "LANGMATCHES": _lang_matches,
    "YEAR": _part(1, 4, _ANY_DATE),
    "MONTH": _part(6, 2, _ANY_DATE),
    "DAY": _part(9, 2, _ANY_DATE),
    "HOURS": _part(12, 2, DATE_TIME),
    "MINUTES": _part(15, 2, DATE_TIME),
    "SECONDS": _seconds,
    XSD + "integer": _to_exact("1", INTEGER),
    XSD + "decimal": _to_exact("2", DECIMAL),
    XSD + "float": _to_float("3"),
    XSD + "double": _to_float("4"),
    XSD + "string": _to_string,
    XSD + "boolean": _to_boolean,
    XSD + "dateTime": _to_date_time,
}
