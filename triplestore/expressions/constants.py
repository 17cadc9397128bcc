"""Comparing with a constant: what tells its value is computed here, once, so that the SQL of a row is short.

`<` and its like with an exact number, and with a time; `triplestore.expressions.membership` has `=`. The semantics are
those of `triplestore.expressions.compare`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from triplestore.expressions import calendar, instants, numerals
from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import Value, double_of
from triplestore.model.terms import XSD, split_literal

Keep = Callable[[str], str]

_NO_ANSWER: Final = "CAST(NULL AS BOOLEAN)"

_HOURS_14: Final = 14 * 3_600_000_000
"""Microseconds by which a zone moves an instant at most."""

_FAMILIES: Final = {
    XSD + "dateTime": (XSD + "dateTime", XSD + "dateTimeStamp"),
    XSD + "dateTimeStamp": (XSD + "dateTime", XSD + "dateTimeStamp"),
    XSD + "date": (XSD + "date",),
    XSD + "time": (XSD + "time",),
}
"""The datatypes of the times that a time is compared with."""


def text_of(value: Value) -> str:
    """The lexical form of a constant, without white space around it."""
    return split_literal(str(value.constant))[0].strip(" \t\r\n")


def double_sql(value: Value, rank: int) -> str:
    """A constant number as SQL of a DOUBLE, as a float if the rank is 3; short where that is possible."""
    text = double_of(text_of(value), rank)
    return f"{text}e0" if re.fullmatch(r"-?[0-9]+[.][0-9]+", text) else f"CAST('{text}' AS DOUBLE)"


def decimal_sql(value: Value) -> str:
    """An exact constant that DECIMAL(38,18) holds, as short SQL where it is small."""
    text = text_of(value)
    return text if re.fullmatch(r"-?[1-9][0-9]{0,8}", text) else value.decimal


def is_ordered(value: Value) -> bool:
    """Whether `compare_exact` or `compare_instant` compares with a value."""
    return is_exact(value) or is_instant(value)


def is_exact(value: Value) -> bool:
    """Whether a value is a constant integer or decimal that DECIMAL(38,18) holds."""
    return value.constant is not None and value.rank in ("1", "2") and value.decimal != NULL


def is_instant(value: Value) -> bool:
    """Whether a value is a constant, well-formed time."""
    return value.constant is not None and value.static == "quantity" and _datatype(value) in _FAMILIES


def is_duration(value: Value) -> bool:
    """Whether a value is a constant, well-formed duration."""
    return value.constant is not None and value.static == "quantity" and _datatype(value) not in _FAMILIES


def compare_exact(left: Value, operator: str, right: Value) -> str:
    """left < right (or <=, >, >=), right being an exact constant with a `decimal`; NULL where `left` is none."""
    if left.rank == NULL:
        return _NO_ANSWER
    if left.is_exact:
        return f"({left.plain}) {operator} {decimal_sql(right)}"
    if left.static == "number" and left.rank in ("3", "4"):
        ordered = f" AND NOT isnan({left.double})" if operator[0] == ">" else ""  # engines hold NaN above all else
        return f"({left.double}) {operator} {double_sql(right, int(left.rank))}{ordered}"
    cases = []
    if left.decimal != NULL:
        cases.append(f"WHEN ({left.decimal}) IS NOT NULL THEN ({left.decimal}) {operator} {decimal_sql(right)}")
    if left.rest != NULL:
        cases.append(f"WHEN ({left.rank}) <= 2 THEN ({left.rest}) {operator} '{numerals.any_key(text_of(right))}'")
    if left.rank not in ("1", "2"):
        double = left.inexact if left.writer is not None else left.double
        ordered = f" AND NOT isnan({double})" if operator[0] == ">" else ""  # engines hold NaN above all else
        single, whole = double_sql(right, 3), double_sql(right, 4)
        if single != whole:
            cases.append(f"WHEN ({left.rank}) = 3 THEN ({double}) {operator} {single}{ordered}")
        cases.append(f"WHEN ({left.rank}) >= 3 THEN ({double}) {operator} {whole}{ordered}")
    return f"CASE {' '.join(cases)} END"


def compare_instant(left: Value, operator: str, right: Value, keep: Keep) -> str:
    """left < right (or <=, >, >=), right being a constant time; NULL where `left` is not a time of its family, or only
    one of them has a zone and it could change the answer."""
    moment = Moment(right)
    if left.zoned == moment.zoned and left.rest == NULL and (family := _known_family(left, moment)) is not None:
        return f"{left.micros} {_cut(operator, moment)} {_bounded(moment.micros)}" if family else _NO_ANSWER
    cases = []
    if left.micros != NULL:
        cut = _cut(operator, moment)
        cases.append(f"WHEN {left.micros} IS NOT NULL THEN {left.micros} {cut} {_bounded(moment.micros)}")
    if left.rest != NULL:
        cases.append(f"WHEN {left.rest} IS NOT NULL THEN {left.rest} {operator} '{moment.key}'")
    if not cases:
        return _NO_ANSWER
    known = f"{_zoned(left, moment.zoned, keep)} OR NOT {_near(left, [moment])}"
    return f"CASE WHEN {_of_family(left, moment)} AND ({known}) THEN CASE {' '.join(cases)} END END"


def equal_instants(left: Value, values: Iterable[Value], keep: Keep) -> tuple[list[str], list[str]]:
    """(tests, doubts): whether a value is one of some constant times; whether a zone could make it one."""
    groups: dict[tuple[tuple[str, ...], bool], list[Moment]] = {}
    for moment in map(Moment, values):
        groups.setdefault((moment.family, moment.zoned), []).append(moment)
    tests, doubts = [], []
    for (_, zoned), moments in groups.items():
        family, same = _of_family(left, moments[0]), _zoned(left, zoned, keep)
        micros = [str(_bounded(moment.micros)) for moment in moments if moment.exact]
        parts = [f"{left.micros} IN ({_list(micros)})"] if micros and left.micros != NULL else []
        if left.rest != NULL:
            parts.append(f"{left.rest} IN ({_list(repr(moment.key) for moment in moments)})")
        if parts:
            tests.append(f"{family} AND {same} AND ({' OR '.join(parts)})")
            doubts.append(f"{family} AND NOT {same} AND ({_near(left, moments)})")
    return tests, doubts


class Moment:
    """A constant time. family: the datatypes it is compared with. zoned: whether it has a zone. key: what tells
    it (`instants.key`). micros: since 1970 UTC, cut unless `exact`."""

    def __init__(self, value: Value) -> None:
        text, datatype = text_of(value), _datatype(value)
        self.family = _FAMILIES[datatype]
        self.zoned = re.search("(Z|[+-][0-9]{2}:[0-9]{2})$", text) is not None
        self.key = str(calendar.rest(text, datatype))
        self.micros, self.exact = instants.unkeyed(self.key)


_MOST: Final = 2**62
"""More microseconds than TERM has of any instant."""


def _datatype(value: Value) -> str:
    """The datatype of a constant; none of an IRI."""
    token = str(value.constant)
    return split_literal(token)[1] if token.startswith('"') else ""


def _cut(operator: str, moment: Moment) -> str:
    """The operator that compares microseconds with those of a time, which may be cut."""
    return operator if moment.exact else {"<": "<=", ">=": ">"}.get(operator, operator)


def _known_family(left: Value, moment: Moment) -> bool | None:
    """Whether a value is a time of the family of another, where it is known while compiling."""
    if left.constant is not None:
        return _datatype(left) in moment.family
    found = re.fullmatch("'([^']*)'", left.datatype)
    return None if found is None else found[1] in moment.family


def _of_family(left: Value, moment: Moment) -> str:
    if (known := _known_family(left, moment)) is not None:
        return str(known).upper()
    return f"{left.datatype} IN ({_list(map(repr, moment.family))})"


def _zoned(left: Value, zoned: bool, keep: Keep) -> str:
    """Whether a time has a zone, or has none."""
    if left.zoned is not None:
        return str(left.zoned == zoned).upper()
    has = keep(instants.zoned(left.lexical))
    return has if zoned else f"(NOT {has})"


def _near(left: Value, moments: Iterable[Moment]) -> str:
    """Whether a time is so near to one of the moments that a zone could make it that one."""
    spans: list[tuple[int, int]] = []  # of microseconds
    for micros in sorted(moment.micros for moment in moments):
        first, last = micros - _HOURS_14, micros + _HOURS_14
        if spans and first <= spans[-1][1]:
            first = spans.pop()[0]
        spans.append((first, last))
    tests = []
    for first, last in spans:
        if left.micros != NULL:
            tests.append(f"{left.micros} BETWEEN {_bounded(first)} AND {_bounded(last)}")
        if left.rest != NULL:
            tests.append(f"{left.rest} >= '{instants.keyed(first)}' AND {left.rest} < '{instants.keyed(last + 1)}'")
    return f"coalesce({' OR '.join(tests)}, FALSE)" if tests else "FALSE"


def _bounded(micros: int) -> int:
    return max(-_MOST, min(_MOST, micros))


def _list(items: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(items))
