"""Arithmetic of times and durations by Python: XPath and XQuery Functions 3.1, sections 8.4, 9.7 and 8.2.

An operand is a text: the name of a datatype of XML Schema, "|" and a lexical form, or of a number its text or key
(`triplestore.expressions.numerals`). A result is such a text, "|" and what compares it (the part `rest` of a `Value`).
Seconds have any digits of fraction; products and quotients are cut after eighteen, or as many as an operand has.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Final

from triplestore.dictionary.term_rows import INSTANTS
from triplestore.engine.dialect import Dialect
from triplestore.expressions import durations, exact, instants
from triplestore.expressions.durations import DAY_TIME, DURATION, YEAR_MONTH
from triplestore.expressions.limits import too_many_digits
from triplestore.expressions.numerals import unkeyed
from triplestore.model.terms import XSD

TEMPORAL: Final = (*INSTANTS, XSD + "time", *durations.DURATIONS)
"""The datatypes of times and durations."""

CASTS: Final = ("dateTimeStamp", "time", "duration", "dayTimeDuration", "yearMonthDuration")
"""The datatypes that `computed` casts to."""

_MOST: Final = 4000
"""Characters of an operand; beyond, the computation fails."""
_WRITTEN: Final = "+-.:|~0123456789eEnpNPYMDTHSZ"
"""The characters of lexical forms of times, durations and numbers, and of their keys."""
_DAY: Final = 86_400
_GREATEST: Final = 10**18
"""Years and days from which a result is an overflow, an error of the expression (err:FODT0001, err:FODT0002). No
literal may have as many."""
_CYCLE: Final = 146_097
"""Days of 400 years."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration. months and seconds never have different signs."""

    datatype: str
    months: int
    seconds: Fraction


@dataclass(frozen=True, slots=True)
class Moment:
    """A time by its own zone. name: dateTime, date or time. seconds: since 1970-01-01. zone: as written, or ''."""

    name: str
    seconds: Fraction
    zone: str

    @property
    def utc(self) -> Fraction:
        """The instant; one without a zone counts as UTC."""
        if self.zone in ("", "Z"):
            return self.seconds
        minutes = int(self.zone[1:3]) * 60 + int(self.zone[4:])
        return self.seconds - minutes * (60 if self.zone[0] == "+" else -60)


Number = Fraction | float
"""Exact, or an infinity or NaN."""


def computed(operator: str, left: str, right: str) -> str | None:
    """`left` operator `right`; None for an error. operator: + - * /, "negate" (of `left`), "sum" or "avg" (`left` is
    durations with blanks between them), or a name of `CASTS` (`left` is a time, a duration or "string|" and a text)."""
    if operator in ("sum", "avg"):
        return _total(Counter(left.split()), operator == "avg")
    if operator in CASTS:
        return _cast(operator, left)
    a, b = _read(left), _read(right)
    match operator, a, b:
        case "negate", Duration(), _:
            return _written(_scaled(a, Fraction(-1)))
        case "+" | "-", Duration(), Duration() if a.datatype == b.datatype != DURATION:
            sign = 1 if operator == "+" else -1
            return _written(Duration(a.datatype, a.months + sign * b.months, a.seconds + sign * b.seconds))
        case "+" | "-", Moment(), Duration():
            return _moved(a, b if operator == "+" else _scaled(b, Fraction(-1)))
        case "+", Duration(), Moment():
            return _moved(b, a)
        case "-", Moment(), Moment() if a.name == b.name:
            return _written(Duration(DAY_TIME, 0, a.utc - b.utc))
        case "*", Duration(), Fraction():
            return _product(a, b, left, right)
        case "*", Fraction(), Duration():
            return _product(b, a, right, left)
        case "/", Duration(), Fraction() if b and a.datatype != DURATION:
            return _product(a, 1 / b, left, right)
        case "/", Duration(), float() if b == b and a.datatype != DURATION:
            return _written(Duration(a.datatype, 0, Fraction(0)))
        case "/", Duration(), Duration() if a.datatype == b.datatype != DURATION:
            above, below = (a.seconds, b.seconds) if a.datatype == DAY_TIME else (a.months, b.months)
            return _ratio(Fraction(above) / below) if below else None
    return None


