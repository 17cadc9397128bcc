"""Shapes: what is left of a rule when its constants are filled in elsewhere.

A shape is a join of triple patterns over variables and parameters. Every constant of a rule (its own, or bound by its
schema part) becomes a parameter of its own, and atoms are put in canonical order, so that rules that differ only in
their constants share one shape: cax-sco, cls-hv1, prp-dom ... become a few linear shapes, prp-trp is prp-spo2 of
length two. The rows of parameters are the *rule instances*; one shape is one SQL statement against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import permutations

Id = int


class Read(Enum):
    """Which facts a scan reads in a semi-naive round.

    The convention, written once: with atom i as focus, the focus reads DELTA, atoms before it OLD, atoms after it ALL
    (= OLD + DELTA); the instance table counts as the atom before all others. So each rule instance fires exactly once.
    """

    OLD = "old"
    DELTA = "delta"
    ALL = "all"


@dataclass(frozen=True, slots=True, order=True)
class V:
    """A variable of a shape, numbered by first occurrence."""

    number: int


@dataclass(frozen=True, slots=True, order=True)
class K:
    """A parameter of a shape: column number `number` of its instances."""

    number: int


Slot = V | K


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple pattern over facts."""

    s: Slot
    p: Slot
    o: Slot

    @property
    def slots(self) -> tuple[Slot, Slot, Slot]:
        return self.s, self.p, self.o


@dataclass(frozen=True, slots=True)
class Occurs:
    """Matches any term that occurs in a fact: what is left of `?x owl:sameAs ?x`, which is stored never."""

    term: Slot

    @property
    def slots(self) -> tuple[Slot]:
        return (self.term,)


@dataclass(frozen=True, slots=True)
class Unequal:
    """`?x != ?y` over the terms that two slots stand for (two members of one class differ as terms)."""

    left: Slot
    right: Slot


@dataclass(frozen=True, slots=True)
class Equal:
    """`?x = ?y`."""

    left: Slot
    right: Slot


Condition = Unequal | Equal


@dataclass(frozen=True, slots=True)
class Shape:
    """Body patterns, conditions and output columns. A rule's output is its head (three columns); that of a
    constraint is the triples at fault (three columns each)."""

    body: tuple[Pattern | Occurs, ...]
    conditions: tuple[Condition, ...]
    output: tuple[Slot, ...]

    @property
    def uses_occurs(self) -> bool:
        return any(isinstance(element, Occurs) for element in self.body)

    def __str__(self) -> str:
        body = ", ".join(_text(e.slots) for e in self.body)
        conditions = "".join(
            f", {_text((c.left,))} {'!=' if isinstance(c, Unequal) else '='} {_text((c.right,))}"
            for c in self.conditions
        )
        return f"{_text(self.output)} :- {body}{conditions}"


Row = tuple[Id, ...]
"""The parameters of one rule instance."""


@dataclass(frozen=True, slots=True)
class DataVar:
    """A variable of a rule's data part, before it is numbered."""

    name: str


@dataclass(frozen=True, slots=True)
class Hole:
    """A place for a constant: `number` indexes the values that the specialiser collects for an instance."""

    number: int


Place = DataVar | Hole
"""A term of an atom that is being put in canonical form. Holes of one number are one parameter."""


def canonical(
    body: Sequence[tuple[Place, ...]],
    conditions: Sequence[tuple[type[Unequal] | type[Equal], Place, Place]],
    output: Sequence[Place],
) -> tuple[Shape, tuple[int, ...]]:
    """The shape of a rule's data part, and for each of its parameters the number of the hole that fills it.

    Body elements are triples of places (patterns) or single places (`Occurs`). All orders of up to four atoms are
    tried and the smallest rendering wins, so equal joins meet whatever order their rules were written in.
    """
    orders = permutations(range(len(body))) if len(body) <= 4 else [tuple(range(len(body)))]
    return min((_number([body[i] for i in order], conditions, output) for order in orders), key=lambda x: str(x[0]))


def _number(
    body: Sequence[tuple[Place, ...]],
    conditions: Sequence[tuple[type[Unequal] | type[Equal], Place, Place]],
    output: Sequence[Place],
) -> tuple[Shape, tuple[int, ...]]:
    variables: dict[str, V] = {}
    holes: list[int] = []

    def slot(place: Place) -> Slot:
        if isinstance(place, DataVar):
            return variables.setdefault(place.name, V(len(variables)))
        if place.number not in holes:
            holes.append(place.number)
        return K(holes.index(place.number))

    elements: list[Pattern | Occurs] = []
    for element in body:
        slots = [slot(place) for place in element]
        elements.append(Occurs(slots[0]) if len(slots) == 1 else Pattern(slots[0], slots[1], slots[2]))
    compared = tuple(kind(slot(left), slot(right)) for kind, left, right in conditions)
    shape = Shape(tuple(elements), compared, tuple(slot(place) for place in output))
    return shape, tuple(holes)


def _text(slots: Sequence[Slot]) -> str:
    return "(" + " ".join(f"{'v' if isinstance(s, V) else 'k'}{s.number}" for s in slots) + ")"
