"""Which rule instances are recursive, and the strata of facts (Hu, Motik and Horrocks 2018, section 2).

Nodes are properties, and classes under rdf:type, as in `triplestore.compile.strata`; the strata are the strongly
connected components of the graph that leads from what bodies read to what heads derive, each above all that lead to it.
An instance is recursive if one of its body atoms is in the stratum of its head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from triplestore.compile.components import components
from triplestore.compile.plan import K, Made, Pattern, Row, Shape, Slot
from triplestore.compile.strata import (
    ALL,
    READ_ANY,
    READ_TYPE,
    WRITE_ANY,
    WRITE_TYPE,
    Node,
    read_node,
    written_node,
)
from triplestore.maintain.keys import Ids, Layout
from triplestore.model.terms import TYPE


@dataclass(frozen=True, slots=True)
class Recursion:
    """`levels`: the stratum of each node."""

    levels: Mapping[Node, int]

    def recursive(self, shape: Shape, row: Row) -> bool:
        """Whether an instance is recursive."""
        level = self.levels[_head(shape, row)]
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
    edges: dict[Node, set[Node]] = {node: set() for node in (READ_ANY, READ_TYPE, WRITE_ANY, WRITE_TYPE)}
    for shape, rows in instances.items():
        for row in rows:
            head = _head(shape, row)
            edges.setdefault(head, set())
            for node in _read(shape, row):
                edges.setdefault(node, set()).add(head)
    for node in list(edges):  # whoever reads any fact reads this one, whoever derives any derives this one
        edges[WRITE_ANY].add(node)
        edges[node].add(READ_ANY)
        if node[0] == TYPE:
            edges[WRITE_TYPE].add(node)
            edges[node].add(READ_TYPE)
    order = components(edges)  # each after those that it leads to
    return Recursion({node: len(order) - number for number, members in enumerate(order) for node in members})


def _head(shape: Shape, row: Row) -> Node:
    _, p, o = (_value(slot, row) for slot in shape.output)
    return written_node(p, o)


def _read(shape: Shape, row: Row) -> list[Node]:
    return [read_node(_value(e.p, row), _value(e.o, row)) for e in shape.body if isinstance(e, Pattern)]


def _value(slot: Slot | Made, row: Row) -> int | None:
    return row[slot.number] if isinstance(slot, K) else None
