"""What has been made of the tables of a version, and holds for as long as they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Value = TypeVar("Value")


class VersionCache:
    """One value for each key, with the files that it was made of: it is never returned for others.

    Files are whatever tells two states of the tables apart: a manifest, the files of some tables, a tuple of such.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, Any]] = {}

    def get(self, key: str, files: object, make: Callable[[], Value]) -> Value:
        """The value for these files: the one that is kept, or else a new one."""
        if not self.has(key, files):
            self.put(key, files, make())
        value: Value = self._kept[key][1]
        return value

    def has(self, key: str, files: object) -> bool:
        """Whether there is a value for these files."""
        kept = self._kept.get(key)
        return kept is not None and (kept[0] is files or kept[0] == files)

    def last(self, key: str) -> tuple[Any, Any] | None:
        """The files and the value that are kept, whatever files these are: later values may be made of it."""
        return self._kept.get(key)

    def put(self, key: str, files: object, value: object) -> None:
        """Keep a value in place of the one before."""
        self._kept[key] = files, value

    def drop(self, *keys: str) -> None:
        """Keep no value for these keys."""
        for key in keys:
            self._kept.pop(key, None)

    def clear(self) -> None:
        """Keep no value."""
        self._kept.clear()
