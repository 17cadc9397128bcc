"""The error degree of links: how sparsely the parts of a class that they join are linked otherwise.

Raad, Beek, van Harmelen, Pernelle and Saïs 2018, "Detecting Erroneous Identity Links on the Web using Network Metrics":
the communities of a class (Louvain), and of each link how far its community, or the two that it joins, are from being
linked wholly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Final

SMALL: Final = 3
"""Members of a class that is one community."""


def communities(size: int, hubs: Sequence[Sequence[int]], weights: Sequence[int]) -> list[int]:
    """Of each member of a class (0 .. size - 1), the number of its community. hubs: sets of members that are one, no
    set twice; weights: for how many reasons each is."""
    if size <= SMALL:
        return [0] * size
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(size))
    for number, (members, weight) in enumerate(zip(hubs, weights, strict=True), size):
        if len(members) == 2:
            graph.add_edge(*members, weight=weight)
        else:
            graph.add_edges_from(((member, number) for member in members), weight=weight)
    found = [0] * size
    for number, nodes in enumerate(networkx.community.louvain_communities(graph, seed=0)):
        for node in nodes:
            if node < size:
                found[node] = number
    return found


def error_degrees(
    within: Sequence[int], hubs: Sequence[Sequence[int]], weights: Sequence[int]
) -> list[dict[int, float]]:
    """Of each hub, the error degree (0 .. 1) of the link of each of its members to the others. within: of
    `communities`. k members that are one for one reason count as k * (k - 1) / 2 links."""
    sizes = Counter(within)
    linked = Counter[tuple[int, int]]()
    parts_of = [Counter(within[member] for member in members) for members in hubs]
    for parts, weight in zip(parts_of, weights, strict=True):
        for part, count in parts.items():
            linked[part, part] += weight * count * (count - 1) // 2
        for (a, of_a), (b, of_b) in combinations(sorted(parts.items()), 2):
            linked[a, b] += weight * of_a * of_b

    def degree(a: int, b: int) -> float:
        full = sizes[a] * (sizes[a] - 1) if a == b else 2 * sizes[a] * sizes[b]
        return max(0.0, 1 - linked[min(a, b), max(a, b)] / full)

    found = []
    for members, parts, weight in zip(hubs, parts_of, weights, strict=True):
        own = {}
        for member in members:
            here = within[member]
            rest = parts - Counter([here])
            there = here if rest[here] else rest.most_common(1)[0][0]
            own[member] = degree(here, there) / weight
        found.append(own)
    return found
