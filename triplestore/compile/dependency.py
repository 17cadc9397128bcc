"""The nodes of dependency graphs: the relations that facts, atoms and heads are of.

A node is a property, or a class under rdf:type, as facts and rule instances name them. An atom with a variable in that
place reads a hub, to which every node leads; a head with one derives a hub that leads to every node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from triplestore.compile.plan import K, Made, Occurs, Pattern, Row, Shape, Slot
from triplestore.model.terms import TYPE

Node = tuple[int, int]
"""(predicate, class); class `ALL` for a predicate other than rdf:type. `EVERY` in either place is a hub."""

ALL: Final = -1
EVERY: Final = -2
READ_ANY: Final[Node] = (EVERY, 0)
"""What an atom with a variable predicate reads."""
WRITE_ANY: Final[Node] = (EVERY, 1)
"""What a head with a variable predicate derives."""
READ_TYPE: Final[Node] = (TYPE, EVERY)
"""What an atom of rdf:type with a variable class reads."""
WRITE_TYPE: Final[Node] = (TYPE, EVERY - 1)
"""What a head of rdf:type with a variable class derives."""
HUBS: Final = frozenset({READ_ANY, WRITE_ANY, READ_TYPE, WRITE_TYPE})

Equal = Mapping[int, int]
"""Id -> representative, where the ids of instances are not normalised."""

NONE_EQUAL: Final[Equal] = {}


def fact_node(p: int, o: int) -> Node:
    """The node of a fact, by its predicate and object."""
    return (p, o) if p == TYPE else (p, ALL)


def read_node(p: int | None, o: int | None) -> Node:
    """The node that an atom reads; None for a variable."""
    return _node(p, o, READ_ANY, READ_TYPE)


def written_node(p: int | None, o: int | None) -> Node:
    """The node that a head derives; None for a variable."""
    return _node(p, o, WRITE_ANY, WRITE_TYPE)


def _node(p: int | None, o: int | None, hub: Node, type_hub: Node) -> Node:
    if p is None:
        return hub
    if p != TYPE:
        return p, ALL
    return type_hub if o is None else (TYPE, o)


def value(slot: Slot | Made, row: Row, equal: Equal = NONE_EQUAL) -> int | None:
    """The id of a slot of an instance; None for a variable, or a term that an expression makes."""
    if not isinstance(slot, K):
        return None
    found = row[slot.number]
    return equal.get(found, found)


def pattern_node(pattern: Pattern, row: Row, equal: Equal = NONE_EQUAL) -> Node:
    """The node that a pattern of an instance reads."""
    return read_node(value(pattern.p, row, equal), value(pattern.o, row, equal))


def body_nodes(shape: Shape, row: Row, equal: Equal = NONE_EQUAL) -> Iterator[Node]:
    """What the body of an instance reads, NOTs and AGGREGATEs left out."""
    for element in shape.body:
        if isinstance(element, Pattern):
            yield pattern_node(element, row, equal)
        elif isinstance(element, Occurs):
            yield READ_ANY


def head_node(shape: Shape, row: Row, equal: Equal = NONE_EQUAL) -> Node:
    """The node that an instance derives."""
    _, p, o = (value(column, row, equal) for column in shape.output)
    return written_node(p, o)


def hub_edges(nodes: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """The edges between nodes and hubs: each leads to what reads any, and what derives any leads to each."""
    yield from ((WRITE_TYPE, READ_TYPE), (WRITE_ANY, WRITE_TYPE), (READ_TYPE, READ_ANY), (WRITE_ANY, READ_ANY))
    for node in nodes:
        if node in HUBS:
            continue
        yield node, READ_ANY
        yield WRITE_ANY, node
        if node[0] == TYPE:
            yield node, READ_TYPE
            yield WRITE_TYPE, node
