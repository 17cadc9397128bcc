"""Which algorithm maintains the closure: by name, or `auto`.

`auto` goes by what it knows of the store itself: how long computing the closure anew took the last time; which
algorithm is faster on a few of its facts, tried out once and undone; and what deletions have cost. DRed is faster
nearly everywhere; B/F where much is doubted and little lost, as in cliques. What DRed will take is foretold from a part
of what it overdeletes (`triplestore.maintain.foretell`): so it is begun, and then finished, given up, or left to
FP-update. B/F shows its cost late: what it took for those few facts foretells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from triplestore.maintain import (
    Outcome,
    Task,
    backward_forward,
    backward_forward_counting,
    dred_counting,
    dred_or_fixpoint_update,
    fixpoint_update,
    insertion,
    memory,
    rematerialise,
)
from triplestore.maintain.foretell import CLASS, USUAL, Costs
from triplestore.materialise.figures import Figures
from triplestore.model.errors import UsageError

LARGE_SHARE: Final = 0.5
"""New facts as a share of the closure beyond which computing it anew is cheaper than extending it."""

MANY_DELETED: Final = 0.5
"""Deleted facts as a share of the asserted ones beyond which nothing else than computing anew is tried."""

SHARE: Final = 0.2
"""Of the time that computing anew takes, what maintenance may take before it is given up, where nothing is known of
it."""

LEAST: Final = 0.05
"""Seconds that maintenance may take in any case."""

DOUBT, DOUBT_COUNTED = 8_000, 9_000
"""Nanoseconds that DRed takes for each fact that it overdeletes, without and with counts, until the store's own figures
tell."""

NAIVE: Final = 2.5e-7
"""Seconds that FP-update takes for each derivation of the closure, until the store's own figures tell."""

LATE: Final = 2.5
"""Times what computing anew takes, after which DRed is given up whatever was foretold: by then most of its work is
done."""

TELLING: Final = 20_000
"""Overdeleted facts from which on an update tells that: with fewer, other costs hide it."""

LEFT: Final = 0.1
"""Share of the derivations from which on running the rules over what is left tells what it takes over all."""

FEW: Final = 3
"""Deleted facts from which on the algorithms are compared, if they have not been."""

COMPARED: Final = 8
"""Facts of the store on which they are."""

FASTER: Final = 0.9
"""Of DRed's seconds for them, what B/F may take to be preferred."""

SLIGHT: Final = 0.015
"""Seconds of DRed for them that make no difference."""

CONCAVE: Final = 0.95
"""The power of its size with which what B/F takes for a deletion grows: sets share what they touch."""

TRY: Final = 0.5
"""Of the time that computing anew takes, what trying an algorithm out may take: once for a store."""

STEP: Final = 0.15
"""Of that time, what deleting some facts may take for twice as many to be tried out, and half of what these may."""

MOST: Final = 1_024
"""Facts up to which that goes on."""

SEEN: Final = 2_500, 5_000
"""Facts that DRed must overdelete when it is tried out to tell what each of them takes, and those that are enough."""

AGAIN: Final = 2
"""Times that the last of these is repeated."""

JOINING: Final = 0.5
"""Of what a few facts take, the part that joins take however few there are, which is no matter where there are many."""

GOING: Final = 0.2
"""Of the share of the data that goes, the part that computing anew takes less: comparing and writing take more."""

SHRINKING, SHRINKING_COUNTED = 0.15, 0.5
"""Of what computing anew takes, the part that is saved where all is overdeleted, without and with counts."""

LEARNT: Final = ("checking_us", "doubt_ns", "reach_milli", "overdelete_ns", "asking_ns", "naive_ms")
"""What `learnt` tells of the algorithms: others maintain a store that keeps derivation counts."""

NAMES: Final = ("auto", rematerialise.NAME, *memory.DELETING)
"""What `--maintain` takes."""

TRIED: Final = (backward_forward.NAME, dred_or_fixpoint_update.NAME)
"""The algorithms that `auto` chooses from, the first one first where nothing is known."""

COUNTED: Final = (backward_forward_counting.NAME, dred_counting.NAME)
"""The same for stores that keep derivation counts."""


