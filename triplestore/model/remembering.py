"""What a function gives for texts, kept for those that come again: so many characters of them, not so many texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from triplestore.model.thresholds import SIZES

T = TypeVar("T")


class Remembered(dict[str, T]):
    """The results of a function, by their texts: `found[text]`. Those of texts of `most` characters are kept, then none
    of them, and so on; one that is longer is kept alone. Threads may share it."""

    def __init__(self, of: Callable[[str], T], most: int = SIZES.texts) -> None:
        super().__init__()
        self._of, self._most, self._size = of, most, 0

    def __missing__(self, text: str) -> T:
        found = self._of(text)
        if self._size + len(text) > self._most:
            self.clear()
            self._size = 0
        self[text] = found
        self._size += len(text)
        return found
