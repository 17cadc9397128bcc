"""Reachability in graphs that grow, against walking them."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from triplestore.engine.sets import Mask
from triplestore.materialise.reachability import Reachability, TooLargeError

Edges = set[tuple[int, int]]


def walked(edges: Edges) -> Edges:
    """The pairs (a, b) with a path from a to b."""
    found = set(edges)
    while more := {(a, d) for (a, b), (c, d) in product(found, edges) if b == c} - found:
        found |= more
    return found


def listed(graph: Reachability, only: Mask | None = None) -> Edges:
    members: dict[int, list[int]] = {}
    for node, component in zip(graph.nodes.tolist(), graph.component.tolist(), strict=True):
        members.setdefault(component, []).append(node)
    assert all(component == min(nodes) for component, nodes in members.items())
    pairs = list(zip(graph.low.tolist(), graph.high.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    chosen = pairs if only is None else [pair for pair, kept in zip(pairs, only.tolist(), strict=True) if kept]
    return {pair for low, high in chosen for pair in product(members[low], members[high])}


@pytest.mark.parametrize("seed", range(150))
def test_what_is_reached_is_what_paths_lead_to(seed: int) -> None:
    rng = Random(seed)
    size = rng.randint(1, 12)
    nodes = [rng.randrange(1 << 61) for _ in range(size)]
    graph, edges = Reachability(), set[tuple[int, int]]()
    for _ in range(rng.randint(1, 5)):
        more = [(rng.choice(nodes), rng.choice(nodes)) for _ in range(rng.randint(0, 8))]
        if rng.random() < 0.3:  # a clique
            some = rng.sample(nodes, rng.randint(1, size))
            more += product(some, some)
        before, apart = walked(edges), dict(zip(graph.nodes.tolist(), graph.component.tolist(), strict=True))
        edges |= set(more)
        ends = np.array(more, dtype=np.int64).reshape(-1, 2)
        grown = graph.add(ends[:, 0], ends[:, 1])
        assert grown == (walked(edges) != before)
        assert listed(graph) == walked(edges)
        if grown:
            now = dict(zip(graph.nodes.tolist(), graph.component.tolist(), strict=True))
            fresh = listed(graph, graph.fresh)
            assert fresh >= walked(edges) - before
            if all(component == apart.get(node, node) for node, component in now.items()):
                assert fresh == walked(edges) - before


def test_a_clique_costs_its_members() -> None:
    """1,000 nodes, each with an edge to each: one component, one pair. A chain of 30,000: no recursion."""
    a, b = (np.array(end, dtype=np.int64) for end in zip(*product(range(1000), range(1000)), strict=True))
    graph = Reachability()
    assert graph.add(a, b)
    assert (len(graph.nodes), len(graph.low)) == (1000, 1)
    ring = np.arange(30_000, dtype=np.int64)
    graph = Reachability()
    assert graph.add(ring, np.roll(ring, 1))
    assert (len(graph.nodes), len(graph.low)) == (30_000, 1)
    assert not graph.add(ring, np.roll(ring, 7))


def test_a_graph_of_many_edges_takes_as_long_as_what_it_reaches() -> None:
    """Each of 600 nodes leads to all after it: what one successor reaches is not put together for every one of them.
    And one node leads to all of 20,000, in pairs."""
    a, b = np.triu_indices(600, 1)
    graph = Reachability()
    assert graph.add(a, b)
    assert len(graph.low) == 600 * 599 // 2
    low = np.arange(1, 20_001, dtype=np.int64)
    graph = Reachability()
    assert graph.add(np.concatenate([np.zeros_like(low), low]), np.concatenate([low, low + 20_000]))
    assert len(graph.low) == 60_000


def test_what_is_too_large_is_refused() -> None:
    chain = np.arange(9_000, dtype=np.int64)
    with pytest.raises(TooLargeError):
        Reachability().add(chain, chain + 1)
