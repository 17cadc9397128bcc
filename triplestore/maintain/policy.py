"""The maintenance algorithms by their names, and which one maintains the closure: by name, or `auto`.

`auto` compares work, counted in derivations, with what computing the closure from scratch derived the last time; it
measures no time. So the same change of the same store is maintained in the same way on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from triplestore.maintain import (
    Reasoning,
    backward_forward,
    backward_forward_counting,
    dred,
    dred_counting,
    rematerialise,
)
from triplestore.maintain import backward_forward as bf
from triplestore.maintain import backward_forward_counting as bfc
from triplestore.maintain import dred as dr
from triplestore.maintain import dred_counting as drc
from triplestore.maintain import fixpoint_update as fp
from triplestore.maintain.budget import Budget
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.counts import NONRECURSIVE
from triplestore.maintain.dred_by_strata import dred_by_strata
from triplestore.maintain.extend import INSERTION, extend
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.model.errors import UsageError

OVERDELETION: Final = f"{dr.NAME} or {fp.NAME}"
"""What `auto` runs: the number of overdeleted facts decides between the two."""


def _insert(run: MaintenanceContext) -> str:
    with run.phase("insert"):
        if run.counts is not None:
            run.counts.add(run.state.plus, NONRECURSIVE, 1)
        extend(run, run.state.plus)
    return INSERTION


def _overdelete_and_restore(run: MaintenanceContext) -> str:
    """DRed, or FP-update where running the rules over the kept facts is less work than checking the overdeleted ones;
    both overdelete the same."""
    with run.phase("overdelete"):
        overdeleted, dissolved = dr.overdelete(run)
    if run.budget.prefers_rules(len(overdeleted)):
        fp.restore(run, overdeleted, dissolved)
        return fp.NAME
    dr.restore(run, overdeleted, dissolved)
    return dr.NAME


ALGORITHMS: Final[dict[str, Callable[[MaintenanceContext], str]]] = {
    INSERTION: _insert,
    dr.NAME: dr.dred,
    bf.NAME: bf.backward_forward,
    fp.NAME: fp.fixpoint_update,
    drc.NAME: drc.dred_counting,
    bfc.NAME: bfc.backward_forward_counting,
    OVERDELETION: _overdelete_and_restore,
}
"""Algorithms over the closure in memory; each returns the name of the one that finished."""

DELETING: Final = tuple(name for name in ALGORITHMS if name not in (INSERTION, OVERDELETION))
"""Those that can delete, and can be chosen by name."""

COUNTING: Final = (drc.NAME, bfc.NAME)
"""Those that need derivation counts."""


def algorithm_of(name: str, before: Reasoning, now: Reasoning) -> Callable[[MaintenanceContext], str]:
    """The algorithm of this name, or what takes its place for rules that are not plain joins, before the update or
    now."""
    if before.monotone and now.monotone:
        return ALGORITHMS[name]
    negative = before.negative or now.negative

    def run(context: MaintenanceContext) -> str:
        if context.evaluator is None:
            raise NotMaintainableError("a rule has a NOT, an aggregate or an expression")
        if name == bf.NAME and not negative:
            return bf.backward_forward(context)
        found = dred_by_strata(context, deleting=name != INSERTION)
        if name in (found, INSERTION, OVERDELETION):
            return found
        return f"{name}, by DRed since rules have NOT, AGGREGATE or expressions"

    return run


NAMES: Final = ("auto", rematerialise.NAME, *DELETING)
"""What `--maintain` takes."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is known of a store: the numbers of asserted, stored and schema facts; the derivations of its last
    materialisation; the mean number of derivations of a fact, by plain joins; whether equality is by axioms; whether
    derivation counts are kept; whether rules have NOT or AGGREGATE, and whether they have expressions."""

    asserted: int
    facts: int
    schema: int
    materialise_derived: int
    derivations_per_fact: float
    axioms: bool = False
    counting: bool = False
    negative: bool = False
    expressive: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do: an algorithm of `cache.ALGORITHMS` (None: rematerialise), why, and within which budget."""

    name: str | None
    reason: str
    budget: Budget


def is_large(change: int, derived: int) -> bool:
    """Whether a change of so many asserted facts is more work than computing the closure from scratch, where the last
    materialisation has made so many derivations."""
    return THRESHOLDS.fact * change > _in_tables(derived)


