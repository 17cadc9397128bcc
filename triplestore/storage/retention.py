"""Which old versions of a store are kept: all of the newest, and of those of the last days one a minute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from triplestore.model.arguments import check_whole
from triplestore.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Retention:
    """A rule: the newest `versions` are kept (None: all), and of the older ones those that were the newest at the end
    of a minute of the last `days`. So what a day's work may want back is there, however many updates it has made."""

    versions: int | None = None
    days: float = 0.0

    def __post_init__(self) -> None:
        check_whole("the number of versions to keep", self.versions, 1, none="all")
        if not isinstance(self.days, int | float) or not 0 <= self.days <= MOST_DAYS:
            raise UsageError(f"versions are kept for 0 to {MOST_DAYS:,} days")

    def kept(self, numbers: Sequence[int], created: Callable[[int], str]) -> frozenset[int]:
        """Of all versions (ascending) those to keep. created: when a version was made, as its manifest says; "" where
        that cannot be read, and the version is kept if `days` are asked for."""
        if self.versions is None or self.versions >= len(numbers):
            return frozenset(numbers)
        older, newest = numbers[: -self.versions], numbers[-self.versions :]
        if not self.days:
            return frozenset(newest)
        since = (datetime.now(UTC) - timedelta(days=self.days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        minutes: dict[str, int] = {}
        for number in older:
            time = created(number)
            if not time or time >= since:
                minutes[time[: len("2026-01-01T00:00")] or str(number)] = number
        return frozenset((*minutes.values(), *newest))

    def __str__(self) -> str:
        if self.versions is None:
            return "all versions"
        newest = "the newest version" if self.versions == 1 else f"the newest {self.versions:,} versions"
        if not self.days:
            return newest
        last = "day" if self.days == 1 else f"{self.days:,g} days"
        return f"{newest}, and the last version of each minute of the last {last}"

    def as_dict(self) -> dict[str, Any]:
        """As the mark of a store has it: nothing where all versions are kept."""
        return {} if self.versions is None else asdict(self)

    @staticmethod
    def of(data: Mapping[str, Any]) -> Retention:
        """The rule in a store's mark; where it has none, as those made before there were rules, all are kept.
        Raises ValueError for one that is none."""
        try:
            return Retention(**data.get("keep", {}))
        except UsageError as error:
            raise ValueError(str(error)) from error


MOST_DAYS: Final = 36_500
KEEP_ALL: Final = Retention()
DEFAULT: Final = Retention(versions=100, days=1.0)
"""Of a new store. A hundred: one may look at what the last updates did; a day: see `Retention`."""
