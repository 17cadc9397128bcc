"""Looking a graph up in a closure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Protocol

import networkx as nx
from rdflib import BNode
from rdflib.term import Node

from triplestore.ontology.axioms import Triple

TOGETHER: Final = 100
"""Triples without blank nodes that are looked up at a time."""


class Asked(Protocol):
    """What is asked of a store: the methods of `triplestore.Store` by these names."""

    def check(self) -> Sequence[Any]: ...

    def query(self, text: str, *, generalised: bool = False) -> Any: ...

    def update(self, add: Iterable[Any] = (), delete: Iterable[Any] = ()) -> Any: ...

    def copy(self, path: str | Path) -> None: ...

    def close(self) -> None: ...


def in_closure(store: Asked, triples: Iterable[Triple]) -> bool:
    """Whether a graph, its blank nodes as variables, maps into the closure."""
    return all(_asked(store, part) for part in _parts(triples))


def _parts(triples: Iterable[Triple]) -> Iterator[Sequence[Triple]]:
    """The triples that are to be looked up together: those that blank nodes connect; of the others any."""
    ground: list[Triple] = []
    others: list[tuple[Triple, list[BNode]]] = []
    connected: nx.Graph[BNode] = nx.Graph()
    for triple in triples:
        if blank := [term for term in triple if isinstance(term, BNode)]:
            others.append((triple, blank))
            connected.add_nodes_from(blank)
            connected.add_edges_from(pairwise(blank))
        else:
            ground.append(triple)
    yield from (ground[i : i + TOGETHER] for i in range(0, len(ground), TOGETHER))
    place = {node: i for i, nodes in enumerate(nx.connected_components(connected)) for node in nodes}
    parts: dict[int, list[Triple]] = {}
    for triple, blank in others:
        parts.setdefault(place[blank[0]], []).append(triple)
    yield from parts.values()


def _asked(store: Asked, triples: Sequence[Triple]) -> bool:
    names: dict[BNode, str] = {}

    def written(term: Node) -> str:
        return names.setdefault(term, f"?b{len(names)}") if isinstance(term, BNode) else term.n3()

    pattern = " .\n".join(" ".join(written(term) for term in triple) for triple in triples)
    return bool(store.query(f"ASK {{ {pattern} }}", generalised=True).boolean)
