"""The maintenance algorithms over the closure in memory, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.maintain import Reasoning
from triplestore.maintain import backward_forward as bf
from triplestore.maintain import backward_forward_counting as bfc
from triplestore.maintain import dred as dr
from triplestore.maintain import dred_counting as drc
from triplestore.maintain import fixpoint_update as fp
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.counts import NONRECURSIVE
from triplestore.maintain.dred_by_strata import dred_by_strata
from triplestore.maintain.extend import INSERTION, extend
from triplestore.maintain.program import NotMaintainableError

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
