"""Chains of assigned variables: BIND and select expressions that read what the one before them made."""

from __future__ import annotations

from typing import Final

from triplake.sparql.algebra import mentioned
from triplake.sparql.cursor import Cursor
from triplestore.model.expression import Expression

LONGEST: Final = 100
"""Expressions in a chain. An engine plans a term's decoding for each, under all those before it: time grows with the
square."""


class Chains:
    """How many expressions of one group each of its assigned variables follows from, itself included."""

    def __init__(self, at: Cursor) -> None:
        self._at = at
        self._lengths: dict[str, int] = {}

    def add(self, name: str, expression: Expression, offset: int) -> None:
        """Another assignment, at an offset; raises LimitError where its chain is too long."""
        read = mentioned(expression)
        self._lengths[name] = length = 1 + max((self._lengths.get(variable, 0) for variable in read), default=0)
        if length > LONGEST:
            reason = f"?{name} ends a chain of more than {LONGEST} expressions, each of which reads the one before it"
            self._at.limit(f"{reason}: put several into one", offset)
