"""What can be reached in a directed graph that grows, by its strongly connected components.

Source: Nuutila 1995, "Efficient transitive closure computation in large digraphs": Tarjan's algorithm finds components
in reverse topological order, so that what a component reaches is known from its successors as soon as it is complete,
and a successor that another one reaches already costs nothing. Inferray (Subercaze et al. 2016) closes rdfs:subClassOf
that way. The pairs of the closure itself are never listed here: k nodes of one component are k rows, not k².
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplestore.compile.components import components
from triplestore.engine.arrow import as_numpy, int64s
from triplestore.engine.components import connected_components

Ids = npt.NDArray[np.int64]
NONE: Ids = np.empty(0, dtype=np.int64)


MOST: Final = 30_000_000
"""Pairs of components that are held."""


class TooLargeError(Exception):
    """There are more pairs of components than are to be held in memory."""


class Reachability:
    """`nodes` in order, the `component` of each (its smallest node), and the pairs of components `low`, `high` such
    that the nodes of the latter are reached from those of the former, in one step or more. A component is paired with
    itself if there is a cycle in it."""

    def __init__(self) -> None:
        self.nodes = self.component = self.low = self.high = NONE
        self._a = self._b = NONE  # edges between components from which all that can be reached is reached

    def add(self, a: Ids, b: Ids) -> bool:
        """Add edges from a to b; whether more can be reached. Raises TooLargeError, then nothing is known any more."""
        nodes = np.union1d(self.nodes, np.concatenate([a, b]))
        component = nodes.copy()
        component[np.searchsorted(nodes, self.nodes)] = self.component
        a, b = (component[np.searchsorted(nodes, end)] for end in (a, b))
        key = np.unique(_pairs(nodes, a, b))
        key = key[~np.isin(key, _pairs(nodes, self.low, self.high))]
        if not len(key):
            return False
        a, b = nodes[key // len(nodes)], nodes[key % len(nodes)]
        a, b = np.concatenate([self._a, a]), np.concatenate([self._b, b])
        mutual = _mutual(nodes, a, b)  # cliques shrink before anything is done one by one
        component, a, b = _contracted(nodes, component, mutual, a, b)
        whole, reached = _closed(nodes, a, b)
        component, self._a, self._b = _contracted(nodes, component, whole, a, b)
        self.nodes, self.component = nodes, component
        sizes = [len(each) for each in reached.values()]
        self.low = np.repeat(np.fromiter(reached, np.int64, len(reached)), sizes)
        self.high = np.concatenate(list(reached.values())) if reached else NONE
        return True


def _pairs(nodes: Ids, a: Ids, b: Ids) -> Ids:
    """Pairs of nodes as one number each."""
    return np.searchsorted(nodes, a) * len(nodes) + np.searchsorted(nodes, b)


def mutual_share(a: Ids, b: Ids) -> float:
    """The share of the edges from a to b, no loops, that have one back: in a graph without cycles none has."""
    apart = a != b
    if not apart.any():
        return 0.0
    a, b = a[apart], b[apart]
    nodes = np.union1d(a, b)
    return float(np.isin(_pairs(nodes, a, b), _pairs(nodes, b, a), kind="sort").mean())


def _mutual(nodes: Ids, a: Ids, b: Ids) -> Mapping[int, int]:
    """For nodes with edges to each other, directly or through more such nodes: the smallest of them."""
    both = np.isin(_pairs(nodes, a, b), _pairs(nodes, b, a)) & (a != b)
    found = connected_components(pa.table({"a": int64s(a[both]), "b": int64s(b[both])}))
    return dict(zip(as_numpy(found.column(0)).tolist(), as_numpy(found.column(1)).tolist(), strict=True))


def _contracted(nodes: Ids, component: Ids, into: Mapping[int, int], a: Ids, b: Ids) -> tuple[Ids, Ids, Ids]:
    """Components and edges, distinct, after some components became others. An edge within one is a loop."""
    now = nodes.copy()
    if into:
        now[np.searchsorted(nodes, np.fromiter(into, np.int64, len(into)))] = list(into.values())
    ends = (now[np.searchsorted(nodes, end)] for end in (a, b))
    key = np.unique(_pairs(nodes, *ends))
    return now[np.searchsorted(nodes, component)], nodes[key // len(nodes)], nodes[key % len(nodes)]


def _closed(nodes: Ids, a: Ids, b: Ids) -> tuple[dict[int, int], dict[int, Ids]]:
    """(node -> its component, where it is another; component -> components that it reaches), of distinct edges."""
    order = np.argsort(a, kind="stable")
    starts, first = np.unique(a[order], return_index=True)
    successors = dict(zip(starts.tolist(), (part.tolist() for part in np.split(b[order], first[1:])), strict=True))
    into: dict[int, int] = {}
    reached: dict[int, Ids] = {}
    place: dict[int, int] = {}  # component -> when it was complete
    pairs = 0
    for members in components(successors):
        component = min(members)
        into.update((node, component) for node in members if node != component)
        place[component] = len(place)
        found: set[int] = set()
        ends = {into.get(end, end) for node in members for end in successors.get(node, ())}
        for end in sorted(ends - {component}, key=place.__getitem__, reverse=True):
            if end not in found:
                found.add(end)
                if end in reached:
                    found.update(reached[end].tolist())
        if component in ends:
            found.add(component)
        pairs += len(found)
        if pairs > MOST:
            raise TooLargeError
        if found:
            reached[component] = np.fromiter(found, np.int64, len(found))
    return into, reached
