"""Shapes that say "all who share this are one": bodies that are symmetric under swapping the two ends of the head.

prp-fp, prp-ifp, prp-key, cls-maxc2, cls-maxqc3, cls-maxqc4 and a user's rules of that kind have bodies that split into
two mirrored halves: body(a, b) = half(a, g) and half(b, g), where g is what the halves share. So the body relates all
pairs of the set {m : half(m, g)}. Where the head is an equality, k - 1 links from one member to the others say the same
as the k * (k - 1) pairs: the classes that they make are the same.

Whether a shape is of that kind is a property of the shape alone: no rule is known here by name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from triplestore.compile.backward import Body, Known
from triplestore.compile.plan import Equal, K, Occurs, Pattern, Shape, Slot, Unequal, V

Term = TypeVar("Term", bound=Hashable)

Swap = Mapping[Slot, Slot]
"""Variables and their mirror images; what it lacks is its own image."""


@dataclass(frozen=True, slots=True)
class Halves:
    """The two halves of the body of a rule instance, by the places of its atoms: `half` are those that are not about
    the head's object, `mirrored` has for each atom that is, its image among them."""

    half: tuple[int, ...]
    mirrored: dict[int, int]


def halves(body: Body) -> Halves | None:
    """The halves of a body that says the same of both ends of its head; None of any other body.

    As in `half`, but nothing else is swapped than the ends: of an instance all other variables are known."""
    assert body.head is not None
    left, _, right = body.head
    if not isinstance(left, str) or not isinstance(right, str) or left == right:
        return None
    if any({left, right} & {*pair} for pair in body.equal) or any(name in (left, right) for name, _ in body.seen):
        return None
    if any({left, right} & {*pair} and {*pair} != {left, right} for pair in body.unequal):
        return None
    of_left, of_right = ([i for i, atom in enumerate(body.atoms) if end in atom] for end in (left, right))
    if not of_left or len(of_left) != len(of_right) or not {*of_left}.isdisjoint(of_right):
        return None
    swap: dict[Known, Known] = {right: left}
    mirrored: dict[int, int] = {}
    for i in of_right:
        image = _image(body.atoms[i], swap)
        found = next((j for j in of_left if body.atoms[j] == image and j not in mirrored.values()), None)
        if found is None:
            return None
        mirrored[i] = found
    return Halves(tuple(i for i in range(len(body.atoms)) if i not in mirrored), mirrored)


@lru_cache(maxsize=1024)
def half(shape: Shape) -> Shape | None:
    """One half of a symmetric shape; None if the shape does not split into two.

    Its output is the member, then what makes the group: the variables that the halves share, and the parameters.
    """
    if len(shape.output) != 3 or not shape.monotone:
        return None
    a, _, b = shape.output
    if not isinstance(a, V) or not isinstance(b, V) or a == b:
        return None
    halves = (_split(shape, a, swap) for swap in _swaps(_patterns(shape), {a: b, b: a}))
    return next((found for found in halves if found is not None), None)


def _swaps(body: Sequence[Pattern | Occurs], swap: Swap) -> Iterator[Swap]:
    """The swaps that extend the given one and turn the body into itself: each atom has an image in the body."""
    alike: dict[object, list[Pattern | Occurs]] = {}
    for atom in body:
        alike.setdefault(_constants(atom), []).append(atom)
    within, open_swaps = {atom.slots for atom in body}, [swap]
    while open_swaps:
        swap = open_swaps.pop()
        for atom in body:
            known = [slot in swap for slot in atom.slots if isinstance(slot, V)]
            if all(known):
                if _image(atom.slots, swap) not in within:
                    break
            elif any(known):
                found = (_extended(swap, atom, other) for other in alike[_constants(atom)])
                open_swaps += reversed([extended for extended in found if extended is not None])
                break
        else:
            yield swap


def _constants(atom: Pattern | Occurs) -> tuple[Slot | None, ...]:
    """What an image of the atom has in common with it: its parameters, and where they stand."""
    return tuple(slot if isinstance(slot, K) else None for slot in atom.slots)


def _extended(swap: Swap, atom: Pattern | Occurs, image: Pattern | Occurs) -> Swap | None:
    """The swap extended so that it takes an atom to its image and back."""
    extended = dict(swap)
    if len(atom.slots) != len(image.slots):
        return None
    for slot, other in zip(atom.slots, image.slots, strict=True):
        if isinstance(slot, K) or isinstance(other, K):
            if slot != other:
                return None
        elif extended.setdefault(slot, other) != other or extended.setdefault(other, slot) != slot:
            return None
    return extended


def _image(terms: Iterable[Term], swap: Mapping[Term, Term]) -> tuple[Term, ...]:
    return tuple(swap.get(term, term) for term in terms)


def _split(shape: Shape, a: V, swap: Swap) -> Shape | None:
    """The half of `a`, or None where an atom or a filter ties the halves to each other."""
    moved = {slot for slot, image in swap.items() if image != slot}
    compared = [c for c in shape.conditions if isinstance(c, Equal | Unequal)]
    conditions = [c for c in compared if not (isinstance(c, Unequal) and {c.left, c.right} == {a, swap[a]})]
    if {_turned(c, swap) for c in conditions} != {_turned(c, {}) for c in conditions}:
        return None
    side = _tied(
        a, [moved.intersection(slots) for slots in (*(e.slots for e in _patterns(shape)), *map(_ends, conditions))]
    )
    if any(swap[slot] in side for slot in side) or any(s not in side and swap[s] not in side for s in moved):
        return None
    body = tuple(e for e in _patterns(shape) if side.issuperset(moved.intersection(e.slots)))
    kept = tuple(c for c in conditions if side.issuperset(moved.intersection(_ends(c))))
    shared = {slot for e in body for slot in e.slots if slot not in moved}
    groups = sorted(shared, key=lambda slot: (isinstance(slot, K), slot.number))
    return Shape(body, kept, (a, *groups)) if groups else None


def _patterns(shape: Shape) -> list[Pattern | Occurs]:
    return [e for e in shape.body if isinstance(e, Pattern | Occurs)]


def _tied(a: V, ties: Sequence[set[Slot]]) -> set[Slot]:
    """`a` and the swapped variables that atoms or filters tie to it, directly or not."""
    side: set[Slot] = {a}
    while True:
        more = set[Slot]().union(*(tied for tied in ties if not side.isdisjoint(tied))) - side
        if not more:
            return side
        side |= more


def _ends(condition: Equal | Unequal) -> tuple[Slot, Slot]:
    return condition.left, condition.right


def _turned(condition: Equal | Unequal, swap: Swap) -> tuple[type[Equal | Unequal], frozenset[Slot]]:
    return type(condition), frozenset(swap.get(slot, slot) for slot in _ends(condition))