def _cast(name: str, operand: str) -> str | None:
    """A cast of section 19.1; a string is taken as it is written."""
    source, _, after = operand.partition("|")
    lexical = after.split("|")[0].strip(" \t\r\n")
    if source == "string" and "|" not in after:
        source = name
    found = _read(f"{source}|{lexical}")
    match found:
        case Duration() if name.endswith("uration"):
            if source == name:
                return f"{name}|{lexical}|{durations.key(lexical, XSD + name)}"
            months = 0 if name == "dayTimeDuration" else found.months
            return _written(Duration(XSD + name, months, found.seconds if name != "yearMonthDuration" else Fraction(0)))
        case Moment("dateTime" | "time") if name == "time":
            if source == name:
                return f"time|{lexical}|{rest(lexical, XSD + name)}"
            return _moved(Moment("time", found.seconds % _DAY, found.zone), Duration(DAY_TIME, 0, Fraction(0)))
        case Moment("dateTime") if name == "dateTimeStamp" and found.zone:
            return f"{name}|{lexical}|{rest(lexical, XSD + name)}"
    return None


def _total(texts: Counter[str], mean: bool) -> str | None:
    """The sum or mean of durations, each as often as it is counted."""
    months, seconds, datatypes = 0, Fraction(0), set[str]()
    for text, times in texts.items():
        found = _read(text)
        if not isinstance(found, Duration):
            return None
        datatypes.add(found.datatype)
        months, seconds = months + times * found.months, seconds + times * found.seconds
    if len(datatypes) != 1 or DURATION in datatypes:
        return None
    count = texts.total() if mean else 1
    return _written(Duration(datatypes.pop(), _rounded(Fraction(months, count)), _cut(seconds / count, _DIGITS)))


def _read(text: str) -> Duration | Moment | Number | None:
    """An operand; None if it is ill-formed. Raises LimitError if it is too long."""
    if len(text) > _MOST:
        if text.partition("|")[2].strip(" \t\r\n" + _WRITTEN) or ("|" not in text and text.strip(_WRITTEN)):
            return None
        raise too_many_digits(_MOST, "characters")
    name, bar, rest = text.partition("|")
    if not bar:
        return _number(text)
    lexical = rest.split("|")[0].strip(" \t\r\n")
    if name == "decimal":  # a quotient of durations
        return _number(lexical)
    if name.endswith("uration"):
        found = durations.read(lexical, XSD + name)
        if found is None:
            return None
        sign = -1 if found[0] else 1
        fraction = Fraction(int(found[3] or 0), 10 ** len(found[3]))
        return Duration(XSD + name, sign * found[1], sign * (found[2] + fraction))
    return _moment(name.removesuffix("Stamp"), lexical)


