"""why-same: the equalities that make two terms one, and those that hold a class of equal terms together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from triplestore.dictionary import encoding
from triplestore.dictionary.literals import equal_to
from triplestore.model.terms import to_rdflib
from triplestore.proof.bridges import bridges
from triplestore.proof.build import Builder
from triplestore.proof.computed import Source
from triplestore.proof.equalities import Equalities, Hub
from triplestore.proof.explain import apart_by, written
from triplestore.proof.links import evaluated, links, rule_of
from triplestore.proof.proof import Proof
from triplestore.proof.slices import ALL, Slice

if TYPE_CHECKING:
    from rdflib.term import Node

DRAWN: Final = 500
"""Pairs of a class that a drawing gets."""

SHOWN: Final = 20
"""Bridges that are shown with their proofs by default."""


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """Two terms (tokens) that are one for one reason. by: the rule's id, or "asserted"; `proof` is of left owl:sameAs
    right."""

    left: str
    right: str
    by: str
    proof: Proof

    @property
    def terms(self) -> tuple[Node, Node]:
        """The two terms, as rdflib has them."""
        return to_rdflib(self.left), to_rdflib(self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Why two terms (tokens) are one: the fewest links that lead from the one to the other, in order."""

    left: str
    right: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Bridge:
    """A link without which a class would fall into two parts: so many members `left` of it, so many `right`.

    shared: how many members one reason makes one, all those that share a key. Where they are more than two, what would
    part the class is to take the left one from among them.
    """

    link: Link
    left: int
    right: int
    shared: int


@dataclass(frozen=True, slots=True, eq=False)
class EqualityClass:
    """A class of equal terms.

    tokens: its members, the one that represents it first. links: how many there are of each rule ("asserted" among
    them; k terms that share a key are k - 1 links). bridge_count: how many of them are bridges; bridges: the first of
    these, those that part the class most evenly before others. joined: pairs of members that links join, the first
    `DRAWN` of them, each with its rule and whether it is a bridge; of k terms that share a key, the first with others.
    """

    tokens: tuple[str, ...]
    links: Mapping[str, int]
    bridge_count: int
    bridges: tuple[Bridge, ...]
    joined: tuple[tuple[str, str, str, bool], ...] = ()

    @property
    def members(self) -> tuple[Node, ...]:
        """The members as rdflib terms."""
        return tuple(to_rdflib(token) for token in self.tokens)


def why_same(source: Source, left: str, right: str) -> Chain | None:
    """The shortest chain of links between two terms (tokens); None if they are not one."""
    if left == right:
        return Chain(left, right, ())
    ids, region = region_of(source, (left, right))
    if left not in ids or right not in ids or region.normal(ids[left]) != region.normal(ids[right]):
        return None
    if ids[left] == ids[right]:
        return Chain(left, right, ())
    found = ClassLinks(region, region.normal(ids[left]))
    return Chain(left, right, found.shown(found.chain(ids[left], ids[right])))


