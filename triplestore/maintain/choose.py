"""Which algorithm maintains the closure: by name, or `auto`.

`auto` bounds its regret. A change that is small against the store is maintained in memory, by B/F if it deletes; where
that has taken a share of what the last materialisation took, it is given up, and the closure is computed anew: never
much slower than computing it anew at once. The store keeps the figures of its last materialisation for this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from triplestore.errors import UsageError
from triplestore.maintain import Outcome, Task, backward_forward, insertion, memory, rematerialise

LARGE_SHARE: Final = 0.5
"""New facts as a share of the closure beyond which computing it anew is cheaper than extending it."""

MANY_DELETED: Final = 0.3
"""Deleted facts as a share of the asserted ones beyond which nothing else than computing anew is tried."""

SHARE: Final = 0.2
"""Of the time of a materialisation, what maintenance may take before it is given up."""

LEAST: Final = 0.25
"""Seconds that maintenance may take in any case: a materialisation that is as fast has other costs."""

NAMES: Final = ("auto", rematerialise.NAME, *memory.DELETING)
"""What `--maintain` takes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: an algorithm of `memory.ALGORITHMS` (None: compute the closure anew), why, and for how long at
    most."""

    name: str | None
    reason: str
    seconds: float | None = None


def plan(algorithm: str, plus: int, minus: int, sizes: Mapping[str, int]) -> Plan:
    """What maintains the closure when so many asserted facts come and go. sizes: a version's statistics, with
    `asserted` and `facts`. Raises UsageError for an unknown algorithm."""
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return Plan(None, "asked for")
    if algorithm != "auto":
        return Plan(algorithm if minus else memory.INSERTION, "asked for" if minus else "nothing is deleted")
    if minus > MANY_DELETED * sizes["asserted"] or plus > LARGE_SHARE * sizes["facts"]:
        return Plan(None, f"{minus:,} of {sizes['asserted']:,} asserted facts are deleted, {plus:,} added")
    if minus:
        return Plan(backward_forward.NAME, "few facts are deleted", _allowed(sizes))
    return Plan(memory.INSERTION, "nothing is deleted", _allowed(sizes))


def _allowed(sizes: Mapping[str, int]) -> float | None:
    """Seconds that maintenance may take; None: any, since nothing is known."""
    return max(LEAST, SHARE * sizes["materialise_ms"] / 1000) if "materialise_ms" in sizes else None


def plan_rules(algorithm: str, fewer: bool, sizes: Mapping[str, int]) -> Plan:
    """What maintains the closure when rules come, or also go (`fewer`); see `plan`."""
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return Plan(None, "asked for")
    if algorithm != "auto":
        return Plan(algorithm if fewer else memory.INSERTION, "asked for" if fewer else "no rule is removed")
    if fewer:
        return Plan(backward_forward.NAME, "rules are removed", _allowed(sizes))
    return Plan(memory.INSERTION, "no rule is removed", _allowed(sizes))


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
