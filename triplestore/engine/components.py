"""Connected components by minimum-label hooking and pointer jumping, vectorised over whole edge lists.

Source: Shiloach and Vishkin 1982 as simplified in Zhang, Azad and Buluc 2020 ("FastSV"): every round hooks the
larger of two roots under the smaller and then jumps pointers until all trees are stars; O(log n) rounds.
Engines use it for edge lists that fit in the driver's memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplestore.engine.arrow import as_numpy, int64s
from triplestore.model.errors import EngineError
from triplestore.model.thresholds import SIZES

Ids = npt.NDArray[np.int64]


def connected_components(edges: pa.Table) -> pa.Table:
    """(node, component) for the edges (a, b), component the smallest node. Raises EngineError if a check fails."""
    a, b = as_numpy(edges.column(0)), as_numpy(edges.column(1))
    nodes, left, right = _numbered(a, b)
    component = _labels(len(nodes), left, right)
    verify(left, right, component)
    return pa.table({"node": int64s(nodes), "component": int64s(nodes[component])})


def _numbered(a: Ids, b: Ids) -> tuple[Ids, Ids, Ids]:
    """(nodes in order, a and b by their places among them). Where ids are dense, without sorting them."""
    if len(a) == 0:
        return a, a, b
    low, high = int(min(a.min(), b.min())), int(max(a.max(), b.max()))
    if high - low > SIZES.look_ups * len(a):
        nodes, places = np.unique(np.concatenate([a, b]), return_inverse=True)
        return nodes, places[: len(a)], places[len(a) :]
    present = np.zeros(high - low + 1, dtype=np.bool_)
    present[a - low] = True
    present[b - low] = True
    place = np.cumsum(present) - 1
    return np.flatnonzero(present) + low, place[a - low], place[b - low]


def _labels(size: int, a: Ids, b: Ids) -> Ids:
    parent = np.arange(size, dtype=np.int64)
    while len(a):
        low, high = np.minimum(a, b), np.maximum(a, b)
        np.minimum.at(parent, high, low)  # hook: the larger root under the smallest neighbour
        while True:  # shortcut: jump until every tree is a star
            above = parent[parent]
            if np.array_equal(above, parent):
                break
            parent = above
        a, b = parent[a], parent[b]
        open_edges = a != b
        a, b = a[open_edges], b[open_edges]
    return parent


def verify(a: Ids, b: Ids, component: Ids) -> None:
    """Check a labelling: both ends of every edge agree, and a label is a fixed point not above its members."""
    members = np.arange(len(component))
    if (
        not np.array_equal(component[a], component[b])
        or not np.array_equal(component[component], component)
        or bool(np.any(component > members))
    ):
        raise EngineError("connected components are wrong: two ends of one edge differ")
