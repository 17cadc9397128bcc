"""Which rule instances are recursive, and the strata of facts (Hu, Motik and Horrocks 2018, section 2).

Nodes are those of `triplestore.compile.dependency`; the strata are the strongly
connected components of the graph that leads from what bodies read to what heads derive, each above all that lead to it.
An instance is recursive if one of its body atoms is in the stratum of its head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from triplestore.compile.components import components
from triplestore.compile.dependency import (
    ALL,
    HUBS,
    WRITE_ANY,
    WRITE_TYPE,
    Node,
    head_node,
    hub_edges,
    pattern_node,
)
from triplestore.compile.plan import Pattern, Row, Shape
from triplestore.maintain.keys import Ids, Layout
from triplestore.model.terms import TYPE


@dataclass(frozen=True, slots=True)
class Recursion:
    """`levels`: the stratum of each node."""

    levels: Mapping[Node, int]

    def recursive(self, shape: Shape, row: Row) -> bool:
        """Whether an instance is recursive."""
        level = self.levels[head_node(shape, row)]
        return any(self.levels[node] == level for node in _read(shape, row))

    def of(self, layout: Layout, keys: Ids) -> Ids:
        """The stratum of each fact."""
        _, p, o = layout.unpack(keys)
        found = self._looked_up(layout, p, lambda number: (number, ALL), self.levels[WRITE_ANY])
        typed = p == layout.code(TYPE)
        found[typed] = self._looked_up(layout, o[typed], lambda number: (TYPE, number), self.levels[WRITE_TYPE])
        return found

    def _looked_up(self, layout: Layout, codes: Ids, node: Callable[[int], Node], otherwise: int) -> Ids:
        distinct, back = np.unique(codes, return_inverse=True)
        levels = [self.levels.get(node(number), otherwise) for number in layout.decode(distinct).tolist()]
        found: Ids = np.array(levels, dtype=np.int64)[back]
        return found


def recursion(instances: Mapping[Shape, Iterable[Row]]) -> Recursion:
    """The strata of a program."""
    edges: dict[Node, set[Node]] = {node: set() for node in HUBS}
    for shape, rows in instances.items():
        for row in rows:
            head = head_node(shape, row)
            edges.setdefault(head, set())
            for node in _read(shape, row):
                edges.setdefault(node, set()).add(head)
    for body, head in hub_edges(list(edges)):
        edges[body].add(head)
    order = components(edges)  # each after those that it leads to
    return Recursion({node: len(order) - number for number, members in enumerate(order) for node in members})


def _read(shape: Shape, row: Row) -> list[Node]:
    return [pattern_node(element, row) for element in shape.body if isinstance(element, Pattern)]
