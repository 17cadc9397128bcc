"""Functions on times (SPARQL 1.1, section 17.4.5) over `Value`s."""

from __future__ import annotations

from collections.abc import Callable

from triplestore.engine.dialect import Dialect
from triplestore.expressions.values import DATE_TIME, Value, integer, number, string
from triplestore.terms import XSD

Function = Callable[..., Value]


def part(start: int, length: int, least: str) -> Function:
    """YEAR to MINUTES: digits of a time's text. least: the regular expression that the text must match."""

    def apply(d: Dialect, a: Value) -> Value:
        digits = f"CAST(substr({a.lexical}, {start}, {length}) AS INTEGER)"
        well_formed = f"({a.micros}) IS NOT NULL AND {d.matches(a.lexical, least)}"
        return integer(d, f"CASE WHEN {well_formed} THEN {digits} END")

    return apply


def seconds(d: Dialect, a: Value) -> Value:
    text = f"regexp_extract({a.lexical}, ':([0-9]+([.][0-9]+)?)(Z|[+-][0-9:]+)?$', 1)"
    well_formed = f"({a.micros}) IS NOT NULL AND {d.matches(a.lexical, DATE_TIME)}"
    exact = f"CASE WHEN {well_formed} THEN TRY_CAST({text} AS DECIMAL(38,18)) END"
    return number(d, "2", exact, f"CAST({exact} AS DOUBLE)")


def _zone(d: Dialect, a: Value) -> str:
    """The time zone as it is written, '' where there is none; NULL for what is no xsd:dateTime."""
    well_formed = f"({a.micros}) IS NOT NULL AND {d.matches(a.lexical, DATE_TIME)}"
    return f"CASE WHEN {well_formed} THEN regexp_extract({a.lexical}, '(Z|[+-][0-9][0-9]:[0-9][0-9])$', 1) END"


def tz(d: Dialect, a: Value) -> Value:
    """TZ: the time zone's text."""
    return string(_zone(d, a))


def timezone(d: Dialect, a: Value) -> Value:
    """TIMEZONE: the time zone as an xsd:dayTimeDuration; an error where there is none."""
    hours, minutes = "CAST(substr(z, 2, 2) AS INTEGER)", "CAST(substr(z, 5, 2) AS INTEGER)"
    text = (
        f"CASE WHEN z = 'Z' OR substr(z, 2) = '00:00' THEN 'PT0S' WHEN length(z) = 6 THEN "
        f"concat(CASE WHEN substr(z, 1, 1) = '-' THEN '-' ELSE '' END, 'PT', "
        f"CASE WHEN {hours} > 0 THEN concat(CAST({hours} AS STRING), 'H') ELSE '' END, "
        f"CASE WHEN {minutes} > 0 THEN concat(CAST({minutes} AS STRING), 'M') ELSE '' END) END"
    )
    lexical = d.let("z", _zone(d, a), text)
    return Value(f"CASE WHEN ({lexical}) IS NOT NULL THEN 3 END", lexical, f"'{XSD}dayTimeDuration'")
