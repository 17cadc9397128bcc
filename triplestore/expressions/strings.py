"""Functions on strings (SPARQL 1.1, section 17.4.3) over `Value`s."""

from __future__ import annotations

from collections.abc import Callable

from triplestore.engine.dialect import Dialect
from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import STRING, Value, boolean, integer, string, string_literal

Function = Callable[..., Value]


def same_lang(a: Value, sql: str) -> Value:
    """A string in the language of `a`."""
    return string(sql, a.lang)


def cased(name: str) -> Function:
    """UCASE and LCASE ("upper", "lower") by Unicode's full mapping ("ß" to "SS"), which not every engine has."""

    def apply(d: Dialect, a: Value) -> Value:
        text = string_literal(a)
        own = f"{name}({text})"
        plain = d.matches(text, "[ -~]*")
        return same_lang(a, own if d.full_case else f"CASE WHEN {plain} THEN {own} ELSE tl_{name}({text}) END")

    return apply


def strlen(d: Dialect, a: Value) -> Value:
    return integer(d, f"length({string_literal(a)})")


def substr(d: Dialect, a: Value, start: Value, length: Value | None = None) -> Value:
    """Positions p with round(start) <= p < round(start) + round(length), from 1."""
    first, text = _rounded(start), string_literal(a)
    begin = f"greatest({first}, 1)"
    if length is None:
        sql = f"CASE WHEN ({first}) IS NOT NULL THEN substr({text}, {begin}) END"
    else:
        size = f"({first}) + ({_rounded(length)}) - {begin}"
        sql = f"CASE WHEN ({size}) IS NOT NULL THEN substr({text}, {begin}, greatest({size}, 0)) END"
    return same_lang(a, sql)


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


def search(template: str) -> Function:
    """A condition on two compatible strings, by an SQL template."""

    def apply(d: Dialect, a: Value, b: Value) -> Value:
        found = template.format(string_literal(a), string_literal(b))
        return boolean(f"CASE WHEN {_compatible(a, b)} THEN {found} END")

    return apply


def contains(d: Dialect, a: Value, b: Value) -> Value:
    found = f"({string_literal(b)}) = '' OR {d.position(string_literal(b), string_literal(a))} > 0"
    return boolean(f"CASE WHEN {_compatible(a, b)} THEN {found} END")


def before(d: Dialect, a: Value, b: Value) -> Value:
    text, part = string_literal(a), string_literal(b)
    at = f"CASE WHEN ({part}) = '' THEN 1 ELSE {d.position(part, text)} END"
    return _cut(a, b, at, f"substr({text}, 1, ({at}) - 1)")


def after(d: Dialect, a: Value, b: Value) -> Value:
    text, part = string_literal(a), string_literal(b)
    at = f"CASE WHEN ({part}) = '' THEN 1 ELSE {d.position(part, text)} END"
    return _cut(a, b, at, f"substr({text}, ({at}) + length({part}))")


def _cut(a: Value, b: Value, at: str, found: str) -> Value:
    """STRBEFORE and STRAFTER: a plain empty string where the second is not found."""
    ok = _compatible(a, b)
    sql = f"CASE WHEN {ok} THEN CASE WHEN ({at}) = 0 THEN '' ELSE {found} END END"
    return string(sql, NULL if a.lang == NULL else f"CASE WHEN ({at}) > 0 THEN {a.lang} END")


def concat(d: Dialect, *values: Value) -> Value:
    sql = " || ".join(f"({string_literal(v)})" for v in values) if values else "''"
    if not values or any(v.lang == NULL for v in values):
        return string(sql)
    first = values[0].lang
    same = " AND ".join(f"({v.lang}) = ({first})" for v in values) if len(values) > 1 else f"({first}) IS NOT NULL"
    return string(sql, f"CASE WHEN {same} THEN {first} END")


def lang_matches(d: Dialect, tag: Value, range_: Value) -> Value:
    """RFC 4647 basic filtering."""
    a, b = f"lower({string_literal(tag)})", f"lower({string_literal(range_)})"
    start = f"substr({a}, 1, length({b}) + 1)"
    return boolean(f"CASE WHEN {b} = '*' THEN {a} <> '' ELSE {a} = {b} OR {start} = {b} || '-' END")


def encode_for_uri(d: Dialect, a: Value) -> Value:
    """Percent-encoding of all but unreserved characters."""
    return string(f"tl_encode({string_literal(a)})")


def hashed(name: str) -> Function:
    """A digest of the text of an xsd:string, in lower-case hexadecimal."""
    return lambda d, a: string(f"tl_hash('{name}', CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} END)")