def made_equal_by(source: Source, pairs: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
    """For each pair of equal terms (ids) the rules of a shortest chain between them, "asserted" among them, sorted."""
    region = Slice(source, ALL)
    region.meet(term for pair in pairs for term in pair)
    classes: dict[int, ClassLinks] = {}
    found = []
    for left, right in pairs:
        representative = region.normal(left)
        if representative != region.normal(right):
            found.append(apart_by(source, left, right))
            continue
        if representative not in classes:
            classes[representative] = ClassLinks(Slice(source, ALL), representative)
        chain = classes[representative].chain(left, right)
        found.append(tuple(sorted({rule_of(hub) for _, hub, _ in chain})))
    return found


def region_of(source: Source, terms: Sequence[str]) -> tuple[dict[str, int], Slice]:
    """The ids of those terms (tokens) that the store has, and a slice that has met them."""
    ids = _ids(source, terms)
    region = Slice(source, ALL)
    region.meet(ids.values())
    return ids, region


def _ids(source: Source, terms: Sequence[str]) -> dict[str, int]:
    """The ids of those terms (tokens) that the store has; of a literal, where they stand for values, that of its."""
    literals = [term for term in terms if source.by_value and term.startswith('"')]
    return {**encoding.lookup(source.engine, terms), **equal_to(source.engine, literals)}


def equality_class(source: Source, term: str, most: int | None = SHOWN) -> EqualityClass | None:
    """The class of a term (token), with up to `most` bridges (None: all); None if it equals nothing else."""
    ids, region = region_of(source, (term,))
    representative = region.normal(ids.get(term, -1))
    if representative not in region.classes:
        return None
    found = ClassLinks(region, representative)
    parting = found.bridges()
    shown = found.shown([link for link, _, _ in parting[:most]])
    kinds = Counter[str]()
    for hub in found.links:
        kinds[rule_of(hub)] += len(hub.members) - 1
    tokens = encoding.decode(source.engine, found.members)
    return EqualityClass(
        tuple(tokens[member] for member in found.members),
        dict(kinds.most_common()),
        len(parting),
        tuple(
            Bridge(link, left, right, len(hub.members))
            for link, ((_, hub, _), left, right) in zip(shown, parting, strict=False)
        ),
        tuple(_pairs(found, parting, tokens)),
    )


def _pairs(
    found: ClassLinks, parting: Sequence[tuple[Joined, int, int]], tokens: Mapping[int, str]
) -> Iterator[tuple[str, str, str, bool]]:
    """The pairs of `EqualityClass.joined`."""
    alone = {(end, id(hub)) for (term, hub, other), _, _ in parting for end in (term, other)}
    pairs = ((hub, term) for hub in found.links for term, _ in hub.members[1:])
    for hub, term in islice(pairs, DRAWN):
        yield tokens[hub.members[0][0]], tokens[term], rule_of(hub), (term, id(hub)) in alone


Joined = tuple[int, Hub, int]
"""Two members of a hub."""


class ClassLinks:
    """The members and the links of a class."""

    def __init__(self, region: Slice, representative: int) -> None:
        self.region, self.representative = region, representative
        region.meet([representative])
        self.members = sorted(region.classes[representative])
        self.forward = evaluated(region, representative)
        self.links = links(self.forward, representative)
        self._graph: Equalities | None = None

    def chain(self, left: int, right: int) -> list[Joined]:
        """The fewest links that lead from one member to another."""
        if self._graph is None:
            self._graph = Equalities({self.representative: self.members})
            for hub in self.links:
                self._graph.add(hub, hub.round)
        chain = self._graph.chain(left, right, lambda hub: True)
        assert chain is not None, (left, right)
        return chain

    def bridges(self) -> list[tuple[Joined, int, int]]:
        """The links whose removal parts the class, with the numbers of members on either side."""
        places = {member: place for place, member in enumerate(self.members)}
        size = len(places)
        neighbours: list[list[int]] = [[] for _ in range(size + len(self.links))]
        for number, hub in enumerate(self.links, size):
            for term, _ in hub.members:
                neighbours[number].append(places[term])
                neighbours[places[term]].append(number)
        found = []
        for near, far, behind in bridges(neighbours, [1] * size + [0] * len(self.links)).found:
            hub, term = self.links[max(near, far) - size], self.members[min(near, far)]
            other = next(t for t, _ in hub.members if t != term)
            if far < size:
                found.append(((term, hub, other), behind, size - behind))
            elif len(hub.members) > 2:  # of two members, one tells of both
                found.append(((term, hub, other), size - behind, behind))
        return sorted(found, key=lambda bridge: -min(bridge[1:]))

    def shown(self, chosen: Sequence[Joined]) -> tuple[Link, ...]:
        """Links with their proofs."""
        builder = Builder(self.forward)
        steps = [builder.link(hub, left, right) for left, hub, right in chosen]
        tokens = encoding.decode(self.region.source.engine, {term for a, _, b in chosen for term in (a, b)})
        return tuple(
            Link(tokens[left], tokens[right], rule_of(hub), found)
            for (left, hub, right), found in zip(chosen, written(self.region.source, steps), strict=True)
        )
