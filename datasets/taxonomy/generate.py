"""A large class hierarchy: a tree with some second parents, class intersections, and typed instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from datasets.university.dice import Dice

EX = "http://example.org/taxonomy/"
_RDF, _RDFS, _OWL = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)
_TYPE = f"<{_RDF}type>"


@dataclass(frozen=True)
class Taxonomy:
    """The data in numbers: class i is a child of parent[i], and of second[i] where that is not -1.

    Class 0 is the root; a parent has a smaller number and stands one level higher, a second parent on any level above.
    Intersection j is the class classes + j, equivalent to parts[j, 0] and parts[j, 1] taken together. Instance k has
    the class types[k].
    """

    parent: NDArray[np.int64]
    second: NDArray[np.int64]
    parts: NDArray[np.int64]
    types: NDArray[np.int64]

    @cached_property
    def above(self) -> list[frozenset[int]]:
        """All superclasses of every class of the tree, itself included."""
        found: list[frozenset[int]] = []
        for number, (first, second) in enumerate(zip(self.parent.tolist(), self.second.tolist(), strict=True)):
            own = found[first] | (found[second] if second >= 0 else frozenset()) if number else frozenset[int]()
            found.append(own | {number})
        return found


def taxonomy(classes: int, depth: int, second: float, intersections: int, instances: int, seed: int = 0) -> Taxonomy:
    """A tree of `classes` classes on levels 0 to `depth`, each level larger than the one above by the same factor."""
    dice = Dice(seed, 1)
    ends = _level_ends(classes, depth)
    parent, extra = np.full(classes, -1, dtype=np.int64), np.full(classes, -1, dtype=np.int64)
    for level in range(1, depth + 1):
        start, end = ends[level - 1], ends[level]
        above = ends[level - 2] if level > 1 else 0
        parent[start:end] = above + dice.below(start - above, end - start)
        chosen = dice.uniform(end - start) < (second if level > 1 else 0.0)
        extra[start:end] = np.where(chosen, dice.below(start, end - start), -1)
    extra = np.where(extra == parent, -1, extra)
    low = 1 + dice.below(classes - 1, intersections)
    parts = np.stack([parent[low], dice.below(classes, intersections)], axis=1)
    return Taxonomy(parent, extra, parts, dice.below(classes, instances))


def _level_ends(classes: int, depth: int) -> list[int]:
    """Classes on the levels up to each: one root, then growth by one factor, at least one a level."""
    low, high = 1.0, float(classes)
    while high - low > 1e-9:
        factor = (low + high) / 2
        total = sum(factor**level for level in range(depth + 1))
        low, high = (factor, high) if total < classes else (low, factor)
    ends = np.cumsum([max(1, round(low**level)) for level in range(depth + 1)])
    ends[-1] = classes
    return [int(end) for end in ends]


def triples(data: Taxonomy) -> Iterator[str]:
    """The data as N-Triples text, a class or an instance at a time."""
    size = len(data.parent)

    def name(number: int) -> str:
        return f"<{EX}C{number}>"

    for number, (first, second) in enumerate(zip(data.parent.tolist(), data.second.tolist(), strict=True)):
        yield f"{name(number)} {_TYPE} <{_OWL}Class> .\n"
        for above in (first, second):
            if above >= 0:
                yield f"{name(number)} <{_RDFS}subClassOf> {name(above)} .\n"
    for number, (left, right) in enumerate(data.parts.tolist()):
        one, two = f"_:l{number}a", f"_:l{number}b"
        yield (
            f"{name(size + number)} {_TYPE} <{_OWL}Class> .\n"
            f"{name(size + number)} <{_OWL}intersectionOf> {one} .\n"
            f"{one} <{_RDF}first> {name(left)} .\n{one} <{_RDF}rest> {two} .\n"
            f"{two} <{_RDF}first> {name(right)} .\n{two} <{_RDF}rest> <{_RDF}nil> .\n"
        )
    for number, of in enumerate(data.types.tolist()):
        yield f"<{EX}i{number}> {_TYPE} {name(of)} .\n"


def types(data: Taxonomy) -> int:
    """Types of the instances in the closure, owl:Thing included: what the classes of the tree, and the intersections
    of classes that an instance has both of, say of it."""
    made: dict[int, list[tuple[int, int]]] = {}
    for number, (left, right) in enumerate(data.parts.tolist()):
        made.setdefault(left, []).append((right, number))
    total = 0
    for of in data.types.tolist():
        above = data.above[of]
        total += len(above) + 1 + sum(right in above for left in above for right, _ in made.get(left, ()))
    return total


def superclasses(data: Taxonomy) -> int:
    """rdfs:subClassOf in the closure: each class below all above it and itself, owl:Thing above all and owl:Nothing
    below, and both of these below themselves and owl:Nothing below owl:Thing."""
    size = len(data.parent) + len(data.parts)
    within = sum(len(above) for above in data.above)
    crossed = sum(1 + len(data.above[left] | data.above[right]) for left, right in data.parts.tolist())
    return within + crossed + 2 * size + 3
