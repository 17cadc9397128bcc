"""Rules that say the same of both ends of an equality (prp-fp, prp-ifp, prp-key ...), as two like halves."""

from __future__ import annotations

from dataclasses import dataclass

from triplestore.compile.backward import Body


@dataclass(frozen=True, slots=True)
class Halves:
    """The atoms of a body that speak of the head's subject (with those of neither end), and for each atom that speaks
    of its object the like one among them."""

    half: tuple[int, ...]
    like: dict[int, int]


def like_halves(body: Body) -> Halves | None:
    """The halves of a body that says the same of both ends of its head; None of any other body."""
    assert body.head is not None
    left, _, right = body.head
    if not isinstance(left, str) or not isinstance(right, str) or left == right:
        return None
    if any({left, right} & {*pair} and {*pair} != {left, right} for pair in (*body.unequal, *body.equal)) or any(
        {*pair} == {left, right} for pair in body.equal
    ):
        return None
    of_left = [i for i, atom in enumerate(body.atoms) if left in atom]
    of_right = [i for i, atom in enumerate(body.atoms) if right in atom]
    if set(of_left) & set(of_right) or not of_left or len(of_left) != len(of_right):
        return None
    like: dict[int, int] = {}
    for i in of_right:
        swapped = tuple(left if t == right else t for t in body.atoms[i])
        match = next((j for j in of_left if body.atoms[j] == swapped and j not in like.values()), None)
        if match is None:
            return None
        like[i] = match
    return Halves(tuple(i for i in range(len(body.atoms)) if i not in like), like)
