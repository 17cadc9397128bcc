"""Cuts: the sets of links without which two terms are no longer one, those most likely wrong first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from triplestore.proof.computed import Source
from triplestore.proof.links import rule_of
from triplestore.proof.suspects import log_odds, weigh
from triplestore.proof.why_same import ClassLinks, Joined, Link, region_of

UNKNOWN: Final = 0.0
"""Bits against a link of which nothing is known: one that rests on derived triples."""

CHEAPEST: Final = 0.1
"""What leaving out a link costs at least, so that of two sets the smaller one is better."""


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Links without all of which two terms are two. bits: what speaks against them together (`Suspect.bits`)."""

    links: tuple[Link, ...]
    bits: float


Edge = tuple[int, int]
"""A member's place, and the number of a hub."""


def cuts(source: Source, left: str, right: str, most: int, graphs: bool) -> list[Cut]:
    """Up to `most` minimal cuts between two terms (tokens); none if they are not one, or one term. graphs: whether
    the view `quad` can be read."""
    ids, region = region_of(source, (left, right))
    if left not in ids or right not in ids or ids[left] == ids[right]:
        return []
    representative = region.normal(ids[left])
    if representative != region.normal(ids[right]) or representative not in region.classes:
        return []
    found = ClassLinks(region, representative)
    places = {member: place for place, member in enumerate(found.members)}
    known = {
        (member, rule): link.bits
        for link in weigh(source, graphs)
        if link.representative == representative
        for member in ((link.left, link.right) if link.shared == 2 else (link.left,))
        for rule, _ in link.causes
    }
    bits = {
        (places[term], number): known.get((term, rule_of(hub)), UNKNOWN)
        for number, hub in enumerate(found.links)
        for term, _ in hub.members
    }
    costs = {edge: max(CHEAPEST, -log_odds(of)) for edge, of in bits.items()}
    ends = places[ids[left]], places[ids[right]]
    # Of two members that are one for a reason, either may be left out of it: that is one link.
    second = frozenset((places[hub.members[1][0]], n) for n, hub in enumerate(found.links) if len(hub.members) == 2)
    parted = []
    for edges in minimal_cuts(costs, *ends, most, second):
        joined: list[Joined] = []
        for place, number in edges:
            hub, term = found.links[number], found.members[place]
            joined.append((term, hub, next(other for other, _ in hub.members if other != term)))
        parted.append(Cut(found.shown(joined), sum(bits[edge] for edge in edges)))
    return parted


def minimal_cuts(
    costs: Mapping[Edge, float], start: int, end: int, most: int, kept: frozenset[Edge] = frozenset()
) -> Iterator[Sequence[Edge]]:
    """The minimal sets of edges of a graph of members and hubs, but those `kept`, that part two members, the cheapest
    first.

    Branches as Lawler 1972, "A Procedure for Computing the K Best Solutions", does: the best cut, then the best of
    those that lack its first edge, those that have it and lack its second ..
    """
    met = set[frozenset[Edge]]()
    order = count()
    waiting: list[tuple[float, int, int, list[Edge], frozenset[Edge], frozenset[Edge]]] = []

    def add(within: frozenset[Edge], without: frozenset[Edge]) -> None:
        cut = _cheapest(costs, start, end, within, without)
        if cut is not None:
            cost = sum(costs[edge] for edge in cut)
            heapq.heappush(waiting, (cost, len(cut), next(order), sorted(cut), within, without))

    add(frozenset(), kept)
    while waiting and len(met) < most:
        _, _, _, cut, within, without = heapq.heappop(waiting)
        if frozenset(cut) not in met and _is_minimal(costs, start, end, cut):
            met.add(frozenset(cut))
            yield cut
        taken = within
        for edge in cut:
            if edge not in within:
                add(taken, without | {edge})
                taken |= {edge}


def _cheapest(
    costs: Mapping[Edge, float], start: int, end: int, within: frozenset[Edge], without: frozenset[Edge]
) -> set[Edge] | None:
    """The cheapest cut that has the edges `within` and lacks those `without`; None if there is none."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from([("member", start), ("member", end)])
    for (place, number), cost in costs.items():
        if (place, number) not in within:
            options = {} if (place, number) in without else {"capacity": cost}  # without capacity: infinite
            graph.add_edge(("member", place), ("hub", number), **options)
    try:
        _, (side, _) = networkx.minimum_cut(graph, ("member", start), ("member", end))
    except networkx.NetworkXUnbounded:
        return None
    cut = {edge for edge in costs if (("member", edge[0]) in side) != (("hub", edge[1]) in side)}
    return cut | within


def _is_minimal(costs: Mapping[Edge, float], start: int, end: int, cut: Sequence[Edge]) -> bool:
    """Whether each edge of a cut joins the part of the one member to that of the other."""
    neighbours: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for edge in costs:
        if edge not in cut:
            a, b = ("member", edge[0]), ("hub", edge[1])
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)

    def reached(root: int) -> set[tuple[str, int]]:
        stack, found = [("member", root)], {("member", root)}
        while stack:
            for other in neighbours.get(stack.pop(), ()):
                if other not in found:
                    found.add(other)
                    stack.append(other)
        return found

    near, far = reached(start), reached(end)
    return all(
        (("member", a) in near and ("hub", b) in far) or (("member", a) in far and ("hub", b) in near) for a, b in cut
    )