def plan(algorithm: str, plus: int, minus: int, sizes: Sizes) -> Plan:
    """What maintains the closure when so many asserted facts are added and removed. Raises UsageError for an unknown
    algorithm."""
    if algorithm != "auto":
        return _named(algorithm, minus > 0, "nothing is deleted")
    scratch = _scratch(sizes)
    inserted = plus * (sizes.facts / sizes.asserted if sizes.asserted else 1.0)
    if THRESHOLDS.fact * max(minus, inserted) > scratch:
        return Plan(None, f"{minus:,} of {sizes.asserted:,} asserted facts are deleted, {plus:,} added", Budget())
    few = minus * THRESHOLDS.fact * THRESHOLDS.sample <= sizes.facts
    return _chosen(minus > 0, "nothing is deleted", sizes, few)


def plan_rules(algorithm: str, fewer: bool, sizes: Sizes) -> Plan:
    """What maintains the closure when rules are added, or also removed (`fewer`); see `plan`."""
    if algorithm != "auto":
        return _named(algorithm, fewer, "no rule is removed")
    return _chosen(fewer, "no rule is removed", sizes)


def _named(algorithm: str, deleting: bool, otherwise: str) -> Plan:
    check(algorithm)
    if algorithm == rematerialise.NAME:
        return Plan(None, "asked for", Budget())
    return Plan(algorithm, "asked for", Budget()) if deleting else Plan(INSERTION, otherwise, Budget())


def _chosen(deleting: bool, otherwise: str, sizes: Sizes, few: bool = False) -> Plan:
    """B/F where making derivations is most of the work of DRed, which makes those that use an overdeleted fact; a fact
    is used by about twice as many as derive it, most bodies having two atoms. B/F avoids them by searches. Not with
    equality by axioms: there most derivations of a fact are by copies of it under equal names, which go with it. A
    derivation by an expression is a look-up of what it makes, of which B/F needs fewer for a few deletions: it checks
    some facts for each, DRed never more than there are. With NOT there is DRed alone.
    """
    derivations, scratch = sizes.derivations_per_fact, _scratch(sizes)
    if not deleting:
        return Plan(INSERTION, otherwise, Budget(scratch, THRESHOLDS.fact, THRESHOLDS.sample))
    many = (2 * derivations > THRESHOLDS.fact or (sizes.expressive and few)) and not sizes.axioms
    if sizes.negative:
        name = dred.NAME
    elif sizes.counting:
        name = backward_forward_counting.NAME if many else dred_counting.NAME
    else:
        name = backward_forward.NAME if many else OVERDELETION
    rules = derivations if name == OVERDELETION else None
    budget = Budget(scratch, THRESHOLDS.fact, THRESHOLDS.sample, rules, sizes.facts)
    if not many:
        most = budget.work(2 * max(int(derivations * sizes.facts), sizes.materialise_derived), sizes.facts)
        budget = replace(budget, most=most)
    why = f"a fact has {derivations:.1f} derivations"
    if sizes.negative or sizes.expressive:
        why = "rules have NOT or AGGREGATE" if sizes.negative else "rules have expressions"
    reason = f"{why}; computing the closure from scratch is {scratch:,} units of work"
    return Plan(name, reason, budget)


def _scratch(sizes: Sizes) -> int:
    """The work of computing the closure from scratch; counts are made in memory, derivation by derivation."""
    counts = int(sizes.derivations_per_fact * sizes.facts) if sizes.counting else 0
    return _in_tables(sizes.materialise_derived) + THRESHOLDS.schema * sizes.schema + counts


def _in_tables(derived: int) -> int:
    """The work of computing a closure in tables, by so many derivations."""
    return THRESHOLDS.scratch + derived // THRESHOLDS.share


def check(algorithm: str, counting: bool = True) -> None:
    """Raise UsageError for an unknown algorithm, or one that needs derivation counts in a store without."""
    if algorithm not in NAMES:
        raise UsageError(f"no maintenance algorithm '{algorithm}'; give one of {', '.join(NAMES)}")
    if algorithm in COUNTING and not counting:
        raise UsageError(
            f"{algorithm} needs derivation counts, which this store does not keep: "
            "let it count with `triplake materialise STORE --counting`, or choose another algorithm"
        )
