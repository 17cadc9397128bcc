"""What expressions have made of terms, remembered from one update to the next.

A rule's expression gives the same answer each time (`triplestore.compile.check`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from triplestore.model.expression import Expression
from triplestore.model.thresholds import SIZES

ERROR: Final = -1
"""In place of an id: there is no value."""


What = Literal["holds", "made", "key"]


@dataclass(slots=True)
class Remembered:
    """values: (what of an expression, it) -> of terms (ids), the id of what it makes, 1 where it "holds", the number of
    its "key"; or ERROR. ids: of tokens, in the form that facts have of a literal."""

    values: dict[tuple[What, Expression], dict[tuple[int, ...], int]] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)

    def of(self, what: What, expression: Expression, more: int) -> dict[tuple[int, ...], int]:
        """The values of an expression, to be looked up and added to. more: how many are added at most."""
        known = self.values.setdefault((what, expression), {})
        if len(known) + more > SIZES.one_thread:
            known.clear()
        return known

    def clear(self) -> None:
        """Forget all: ids that were given are given to others."""
        self.values.clear()
        self.ids.clear()
