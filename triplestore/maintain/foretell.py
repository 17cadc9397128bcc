"""What deleting will take, foretold from a part of it, so that what is dearer than computing the closure anew is given
up early.

Overdeletion may take the deleted facts in any order. So it begins with a few of them, spread over all, and goes on with
some times as many; after each portion it is known how the facts that it overdeletes, and its seconds, grow with those
that are deleted. What follows goes by how many there are in the end: DRed looks at each of them, FP-update runs the
rules over all others, and both insert what still holds, which is much like overdeleting it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from math import exp, log
from typing import Final

import numpy as np

from triplestore.maintain.keys import Ids

FIRST: Final = 32
"""Deleted facts that overdeletion begins with at least."""

PART: Final = 128
"""Of more, the part that it begins with."""

GROWTH: Final = 2, 2, 4
"""Times as many as before after which the rest is foretold again: the first two times, and later."""

CONCAVE: Final = 0.75
"""The least power of its size with which a deletion meets facts: sets share what they touch."""

MOST: Final = 0.999
"""Share of the closure that may be overdeleted and leave something to tell the rest from."""

DEARER: Final = 1.1
"""Times what computing anew takes that the rest must be foretold to take to be given up: to go on with what is hardly
dearer loses less than to have begun for nothing."""

CHEAP, FAR = 0.06, 2.5
"""Of what computing anew takes, what overdeletion may take before it is given up, to foretell better; unless the rest
is foretold to take so many times as long."""

MUCH: Final = 0.04
"""Share of the closure that must have been overdeleted for one portion to be believed: single facts are no matter."""

SURE: Final = 0.4, 0.8
"""Of what computing anew takes, the part up to which a forecast ends all doubt: the first one, and later ones."""

BEGINNING: Final = 0.03
"""Seconds of overdeletion that tell nothing: joins take some time however few facts they join."""

FIRED: Final = 7e-8
"""Seconds that a derivation takes at least."""

CLASS: Final = 5
"""Overdeleted facts that take as long as a class that comes apart, and is merged again."""

SHOWING: Final = 8_000
"""Overdeleted facts from which on seconds show what each of them takes."""

OVERDELETING: Final = 0.2
"""Of what DRed takes for each overdeleted fact, what overdeleting it does at least."""

REST: Final = 1.6, 2.1
"""Times the seconds of overdeletion that all of DRed takes at least, and all of FP-update but for running the rules
over what is left: what is overdeleted is mostly inserted again."""

DERIVED: Final = 0.5
"""Of what overdeletion took for its derivations, what those of the rest take at least."""

LOOKED_UP: Final = 0.1
"""Of what DRed takes for each overdeleted fact, what FP-update does beside that: asserted facts are looked up."""

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
        """The same of FP-update."""
        if self.naive is None:
            return float("inf")
        left, least = self.left(doubted), 0.0
        if doubted >= SHOWING:  # what is derived from the rest is what overdeletion has not derived
            least = DERIVED * left * (seconds - BEGINNING) / max(1 - left, 0.01)
        return REST[1] * seconds + max(least, self.naive_rest(doubted))

    def naive_rest(self, doubted: float) -> float:
        """What FP-update takes to bring back what holds: to look asserted facts up, and to run the rules."""
        return LOOKED_UP * self.doubt * doubted + self.running(doubted)

    def running(self, doubted: float) -> float:
        """What running the rules over the other facts takes."""
        return self.left(doubted) * (self.naive or 0.0)

    def naively(self, doubted: int, seconds: float) -> float:
        """What running the rules over all facts takes, if FP-update took so long over what was left."""
        return max(0.0, seconds - LOOKED_UP * self.doubt * doubted) / self.left(doubted)

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
    _seen: tuple[int, float, float] = (0, 0.0, 0.0)  # facts dealt with, `met` and its rate, as last foretold
    _dear: bool = False  # what was foretold then
    _sure: bool = False  # that it is not dear

    def portions(self, gone: Ids) -> Iterator[Ids]:
        """The facts to delete, in portions that grow, each spread over all; the last one is all the rest, once there is
        nothing more to foretell."""
        order = np.random.default_rng(0).permutation(len(gone))
        start, end = 0, max(FIRST, len(gone) // PART)
        growth = chain(GROWTH, repeat(GROWTH[-1]))
        while GROWTH[-1] * end <= len(gone) and not self._sure:
            yield gone[order[start:end]]
            start, end = end, next(growth) * end
        yield gone[order[start:]]

    def dear(self, doubted: int, seconds: float, frontier: int = 0, derived: int = 0) -> bool:
        """Whether to give up, if so many facts have been overdeleted, by so many derivations, and more may be.
        frontier: of these facts, how many have yet to be joined; each will take what the others have taken."""
        joined = doubted - frontier
        told = max(seconds - BEGINNING, 0.0) if joined > ALWAYS else 0.0
        coming = frontier / joined * max(told, FIRED * derived) if joined else 0.0
        return doubted > ALWAYS and self.costs.least(doubted, seconds + coming) - seconds > self.costs.anew

    def dear_rest(self, done: int, size: int, doubted: int, seconds: float) -> bool:
        """Whether to give up, as `done` of `size` facts have been dealt with: if what has been overdeleted since this
        was asked last says so, and what had been before said so, too, or was much. So single facts that support a great
        deal do not mislead it."""
        more, closure = size / done, max(self.costs.facts, 1)
        met = -log(1 - min(doubted / closure, MOST))  # times that a fact is met, if they are met at random
        before, met_before, rate_before = self._seen
        rate, power = (met - met_before) / (done - before), CONCAVE
        if rate > 0 < rate_before:
            power = min(1.0, max(CONCAVE, 1 + log(rate / rate_before) / log(done / before)))
        in_all = closure * (1 - exp(-met - rate * done * (more**power - 1) / power))
        for_each = OVERDELETING * self.costs.doubt
        if doubted >= SHOWING:
            for_each = max(for_each, (seconds - BEGINNING) / doubted)
        wanted = self.costs.least(in_all, max(seconds, for_each * in_all)) - seconds
        again, self._dear = self._dear, wanted > DEARER * self.costs.anew
        self._sure = wanted < SURE[before > 0] * self.costs.anew
        self._seen = done, met, rate
        believed = again or (before > 0 and doubted > MUCH * closure)
        told = wanted > FAR * self.costs.anew or seconds > CHEAP * self.costs.anew
        return doubted > ALWAYS and self._dear and believed and told

    def by_fixpoint_update(self, doubted: int, asking: float) -> bool:
        """Whether FP-update is to go on from there: asking of the facts whether something derives them takes so
        long."""
        return self.costs.naive is not None and asking > self.costs.running(doubted)
