"""What deleting will take, foretold from a part of it, so that what is dearer than computing the closure anew is given
up early.

Overdeletion may take the deleted facts in any order. So it begins with a few of them, spread over all, and goes on with
some times as many; after each portion it is known how the facts that it overdeletes, and its seconds, grow with those
that are deleted. What follows goes by how many there are in the end: DRed looks at each of them, FP-update runs the
rules over all others, and both insert what still holds, which is much like overdeleting it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import log
from typing import Final

import numpy as np

from triplestore.maintain.keys import Ids

FIRST: Final = 64
"""Deleted facts that overdeletion begins with."""

GROWTH: Final = 4
"""Times as many as before after which the rest is foretold again."""

SLOWEST: Final = 0.7
"""The power of its size with which what a deletion overdeletes is taken to grow until that is seen: sets share what
they touch. It grows faster in most data, so that nothing is given up too soon."""

UNSURE: Final = 0.1
"""The power of how much is still to come by which a forecast must be worse than computing anew to be believed."""

REST: Final = 2.0, 2.5
"""Times the seconds of overdeletion that all of DRed takes at least, and all of FP-update but for running the rules
over what is left: what is overdeleted is mostly inserted again."""

JOINED: Final = 1.5
"""The power of its facts with which running the rules over a part of the closure grows, most bodies having one atom or
two."""

ALWAYS: Final = 1_000
"""Facts that may be overdeleted in any case."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the ways to bring a closure of so many facts up to date take, in seconds. anew: computing it anew. doubt:
    DRed, for each fact that it overdeletes. naive: running the rules over all of it, as FP-update does; None where that
    is not to be considered."""

    anew: float
    facts: int
    doubt: float
    naive: float | None = None

    def dred(self, doubted: float, seconds: float) -> float:
        """What DRed takes where overdeleting so many facts takes so long."""
        return max(self.doubt * doubted, REST[0] * seconds)

    def fixpoint_update(self, doubted: float, seconds: float) -> float:
        """The same of FP-update: what it derives from the rest is what overdeleting did not derive."""
        if self.naive is None:
            return float("inf")
        left = self.left(doubted)
        return REST[1] * seconds + left * max(self.naive, seconds / max(1 - left, 0.01))

    def left(self, doubted: float) -> float:
        """The share of the closure's derivations that is left without so many facts."""
        return float(max(0.0, 1 - doubted / max(self.facts, 1)) ** JOINED)

    def least(self, doubted: float, seconds: float) -> float:
        """The less of the two."""
        return min(self.dred(doubted, seconds), self.fixpoint_update(doubted, seconds))


@dataclass(slots=True)
class Foretelling:
    """Overdeletion seen from its costs. Seconds are of processor time since it began."""

    costs: Costs
    _seen: list[tuple[int, float, float]] = field(default_factory=list)  # deleted, overdeleted, seconds

    def portions(self, gone: Ids) -> Iterator[Ids]:
        """The facts to delete, in portions that grow, each spread over all."""
        order = np.random.default_rng(0).permutation(len(gone))
        start, end = 0, FIRST
        while 2 * end <= len(gone):
            yield gone[order[start:end]]
            start, end = end, GROWTH * end
        yield gone[order[start:]]

    def dear(self, doubted: int, seconds: float) -> bool:
        """Whether to give up, if so many facts have been overdeleted and more may be."""
        return doubted > ALWAYS and self.costs.least(doubted, seconds) - seconds > self.costs.anew

    def dear_rest(self, done: int, size: int, doubted: int, seconds: float) -> bool:
        """Whether to give up, as `done` of `size` facts have been dealt with."""
        in_all, taking = self._forecast(done, size, doubted, seconds)
        wanted = self.costs.least(in_all, taking) - seconds
        return doubted > ALWAYS and wanted > self.costs.anew * (size / done) ** UNSURE

    def by_fixpoint_update(self, doubted: int, seconds: float) -> bool:
        """Whether FP-update is to go on from there, and not DRed."""
        return self.costs.fixpoint_update(doubted, seconds) < self.costs.dred(doubted, seconds)

    def _forecast(self, done: int, size: int, doubted: int, seconds: float) -> tuple[float, float]:
        """Facts overdeleted and seconds taken in the end. The first time seconds say nothing: they are the same for
        any few facts."""
        overdeleting, taking = SLOWEST, 0.0
        if self._seen:
            before, *last = self._seen[-1]
            grown = log(done / before)
            now = zip((doubted, seconds), last, strict=True)
            overdeleting, taking = (min(1.0, log(max(a, 1e-9) / max(b, 1e-9)) / grown) for a, b in now)
        self._seen.append((done, doubted, seconds))
        more = size / done
        return min(doubted * more**overdeleting, self.costs.facts), seconds * more**taking
