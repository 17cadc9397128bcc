"""The order in which the triple patterns of a basic graph pattern are joined, by what is known of the closure.

Each pattern's matches, and the rows of joining them, are estimated from counts of predicates and classes as Selinger
et al. 1979 ("Access path selection in a relational database management system") do: a join over a variable keeps one
row in as many as the side with more distinct values has. Greedy: from every pattern the next is the connected one that
leaves fewest rows; of these orders the one with the fewest rows in all its steps (Moerkotte 2003, the cost C_out).
Where there are many patterns, only those with the fewest matches are tried first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triplake.sparql.algebra import Triple
from triplestore.model.expression import Constant, Variable
from triplestore.model.stopping import check
from triplestore.storage.statistics import Statistics

RANKS: Final = 100_000
"""How often a pattern may be compared with others for its place: about as many microseconds."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A triple pattern in its place. matches: of the pattern alone, rows: of the join up to it; both estimated."""

    triple: Triple
    matches: float
    rows: float


@dataclass(frozen=True, slots=True)
class _Estimate:
    """rows: how many; distinct: of how many values, for each variable."""

    rows: float
    distinct: Mapping[str, float]

    def rows_joined(self, other: _Estimate) -> float:
        """How many rows a join has."""
        rows = self.rows * other.rows
        for name in self.distinct.keys() & other.distinct.keys():
            rows /= max(self.distinct[name], other.distinct[name], 1.0)
        return rows

    def joined(self, other: _Estimate) -> _Estimate:
        rows = self.rows_joined(other)
        distinct = {**self.distinct, **other.distinct}
        for name in self.distinct.keys() & other.distinct.keys():
            distinct[name] = min(self.distinct[name], other.distinct[name])
        return _Estimate(rows, {name: min(number, max(rows, 1.0)) for name, number in distinct.items()})


def planned(triples: Sequence[Triple], ids: Mapping[str, int], known: Statistics) -> list[Planned]:
    """The patterns in the order in which to join them. ids: what the closure has for the constants."""
    alone = {triple: _matches(triple, ids, known) for triple in triples}
    starts = sorted(alone, key=lambda triple: alone[triple].rows)[: max(1, RANKS // (len(alone) ** 2 or 1))]
    orders = [_greedy(first, triples, alone) for first in starts]
    return min(orders, key=lambda order: sum(step.rows for step in order), default=[])


def _matches(triple: Triple, ids: Mapping[str, int], known: Statistics) -> _Estimate:
    s, p, o = triple
    number = ids[p.token] if isinstance(p, Constant) else None
    counts = known.of(number, ids[o.token] if isinstance(o, Constant) else None)
    rows = counts.facts
    if isinstance(s, Constant):
        rows /= max(counts.subjects, 1.0)
    if isinstance(o, Constant):
        rows /= max(counts.objects, 1.0)
    distinct: dict[str, float] = {}
    sizes = (counts.subjects, float(max(len(known.predicates), 1)), counts.objects)
    for term, size in zip(triple, sizes, strict=True):
        if isinstance(term, Variable):
            distinct[term.name] = min(distinct.get(term.name, size), size, max(rows, 1.0))
    return _Estimate(rows, distinct)


def _greedy(first: Triple, triples: Sequence[Triple], alone: Mapping[Triple, _Estimate]) -> list[Planned]:
    found, now = [Planned(first, alone[first].rows, alone[first].rows)], alone[first]
    left = [triple for triple in triples if triple != first]

    def rank(triple: Triple) -> tuple[bool, float, float]:
        connected = bool(now.distinct.keys() & alone[triple].distinct.keys())
        return not connected, now.rows_joined(alone[triple]), alone[triple].rows

    while left:
        check()
        best = min(left, key=rank)
        left.remove(best)
        now = now.joined(alone[best])
        found.append(Planned(best, alone[best].rows, now.rows))
    return found
