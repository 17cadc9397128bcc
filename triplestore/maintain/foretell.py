"""What deleting will take, foretold from a part of it, so that what is dearer than computing the closure anew is given
up early.

Overdeletion may take the deleted facts in any order. So where those that the store has seen deleted leave it open what
these will take, it begins with a few of them, spread over all, and goes on with some times as many; after each portion
it is known how the facts that it overdeletes, and its seconds, grow with those that are deleted. What follows goes by
how many there are in the end: DRed looks at each of them, FP-update runs the rules over all others, and both insert
what still holds, which is much like overdeleting it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log
from typing import Final

import numpy as np

from triplestore.maintain.keys import Ids

FIRST: Final = 32
"""Deleted facts that overdeletion begins with at least."""

PART: Final = 128
"""Of more, the part that it begins with where nothing is known."""

LARGE: Final = 16
"""The part that it begins with at most."""

GROWTH: Final = 2, 4
"""Times as many as before after which the rest is foretold again: the first time, and later."""

CLEAR: Final = 0.6
"""Of what computing anew takes, the part up to which what deletions have taken in this store settles it: each portion
takes some milliseconds, however few facts it has."""

LOOK: Final = 0.1
"""Of what computing anew takes, what DRed would take for the portion that it begins with otherwise: overdeletion is a
third of that."""

CONCAVE, USUAL = 0.7, 0.8
"""The power of its size with which a deletion meets facts, as sets share what they touch: the least, and where its own
portions do not tell yet."""

SWAYED: Final = 1.3
"""Times as many as the first portion foretells to be overdeleted, up to which what the store knows is heeded."""

MOST: Final = 0.999
"""Share of the closure that may be overdeleted and leave something to tell the rest from."""

DEARER, FAR = 1.1, 1.5
"""Times what computing anew takes that the rest must be foretold to take to be given up, and to be given up at once: to
go on with what is hardly dearer loses less than to have begun for nothing."""

CHEAP: Final = 0.06
"""Of what computing anew takes, what overdeletion may take before it is given up, to foretell better from what is next,
where it is not far dearer."""

NEXT: Final = 1.25
"""Times what computing anew takes that what has been overdeleted, with what is next, must be foretold to take for a
round not to be begun: each fact of that may support less than those before."""

MUCH: Final = 0.04
"""Share of the closure that must have been overdeleted for one portion to be believed: single facts are no matter."""

SURE: Final = 0.4, 0.8
"""Of what computing anew takes, the part up to which a forecast ends all doubt: the first one where the store knows
nothing, and others."""

BEGINNING: Final = 0.025
"""Seconds of each portion that tell nothing: joins take some time however few facts they join."""

FIRED: Final = 7e-8
"""Seconds that a derivation takes at least."""

CLASS: Final = 5
"""Overdeleted facts that take as long as a class that comes apart, and is merged again."""

SHOWING: Final = 8_000
"""Overdeleted facts from which on seconds show what each of them takes."""

OVERDELETING: Final = 0.2
"""Of what DRed takes for each overdeleted fact, what overdeleting it does at least, until the store's own figures
tell."""

REST: Final = 1.6, 2.1
"""Times the seconds of overdeletion that all of DRed takes at least, and all of FP-update but for running the rules
over what is left: what is overdeleted is mostly inserted again."""

DERIVED: Final = 0.5
"""Of what overdeletion took for its derivations, what those of the rest take at least."""

LOOKED_UP: Final = 0.1
"""Of what DRed takes for each overdeleted fact, what FP-update does beside that: asserted facts are looked up."""

ASKING: Final = 0.3
"""Of what DRed takes for each overdeleted fact, what asking whether something derives it does, until the store's own
figures tell."""

PLAIN: Final = 1.5
"""Times what running the rules takes that asking must take then, or the other way round, to ask no sample."""

WORTH: Final = 1.2
"""Times what running the rules takes that asking of the rest is to take, by a sample, for FP-update to go on."""

JOINED: Final = 1.5
"""The power of its facts with which running the rules over a part of the closure grows, most bodies having one atom or
two."""

ALWAYS: Final = 1_000
"""Facts that may be overdeleted in any case."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the ways to bring a closure of so many facts up to date take, in seconds. anew: computing it anew. doubt:
    DRed, for each fact that it overdeletes. naive: running the rules over all of it, as FP-update does; None where that
    is not to be considered. reach: how often a deletion of one fact meets facts, some of them more than once; one of n
    does so n ** `USUAL` times as often. overdeleting, asking: what that takes for each overdeleted fact, and what
    finding those of them that are asserted or derived otherwise does. 0, of these three: nothing is known. shrinking:
    the part of anew that is saved where all is overdeleted; by the square of the share, where some is."""

    anew: float
    facts: int
    doubt: float
    naive: float | None = None
    reach: float = 0.0
    overdeleting: float = 0.0
    asking: float = 0.0
    shrinking: float = 0.0

    def met(self, doubted: float) -> float:
        """How often facts were met at random, if so many were at all."""
        return -self.facts * log(1 - min(doubted / max(self.facts, 1), MOST))

    def overdeleted(self, met: float) -> float:
        """The other way round."""
        return self.facts * (1 - exp(-met / max(self.facts, 1)))

    def anew_after(self, doubted: float) -> float:
        """What computing anew takes where a deletion overdeletes so many facts: most of them are gone then."""
        return self.anew * (1 - self.shrinking * float((doubted / max(self.facts, 1)) ** 2))

    def usually(self, size: int) -> float:
        """The facts that a deletion of so many overdeletes, as the store knows it."""
        return self.overdeleted(self.reach * size**USUAL)

    def for_each(self) -> float:
        """What overdeleting a fact takes, as far as is known."""
        return self.overdeleting or OVERDELETING * self.doubt

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
        besides = REST[1] * seconds
        if self.asking:
            besides = max((self.doubt - self.asking) * doubted, REST[0] * seconds)
        return besides + max(least, self.naive_rest(doubted))

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
    _seen: tuple[int, float] = (0, 0.0)  # facts dealt with, and how often they met facts, as last foretold
    _portions: int = 0  # that have been dealt with
    _dear: bool = False  # whether it has been foretold to be dear, first by what the store knows
    _sure: bool = False  # that it is not dear

    def portions(self, gone: Ids) -> Iterator[Ids]:
        """The facts to delete, in portions that grow, each spread over all; the last one is all the rest, once there is
        nothing more to foretell."""
        start, end = 0, self._first(len(gone))
        order = np.random.default_rng(0).permutation(len(gone))
        while self._divided(end, len(gone)) and not self._sure:
            yield gone[order[start:end]]
            start, end = end, self._next(end)
            self._portions += 1
        yield gone[order[start:]]

    def _next(self, end: int) -> int:
        """Where the portion ends that comes after the one that ends there."""
        return GROWTH[self._portions > 0] * end

    def _divided(self, end: int, size: int) -> bool:
        """Whether a portion that ends there is one of several; else it is all the rest."""
        return GROWTH[-1] * end <= size

    def _first(self, size: int) -> int:
        """How many of so many facts to begin with; all, where what the store knows leaves no doubt."""
        if not self.costs.reach:
            return max(FIRST, size // PART)
        costs = self.costs
        coming = costs.usually(size)
        self._dear = costs.least(coming, costs.for_each() * coming) > self._far() * costs.anew_after(coming)
        if costs.doubt * coming < CLEAR * costs.anew_after(coming):
            return max(1, size)
        few = LOOK * costs.anew / (costs.doubt * costs.reach)
        return max(FIRST, min(size // LARGE, int(few ** (1 / USUAL))))

    def dear(self, doubted: int, seconds: float, frontier: int = 0, derived: int = 0) -> bool:
        """Whether to give up, if so many facts have been overdeleted, by so many derivations, and more may be.
        frontier: of these facts, how many have yet to be joined; each will take what the others have taken."""
        joined = doubted - frontier
        told = self._telling(seconds) if joined > ALWAYS else 0.0
        coming = frontier / joined * max(told, FIRED * derived) if joined else 0.0
        wanted = self.costs.least(doubted, seconds + coming) - seconds
        return doubted > ALWAYS and wanted > NEXT * self.costs.anew_after(doubted)

    def dear_rest(self, done: int, size: int, doubted: int, seconds: float) -> bool:
        """Whether to give up, as `done` of `size` facts have been dealt with: if what has been overdeleted since this
        was asked last says so, and some of what had been before, or what the store knows, said so, too, or it was much.
        So single facts that support a great deal do not mislead it."""
        met, (before, met_before) = self.costs.met(doubted), self._seen
        power = USUAL
        if met_before:
            power = min(1.0, max(CONCAVE, log(met / met_before) / log(done / before)))
        reach = (met - met_before) / (done**power - before**power)
        in_all = self.costs.overdeleted(met + reach * (size**power - done**power))
        if not before and self.costs.reach:
            in_all = min((in_all + self.costs.usually(size)) / 2, SWAYED * in_all)
        for_each = self.costs.for_each()
        if doubted >= SHOWING and not self.costs.overdeleting:
            for_each = max(for_each, self._telling(seconds) / doubted)
        wanted = self.costs.least(in_all, max(seconds, for_each * in_all)) - seconds
        anew, far, said = self.costs.anew_after(in_all), FAR if before else self._far(), self._dear
        dear = wanted > (DEARER if before else far) * anew
        sure = wanted < SURE[before > 0 or self.costs.reach > 0] * anew
        self._seen, self._dear, self._sure = (done, met), said or dear, sure and (before > 0 or not said)
        believed = said or (before > 0 and doubted > MUCH * self.costs.facts)
        told = not self._divided(self._next(done), size) or wanted > far * anew or seconds > CHEAP * self.costs.anew
        return doubted > ALWAYS and dear and believed and told

    def _far(self) -> float:
        """Times what computing anew takes that is dear before two portions have told. What large deletions took in this
        store is as good as a portion."""
        return DEARER if self.costs.overdeleting else FAR

    def _telling(self, seconds: float) -> float:
        """The seconds of overdeletion that go by the number of facts."""
        return max(0.0, seconds - BEGINNING * (1 + self._portions))

    def by_fixpoint_update(self, doubted: int, asking: float | None = None) -> bool | None:
        """Whether FP-update is to go on from there, if asking of the facts whether something derives them takes so
        long. Without that: by what DRed takes in this store, or else as a rule; None if that leaves doubt."""
        running = self.costs.running(doubted)
        if self.costs.naive is None:
            return False
        if self.costs.asking:
            return self.costs.asking * doubted > self.costs.naive_rest(doubted)
        if asking is not None:
            return asking > WORTH * running
        usual = ASKING * self.costs.doubt * doubted
        return usual > running if max(usual, running) > PLAIN * min(usual, running) else None
