"""What each link of a class of equal terms parts: a bridge the whole class, any other link the communities it joins."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from triplestore.proof.bridges import Bridges, bridges

LEFT: Final = 0
RIGHT: Final = 1
NEITHER: Final = 2


@dataclass(frozen=True, slots=True)
class Sides:
    """The sides of a link between a member (on the left) and the others of its hub.

    side: of each member (by its place), LEFT, RIGHT or NEITHER. nearest: some members of either side, near the link.
    parts: how many members a bridge has on either side; None of what is no bridge.
    """

    side: Callable[[int], int]
    nearest: tuple[list[int], list[int]]
    parts: tuple[int, int] | None

    def part(self, a: int, b: int) -> bool:
        """Whether two members are on different sides."""
        return {self.side(a), self.side(b)} == {LEFT, RIGHT}


class Parting:
    """The links of a class. hubs: of each reason, the members that it makes one (places 0 .. size - 1). within: their
    communities. near: how many members of each side are listed."""

    def __init__(self, size: int, hubs: Sequence[Sequence[int]], within: Sequence[int], near: int) -> None:
        self._size, self._hubs, self._within, self._near = size, hubs, within, near
        self._communities: dict[int, list[int]] = defaultdict(list)
        for place, community in enumerate(within):
            self._communities[community].append(place)
        neighbours: list[list[int]] = [[] for _ in range(size + len(hubs))]
        for number, hub in enumerate(hubs, size):
            for place in hub:
                neighbours[number].append(place)
                neighbours[place].append(number)
        self._component = [-1] * len(neighbours)
        self._searches: list[Bridges] = []
        self._discovered: list[list[int]] = []
        self._counts: list[int] = []  # members of each component
        self._bridges: dict[tuple[int, int], tuple[int, int]] = {}  # (member, hub) -> (end, members behind it)
        weights = [1] * size + [0] * len(hubs)
        for root in range(size):
            if self._component[root] < 0:
                self._search(bridges(neighbours, weights, root))

    def _search(self, found: Bridges) -> None:
        nodes = sorted((node for node, place in enumerate(found.first) if place >= 0), key=found.first.__getitem__)
        for node in nodes:
            self._component[node] = len(self._searches)
        self._searches.append(found)
        self._discovered.append(nodes)
        self._counts.append(sum(node < self._size for node in nodes))
        for a, b, behind in found.found:
            self._bridges[min(a, b), max(a, b) - self._size] = b, behind

    def sides(self, number: int, place: int) -> Sides:
        """The sides of the link between a member and the others of a hub."""
        bridge = self._bridges.get((place, number))
        return self._of_communities(number, place) if bridge is None else self._of_bridge(place, *bridge)

    def _of_bridge(self, place: int, end: int, behind: int) -> Sides:
        component = self._component[place]
        search, nodes = self._searches[component], self._discovered[component]
        first, last = search.first[end], search.last[end]
        here = LEFT if end < self._size else RIGHT  # is the member behind the link, or the hub

        def side(other: int) -> int:
            if self._component[other] != component:
                return NEITHER
            return here if search.behind(end, other) else 1 - here

        def members(found: chain[int]) -> list[int]:
            return list(islice((node for node in found if node < self._size), self._near))

        listed = members(chain(nodes[first:last])), members(chain(reversed(nodes[:first]), nodes[last:]))
        parts = behind, self._counts[component] - behind
        return Sides(side, *((listed, parts) if here == LEFT else (listed[::-1], parts[::-1])))

    def _of_communities(self, number: int, place: int) -> Sides:
        here = self._within[place]
        others = Counter(self._within[other] for other in self._hubs[number] if other != place)
        there = here if others[here] else others.most_common(1)[0][0]
        other = next(member for member in self._hubs[number] if member != place)
        if here == there:
            return Sides(lambda _: NEITHER, ([place], [other]), None)
        near = self._communities[here][: self._near], self._communities[there][: self._near]
        return Sides(lambda x: {here: LEFT, there: RIGHT}.get(self._within[x], NEITHER), near, None)
