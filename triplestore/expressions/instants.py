"""Instants of xsd:dateTime, xsd:date and xsd:time as SQL: microseconds since 1970 UTC, and what these do not hold.

The column `micros` of TERM holds instants of the years 0000 to 9999 with up to six digits of fraction. Others (years of
up to eighteen digits, negative ones, any digits of fraction) are in a text, the part `rest` of a `Value`: "p", the
seconds since 1970 plus 2 * 10^29, a point, and the digits of the fraction; so is an xsd:time, taken on `ANY_DAY`.
`near` gives the microseconds, cut, of either, `tail` what is left.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from triplestore.dictionary.term_rows import ZONE, micros_sql
from triplestore.engine.dialect import Dialect
from triplestore.expressions.decimals import NULL

_CLOCK: Final = r"(([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}([.][0-9]+)?|24:00:00([.]0+)?)"
_DAY: Final = r"-?([1-9][0-9]{4,17}|[0-9]{4})-[0-9]{2}-[0-9]{2}"
DATE: Final = _DAY + ZONE
DATE_TIME: Final = _DAY + "T" + _CLOCK + ZONE
ANY_DAY: Final = "1972-12-31"
"""The day on which times without one are compared (XPath and XQuery Functions 3.1, section 9.5)."""
TIME: Final = _CLOCK + ZONE
PLAIN_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}" + ZONE
PLAIN: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}([.][0-9]{1,6}0*)?|24:00:00([.]0+)?)" + ZONE
)
_SECONDS: Final = 12_622_780_800
"""Of 400 years."""
_START: Final = 2 * 10**29


def instant(dialect: Dialect, text: str, date: bool) -> str:
    """An xsd:dateTime (or xsd:date) text as microseconds; NULL where it is none or they do not hold it."""
    whole = f"concat(substr({text}, 1, 10), 'T00:00:00', substr({text}, 11))" if date else text
    plain = dialect.matches(text, PLAIN_DATE if date else PLAIN)
    return f"CASE WHEN {plain} THEN {micros_sql(dialect, whole)} END"


def zoned(text: str) -> str:
    """Whether the text of a time, maybe with white space around it, has a time zone."""
    return f"(regexp_extract({text}, '(Z|[+-][0-9][0-9]:[0-9][0-9])[^0-9A-Z:]*$', 1) <> '')"


def key(text: str, date: bool) -> str | None:
    """What tells the instant of a text, as `rest` does; None where it is no instant."""
    found = re.fullmatch(_PARTS, text)
    if found is None or (found[4] is None) != date or not re.fullmatch(DATE if date else DATE_TIME, text):
        return None
    year, like, clock = int(found[1]), 2000 + int(found[1]) % 400, found[4] or "00:00:00"
    late = clock.startswith("24")
    try:
        moment = datetime.fromisoformat(f"{like}-{found[2]}-{found[3]}T{'00:00:00' if late else clock}")
    except ValueError:
        return None
    zone = found[6] or "Z"
    away = 0 if zone == "Z" else (int(zone[1:3]) * 60 + int(zone[4:])) * (60 if zone[0] == "+" else -60)
    seconds = int((moment - datetime(1970, 1, 1)).total_seconds()) + 86400 * late - away
    seconds += (year - like) // 400 * _SECONDS
    return f"p{seconds + _START}.{(found[5] or '').strip('.').rstrip('0')}"


def keyed(micros: int) -> str:
    """The key of an instant."""
    return f"p{micros // 1_000_000 + _START}.{f'{micros % 1_000_000:06}'.rstrip('0')}"


def unkeyed(text: str) -> tuple[int, bool]:
    """The microseconds since 1970 UTC of a key, cut, and whether nothing was cut off."""
    seconds, _, fraction = text[1:].partition(".")
    return (int(seconds) - _START) * 1_000_000 + int(fraction[:6].ljust(6, "0")), len(fraction) <= 6


def time_key(text: str) -> str | None:
    """`key` of the text of an xsd:time, where 24:00:00 is 00:00:00."""
    return key(f"{ANY_DAY}T{text.replace('24:00:00', '00:00:00')}", False)


_PARTS: Final = r"(-?[0-9]+)-([0-9]{2})-([0-9]{2})(?:T([0-9:]{8})([.][0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?"


def rest(dialect: Dialect, text: str, date: bool) -> str:
    """What tells the instant of a text that `instant` has not; NULL where it is no instant."""
    year = f"TRY_CAST(regexp_extract({text}, '^(-?[0-9]+)-', 1) AS BIGINT)"
    like = f"(2000 + ({year} % 400 + 400) % 400)"  # a year with the same calendar
    after = f"regexp_extract({text}, '^-?[0-9]+(-.*)$', 1)"
    if date:
        moment = f"concat(substr({after}, 1, 6), 'T00:00:00', substr({after}, 7))"
        fraction = "''"
    else:
        moment = f"regexp_replace({after}, '[.][0-9]+', '')"
        fraction = f"regexp_extract({after}, '[.]([0-9]*?)0*(Z|[+-]|$)', 1)"
    here = micros_sql(dialect, f"concat(CAST({like} AS STRING), {moment})")

    def whole(number: object) -> str:
        return f"CAST({number} AS {dialect.whole})"

    cycles = dialect.divide_whole(whole(f"{year} - {like}"), whole(400))
    now = dialect.divide_whole(whole(here), whole(1_000_000))
    seconds = f"CAST({now} + {cycles} * {_SECONDS} + CAST('{_START}' AS {dialect.whole}) AS {dialect.whole})"
    found = f"'p' || CAST({seconds} AS STRING) || '.' || {fraction}"
    return f"CASE WHEN {dialect.matches(text, DATE if date else DATE_TIME)} THEN {found} END"


def time_rest(dialect: Dialect, text: str) -> str:
    """`time_key` as SQL."""
    moment = f"concat('{ANY_DAY}T', replace({text}, '24:00:00', '00:00:00'))"
    return rest(dialect, moment, False)


def near(dialect: Dialect, micros: str, rest_: str) -> str:
    """Microseconds, cut, of an instant, as a whole number of any size."""
    if rest_ == NULL:
        return micros
    whole = (
        f"(TRY_CAST(substr({rest_}, 2, 30) AS {dialect.whole}) - CAST('{_START}' AS {dialect.whole})) * 1000000 "
        f"+ TRY_CAST(rpad(substr({rest_}, 33, 6), 6, '0') AS {dialect.whole})"
    )
    return f"coalesce({micros}, {whole})" if micros != NULL else whole


def tail(rest_: str) -> str:
    """What orders instants that are near to the same one."""
    return "'o'" if rest_ == NULL else f"CASE WHEN length({rest_}) > 38 THEN {rest_} ELSE 'o' END"
