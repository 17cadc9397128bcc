"""B/F^c: B/F with derivation counts (Hu, Motik and Horrocks 2018, algorithm 3), for facts and axioms.

A fact with a nonrecursive derivation left is proved without a search, and others are searched for recursive derivations
only. Doubtful facts are checked stratum by stratum, so that nonrecursive counts are final when they are read; kept
facts of lower strata are given. Departure: C, P and Y are kept from one stratum to the next.
"""

from __future__ import annotations

from triplestore.compile.dependency import Node
from triplestore.maintain.backward_forward import Search, seeds
from triplestore.maintain.context import MaintenanceContext
from triplestore.maintain.counts import NONRECURSIVE
from triplestore.maintain.dred_counting import counts_of, dred_counting
from triplestore.maintain.extend import extend
from triplestore.maintain.join import Rules
from triplestore.maintain.keys import Ids, minus, union

NAME = "backward-forward-counting"


def backward_forward_counting(run: MaintenanceContext) -> str:
    """Bring the closure and its counts up to date with the asserted facts that were removed and added; returns the name
    of the algorithm."""
    state, counts = run.state, counts_of(run)
    if len(state.minus) or run.rules_changed:
        with run.phase("doubt"):
            doubted = seeds(run)
        if doubted is None:
            run.program = run.before
            dred_counting(run)
            return f"{NAME}, by DRed with counting since the rules may change with the data"
        counts.add(state.minus, NONRECURSIVE, -1)
        search = _Search(run, *doubted)
        search.delete()
        with run.phase("apply"):
            search.apply()
    with run.phase("insert"):
        run.deletion_done()
        counts.add(state.plus, NONRECURSIVE, 1)
        extend(run, state.plus)
    return NAME


class _Search(Search):
    """`stratum`: the one that is checked."""

    def __init__(self, run: MaintenanceContext, removed: Ids, nodes: set[Node] | None) -> None:
        super().__init__(run, removed, nodes)
        assert run.program.recursion is not None
        self.counts, self.recursion, self.stratum = counts_of(run), run.program.recursion, 0
        self.rules = Rules.recursive(run.program.rules)

    def delete(self) -> None:
        """Lines 57-69, all strata."""
        run, waiting = self.run, self._doubts(self.removed)[0]
        while len(waiting):
            strata = self.recursion.of(run.layout, waiting)
            self.stratum = int(strata.min())
            facts, waiting = waiting[strata == self.stratum], waiting[strata > self.stratum]
            self.doubted = union(self.doubted, facts)
            with run.round(len(facts)) as figures:
                with run.phase("check"):
                    self._check(facts, facts[:0], figures)
                bad = facts[~self._wholly(facts)]
                with run.phase("doubt"):
                    heads = run.forward(run.program.rules, bad, self.state.facts, self.processed, figures, times=-1)
                    self.processed = union(self.processed, bad)
                    waiting = union(waiting, self._doubts(heads)[0])
        self._note()

    @property
    def _useless(self) -> Ids:
        return union(self.disproved, self.processed)

    def _given(self, facts: Ids) -> Ids:
        """Lines 79-80: facts with a nonrecursive derivation, and kept facts of lower strata."""
        if not len(facts):
            return facts
        left = minus(facts, self.processed)
        below = self.recursion.of(self.run.layout, left) < self.stratum
        counted = self.counts.of(facts)[NONRECURSIVE] > 0
        return union(facts[counted], left[below])
