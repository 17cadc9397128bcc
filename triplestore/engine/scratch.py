"""Working tables for a while, with names that nothing else has.

Statements are made before they run, several at a time, so a table that one of them reads must not be made anew for
another. Names come from a counter of the process: no two statements can come to the same one, whatever they read.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from triplestore.engine import Engine

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS: Final = count(1)


def unique(stem: str) -> str:
    """A name for a working table, unlike any other that was or will be given in this process."""
    return f"{stem}_{next(_NUMBERS)}"


class Scratch:
    """The working tables of some statements, until `clear`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._names: list[str] = []

    def name(self, stem: str) -> str:
        """A name for a working table that the caller makes; `clear` drops it."""
        self._names.append(unique(stem))
        return self._names[-1]

    def load(self, stem: str, table: pa.Table) -> str:
        """Make a working table from Arrow; its name."""
        name = self.name(stem)
        self.engine.load(name, table)
        return name

    def clear(self) -> None:
        """Drop the tables: the statements that read them have run."""
        names, self._names = self._names, []
        if names:
            self.engine.drop(*names)