def _number(text: str) -> Number | None:
    if text[:1] in ("n", "p") and text[1:2].isdigit():
        text = unkeyed(text)
    if re.fullmatch(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?", text):
        number = Decimal(text)
        return (
            Fraction(number) if abs(number.adjusted()) <= _MOST else float(text) or Fraction(0)
        )  # a double's INF, or 0
    return float(text) if text.lower() in ("inf", "-inf", "infinity", "-infinity", "nan") else None


def _moment(name: str, lexical: str) -> Moment | None:
    text = f"{instants.ANY_DAY}T{lexical}" if name == "time" else lexical
    if instants.key(text, name == "date") is None:
        return None
    found = re.fullmatch(r"(-?[0-9]+)-([0-9]{2})-([0-9]{2})(?:T([0-9:]{8})(?:[.]([0-9]+))?)?(Z|[+-][0-9:]{5})?", text)
    assert found is not None
    year, like = int(found[1]), 2000 + int(found[1]) % 400
    days = date(like, int(found[2]), int(found[3])).toordinal() - _EPOCH + (year - like) // 400 * _CYCLE
    hours, minutes, seconds = map(int, (found[4] or "00:00:00").split(":"))
    fraction = Fraction(int(found[5] or 0), 10 ** len(found[5] or ""))
    whole = hours * 3600 + minutes * 60 + seconds + fraction
    if name == "time":
        days, whole = 0, whole % _DAY
    return Moment(name, days * _DAY + whole, "Z" if found[6] in ("+00:00", "-00:00") else found[6] or "")


def _scaled(duration: Duration, by: Fraction) -> Duration:
    return Duration(duration.datatype, _rounded(duration.months * by), duration.seconds * by)


def _rounded(months: Fraction) -> int:
    """To whole months, up from the middle, as fn:round does."""
    return (2 * months.numerator + months.denominator) // (2 * months.denominator)


def _product(duration: Duration, by: Fraction, *texts: str) -> str | None:
    if duration.datatype == DURATION:
        return None
    found = _scaled(duration, by)
    return _written(Duration(found.datatype, found.months, _cut(found.seconds, max(map(_kept, texts)))))


def _ratio(found: Fraction) -> str:
    return f"decimal|{exact.computed('/', str(found.numerator), str(found.denominator))}|"


def _kept(text: str) -> int:
    """Digits after the point that a result keeps, for an operand."""
    digits = re.search("[.]([0-9]*)", text)
    return max(_DIGITS, len(digits[1]) if digits else 0)


def _cut(number: Fraction, digits: int) -> Fraction:
    """The number without what is behind so many digits."""
    units = abs(number) * 10**digits // 1
    return Fraction(units if number > 0 else -units, 10**digits)


def _moved(moment: Moment, by: Duration) -> str | None:
    """A time some months, then some seconds later."""
    if moment.name == "time" and by.datatype != DAY_TIME:
        return None
    days, clock = divmod(moment.seconds, _DAY)
    if by.months:
        year, month, day = _civil(int(days))
        year, month = year + (month - 1 + by.months) // 12, (month - 1 + by.months) % 12 + 1
        days = _days(year, month, day)
    days, clock = divmod(days * _DAY + clock + by.seconds, _DAY)
    year, month, day = _civil(int(days))
    if abs(year) >= _GREATEST:
        return None
    date_ = f"{'-' * (year < 0)}{abs(year):04}-{month:02}-{day:02}"
    whole, fraction = divmod(clock, 1)
    time_ = f"{whole // 3600:02}:{whole // 60 % 60:02}:{_decimal(whole % 60 + fraction, 2)}"
    lexical = {"date": date_, "time": time_}.get(moment.name, f"{date_}T{time_}") + moment.zone
    return f"{moment.name}|{lexical}|{rest(lexical, XSD + moment.name)}"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    cycles, left = divmod(days - (date(2000, 1, 1).toordinal() - _EPOCH), _CYCLE)
    like = date.fromordinal(date(2000, 1, 1).toordinal() + left)
    return like.year + 400 * cycles, like.month, like.day


def _days(year: int, month: int, day: int) -> int:
    """The days since 1970-01-01 of a day, or of its month's last one if the month is shorter."""
    like = 2000 + year % 400
    while True:
        try:
            return date(like, month, day).toordinal() - _EPOCH + (year - like) // 400 * _CYCLE
        except ValueError:
            day -= 1


def _written(duration: Duration) -> str | None:
    """A result that is a duration, in canonical form; None if it is too large."""
    months, seconds = abs(duration.months), abs(duration.seconds)
    if months >= 12 * _GREATEST or seconds >= _DAY * _GREATEST:
        return None
    whole, fraction = divmod(seconds, 1)
    amounts = [(months // 12, "Y"), (months % 12, "M"), (whole // _DAY, "D")]
    date_ = "".join(f"{amount}{unit}" for amount, unit in amounts if amount)
    clock = "".join(f"{n}{unit}" for n, unit in ((whole // 3600 % 24, "H"), (whole // 60 % 60, "M")) if n)
    if seconds % 60:
        clock += f"{_decimal(whole % 60 + fraction, 1)}S"
    zero = "P0M" if duration.datatype == YEAR_MONTH else "PT0S"
    below = duration.months < 0 or duration.seconds < 0
    lexical = f"{'-' * below}P{date_}{'T' * bool(clock)}{clock}" if date_ or clock else zero
    return f"{duration.datatype.removeprefix(XSD)}|{lexical}|{durations.key(lexical, duration.datatype)}"


def _decimal(number: Fraction, digits: int) -> str:
    """The text of a number that has a finite one, with so many digits before the point or more."""
    whole, fraction = divmod(number, 1)
    text = ""
    if fraction:
        places, below = 0, fraction.denominator
        while 10**places % below:
            places += 1
        text = f".{fraction.numerator * 10**places // below:0{places}}"
    return f"{whole:0{digits}}{text}"


def rest(lexical: str, datatype: str) -> str | None:
    """What compares a time or duration (the part `rest` of a `Value`), None if it is ill-formed."""
    if datatype in durations.DURATIONS:
        return durations.key(lexical, datatype)
    if datatype == XSD + "time":
        return instants.time_key(lexical)
    return instants.key(lexical, datatype == XSD + "date")


def rest_sql(dialect: Dialect, text: str, datatype: str) -> str:
    """`rest` as SQL of both, of what `datatype` is one of `TEMPORAL`."""
    return (
        f"CASE WHEN {datatype} LIKE '%uration' THEN {durations.key_sql(dialect, text, datatype)} "
        f"WHEN {datatype} = '{XSD}time' THEN {instants.time_rest(dialect, text)} "
        f"WHEN {datatype} = '{XSD}date' THEN {instants.rest(dialect, text, True)} "
        f"ELSE {instants.rest(dialect, text, False)} END"
    )
