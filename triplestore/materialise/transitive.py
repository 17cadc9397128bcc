"""Joins with a transitive relation, by its strongly connected components instead of its facts.

Where S is transitive, and T(x, z) :- T(x, y), S(y, z) for T = S or another T (cax-sco with rdfs:subClassOf), evaluation
fact by fact finds each T(x, z) once for every y on the way: in a tree of classes several times the facts, and k³ times
for the k² facts of a class whose k members are all related, as `scm-hv` makes them of k restrictions to one value. Here
S is known by what its components reach (`triplestore.materialise.reachability`), an x by the components that it has,
and only facts are derived.

They join the delta before a round reads it. So of each delta only what other rules have derived is looked at, and
`fact` is closed under these instances at all times.

That is for relations that are large, in runs from scratch: one of few facts is as well joined, and a small change to a
closure must not read all of it. Rules, and what they derive, are the same; of their derivations the new facts count.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from triplestore.compile.plan import K, Pattern, Read, Row, Shape, V
from triplestore.compile.sql import Reached, select_closure, select_reached
from triplestore.engine.arrow import as_numpy, int64s
from triplestore.engine.sets import Ids
from triplestore.engine.sql import Scratch
from triplestore.materialise.facts import Facts
from triplestore.materialise.figures import ShapeFigures
from triplestore.materialise.reachability import Reachability, TooLargeError
from triplestore.materialise.statements import instances
from triplestore.model.terms import SAME_AS, TYPE
from triplestore.model.thresholds import SIZES

CHAIN: Final = Shape(
    (Pattern(V(0), K(0), V(1)), Pattern(V(1), K(1), V(2))),
    (),
    (V(0), K(2), V(2)),
)
"""T(x, z) :- R(x, y), S(y, z)."""


class Transitive:
    """The transitive relations of a run that are known by their components, in the working tables of `Reached`. large:
    facts of a relation from which that is done.

    The invariant: under the instances that are `_closed`, `fact` is closed. returned: instances that are left to joins
    after all, which have to look at everything.
    """

    def __init__(self, facts: Facts, large: int) -> None:
        self.engine, self.facts, self.large = facts.engine, facts, max(large, 1)
        self._known: dict[int, Reachability] = {}
        self._taken: set[Row] = set()
        self._closed: set[Row] = set()
        self.returned: set[Row] = set()
        self._abandoned: set[int] = set()
        self._scratch = Scratch(facts.engine)
        self._reached = Reached(facts.scratch.table("component"), facts.scratch.table("reached"))
        self._reachable = facts.scratch.table("reachable")
        self._rewrites = 0

    def take(self, rows: Sequence[Row]) -> tuple[list[Row], set[Row]]:
        """Of instances of CHAIN, take those that are evaluated here, from the next round on: by then the rules have
        made of the given facts what they make in one step. The rest, and which of these were `returned`."""
        if not self.facts.resumed:
            large = {row[1] for row in rows if self._transitive(row) and self._size(row[1]) >= self.large}
            self._taken |= {row for row in rows if row[1] in large and row[0] == row[2] != SAME_AS}
        returned, self.returned = self.returned, set()
        return [row for row in rows if row not in self._taken], returned

    def extend(self, rows: Collection[Row]) -> list[ShapeFigures]:
        """Add to the delta what the instances taken, of the program's `rows`, derive from it; the figures."""
        late, self.facts.late = self.facts.late, []
        figures: list[ShapeFigures] = []
        here = [row for row in rows if row in self._taken]
        if not here:
            return figures
        if self._rewrites != self.facts.rewrites:  # nodes are others now
            self._rewrites = self.facts.rewrites
            self._known, self._closed = {}, set()
        while True:
            started = time.perf_counter()
            grown = self._grow({row[1] for row in here}, late)
            here = [row for row in here if row in self._taken]
            selects, apart = self._selects(here, grown, late)
            self._closed.update(here)
            if not selects:
                return figures
            added = self.facts.extend_by((" UNION ALL " if apart else " UNION ").join(selects), self._reachable)
            figures.append(ShapeFigures(str(CHAIN), "components", added, time.perf_counter() - started))
            if added:
                self.facts.summarise()
            if not added or len({row[0] for row in here}) == len(here):  # what one derives is not for another
                return figures

    def _transitive(self, row: Row) -> bool:
        return len(set(row)) == 1 and row[1] not in (TYPE, SAME_AS) and row[1] not in self._abandoned

    def _size(self, relation: int) -> int:
        return self.facts.held[relation] + self.facts.sizes.get((relation, -1), 0)

    def _selects(self, rows: Sequence[Row], grown: set[int], late: Sequence[str]) -> tuple[list[str], bool]:
        """What finds the facts that are missing, and whether no two of these find the same."""
        self._scratch.clear()  # the statements of the last time have run
        new = [row for row in rows if row not in self._closed]
        more = [row for row in rows if row in self._closed and row[1] in grown]
        touched = [row for row in rows if row in self._closed and row[0] != row[1] and (late or self._touched(row))]
        selects = [
            select_closure([row[1] for row in some if row[0] == row[1]], self._reached, fresh)
            for some, fresh in ((new, False), (more, True))
            if any(row[0] == row[1] for row in some)
        ]
        delta = " UNION ALL ".join(f"SELECT s, p, o FROM {table}" for table in ("delta", *late))
        everything = self.facts.scan(CHAIN.body[0], Read.ALL)
        for some, scan, fresh in ((new, everything, False), (more, everything, True), (touched, f"({delta})", False)):
            if others := [row for row in some if row[0] != row[1]]:
                selects.append(select_reached(scan, instances(self._scratch, others), self._reached, fresh))
        return selects, len({row[0] for row in rows}) == len(rows) and not set(more) & set(touched)

    def _touched(self, row: Row) -> bool:
        pattern = CHAIN.body[0]
        assert isinstance(pattern, Pattern)
        return self.facts.touched(pattern, row)

    def _grow(self, relations: Collection[int], late: Sequence[str]) -> set[int]:
        """Bring what is known up to date with the delta; the relations that reach more than before."""
        grown = set()
        for relation in relations:
            known = relation in self._known
            if known and not late and not self.facts.sizes.get((relation, -1)):
                continue
            try:
                if self._size(relation) > SIZES.in_memory:
                    raise TooLargeError
                graph = self._known.setdefault(relation, Reachability())
                a, b = self._edges(relation, ("delta", *late) if known else ("fact", "delta"))
                if graph.add(a, b):
                    grown.add(relation)
            except TooLargeError:
                self._abandon(relation)
        if self._known and (grown or not self._closed):
            self._tabulate()
        return grown

    def _edges(self, relation: int, tables: Sequence[str]) -> tuple[Ids, Ids]:
        selects = (f"SELECT s, o FROM {table} WHERE p = {relation}" for table in tables)
        found = self.engine.query(" UNION ALL ".join(selects))
        return as_numpy(found.column(0)), as_numpy(found.column(1))

    def _abandon(self, relation: int) -> None:
        """Leave the instances over a relation to joins."""
        self._known.pop(relation, None)
        self._abandoned.add(relation)
        self.returned |= {row for row in self._taken if row[1] == relation}
        self._taken -= self.returned
        self._closed -= self.returned

    def _tabulate(self) -> None:
        graphs = self._known.values()
        self._load(
            self._reached.component,
            [g.nodes for g in graphs],
            node=[g.nodes for g in graphs],
            component=[g.component for g in graphs],
        )
        self._load(
            self._reached.reached,
            [g.low for g in graphs],
            low=[g.low for g in graphs],
            high=[g.high for g in graphs],
            fresh=[g.fresh.astype(np.int64) for g in graphs],
        )

    def _load(self, table: str, sized: Sequence[Ids], **columns: Sequence[Ids]) -> None:
        """Make a table of what is known of each relation; `sized` has as many rows."""
        relations = np.repeat(np.fromiter(self._known, np.int64), [len(part) for part in sized])
        made = {"relation": relations, **{name: np.concatenate(parts) for name, parts in columns.items()}}
        self.engine.load(table, pa.table({name: int64s(column) for name, column in made.items()}))
