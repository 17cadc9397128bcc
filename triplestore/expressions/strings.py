"""Functions on strings (SPARQL 1.1, section 17.4.3) over `Value`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.engine.dialect import OWN, Dialect
from triplestore.expressions.decimals import NULL
from triplestore.expressions.limits import MOST_BYTES, too_long
from triplestore.expressions.regex import Replacement
from triplestore.expressions.values import STRING, Value, boolean, integer, string, string_literal

Function = Callable[..., Value]
Keep = Callable[[str], str]

_AT_ONCE: Final = 100
"""Arguments of CONCAT that are joined in one step."""


def bounded(d: Dialect, keep: Keep, texts: list[str]) -> str:
    """Texts one after the other; a statement fails where they are too long together."""
    if len(texts) < 2:
        return "".join(texts) or "''"
    kept = [keep(text) for text in texts]
    size = " + ".join(map(d.bytes, kept))
    fails = failing(d, "CONCAT", size)
    return f"CASE WHEN {size} <= {MOST_BYTES} THEN {' || '.join(kept)} WHEN {size} > 0 THEN {fails} END"


def failing(d: Dialect, name: str, size: str) -> str:
    """What fails for a text of so many bytes (SQL) that a function would make. An engine that calls functions of
    Python's only where a row comes to them gets one of these: its own function of errors is volatile, and it evaluates
    no condition before a column that has one."""
    return f"tl_too_long('{name}', CAST({size} AS STRING))" if d.lazy_functions else d.error(too_long(name))


def replaced(d: Dialect, keep: Keep, text: str, how: Replacement, called: str) -> str:
    """The text with what matches a pattern replaced. called: SQL that does it in Python, which counts the bytes."""
    if not d.linear_regex or how.native is None:
        return called
    text = keep(text)
    made = d.replace_matches(text, how.native, how.by)
    if how.growth == 1:
        return made
    return f"CASE WHEN {d.bytes(text)} * {how.growth} <= {MOST_BYTES} THEN {made} ELSE {called} END"


def same_lang(a: Value, sql: str) -> Value:
    """A string in the language of `a`."""
    return string(sql, a.lang)


def cased(name: str) -> Function:
    """UCASE and LCASE ("upper", "lower") by Unicode's full mapping ("ß" to "SS"), which not every engine has."""

    def apply(d: Dialect, a: Value) -> Value:
        text = string_literal(a)
        own = f"{name}({text})"
        plain = d.matches(text, "[ -~]*")
        return same_lang(
            a, f"{OWN}{own}" if d.full_case else f"CASE WHEN {plain} THEN {own} ELSE tl_{name}({text}) END"
        )

    return apply


def strlen(d: Dialect, a: Value) -> Value:
    return integer(d, f"length({string_literal(a)})")


def substr(d: Dialect, a: Value, start: Value, length: Value | None = None) -> Value:
    """Positions p with round(start) <= p < round(start) + round(length), from 1."""
    first, text = _rounded(start), string_literal(a)
    begin, end = _position(first), first if length is None else f"({first}) + ({_rounded(length)})"
    size = "" if length is None else f", greatest({_position(end)} - {begin}, 0)"
    found = f"CASE WHEN isnan({end}) THEN '' ELSE substr({text}, {begin}{size}) END"
    return same_lang(a, f"CASE WHEN ({end}) IS NOT NULL THEN {found} END")


def _rounded(value: Value) -> str:
    """A number as an SQL DOUBLE without a fraction; NULL for anything else."""
    return f"CASE WHEN ({value.rank}) IS NOT NULL THEN floor(({value.double}) + 0.5) END"


def _position(double: str) -> str:
    """The place in a text at or behind a DOUBLE: an SQL INT from 1 on, within the bounds of any text."""
    return f"TRY_CAST(greatest(least({double}, CAST(1e9 AS DOUBLE)), CAST(1 AS DOUBLE)) AS INTEGER)"


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


def concat(d: Dialect, keep: Keep, *values: Value) -> Value:
    while len(values) > _AT_ONCE:
        values = tuple(concat(d, keep, *values[i : i + _AT_ONCE]) for i in range(0, len(values), _AT_ONCE))
    sql = bounded(d, keep, [f"({string_literal(value)})" for value in values])
    if not values or any(v.lang == NULL for v in values):
        return string(sql)
    langs = [keep(value.lang) for value in values]
    same = " AND ".join(f"({lang}) = ({langs[0]})" for lang in langs) if len(langs) > 1 else f"({langs[0]}) IS NOT NULL"
    return string(sql, f"CASE WHEN {same} THEN {langs[0]} END")


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
