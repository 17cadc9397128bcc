"""Computed join keys: parts of a body that nothing but an equation of expressions ties to each other.

Of `FILTER(LCASE(?n) = LCASE(?m))` both sides are computed for the rows of their own parts, and the parts are joined
where the two may be equal. What equal values have in common is a text (`triplestore.expressions.compare.equality_key`):
the equation is still asked of each row that is found so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from triplestore.compile.inline import numbered
from triplestore.compile.plan import Condition, Element, Holds, Member, V
from triplestore.model.expression import Call, Expression


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an equation: its variables "0", "1" ... are those of `reads`."""

    expression: Expression
    reads: tuple[Member, ...]

    @property
    def slots(self) -> tuple[V, ...]:
        """The variables of the body that it reads."""
        return tuple(dict.fromkeys(member.slot for member in self.reads if isinstance(member.slot, V)))


Equation = tuple[Side, Side]


@lru_cache(maxsize=4096)
def equations(conditions: tuple[Condition, ...]) -> tuple[Equation, ...]:
    """The equations that hold in every match, whose sides have variables of their own."""
    found = []
    for condition in conditions:
        for left, right in _equated(condition.expression) if isinstance(condition, Holds) else ():
            assert isinstance(condition, Holds)
            sides = _side(left, condition.reads), _side(right, condition.reads)
            if all(s.slots and len(s.slots) == len({m.slot for m in s.reads}) for s in sides) and {
                *sides[0].slots
            }.isdisjoint(sides[1].slots):
                found.append(sides)
    return tuple(found)


def _equated(expression: Expression) -> Iterator[tuple[Expression, Expression]]:
    match expression:
        case Call("&&", parts):
            for part in parts:
                yield from _equated(part)
        case Call("=" | "SAMETERM", (left, right)):
            yield left, right
        case Call("||", (Call("SAMETERM", one), Call("=", other))) if one == other:  # of a BIND: one value
            yield one[0], one[1]


def _side(expression: Expression, reads: Sequence[Member]) -> Side:
    plain, names = numbered(expression)
    return Side(plain, tuple(reads[int(name)] for name in names))


def part_of(body: Sequence[Element], slots: Sequence[V]) -> list[int]:
    """The places of the elements that variables tie to some variables, directly or not."""
    tied: set[object] = {*slots}
    found: set[int] = set()
    grown = True
    while grown:
        grown = False
        for number, element in enumerate(body):
            variables = {slot for slot in element.slots if isinstance(slot, V)}
            if number not in found and not tied.isdisjoint(variables):
                found.add(number)
                tied |= variables
                grown = True
    return sorted(found)


def is_among(body: Sequence[Element], places: Sequence[int], slots: Sequence[V]) -> bool:
    """Whether the elements at some places have all of some variables."""
    return {*slots} <= {slot for place in places for slot in body[place].slots}
