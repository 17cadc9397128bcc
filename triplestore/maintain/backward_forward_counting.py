"""B/F^c: B/F with derivation counts (Hu, Motik and Horrocks 2018, algorithm 3), for facts and axioms.

A fact with a nonrecursive derivation left is proved without a search, and others are searched for recursive derivations
only. So that the nonrecursive counts are final when they are asked, doubts are looked into stratum by stratum; what is
left of the strata below is given. Departure: C, P and Y are kept from one stratum to the next.
"""

from __future__ import annotations

from triplestore.compile.dependency import Node
from triplestore.maintain.backward_forward import Search, seeds
from triplestore.maintain.counts import NONRECURSIVE
from triplestore.maintain.dred_counting import counts_of, dred_counting
from triplestore.maintain.extend import extend
from triplestore.maintain.join import Rules
from triplestore.maintain.keys import Ids, minus, union
from triplestore.maintain.run import Run

NAME = "backward-forward-counting"


def backward_forward_counting(run: Run) -> str:
    """Bring the closure and its counts up to date with the asserted facts that went and came; the name of what did
    it."""
    working, counts = run.working, counts_of(run)
    if len(working.minus) or run.rules_changed:
        with run.phase("doubt"):
            doubted = seeds(run)
        if doubted is None:
            run.program = run.before
            dred_counting(run)
            return f"{NAME}, by DRed with counting since the rules may change with the data"
        counts.add(working.minus, NONRECURSIVE, -1)
        search = _Search(run, *doubted)
        search.delete()
        with run.phase("apply"):
            search.apply()
    with run.phase("insert"):
        counts.add(working.plus, NONRECURSIVE, 1)
        extend(run, working.plus)
    return NAME


class _Search(Search):
    """`stratum`: the one that is looked into."""

    def __init__(self, run: Run, gone: Ids, nodes: set[Node] | None) -> None:
        super().__init__(run, gone, nodes)
        assert run.program.recursion is not None
        self.counts, self.recursion, self.stratum = counts_of(run), run.program.recursion, 0
        self.rules = Rules.recursive(run.program.rules)

    def delete(self) -> None:
        """Lines 57-69, all strata."""
        run, waiting = self.run, self._doubts(self.gone)[0]
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
                    heads = run.forward(run.program.rules, bad, self.working.facts, self.processed, figures, times=-1)
                    self.processed = union(self.processed, bad)
                    waiting = union(waiting, self._doubts(heads)[0])
        self._note()

    @property
    def _useless(self) -> Ids:
        return union(self.disproved, self.processed)

    def _given(self, facts: Ids) -> Ids:
        """Lines 79-80: facts with a nonrecursive derivation; and those of lower strata that are left."""
        if not len(facts):
            return facts
        left = minus(facts, self.processed)
        below = self.recursion.of(self.run.layout, left) < self.stratum
        counted = self.counts.of(facts)[NONRECURSIVE] > 0
        return union(facts[counted], left[below])
