"""What can be reached in a directed graph that grows, by its strongly connected components.

Source: Nuutila 1995, "Efficient transitive closure computation in large digraphs": components in reverse topological
order, so that what a component reaches is known from its successors, and a successor that another one reaches already
costs nothing. Inferray (Subercaze et al. 2016) closes rdfs:subClassOf that way. Here the components of a level, which
lead to lower levels only, are done together, in arrays; and only what is in no level, since it leads into a cycle, is
searched for components one by one (Tarjan 1972). The pairs of the closure itself are never listed here: k nodes of one
component are k rows, not k².
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa

from triplestore.compile.components import components
from triplestore.engine.arrow import as_numpy, int64s
from triplestore.engine.components import connected_components
from triplestore.engine.sets import NONE, Ids, Mask, distinct, member, minus
from triplestore.materialise.thresholds import THRESHOLDS
from triplestore.model.thresholds import SIZES


class TooLargeError(Exception):
    """There are more pairs of components than are to be held in memory."""


class Reachability:
    """`nodes` in order, the `component` of each (its smallest node), and the pairs of components `low`, `high` such
    that the nodes of the latter are reached from those of the former, in one step or more. A component is paired with
    itself if there is a cycle in it. `fresh`: which of the pairs the last edges added, or are of a component that
    has more nodes since."""

    def __init__(self) -> None:
        self.nodes = self.component = self.low = self.high = NONE
        self.fresh: Mask = np.empty(0, dtype=np.bool_)
        self._a = self._b = NONE  # edges between components from which all that can be reached is reached

    def add(self, a: Ids, b: Ids) -> bool:
        """Add edges from a to b; whether more can be reached. Raises TooLargeError, then nothing is known any more."""
        nodes = distinct(np.concatenate([self.nodes, a, b]))
        size = len(nodes)

        def place(ids: Ids) -> Ids:
            found: Ids = np.searchsorted(nodes, ids)
            return found

        component = np.arange(size, dtype=np.int64)
        component[place(self.nodes)] = place(self.component)
        before = np.sort(place(self.low) * size + place(self.high))
        edges = distinct(component[place(a)] * size + component[place(b)])
        edges = minus(edges, before)
        if not len(edges):
            return False
        edges = np.concatenate([place(self._a) * size + place(self._b), edges])
        into = _strong(edges, size)
        edges = _contracted(edges, into, size)
        pairs = _closed(edges, size)
        self.nodes, self.component = nodes, nodes[into[component]]
        self._a, self._b = nodes[edges // size], nodes[edges % size]
        self.low, self.high = nodes[pairs // size], nodes[pairs % size]
        larger = np.zeros(size, dtype=np.bool_)
        larger[into[into != np.arange(size)]] = True
        self.fresh = larger[pairs // size] | larger[pairs % size] | ~member(pairs, before)
        return True


# Below, nodes are numbers less than `size`, and edges and pairs are one number each, low * size + high.


def _strong(edges: Ids, size: int) -> Ids:
    """For each node the smallest one of its strongly connected component."""
    a, b = np.divmod(edges, size)
    both = member(b * size + a, np.sort(edges)) & (a != b)  # cliques shrink before anything is done one by one
    found = connected_components(pa.table({"a": int64s(a[both]), "b": int64s(b[both])}))
    into = np.arange(size, dtype=np.int64)
    into[as_numpy(found.column(0))] = as_numpy(found.column(1))
    a, b = _ends(_contracted(edges, into, size), size)
    level = _levels(a, b, size)
    cyclic = (level[a] < 0) & (level[b] < 0)
    successors: dict[int, list[int]] = {}
    for low, high in zip(a[cyclic].tolist(), b[cyclic].tolist(), strict=True):
        successors.setdefault(low, []).append(high)
    whole = np.arange(size, dtype=np.int64)
    for members in components(successors):
        whole[members] = min(members)
    smallest: Ids = whole[into]
    return smallest


def _levels(a: Ids, b: Ids, size: int) -> Ids:
    """The level of each node of a graph without loops: the longest way from it to one without successors; -1 where it
    leads into a cycle. Raises TooLargeError where a path alone has more pairs than fit in memory."""
    level = np.full(size, -1, dtype=np.int64)
    left = np.bincount(a, minlength=size)
    order = np.argsort(b, kind="stable")
    sources, starts = a[order], np.searchsorted(b[order], np.arange(size + 1))
    done, number = np.flatnonzero(left == 0), 0
    while len(done):
        if number > math.isqrt(2 * SIZES.in_memory):
            raise TooLargeError
        level[done] = number
        before = sources[_ranges(starts[done], starts[done + 1] - starts[done])]
        np.subtract.at(left, before, 1)
        done, number = distinct(before[left[before] == 0]), number + 1
    return level


def _closed(edges: Ids, size: int) -> Ids:
    """The closure of edges that form no cycles but loops. Raises TooLargeError beyond SIZES.in_memory pairs."""
    a, b = _ends(edges, size)
    level = _levels(a, b, size)
    order = np.lexsort((-level[b], a, level[a]))
    a, b = a[order], b[order]
    firsts = _firsts(a)
    sources, successors = a[firsts], np.diff(firsts, append=len(a))
    closure = _Closure(size)
    for low, high in pairwise(np.searchsorted(level[sources], np.arange(1, level.max(initial=0) + 2)).tolist()):
        for start in range(low, high, SIZES.small):
            block = slice(start, min(start + SIZES.small, high))
            few = successors[block] <= THRESHOLDS.successors
            put = _ranges(firsts[block][few], successors[block][few])
            found = [closure.together(a[put], b[put])]
            for first, number in zip(firsts[block][~few].tolist(), successors[block][~few].tolist(), strict=True):
                found.append(closure.one(a[first], b[first : first + number]))
            closure.add(np.concatenate(found))
    return np.concatenate([closure.pairs[: closure.total], edges[edges // size == edges % size]])


class _Closure:
    """What nodes reach, as far as it is known: `total` pairs, those of a node side by side."""

    def __init__(self, size: int) -> None:
        self.size, self.total, self.pairs = size, 0, np.empty(1 << 16, dtype=np.int64)
        self._start, self._number = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self._mark = np.zeros(size, dtype=np.bool_)

    def together(self, a: Ids, b: Ids) -> Ids:
        """The pairs of nodes `a` by way of their successors `b`, of which it is known what they reach; in order."""
        reached = self.pairs[_ranges(self._start[b], self._number[b])] % self.size
        further = np.repeat(a, self._number[b]) * self.size + reached
        return distinct(np.concatenate([a * self.size + b, further]))

    def one(self, node: int, successors: Ids) -> Ids:
        """The same for one node. successors: those of a higher level first; what these reach is passed over."""
        parts = [successors]
        for successor in successors.tolist():
            if not self._mark[successor]:
                start = self._start[successor]
                parts.append(self.pairs[start : start + self._number[successor]] % self.size)
                self._mark[parts[-1]] = True
        reached = distinct(np.concatenate(parts))
        self._mark[reached] = False
        return node * self.size + reached

    def add(self, pairs: Ids) -> None:
        """Take note of all pairs of some nodes, those of a node side by side."""
        if self.total + len(pairs) > SIZES.in_memory:
            raise TooLargeError
        if self.total + len(pairs) > len(self.pairs):
            self.pairs = np.concatenate([self.pairs[: self.total], np.empty(self.total + len(pairs), dtype=np.int64)])
        self.pairs[self.total : self.total + len(pairs)] = pairs
        nodes = pairs // self.size
        firsts = _firsts(nodes)
        self._start[nodes[firsts]] = self.total + firsts
        self._number[nodes[firsts]] = np.diff(firsts, append=len(nodes))
        self.total += len(pairs)


def _ends(edges: Ids, size: int) -> tuple[Ids, Ids]:
    """From where to where edges lead, loops left out."""
    a, b = np.divmod(edges, size)
    return a[a != b], b[a != b]


def _contracted(edges: Ids, into: Ids, size: int) -> Ids:
    """Edges, distinct, after nodes became others. An edge within one is a loop."""
    return distinct(into[edges // size] * size + into[edges % size])


def _firsts(values: Ids) -> Ids:
    """Where another value begins than the one before."""
    return np.flatnonzero(np.diff(values, prepend=values[:1] - 1))


def _ranges(starts: Ids, sizes: Ids) -> Ids:
    """The numbers of several ranges, one after the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())
