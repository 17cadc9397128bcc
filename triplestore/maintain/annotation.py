"""What a fixpoint knows of facts besides that they hold: annotations with values of a semiring.

Source: Green, Karvounarakis and Tannen 2007, "Provenance Semirings".

A match of a rule is worth the product of what its body is worth, and a fact the sum of its matches. Derivation counts
(`triplestore.maintain.counts`) are natural numbers. Ends (`triplestore.maintain.imars`) have the first of two for their
product, the last for their sum. That a fact holds (`triplestore.maintain.context.Holds`) is the least that there is to
know, and costs nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from triplestore.maintain.keys import Ids, member, places

FOREVER: Final = 2**63 - 1
"""The end of what never expires, and so what a match of no facts is worth."""


class Annotated:
    """Sorted keys, and a column of values for each; neither ever changes. values: (rows, keys)."""

    def __init__(self, keys: Ids, values: Ids) -> None:
        self.keys, self.values = keys, values

    @classmethod
    def none(cls, rows: int) -> Annotated:
        """No keys."""
        return cls(np.empty(0, dtype=np.int64), np.empty((rows, 0), dtype=np.int64))

    def of(self, keys: Ids, otherwise: Ids) -> Ids:
        """The values of keys, those of unknown ones being `otherwise`, which is changed."""
        if len(self.keys) and len(keys):
            at, known = places(keys, self.keys)
            otherwise[:, known] = self.values[:, at[known]]
        return otherwise

    def put(self, keys: Ids, values: Ids) -> Annotated:
        """The same with these values for these keys (sorted)."""
        known = member(keys, self.keys)
        at = np.searchsorted(self.keys, keys[~known])
        found = Annotated(np.insert(self.keys, at, keys[~known]), np.insert(self.values, at, values[:, ~known], axis=1))
        found.values[:, np.searchsorted(found.keys, keys[known])] = values[:, known]
        return found

    def without(self, keys: Ids) -> Annotated:
        """The same but for these keys (sorted)."""
        kept = ~member(self.keys, keys)
        return Annotated(self.keys[kept], self.values[:, kept])
