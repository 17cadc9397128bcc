"""Durations of XML Schema: xsd:duration, xsd:dayTimeDuration and xsd:yearMonthDuration, and what compares them.

A duration is a number of months and one of seconds, with one sign. Its key (the part `rest` of a `Value`) is "P", the
months and the seconds as thirty digits each, a point and the digits of the fraction; of a negative one "N", the
complements to nine of the digits, and "~". So two durations are equal if their keys are, and keys are ordered as the
durations of either derived datatype are. A number in a duration may have eighteen digits.
"""

from __future__ import annotations

import re
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.model.terms import XSD

DURATION: Final = XSD + "duration"
DAY_TIME: Final = XSD + "dayTimeDuration"
YEAR_MONTH: Final = XSD + "yearMonthDuration"
DURATIONS: Final = (DURATION, DAY_TIME, YEAR_MONTH)

_N: Final = "0*[0-9]{1,18}"
_S: Final = f"{_N}([.][0-9]+)?S"
_CLOCK: Final = f"T({_N}H({_N}M)?({_S})?|{_N}M({_S})?|{_S})"
_DAYS: Final = f"{_N}D({_CLOCK})?|{_CLOCK}"
FORMS: Final = {
    YEAR_MONTH: f"-?P({_N}Y({_N}M)?|{_N}M)",
    DAY_TIME: f"-?P({_DAYS})",
    DURATION: f"-?P({_N}Y({_N}M)?({_DAYS})?|{_N}M({_DAYS})?|{_DAYS})",
}
"""The regular expressions of the lexical forms, by datatype."""

_UNITS: Final = {
    "Y": ("0*([0-9]+)Y", 12, 0),
    "m": ("^[^T]*?0*([0-9]+)M", 1, 0),
    "D": ("0*([0-9]+)D", 0, 86_400),
    "H": ("0*([0-9]+)H", 0, 3600),
    "M": ("T.*?0*([0-9]+)M", 0, 60),
    "S": ("0*([0-9]+)([.][0-9]+)?S", 0, 1),
}
"""Where the digits of a unit are, and how many months and seconds it is."""

_FRACTION: Final = "[.]([0-9]*?)0*S"
_LEADING: Final = re.compile("(?<![0-9.])0+(?=[0-9])")
"""Zeros before the digits of a number."""

_DIGITS: Final = "0123456789"
_COMPLEMENTS: Final = "9876543210"


def read(text: str, datatype: str) -> tuple[bool, int, int, str] | None:
    """(whether it is below zero, months, whole seconds, digits of a fraction of a second); None if it is ill-formed."""
    text = _LEADING.sub("", text)
    if not re.fullmatch(FORMS[datatype], text):
        return None
    units, point, fraction = text.partition(".")
    units += "S" if point else ""
    months = seconds = 0
    for regex, month, second in _UNITS.values():  # Python searches long digits again from each of them: none are left
        if found := re.search(regex, units):
            months, seconds = months + month * int(found[1]), seconds + second * int(found[1])
    return text[0] == "-" and bool(re.search("[1-9]", text)), months, seconds, fraction[:-1].rstrip("0")


def key(text: str, datatype: str) -> str | None:
    """The key of a duration, None if it is ill-formed."""
    found = read(text, datatype)
    if found is None:
        return None
    below, months, seconds, fraction = found
    body = f"{months:030}{seconds:030}.{fraction}"
    return f"N{body.translate(str.maketrans(_DIGITS, _COMPLEMENTS))}~" if below else f"P{body}"


def key_sql(dialect: Dialect, text: str, datatype: str) -> str:
    """`key` as SQL. datatype: SQL too."""
    sums = {"months": "0", "seconds": "0"}
    for regex, month, second in _UNITS.values():
        digits = f"regexp_extract({text}, {dialect.string(regex)}, 1)"
        amount = f"coalesce(TRY_CAST({digits} AS {dialect.whole}), 0)"
        sums["months" if month else "seconds"] += f" + {amount} * {month or second}"
    padded = (f"lpad(CAST(CAST({sum_} AS {dialect.whole}) AS STRING), 30, '0')" for sum_ in sums.values())
    fraction = f"regexp_extract({text}, {dialect.string(_FRACTION)}, 1)"
    body = f"{' || '.join(padded)} || '.' || {fraction}"
    below = f"{text} LIKE '-%' AND {dialect.contains_match(text, '[1-9]')}"
    negative = f"'N' || translate({body}, '{_DIGITS}', '{_COMPLEMENTS}') || '~'"
    forms = " OR ".join(f"{datatype} = '{name}' AND {dialect.matches(text, form)}" for name, form in FORMS.items())
    return f"CASE WHEN {forms} THEN CASE WHEN {below} THEN {negative} ELSE 'P' || {body} END END"