class Probe(Protocol):
    """Tries an algorithm out and undoes it."""

    def __call__(self, name: str, size: int, seconds: float) -> Tried | None:
        """What deleting so many of the store's facts took; None if more than `seconds`."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Seconds of processor time that an algorithm took, and the facts that it overdeleted or doubted."""

    seconds: float
    doubted: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: an algorithm of `memory.ALGORITHMS` (None: compute the closure anew), why, and for how many seconds
    at most. costs: what to foretell from, where it overdeletes. found: what trying algorithms out has told, now or
    earlier, to be remembered: `checking_us`, the microseconds that B/F took for a few facts, 0 if DRed is faster; and,
    where that was found out now, `doubt_ns`, the nanoseconds that DRed took for each fact that it overdeleted, and
    `reach_milli`, thousandths of `Costs.reach`."""

    name: str | None
    reason: str
    seconds: float | None = None
    costs: Costs | None = None
    found: Mapping[str, int] = field(default_factory=dict)


def plan(
    algorithm: str,
    plus: int,
    minus: int,
    sizes: Mapping[str, int],
    probe: Probe,
    counting: bool = False,
    rewriting: bool = False,
) -> Plan:
    """What maintains the closure when so many asserted facts come and go. sizes: a version's statistics, with
    `asserted` and `facts`. counting: derivations are counted. rewriting: equality is rewritten. Raises UsageError for
    an unknown algorithm."""
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return Plan(None, "asked for")
    if algorithm != "auto":
        return Plan(algorithm if minus else memory.INSERTION, "asked for" if minus else "nothing is deleted")
    if minus > MANY_DELETED * sizes["asserted"] or plus > LARGE_SHARE * sizes["facts"]:
        return Plan(None, f"{minus:,} of {sizes['asserted']:,} asserted facts are deleted, {plus:,} added")
    anew, tried = _anew(sizes, counting), COUNTED if counting else TRIED
    allowed = None if anew is None else max(LEAST, SHARE * anew)
    if not minus:
        return Plan(memory.INSERTION, "nothing is deleted", allowed)
    if anew is None or (minus < FEW and "checking_us" not in sizes):
        return Plan(tried[0], "few facts are deleted", allowed)
    known = "checking_us" in sizes
    found = {"checking_us": sizes["checking_us"]} if known else _compared(anew, sizes["facts"], probe, tried)
    anew *= 1 - GOING * minus / max(sizes["asserted"], 1)
    if not found["checking_us"]:
        costs = _costs(anew, {**sizes, **found}, counting, rewriting)
        told = f"foretold to be cheaper than computing anew ({anew:.2f} s)"
        return Plan(tried[1], told, max(LEAST, LATE * anew), costs, found)
    wanted = found["checking_us"] / 1e6 * (minus / COMPARED) ** CONCAVE
    told = f"maintaining takes about {wanted:.2f} s, computing anew {anew:.2f} s"
    if wanted > anew:
        return Plan(None, told)
    return Plan(tried[0], told, max(LEAST, anew / 2, 2 * wanted), found=found)


def _compared(anew: float, facts: int, probe: Probe, tried: Sequence[str]) -> dict[str, int]:
    """Which of the two algorithms is faster on a few facts, as `Plan.found` says it: B/F where DRed takes much longer.
    Each is tried on one fact before, since it makes indexes the first time."""
    seconds = max(LEAST, TRY * anew)
    checking, overdeleting = ([probe(name, size, seconds) for size in (1, COMPARED)][-1] for name in tried)
    dred = overdeleting.seconds if overdeleting else float("inf")
    if checking and dred > SLIGHT and checking.seconds <= FASTER * dred:
        return {"checking_us": max(1, int(1e6 * checking.seconds))}
    doubting = _doubting(anew, facts, probe, tried[1], overdeleting) if overdeleting else {}
    return {"checking_us": 0, **doubting}


def _doubting(anew: float, facts: int, probe: Probe, name: str, found: Tried) -> dict[str, int]:
    """What DRed takes for each fact that it overdeletes, and how many these are, seen from deletions of growing size,
    the first of which found so many; the former only if enough are overdeleted. The last deletion is made again, as it
    makes indexes the first time, and as the machine may have had other work."""
    seconds, size, costs = max(LEAST, 2 * STEP * anew), COMPARED, Costs(anew, facts, 0.0)
    joining = JOINING * found.seconds
    while size < MOST and found.seconds <= STEP * anew and found.doubted < SEEN[1]:
        more = probe(name, 2 * size, seconds)
        if more is None:
            break
        size, found = 2 * size, more
    told = {"reach_milli": _reach(costs, found.doubted, size)}
    if found.doubted >= SEEN[0]:
        again = [tried.seconds for _ in range(AGAIN) if (tried := probe(name, size, seconds))]
        least = min([found.seconds, *again])
        told["doubt_ns"] = max(1, round(1e9 * max(least - joining, least / 2) / found.doubted))
    return told


def _reach(costs: Costs, doubted: int, size: int) -> int:
    """Thousandths of `Costs.reach`, if so many facts were overdeleted with so many."""
    return max(1, round(1000 * costs.met(doubted) / float(size**USUAL)))


def _costs(anew: float, sizes: Mapping[str, int], counting: bool, rewriting: bool) -> Costs:
    """What there is to foretell from. FP-update keeps no counts, and with rewriting it is hardly ever the faster one:
    most of the work is then to merge again what came apart."""
    doubt = sizes.get("doubt_ns", DOUBT_COUNTED if counting else DOUBT) / 1e9
    naive = sizes["naive_ms"] / 1000 if "naive_ms" in sizes else NAIVE * sizes.get("materialise_derived", 0)
    considered = None if counting or rewriting or not naive else naive
    overdeleting, asking = (sizes.get(key, 0) / 1e9 for key in ("overdelete_ns", "asking_ns"))
    return Costs(
        max(LEAST, anew),
        sizes["facts"],
        doubt,
        considered,
        sizes.get("reach_milli", 0) / 1e3,
        overdeleting,
        asking,
        SHRINKING_COUNTED if counting else SHRINKING,
    )


def learnt(chosen: Plan, minus: int, name: str, figures: Figures, sizes: Mapping[str, int]) -> dict[str, int]:
    """What the next version's statistics are to have of an update that `auto` chose an algorithm for, which came to be
    the one named: what B/F takes for a few facts (0: DRed is faster), what DRed takes for each overdeleted fact, how
    many these are, what overdeleting one takes, and what asking for it, and what FP-update takes to run the rules over
    the closure; as means with what was known. sizes: the statistics before."""
    found, costs = dict(chosen.found), chosen.costs
    if found.get("checking_us"):
        found["checking_us"] = _checking(found["checking_us"], figures.seconds, minus)
    if costs is None or figures.doubted < TELLING:
        return found
    doubted, phases = figures.doubted + CLASS * figures.dissolved, figures.phases
    seen = {
        "reach_milli": _reach(costs, doubted, max(1, minus)),
        "overdelete_ns": 1e9 * phases["overdelete"] / doubted,
    }
    assumed: dict[str, float] = {}
    if name != fixpoint_update.NAME:
        seen |= {"doubt_ns": 1e9 * figures.seconds / doubted, "asking_ns": 1e9 * phases["rederive"] / doubted}
        assumed = {"doubt_ns": 1e9 * costs.doubt}
    elif costs.naive is not None and costs.left(figures.doubted) > LEFT:
        seen |= {"naive_ms": 1000 * costs.naively(figures.doubted, phases["rederive"])}
        assumed = {"naive_ms": 1000 * costs.naive}
    for key, one in seen.items():
        before = found.get(key) or sizes.get(key) or assumed.get(key)
        found[key] = max(1, round((one + before) / 2 if before else one))
    return found


def given_up(chosen: Plan, minus: int) -> dict[str, int]:
    """As `learnt`, of an update for which that took longer than it may: B/F is foretold to take longer the next
    time."""
    known = chosen.found.get("checking_us")
    return {"checking_us": _checking(known, chosen.seconds, minus)} if known and chosen.seconds else {}


def _checking(known: int, seconds: float, minus: int) -> int:
    """Microseconds that B/F takes for the few facts: the mean of what was known and of what so many took."""
    now = round(1e6 * seconds * float((COMPARED / minus) ** CONCAVE))
    return max(1, (now + known) // 2)


def _anew(sizes: Mapping[str, int], counting: bool) -> float | None:
    """Seconds that computing the closure anew takes, with its commit; None: nothing is known."""
    if sizes.get("anew_ms"):
        return sizes["anew_ms"] / 1000
    if "materialise_ms" not in sizes:
        return None
    counts = COUNTING * sizes["facts"] if counting else 0.0
    return OVERHEAD + COMMITTED * sizes["materialise_ms"] / 1000 + counts


OVERHEAD, COMMITTED, COUNTING = 0.1, 1.1, 3e-6
"""What an update that computes the closure anew takes where none has been seen: seconds, and times the seconds of the
last materialisation, for reading what is asserted, comparing, and writing; seconds for each fact's count."""


