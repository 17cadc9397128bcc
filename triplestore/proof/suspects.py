"""Suspects: the links of all classes of equal terms, those that are most likely wrong before others.

Each link is weighed by what speaks against it, in bits: one bit doubles the odds that it is wrong.

- values: the records that the link joins agree or disagree (`record_linkage`: Fellegi and Sunter 1969). Of a bridge,
  the records of both sides are compared.
- structure: how sparsely the parts that it joins are linked otherwise (`error_degree`: Raad et al. 2018).

What speaks against a whole class is shared among the links of which one would explain it, by how likely each is wrong
for the reasons above:

- size: few classes are as large.
- two names of one source are on the two sides: the rarer that is, the more it tells.
- contradictions: members that cannot be one are on the two sides. Then some link between them is wrong, whatever else
  speaks for each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log2
from random import Random
from typing import Final

from triplestore.proof.computed import Source
from triplestore.proof.error_degree import communities, error_degrees
from triplestore.proof.evidence import SOURCE, Clash, Records, clashes
from triplestore.proof.hubs import asserted_hubs
from triplestore.proof.parting import Parting
from triplestore.proof.record_linkage import Record, Value, Weights, agree

SAMPLE: Final = 5_000
"""Links, and as many random pairs, by which agreement is weighed."""

POOLED: Final = 20
"""Members on each side of a bridge whose records are compared."""

WRONG: Final = 0.01
"""The share of links that are wrong, as long as nothing is known of them."""

FAR: Final = 20.0
"""Bits beyond which one link is no more suspect than another."""

MOST: Final = 6.0
"""Bits of the structure of a class at most."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What speaks against a link, or for it (bits below 0). kind: "values", "different", "disjoint", "functional",
    "source", "structure" or "size".

    terms: what it is about, as ids; of a source its name. "values": the property, and a value of either side.
    "different": the two members. "disjoint": the members, and their classes. "functional": the members, the property
    and the values. "source": the members, and the source. "structure": none; share: the error degree. "size": none;
    share: of the classes that are as large.
    """

    kind: str
    bits: float
    terms: tuple[int | str, ...] = ()
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Weighed:
    """A link (ids) with its reasons, the strongest first. causes: what makes its terms one; left, right: two of them;
    shared: how many there are. parts: the members on either side of a bridge, else None. size: of the class."""

    representative: int
    causes: tuple[Cause, ...]
    left: int
    right: int
    shared: int
    size: int
    parts: tuple[int, int] | None
    reasons: tuple[Reason, ...]

    @property
    def bits(self) -> float:
        """All that speaks against it."""
        return sum(reason.bits for reason in self.reasons)


Cause = tuple[str, tuple[int, ...]]
"""A rule, and the properties (ids) that its instance reads."""

_Class = dict[tuple[int, ...], list[Cause]]
"""A class by its hubs: the members that are one (sorted) -> why, once for each reason."""


def weigh(source: Source, graphs: bool) -> list[Weighed]:
    """All links that asserted triples make, the most suspect first; `source.same_as` is not None. graphs: whether the
    view `quad` can be read."""
    classes = _classes(source)
    scale = _Scale(source, classes, graphs)
    found = [link for representative, one in classes.items() for link in scale.weigh(representative, one)]
    return sorted(found, key=lambda link: (-link.bits, link.representative, link.left, link.right))


def _classes(source: Source) -> dict[int, _Class]:
    found: dict[int, _Class] = {}
    for hubs in asserted_hubs(source):
        members: dict[int, list[int]] = defaultdict(list)
        of: dict[int, int] = {}
        for hub, term, representative in zip(*(c.to_pylist() for c in hubs.rows.columns), strict=True):
            members[hub].append(term)
            of[hub] = representative
        for hub, terms in members.items():
            if len(terms) > 1:
                causes = found.setdefault(of[hub], {}).setdefault(tuple(sorted(terms)), [])
                causes.append((hubs.rule, hubs.on))
    return dict(sorted(found.items()))


class _Links:
    """The links of one class: of a hub of two members one, of one of more members one for each.

    members: in the order of their places. links: (number of the hub, place of the member) of each; sides: what it
    parts; reasons: what was found of it.
    """

    def __init__(self, one: _Class) -> None:
        self.members = sorted({member for hub in one for member in hub})
        self.places = {member: place for place, member in enumerate(self.members)}
        self.hubs = [[self.places[member] for member in hub] for hub in one]
        self.causes = list(one.values())
        weights = [len(causes) for causes in self.causes]
        within = communities(len(self.members), self.hubs, weights)
        self.degrees = error_degrees(within, self.hubs, weights)
        parting = Parting(len(self.members), self.hubs, within, POOLED)
        self.links = [(n, place) for n, hub in enumerate(self.hubs) for place in (hub[:1] if len(hub) == 2 else hub)]
        self.sides = [parting.sides(*link) for link in self.links]
        self.reasons: list[list[Reason]] = [[] for _ in self.links]

    def between(self, clash: Clash) -> list[int]:
        """The links that part two members."""
        a, b = self.places.get(clash.a), self.places.get(clash.b)
        return [] if a is None or b is None else [n for n, sides in enumerate(self.sides) if sides.part(a, b)]

    def bits(self, number: int) -> float:
        """All that was found against a link."""
        return sum(reason.bits for reason in self.reasons[number])

    def blamed(self, numbers: Sequence[int], weight: float | None) -> list[float]:
        """What a fact that one of some links would explain, if it were wrong, adds to the bits against each of them.

        weight: how many bits it tells against them all; None: one of them is wrong for sure. Bayes' rule, where one of
        the links is wrong at most.
        """
        known = [max(-FAR, min(FAR, self.bits(number))) for number in numbers]
        odds = [2.0 ** (bits + (weight or 0.0)) * WRONG / (1 - WRONG) for bits in known]
        all_ = sum(odds) + (0.0 if weight is None else 1.0)
        shares = [min(own / all_, 1 - 2.0**-FAR) for own in odds]
        return [
            log2(share / (1 - share)) - log2(WRONG / (1 - WRONG)) - bits
            for share, bits in zip(shares, known, strict=True)
        ]


class _Scale:
    """Weighs the links of classes, by what all classes show to be usual."""

    def __init__(self, source: Source, classes: Mapping[int, _Class], graphs: bool) -> None:
        pi = source.same_as
        sizes = source.engine.rows(f"SELECT representative, count(*) AS n FROM {pi} GROUP BY representative")
        self._sizes: dict[int, int] = {representative: int(n) for representative, n in sizes}
        self._as_large = _at_least(self._sizes.values())
        self._records = Records(source)
        self._clashes, names = clashes(source, graphs)
        twice = Counter(
            name for c in self._clashes.values() for name in {clash.about[0] for clash in c if clash.kind == SOURCE}
        )
        self._rarity = {name: -log2((count + 1) / (names[str(name)] + 2)) for name, count in twice.items()}
        self._weights = self._weighed(classes)

    def _weighed(self, classes: Mapping[int, _Class]) -> Weights:
        """The weights of agreement on each property, from links, and from as many pairs of members of two classes."""
        same: list[tuple[Record, Record]] = []
        alone: list[tuple[int, Record]] = []
        for representative, one in islice(classes.items(), 0, None, max(1, len(classes) // SAMPLE)):
            records = self._records.of(representative)
            alone += [(representative, record) for record in islice(records.values(), 2)]
            for members, causes in islice(one.items(), 4):
                a, b = (_but(records.get(member, {}), causes) for member in members[:2])
                same.append((a, b))
        dice = Random(0)
        pairs = ((dice.choice(alone), dice.choice(alone)) for _ in range(2 * SAMPLE if alone else 0))
        return Weights(same, [(a, b) for (first, a), (second, b) in pairs if first != second])

    def weigh(self, representative: int, one: _Class) -> Iterator[Weighed]:
        """The links of a class with all reasons."""
        found, size = _Links(one), self._sizes[representative]
        self._by_structure(found)
        self._by_values(found, representative)
        self._by_all(found, representative, size)
        for (hub, place), sides, reasons in zip(found.links, found.sides, found.reasons, strict=True):
            left = found.members[place]
            right = next(found.members[other] for other in found.hubs[hub] if other != place)
            strongest = tuple(sorted(reasons, key=lambda reason: -abs(reason.bits)))
            causes, shared = tuple(found.causes[hub]), len(found.hubs[hub])
            yield Weighed(representative, causes, left, right, shared, size, sides.parts, strongest)

    def _by_structure(self, found: _Links) -> None:
        for (hub, place), reasons in zip(found.links, found.reasons, strict=True):
            if degree := found.degrees[hub][place]:
                reasons.append(Reason("structure", -log2(max(1 - degree, 2**-MOST)), (), degree))

    def _by_values(self, found: _Links, representative: int) -> None:
        """Records on the two sides agree or not."""
        records = self._records.of(representative)
        for (hub, _), sides, reasons in zip(found.links, found.sides, found.reasons, strict=True):
            left, right = (
                _but(_pooled(records, [found.members[place] for place in near]), found.causes[hub])
                for near in sides.nearest
            )
            for prop in sorted(left.keys() & right.keys()):
                agreed = agree(left[prop], right[prop])
                bits = 0.0 if agreed is None else self._weights.bits(prop, agreed)
                if bits:
                    shown = _alike(left[prop], right[prop]) if agreed else (left[prop][0], right[prop][0])
                    reasons.append(Reason("values", bits, (prop, *(value.id for value in shown))))

    def _by_all(self, found: _Links, representative: int, size: int) -> None:
        """What speaks against the class: its size, two names of one source, contradictions."""
        share, every = self._as_large(size), range(len(found.links))
        for number, bits in zip(every, found.blamed(every, -log2(share)), strict=True):
            if bits > 0:
                found.reasons[number].append(Reason("size", bits, (), share))
        told = self._clashes.get(representative, ())
        for contradictions in (False, True):
            strongest: list[Reason | None] = [None] * len(found.links)
            for clash in told:
                if contradictions == (clash.kind != SOURCE):
                    between = found.between(clash)
                    weight = None if contradictions else self._rarity[clash.about[0]]
                    for number, bits in zip(between, found.blamed(between, weight), strict=True):
                        _stronger(strongest, number, clash, bits)
            for reasons, reason in zip(found.reasons, strongest, strict=True):
                reasons += [reason] if reason else []


def log_odds(bits: float) -> float:
    """The logarithm (base 2) of the odds that a link is wrong against which so many bits speak."""
    return bits + log2(WRONG / (1 - WRONG))


def _stronger(strongest: list[Reason | None], number: int, clash: Clash, bits: float) -> None:
    """Keep of each link the clash that tells most against it."""
    known = strongest[number]
    if bits > (known.bits if known else 0.0):
        strongest[number] = Reason(clash.kind, bits, (clash.a, clash.b, *clash.about))


def _at_least(sizes: Collection[int]) -> Callable[[int], float]:
    """The share of classes that are as large as that, or larger (Laplace's rule)."""
    counts, total = Counter(sizes), len(sizes)
    left, shares = total, {}
    for size in sorted(counts):
        shares[size] = (left + 1) / (total + 2)
        left -= counts[size]
    return lambda size: shares[size]


def _but(record: Record, causes: Collection[Cause]) -> Record:
    """A record without the properties by which rules link it."""
    read = {prop for _, on in causes for prop in on}
    return {prop: values for prop, values in record.items() if prop not in read}


def _pooled(records: Mapping[int, Record], members: Sequence[int]) -> Record:
    found: dict[int, list[Value]] = defaultdict(list)
    for member in members:
        for prop, values in records.get(member, {}).items():
            found[prop] += values
    return found


def _alike(left: Collection[Value], right: Collection[Value]) -> tuple[Value, Value]:
    """The first values of two records that agree."""
    return next((a, b) for a in left for b in right if agree([a], [b]))
