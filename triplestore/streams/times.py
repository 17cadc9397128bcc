"""Times, durations and windows. A time is an integer: milliseconds since 1970 UTC, or whatever a stream counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from triplestore.maintain.annotation import FOREVER
from triplestore.model.errors import UsageError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{0,40})?")
_DATE_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,40}))?)?([Zz]|[+-][0-9:]{2,8})?"
)

Time = TypeVar("Time", int, npt.NDArray[np.int64])

_UNITS: Final = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_NUMBER: Final = "[0-9]{1,19}"
_SHORT: Final = re.compile(rf"({_NUMBER}(?:\.{_NUMBER})?)\s*(ms|s|m|h|d)?", re.IGNORECASE)
_ISO: Final = re.compile(
    rf"P(?:({_NUMBER})D)?(?:T(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER}(?:\.{_NUMBER})?)S)?)?", re.IGNORECASE
)


def duration(text: str) -> int:
    """A duration in milliseconds: `500ms`, `10s`, `5m`, `1h`, `2d`, `PT5M`, or a number of the stream's own units.
    Raises UsageError."""
    stripped = text.strip()
    if found := _SHORT.fullmatch(stripped):
        value = Decimal(found[1]) * _UNITS[(found[2] or "").lower()]
    elif stripped.upper() not in ("P", "PT") and (found := _ISO.fullmatch(stripped)):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
        value = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000
    else:
        value = Decimal(0)
    if not 1 <= value < FOREVER // 4 or value != int(value):
        raise UsageError(
            f"'{text}' is not a duration: give a number of ms, s, m, h or d (5m), or one of XML Schema (PT5M)"
        )
    return int(value)


def time_of(given: str | int) -> int:
    """A time: a number, or a date and time of ISO 8601, in milliseconds since 1970 (without a zone: UTC).

    A fraction of a unit is rounded up: since the bounds of windows are whole, the windows of a triple are then those of
    its exact time. 24:00:00 is the end of its day, and 23:59:60 UTC, a leap second, the first second of the next day,
    as in POSIX time. Raises ValueError.
    """
    value = given if isinstance(given, int) else _parsed(given.strip().removeprefix('"').removesuffix('"'))
    if abs(value) >= FOREVER // 4:
        raise ValueError(f"{given} is too far from 0")
    return value


def _parsed(text: str) -> int:
    if _DECIMAL.fullmatch(text):
        return ceil(Decimal(text))
    found = _DATE_TIME.fullmatch(text)
    if found is None:  # a date alone, or one without punctuation
        return _milliseconds(datetime.fromisoformat(text))
    date, clock, second, fraction, zone = found.groups(default="")
    fraction = fraction.rstrip("0")
    later = timedelta()
    if clock == "24:00" and not (second.strip("0") or fraction):
        clock, later = "00:00", timedelta(days=1)
    leap = second == "60"
    if leap:
        second, later = "59", timedelta(seconds=1)
    moment = datetime.fromisoformat(f"{date}T{clock}:{second or '00'}{zone}")
    value = _milliseconds(moment) + later // timedelta(milliseconds=1)
    if leap and value % 86_400_000:
        raise ValueError("a leap second is the last one of a day")
    return value + ceil(Decimal(f"0.{fraction or 0}") * 1_000)


def _milliseconds(moment: datetime) -> int:
    """Whole milliseconds since 1970, rounded up."""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return -((_EPOCH - moment) // timedelta(milliseconds=1))


@dataclass(frozen=True, slots=True)
class Window:
    """What of a stream a query sees: at every multiple T of `step` the triples of T - width < time <= T."""

    width: int
    step: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.step < 1:
            raise UsageError("a window's range and step are more than 0")

    @classmethod
    def of(cls, width: str, step: str | None) -> Window:
        """Of two durations; without a step it tumbles: the step is the width."""
        return cls(duration(width), duration(step or width))

    def enters(self, time: Time) -> Time:
        """The first multiple of the step at which a triple of this time (or each of an array) is in the window."""
        return -(-time // self.step) * self.step

    def leaves(self, time: Time) -> Time:
        """The first multiple of the step from which on it is not."""
        return -(-(time + self.width) // self.step) * self.step
