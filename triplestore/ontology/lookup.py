"""Looking a graph up in a closure.

One SPARQL query asks for all triples that blank nodes connect. A blank node within a triple term is the same node as
outside of it, so both are one variable of that query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import networkx as nx
from rdflib import BNode
from rdflib.term import Node

from triplake import rulesets
from triplestore.model.equality import Equality
from triplestore.model.thresholds import SIZES
from triplestore.ontology.axioms import Triple
from triplestore.ontology.triple_terms import Semantics, blank_nodes, is_about_triple_terms, maps, pattern, written


class Asked(Protocol):
    """What is asked of a store: the methods and properties of `triplestore.Store` by these names."""

    @property
    def equality(self) -> str: ...

    @property
    def rulesets(self) -> Sequence[Any]: ...

    def check(self) -> Sequence[Any]: ...

    def query(self, text: str, *, generalised: bool = False) -> Any: ...

    def update(self, add: Iterable[Any] = (), delete: Iterable[Any] = ()) -> Any: ...

    def copy(self, path: str | Path) -> None: ...

    def close(self) -> None: ...


def in_closure(store: Asked, triples: Iterable[Triple]) -> bool:
    """Whether a graph, its blank nodes as variables, maps into the closure."""
    built_in = [rulesets.BUILT_IN[one.name] for one in store.rulesets if one.name in rulesets.BUILT_IN]
    semantics = Semantics(
        congruent=store.equality != Equality.OFF,
        by_value=any(ruleset.datatypes for ruleset in built_in),
        propositions=any(ruleset.resources for ruleset in built_in),
    )
    return all(_holds(store, part, semantics) for part in _connected(triples))


def _connected(triples: Iterable[Triple]) -> Iterator[Sequence[Triple]]:
    """The triples that are to be looked up together: those that blank nodes connect; of the others any."""
    ground: list[Triple] = []
    others: list[tuple[Triple, list[BNode]]] = []
    connected: nx.Graph[BNode] = nx.Graph()
    for triple in triples:
        if blank := blank_nodes(*triple):
            others.append((triple, blank))
            connected.add_nodes_from(blank)
            connected.add_edges_from(pairwise(blank))
        else:
            ground.append(triple)
    yield from (ground[i : i + SIZES.inline] for i in range(0, len(ground), SIZES.inline))
    place = {node: i for i, nodes in enumerate(nx.connected_components(connected)) for node in nodes}
    parts: dict[int, list[Triple]] = {}
    for triple, blank in others:
        parts.setdefault(place[blank[0]], []).append(triple)
    yield from parts.values()


def _holds(store: Asked, triples: Sequence[Triple], semantics: Semantics) -> bool:
    names: dict[Node, str] = {}

    def variable(term: Node) -> str:
        return names.setdefault(term, f"?b{len(names)}") if isinstance(term, BNode) else term.n3()

    patterns = "\n".join(pattern(triple, semantics, lambda term: written(term, variable)) for triple in triples)
    if store.query(f"ASK {{ {patterns} }}", generalised=True).boolean:
        return True
    if not (semantics.congruent or semantics.by_value) or not is_about_triple_terms(store, triples, semantics):
        return False
    return maps(store, triples, semantics)
