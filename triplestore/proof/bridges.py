"""Bridges of a graph: the edges whose removal parts it (Tarjan 1974, "A note on finding the bridges of a graph")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bridges:
    """found: (end nearer to the root, other end, weight of all behind that end) of each bridge. first, last: of each
    node the places, in the order of discovery, of the nodes behind it: those at first, first + 1 .. last - 1."""

    found: list[tuple[int, int, int]]
    first: list[int]
    last: list[int]

    def behind(self, node: int, other: int) -> bool:
        """Whether another node is behind one (or is it): of a bridge's other end, on that side of the bridge."""
        return self.first[node] <= self.first[other] < self.last[node]


def bridges(neighbours: Sequence[Sequence[int]], weights: Sequence[int], root: int = 0) -> Bridges:
    """The bridges of the component of `root`.

    neighbours: of each node, no edge twice. weights: of each node.
    """
    order = [-1] * len(neighbours)  # of discovery
    low, behind, last = [0] * len(neighbours), list(weights), [0] * len(neighbours)
    found = []
    stack = [(root, -1, iter(neighbours[root]))]
    order[root] = clock = 0
    while stack:
        node, parent, rest = stack[-1]
        for other in rest:
            if order[other] < 0:
                clock += 1
                order[other] = low[other] = clock
                stack.append((other, node, iter(neighbours[other])))
                break
            if other != parent:
                low[node] = min(low[node], order[other])
        else:
            stack.pop()
            last[node] = clock + 1
            if parent >= 0:
                low[parent] = min(low[parent], low[node])
                behind[parent] += behind[node]
                if low[node] > order[parent]:
                    found.append((parent, node, behind[node]))
    return Bridges(found, order, last)
