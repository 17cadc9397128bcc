"""Joins with a transitive relation, by its strongly connected components instead of its facts.

Where S is transitive, and T(x, z) :- T(x, y), S(y, z) for T = S or another T (cax-sco with rdfs:subClassOf), evaluation
fact by fact finds each T(x, z) once for every y on the way: k³ derivations for the k² facts of a class whose k members
are all related, as `scm-hv` makes them of k restrictions to one value. Here S is known by what its components reach
(`triplestore.materialise.reachability`), an x by the components that it has, and only facts are derived.

That is for relations that are large, in runs from scratch: one of few facts is as well joined, and a small change to a
closure must not read all of it. Rules, and what they derive, are the same; derivations are counted as they are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from triplestore.compile.plan import K, Pattern, Read, Row, Shape, V
from triplestore.compile.sql import select_reached
from triplestore.engine.arrow import as_numpy, int64s
from triplestore.materialise.facts import Facts
from triplestore.materialise.reachability import Ids, Reachability, TooLargeError, mutual_share
from triplestore.materialise.statements import instances
from triplestore.terms import SAME_AS, TYPE

CHAIN: Final = Shape(
    (Pattern(V(0), K(0), V(1)), Pattern(V(1), K(1), V(2))),
    (),
    (V(0), K(2), V(2)),
)
"""T(x, z) :- R(x, y), S(y, z)."""

LARGEST: Final = 10_000_000
"""Facts of a relation up to which its components are looked for: they are held in memory."""


MUTUAL: Final = 0.01
"""The share of a relation's facts that must hold the other way round, too: without cycles joins derive little twice."""


class Transitive:
    """The transitive relations of a run that are known by their components, in working tables `component` (relation,
    node, component) and `reached` (relation, low, high). large: facts of a relation from which that is done, if
    there are enough of them in cycles; a long cycle is seen once a round or two have been joined."""

    def __init__(self, facts: Facts, large: int) -> None:
        self.engine, self.facts, self.large = facts.engine, facts, max(large, 1)
        self._mutual = MUTUAL if large > 1 else 0.0  # where every relation is large, each is looked at
        self._known: dict[int, Reachability] = {}
        self._given_up: set[int] = set()
        self._rewrites = 0

    def statements(self, rows: Sequence[Row], come: set[Row]) -> tuple[set[Row], list[tuple[str, str]]]:
        """The instances of CHAIN, of those given, that are evaluated here, and (which of their matches, SQL) of the
        statements that find something this round. come: the instances that are new."""
        grown = self._grow(row[1] for row in rows if self._transitive(row))
        here = [row for row in rows if row[1] in self._known and row[0] == row[2]]
        anew = [row for row in here if row[1] in grown or row in come]
        more = [row for row in here if row not in anew and row[0] != row[1] and self._touched(row)]
        if grown:
            self._tabulate()
        found = []
        for what, some, read in (("components", anew, Read.ALL), ("components, atom 0", more, Read.DELTA)):
            if some:
                source = instances(self.engine, CHAIN, some, f"reached_{read.value}")
                found.append((what, select_reached(self.facts.scan(CHAIN.body[0], read), source)))
        return set(here), found

    def _transitive(self, row: Row) -> bool:
        return len(set(row)) == 1 and row[1] not in (TYPE, SAME_AS) and row[1] not in self._given_up

    def _touched(self, row: Row) -> bool:
        pattern = CHAIN.body[0]
        assert isinstance(pattern, Pattern)
        return self.facts.touched(pattern, row)

    def _grow(self, relations: Iterator[int]) -> set[int]:
        """Bring what is known up to date with the delta; the relations that reach more than before."""
        if self._rewrites != self.facts.rewrites:  # nodes are others now
            self._rewrites = self.facts.rewrites
            old, self._known = set(self._known), {}
        else:
            old = set()
        grown = set()
        for relation in relations:
            known = self._known.get(relation)
            fresh = self.facts.sizes.get((relation, -1), 0)
            size = self.facts.held[relation] + fresh
            if known is None and (self.facts.resumed or (size < self.large and relation not in old)):
                continue
            if known is not None and not fresh:
                continue
            try:
                if size > LARGEST:
                    raise TooLargeError
                if self._add(relation, known):
                    grown.add(relation)
            except TooLargeError:
                self._given_up.add(relation)
                self._known.pop(relation, None)
        return grown

    def _add(self, relation: int, known: Reachability | None) -> bool:
        graph = known or Reachability()
        tables = ("delta",) if known else ("fact", "delta") if self.facts.old else ("delta",)
        selects = (f"SELECT s, o FROM {table} WHERE p = {relation}" for table in tables)
        edges = self.engine.query(" UNION ALL ".join(selects))
        a, b = as_numpy(edges.column(0)), as_numpy(edges.column(1))
        if known is None and mutual_share(a, b) < self._mutual:
            return False
        more = graph.add(a, b)
        self._known[relation] = graph
        return more

    def _tabulate(self) -> None:
        graphs = self._known.values()
        self._load(
            "component",
            [g.nodes for g in graphs],
            node=[g.nodes for g in graphs],
            component=[g.component for g in graphs],
        )
        self._load("reached", [g.low for g in graphs], low=[g.low for g in graphs], high=[g.high for g in graphs])

    def _load(self, table: str, sized: Sequence[Ids], **columns: Sequence[Ids]) -> None:
        """Make a table of what is known of each relation; `sized` has as many rows."""
        relations = np.repeat(np.fromiter(self._known, np.int64), [len(part) for part in sized])
        made = {"relation": relations, **{name: np.concatenate(parts) for name, parts in columns.items()}}
        self.engine.load(table, pa.table({name: int64s(column) for name, column in made.items()}))