def plan_rules(algorithm: str, fewer: bool, sizes: Mapping[str, int], counting: bool = False) -> Plan:
    """What maintains the closure when rules come, or also go (`fewer`); see `plan`."""
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return Plan(None, "asked for")
    if algorithm != "auto":
        return Plan(algorithm if fewer else memory.INSERTION, "asked for" if fewer else "no rule is removed")
    anew = _anew(sizes, counting)
    allowed = None if anew is None else max(LEAST, anew / 2)
    if fewer:
        tried = COUNTED if counting else TRIED
        return Plan(tried[0 if sizes.get("checking_us", 1) else 1], "rules are removed", allowed)
    return Plan(memory.INSERTION, "no rule is removed", allowed)


def check(algorithm: str, counting: bool = True) -> None:
    """Raise UsageError for an unknown algorithm, or one that needs derivation counts in a store without."""
    if algorithm not in NAMES:
        raise UsageError(f"no maintenance algorithm '{algorithm}'; give one of {', '.join(NAMES)}")
    if algorithm in memory.COUNTING and not counting:
        raise UsageError(
            f"{algorithm} needs derivation counts, which this store does not keep: "
            "let it count with `triplake materialise STORE --counting`, or choose another algorithm"
        )


def maintain(task: Task, algorithm: str = "auto", reason: str = "") -> Outcome:
    """Maintain the closure in the engine's tables: for changes that are too large for memory, or whose rules are.
    reason: why they are, if it is known."""
    change = task.change
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return rematerialise.rematerialise(task, reason or "asked for")
    if change.minus:
        return rematerialise.rematerialise(task, reason or f"{change.minus:,} asserted facts are deleted")
    if change.plus > LARGE_SHARE * change.facts:
        return rematerialise.rematerialise(task, f"{change.plus:,} new facts against a closure of {change.facts:,}")
    if obstacle := insertion.obstacle(task):
        return rematerialise.rematerialise(task, obstacle)
    return insertion.insert(task, "nothing is deleted")
