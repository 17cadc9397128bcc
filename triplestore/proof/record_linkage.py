"""Whether two records are of one thing, by what they say: the weights of Fellegi and Sunter 1969, "A Theory for Record
Linkage".

Of each property, m is how often two records of one thing agree on it, u how often two of different things do. Where two
records agree, that tells by log2(u / m) bits against their being one, where they do not, by log2((1 - u) / (1 - m)).
Here m is read off links, most of which are right, and u off random pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

MOST_BITS: Final = 8.0
"""Bits that one property tells at most: records that were copied from each other agree on all."""

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a property: the id that stands for it, and of a literal its language and its words."""

    id: int
    lang: str | None = None
    words: frozenset[str] | None = None


Record = Mapping[int, Sequence[Value]]
"""The properties of a thing: property -> values."""


def words(text: str) -> frozenset[str]:
    """The words and numbers of a text, without case and accents."""
    plain = unicodedata.normalize("NFKD", text)
    return frozenset(_WORD.findall("".join(c for c in plain if not unicodedata.combining(c)).casefold()))


def agree(left: Collection[Value], right: Collection[Value]) -> bool | None:
    """Whether some value of one record is one of the other's: equal, or all the words of one are among the other's
    ("1606" and "1606-07-15"). None where none can be compared: texts of two languages, literals and IRIs."""
    if {value.id for value in left} & {value.id for value in right}:
        return True
    comparable = False
    for a in left:
        for b in right:
            if (a.words is None) != (b.words is None) or a.lang != b.lang:
                continue
            comparable = True
            if a.words and b.words and (a.words <= b.words or b.words <= a.words):
                return True
    return False if comparable else None


class Weights:
    """The bits that agreement on each property tells."""

    def __init__(self, same: Iterable[tuple[Record, Record]], others: Iterable[tuple[Record, Record]]) -> None:
        """same: pairs of records of one thing, but for few. others: pairs of different things."""
        m, u = _shares(same), _shares(others)
        self._bits = {p: (_bits(u.get(p, 0.5), share), _bits(1 - u.get(p, 0.5), 1 - share)) for p, share in m.items()}

    def bits(self, prop: int, agreed: bool) -> float:
        """How much agreement, or its lack, speaks against the two being one; below 0: for it."""
        by_agreement, by_lack = self._bits.get(prop, (0.0, 0.0))
        return min(by_agreement, 0.0) if agreed else max(by_lack, 0.0)


def _bits(apart: float, same: float) -> float:
    return max(-MOST_BITS, min(MOST_BITS, log2(apart / same)))


def _shares(pairs: Iterable[tuple[Record, Record]]) -> dict[int, float]:
    """Of each property, the share of the pairs that agree on it, of those that can be compared (Laplace's rule)."""
    agreed: dict[int, list[int]] = {}
    for left, right in pairs:
        for prop in left.keys() & right.keys():
            found = agree(left[prop], right[prop])
            if found is not None:
                counts = agreed.setdefault(prop, [0, 0])
                counts[0] += found
                counts[1] += 1
    return {prop: (yes + 1) / (count + 2) for prop, (yes, count) in agreed.items()}
