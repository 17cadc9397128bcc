"""What expressions have made of terms, remembered from one update to the next.

A rule's expression gives the same answer each time (`triplestore.compile.check`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from triplestore.model.expression import Expression

MOST: Final = 1_000_000
"""Values of an expression, and tokens, that are remembered at most."""

ERROR: Final = -1
"""In place of an id: there is no value."""


@dataclass(slots=True)
class Remembered:
    """values: (whether an expression is a condition, it) -> of terms (ids), what it makes: an id, 1 where a condition
    holds, or ERROR. ids: of tokens, in the form that facts have of a literal."""

    values: dict[tuple[bool, Expression], dict[tuple[int, ...], int]] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)

    def of(self, condition: bool, expression: Expression, more: int) -> dict[tuple[int, ...], int]:
        """The values of an expression, to be looked up and added to. more: how many are added at most."""
        known = self.values.setdefault((condition, expression), {})
        if len(known) + more > MOST:
            known.clear()
        return known

    def clear(self) -> None:
        """Forget all: ids that were given are given to others."""
        self.values.clear()
        self.ids.clear()
