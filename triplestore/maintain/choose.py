"""Which algorithm maintains the closure: by name, or `auto`.

`auto` goes by three things that it knows of the store itself: how long computing the closure anew took the last time;
which algorithm does less work for a few of its facts, tried out once and undone; and how long that one takes for a
sample of the facts to delete, where they are many. DRed is faster where what is doubted is mostly lost, or is cheaply
found again; B/F where much is doubted and little lost. What is taken for cheaper than computing anew is begun, and
given up where it turns out not to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triplestore.errors import UsageError
from triplestore.maintain import (
    Outcome,
    Task,
    backward_forward,
    backward_forward_counting,
    dred,
    dred_counting,
    insertion,
    memory,
    rematerialise,
)

LARGE_SHARE: Final = 0.5
"""New facts as a share of the closure beyond which computing it anew is cheaper than extending it."""

MANY_DELETED: Final = 0.3
"""Deleted facts as a share of the asserted ones beyond which nothing else than computing anew is tried."""

SHARE: Final = 0.2
"""Of the time that computing anew takes, what maintenance may take before it is given up, where nothing is known of
it."""

LEAST: Final = 0.05
"""Seconds that maintenance may take in any case."""

SAMPLED: Final = 24
"""Deleted facts from which on a sample is tried out: one in so many."""

FEW: Final = 3
"""Facts on which the algorithms are compared."""

DEARER: Final = 6
"""What a derivation of B/F costs, which is mostly looked up backwards and checked in small sets, against one of
DRed's."""

SLIGHT: Final = 1_000
"""Derivations of DRed that make no difference."""

CONCAVE: Final = 0.75
"""The power of its size with which the cost of a deletion grows: sets share what they touch, and the cost of a step."""

CLEAR: Final = 0.25
"""Of the time that computing anew takes, what maintenance may be expected to take to be begun without a sample."""

TRY: Final = 0.08
"""Of the time that computing anew takes, what trying an algorithm out may take."""

NAMES: Final = ("auto", rematerialise.NAME, *memory.DELETING)
"""What `--maintain` takes."""

TRIED: Final = (backward_forward.NAME, dred.NAME)
"""The algorithms that `auto` chooses from, the first one first where nothing is known."""

COUNTED: Final = (backward_forward_counting.NAME, dred_counting.NAME)
"""The same for stores that keep derivation counts."""

Probe = Callable[[str, int, float], tuple[float, int] | None]
"""Try an algorithm out on so many of the facts to delete, for so many seconds at most, and undo it: the seconds that it
took, and its derivations; None if it took longer."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: an algorithm of `memory.ALGORITHMS` (None: compute the closure anew), why, and for how long at most.
    faster: which of `TRIED` (by number) was found to do less work, to be remembered."""

    name: str | None
    reason: str
    seconds: float | None = None
    faster: int | None = None


def plan(algorithm: str, plus: int, minus: int, sizes: Mapping[str, int], probe: Probe, counting: bool = False) -> Plan:
    """What maintains the closure when so many asserted facts come and go. sizes: a version's statistics, with
    `asserted` and `facts`. counting: derivations are counted. Raises UsageError for an unknown algorithm."""
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return Plan(None, "asked for")
    if algorithm != "auto":
        return Plan(algorithm if minus else memory.INSERTION, "asked for" if minus else "nothing is deleted")
    if minus > MANY_DELETED * sizes["asserted"] or plus > LARGE_SHARE * sizes["facts"]:
        return Plan(None, f"{minus:,} of {sizes['asserted']:,} asserted facts are deleted, {plus:,} added")
    anew, tried = _anew(sizes), COUNTED if counting else TRIED
    allowed = None if anew is None else max(LEAST, SHARE * anew)
    if not minus:
        return Plan(memory.INSERTION, "nothing is deleted", allowed)
    if anew is None or (minus < FEW and "faster" not in sizes):
        return Plan(tried[0], "few facts are deleted", allowed)
    faster = sizes["faster"] if "faster" in sizes else _compared(anew, probe, tried)
    if minus < SAMPLED:
        return Plan(tried[faster], "few facts are deleted", allowed, faster)
    if (lately := _lately(sizes, minus)) is not None and lately < CLEAR * anew:
        told = f"by the last deletions, maintaining takes {lately:.2f} s, computing anew {anew:.2f} s"
        return Plan(tried[faster], told, max(LEAST, SHARE * anew, 2 * lately), faster)
    size = minus // SAMPLED
    found = probe(tried[faster], size, TRY * anew)
    if found is None:
        return Plan(None, f"a sample of {size:,} of the facts to delete took too long")
    wanted = _foretold(found[0], size, minus)
    told = f"by a sample of {size:,}, maintaining takes {wanted:.2f} s, computing anew {anew:.2f} s"
    if wanted > anew:
        return Plan(None, told)
    return Plan(tried[faster], told, max(LEAST, SHARE * anew, min(2 * wanted, anew)), faster)


def _compared(anew: float, probe: Probe, tried: Sequence[str]) -> int:
    """Which of the two algorithms does less work for a few facts: B/F where DRed does much more. Derivations tell, not
    seconds: so it is the same on every run."""
    checking, overdeleting = (probe(name, FEW, max(LEAST, TRY * anew)) for name in tried)
    if checking is None or overdeleting is None:
        return int(checking is None)
    return int(overdeleting[1] <= DEARER * checking[1] + SLIGHT)


def _lately(sizes: Mapping[str, int], minus: int) -> float | None:
    """Seconds that so many deletions take by the last ones that were maintained; None: there are none."""
    if not sizes.get("deleted_facts"):
        return None
    return _foretold(sizes["deleted_us"] / 1_000_000, sizes["deleted_facts"], minus)


def _foretold(seconds: float, size: int, minus: int) -> float:
    """Seconds that so many deletions take, where `size` of them take `seconds`."""
    return seconds * (minus / size) ** CONCAVE


def learnt(chosen: Plan, minus: int, seconds: float) -> dict[str, int]:
    """What the statistics of the next version are to have of an update that was carried out as `auto` had chosen:
    which algorithm does less work, and what so many deletions took."""
    found = {} if chosen.faster is None else {"faster": chosen.faster}
    if minus and chosen.seconds is not None:
        found |= {"deleted_facts": minus, "deleted_us": int(1_000_000 * seconds)}
    return found


def _anew(sizes: Mapping[str, int]) -> float | None:
    """Seconds that computing the closure anew takes, with its commit; None: nothing is known."""
    if sizes.get("anew_ms"):
        return sizes["anew_ms"] / 1000
    return OVERHEAD + COMMITTED * sizes["materialise_ms"] / 1000 if "materialise_ms" in sizes else None


OVERHEAD, COMMITTED = 0.1, 1.3
"""What an update that computes the closure anew takes where none has been seen: seconds, and times the seconds of the
last materialisation, for reading what is asserted, comparing, and writing."""


def plan_rules(algorithm: str, fewer: bool, sizes: Mapping[str, int], counting: bool = False) -> Plan:
    """What maintains the closure when rules come, or also go (`fewer`); see `plan`."""
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return Plan(None, "asked for")
    if algorithm != "auto":
        return Plan(algorithm if fewer else memory.INSERTION, "asked for" if fewer else "no rule is removed")
    anew = _anew(sizes)
    allowed = None if anew is None else max(LEAST, anew / 2)
    if fewer:
        tried = COUNTED if counting else TRIED
        return Plan(tried[sizes.get("faster", 0)], "rules are removed", allowed)
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
