"""Times, durations and windows. A time is an integer: milliseconds since 1970 UTC, or whatever a stream counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from triplestore.model.errors import UsageError

Time = TypeVar("Time", int, npt.NDArray[np.int64])

FOREVER: Final = 2**63 - 1
"""The end of what never expires."""

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
            f"'{text}' is no duration: give a number of ms, s, m, h or d (5m), or one of XML Schema (PT5M)"
        )
    return int(value)


def time_of(given: str | int) -> int:
    """A time: an integer, or a date and time of ISO 8601, in milliseconds since 1970 (without a zone: UTC).
    Raises ValueError."""
    if isinstance(given, str) and not (given.isascii() and given.strip().lstrip("+-").isdigit()):  # int takes 1_0 too
        moment = datetime.fromisoformat(given.removeprefix('"').removesuffix('"'))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1_000)
    value = int(given)
    if abs(value) >= FOREVER // 4:
        raise ValueError(f"{given} is too far from 0")
    return value


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
