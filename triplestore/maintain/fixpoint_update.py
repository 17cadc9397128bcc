"""FP-update: facts and axioms are deleted alike (Kotowski, Bry and Brodt 2011, "Reasoning as Axioms Change").

A program is its rules and its base facts. Removed rule instances and facts make their consequences unsure (the paper's
U, `overdeleted` in the figures): the heads over the old fixpoint, which is complete, then all facts derived by one of
those. The others are `kept` (K); the semi-naive fixpoint of the new program over the kept facts restores the facts that
are otherwise `supported` (O).

Overdeletion is that of `triplestore.maintain.dred`, which is this one: over the old fixpoint, seeded by the removed
instances. What differs is the step to O: the paper's is naive, all that the new program derives from K at once; here
its part that lies in U.
"""

from __future__ import annotations

import numpy as np

from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.dred import dissolve, overdelete, rederived
from triplestore.maintain.extend import extend
from triplestore.maintain.keys import NONE, Ids, union

NAME = "fixpoint-update"


def fixpoint_update(run: MaintenanceContext) -> str:
    """Bring the closure up to date with the asserted facts that were removed and added (`run.state.minus`, `plus`);
    returns the algorithm's name."""
    with run.phase("overdelete"):
        unsure, dissolved = overdelete(run)
    restore(run, unsure, dissolved)
    return NAME


def restore(run: MaintenanceContext, unsure: Ids, dissolved: Ids) -> None:
    """The steps after overdeletion: what the new program derives from the kept facts, and the fixpoint."""
    run.deletion_done(len(unsure))
    with run.phase("rederive"):
        back = dissolve(run, unsure, dissolved)
        back = rederived(run, unsure, union(back, consequences(run, unsure)))
    with run.phase("insert"):
        extend(run, union(back, run.state.plus))
    run.note("supported", unsure[run.state.facts.contains(unsure)])


def consequences(run: MaintenanceContext, unsure: Ids) -> Ids:
    """The unsure facts that the new program derives from the kept ones: T(K), naively, once."""
    run.note("kept", run.state.facts)
    if not len(unsure):
        return NONE
    with run.round(len(run.state.facts)) as figures:
        return np.intersect1d(run.heads_of(run.program.rules, run.state.facts, figures), unsure)
