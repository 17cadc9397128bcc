"""Functions of a term that keep what they gave for it, since answers repeat their terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")

LONGEST: Final = 1_000
"""Characters of the longest terms that results are kept for: thousands of long ones would fill the memory."""


def remembering(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """A decorator of functions that keep their results for the last texts, so many of them at most."""

    def decorated(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = lru_cache(most)(function)

        def called(text: str) -> T:
            return kept(text) if len(text) <= LONGEST else function(text)

        return called

    return decorated
