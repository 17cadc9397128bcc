"""Bridges of a graph: the edges whose removal parts it (Tarjan 1974, "A note on finding the bridges of a graph")."""

from __future__ import annotations

from collections.abc import Sequence


def bridges(neighbours: Sequence[Sequence[int]], weights: Sequence[int], root: int = 0) -> list[tuple[int, int, int]]:
    """The bridges of the component of `root`: (end nearer to the root, other end, weight of all behind that end).

    neighbours: of each node, no edge twice. weights: of each node.
    """
    order = [-1] * len(neighbours)  # of discovery
    low, behind = [0] * len(neighbours), list(weights)
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
            if parent >= 0:
                low[parent] = min(low[parent], low[node])
                behind[parent] += behind[node]
                if low[node] > order[parent]:
                    found.append((parent, node, behind[node]))
    return found
