"""Functions on times (SPARQL 1.1, section 17.4.5) and casts to them, over `Value`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions import instants
from triplestore.expressions.decimals import NULL
from triplestore.expressions.durations import DAY_TIME, key_sql
from triplestore.expressions.numerals import EXACT
from triplestore.expressions.numerals import key_sql as number_key_sql
from triplestore.expressions.values import STRING, Value, number, string
from triplestore.model.terms import XSD

Keep = Callable[[str], str]
Function = Callable[..., Value]


def _text(d: Dialect, a: Value, clock: bool) -> str:
    """The text of a time; NULL for anything else. clock: of one with hours. 24:00:00 is the next day's first moment."""
    text = d.trim(a.text)
    least = instants.DATE_TIME if clock else f"{instants.DATE}|{instants.DATE_TIME}"
    known = f"{a.is_instant} AND {d.matches(text, least)}"
    late = f"{known} AND {text} LIKE '%T24:%'"
    next_day = f"tl_next_day(CASE WHEN {late} THEN {text} END)"
    return f"CASE WHEN {late} THEN {next_day} WHEN {known} THEN {text} END"


def _part(regex: str, clock: bool) -> Function:
    """YEAR to MINUTES: digits of a time's text, the first group of a regular expression."""

    def apply(d: Dialect, keep: Keep, a: Value) -> Value:
        digits = f"regexp_extract({_text(d, a, clock)}, {d.string(regex)}, 1)"
        return number(d, "1", f"TRY_CAST({digits} AS DECIMAL(38,18))", NULL)

    return apply


def _seconds(d: Dialect, keep: Keep, a: Value) -> Value:
    text = keep(f"nullif(regexp_extract({_text(d, a, True)}, ':([0-9]+([.][0-9]+)?)(Z|[+-][0-9:]+)?$', 1), '')")
    fits = d.matches(text, EXACT)
    wide = f"CASE WHEN NOT {fits} THEN {number_key_sql(text)} END"
    return number(d, "2", f"CASE WHEN {fits} THEN TRY_CAST({text} AS DECIMAL(38,18)) END", NULL, wide)


def _zone(d: Dialect, a: Value) -> str:
    """The time zone as it is written, '' where there is none; NULL for what is no xsd:dateTime."""
    text = d.trim(a.text)
    known = f"{a.is_instant} AND {d.matches(text, instants.DATE_TIME)}"
    return f"CASE WHEN {known} THEN regexp_extract({text}, '(Z|[+-][0-9][0-9]:[0-9][0-9])$', 1) END"


def tz(d: Dialect, a: Value) -> Value:
    """TZ: the time zone's text."""
    return string(_zone(d, a))


def timezone(d: Dialect, keep: Keep, a: Value) -> Value:
    """TIMEZONE: the time zone as an xsd:dayTimeDuration; an error where there is none."""
    hours, minutes = "CAST(substr(z, 2, 2) AS INTEGER)", "CAST(substr(z, 5, 2) AS INTEGER)"
    text = (
        f"CASE WHEN z = 'Z' OR substr(z, 2) = '00:00' THEN 'PT0S' WHEN length(z) = 6 THEN "
        f"concat(CASE WHEN substr(z, 1, 1) = '-' THEN '-' ELSE '' END, 'PT', "
        f"CASE WHEN {hours} > 0 THEN concat(CAST({hours} AS STRING), 'H') ELSE '' END, "
        f"CASE WHEN {minutes} > 0 THEN concat(CAST({minutes} AS STRING), 'M') ELSE '' END) END"
    )
    lexical, datatype = keep(d.let("z", _zone(d, a), text)), f"'{DAY_TIME}'"
    rest = key_sql(d, lexical, datatype)
    return Value(f"CASE WHEN ({lexical}) IS NOT NULL THEN 3 END", lexical, datatype, rest=rest, static="quantity")


def _cast(name: str) -> Function:
    """xsd:dateTime and xsd:date, of strings and of each other (F&O 3.1, section 19.1.5)."""
    date = name == "date"

    def apply(d: Dialect, keep: Keep, a: Value) -> Value:
        if a.static not in ("any", "quantity", "string", "text"):
            return Value("CAST(NULL AS INTEGER)", "CAST(NULL AS STRING)", "CAST(NULL AS STRING)")
        text = d.trim(a.text)
        zone = r"(Z|[+-][0-9][0-9]:[0-9][0-9])?$"
        day = f"regexp_extract({text}, '^(-?[0-9]+-[0-9][0-9]-[0-9][0-9])', 1)"
        offset = f"regexp_extract({text}, '{zone}', 1)"
        whole = f"CASE WHEN {text} LIKE '%T24:%' THEN tl_next_day({text}) ELSE {text} END"
        here, there = ("date", "dateTime") if date else ("dateTime", "date")
        changed = f"regexp_replace({whole}, 'T[0-9:.]+', '')" if date else f"concat({day}, 'T00:00:00', {offset})"
        stamp = f"'{XSD}dateTimeStamp'"
        own = f"{a.datatype} IN ({STRING}, '{XSD}{here}'{'' if date else f', {stamp}'})"
        other = f"{a.datatype} IN ('{XSD}{there}'{f', {stamp}' if date else ''}) AND {a.is_instant}"
        found = keep(f"CASE WHEN {own} THEN {text} WHEN {other} THEN {changed} END")
        micros = keep(instants.instant(d, found, date))
        rest = keep(f"CASE WHEN {micros} IS NULL THEN {instants.rest(d, found, date)} END")
        known = f"{micros} IS NOT NULL OR {rest} IS NOT NULL"
        kind, lexical = (f"CASE WHEN {known} THEN {part} END" for part in ("3", found))
        return Value(kind, lexical, f"'{XSD}{here}'", micros=micros, rest=rest)

    return apply


TIMES: Final[dict[str, Function]] = {
    "YEAR": _part("^(-?[0-9]+)-", False),
    "MONTH": _part("^-?[0-9]+-([0-9]+)", False),
    "DAY": _part("^-?[0-9]+-[0-9]+-([0-9]+)", False),
    "HOURS": _part("T([0-9]+)", True),
    "MINUTES": _part("T[0-9]+:([0-9]+)", True),
    "SECONDS": _seconds,
    "TIMEZONE": timezone,
    **{f"{XSD}{name}": _cast(name) for name in ("dateTime", "date")},
}
"""By name; each takes the dialect, `keep` (as in `triplestore.expressions.arithmetic`), and a value."""
