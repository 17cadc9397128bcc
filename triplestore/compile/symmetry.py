"""Shapes that say "all who share this are one": bodies that are symmetric under swapping the two ends of the head.

prp-fp, prp-ifp, prp-key, cls-maxc2, cls-maxqc3, cls-maxqc4 and a user's rules of that kind have bodies that split into
two mirrored halves: body(a, b) = half(a, g) and half(b, g), where g is what the halves share. So the body relates all
pairs of the set {m : half(m, g)}. Where the head is an equality, k - 1 links from one member to the others say the same
as the k * (k - 1) pairs: the classes that they make are the same.

Whether a shape is of that kind is a property of the shape alone: no rule is known here by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from triplestore.compile.plan import Equal, K, Occurs, Pattern, Shape, Slot, Unequal, V

Swap = Mapping[Slot, Slot]
"""Variables and their mirror images; what it lacks is its own image."""


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
    within, open_swaps = set(body), [swap]
    while open_swaps:
        swap = open_swaps.pop()
        for atom in body:
            known = [slot in swap for slot in atom.slots if isinstance(slot, V)]
            if all(known):
                if _image(atom, swap) not in within:
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


def _image(atom: Pattern | Occurs, swap: Swap) -> Pattern | Occurs:
    slots = [swap.get(slot, slot) for slot in atom.slots]
    return Occurs(slots[0]) if isinstance(atom, Occurs) else Pattern(slots[0], slots[1], slots[2])


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
