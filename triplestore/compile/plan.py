"""Shapes: what is left of a rule when its constants are filled in elsewhere.

A shape is a join of triple patterns over variables and parameters. Every constant of a rule (its own, or bound by its
schema part) becomes a parameter of its own, and atoms are put in canonical order, so that rules that differ only in
their constants share one shape: cax-sco, cls-hv1, prp-dom ... become a few linear shapes, prp-trp is prp-spo2 of
length two. The rows of parameters are the *rule instances*; one shape is one SQL statement against them.

Users' rules can have more: conditions by expressions (`Holds`) and negated groups (`Absent`), outputs made by an
expression (`Made`), and joins with the table of an aggregate (`Grouped`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import chain, permutations
from typing import Final

from triplestore.model.expression import Call, Constant, Expression, Variable

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


@dataclass(frozen=True, slots=True)
class Before:
    """`?i < ?j` over positions in a list."""

    left: Slot
    right: Slot


@dataclass(frozen=True, slots=True)
class Member:
    """A term of the class that a slot stands for, each in turn: what expressions see of a variable. Variables of a rule
    that are equal terms share a slot, and differ in `copy`."""

    slot: Slot
    copy: int


@dataclass(frozen=True, slots=True)
class Holds:
    """An expression is true, errors being false. Its variables "0", "1" ... are those of `reads`."""

    expression: Expression
    reads: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing matches a group of patterns and conditions; its own variables are numbered on after those around it."""

    body: tuple[Pattern | Occurs, ...]
    conditions: tuple[Equal | Unequal | Holds, ...]

    @property
    def reads(self) -> tuple[Member, ...]:
        """What its expressions read."""
        return tuple(member for c in self.conditions if isinstance(c, Holds) for member in c.reads)


Condition = Unequal | Equal | Before | Holds | Absent


@dataclass(frozen=True, slots=True)
class Made:
    """An output column that an expression makes (see `Holds`), as a token; no match where it is an error."""

    expression: Expression
    reads: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """An aggregate of a group. The argument's variables "0", "1" ... are the columns of the group's matches."""

    function: str
    argument: Expression | None
    distinct: bool


@dataclass(frozen=True, slots=True)
class Group:
    """An AGGREGATE: a table of its own. `matches` has its variables as output, the `keys` first ones being the keys;
    equal terms are one. The table has the keys and the results, one row for each group that there is."""

    matches: Shape
    keys: int
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """A body element that is matched against the table of a group: keys and results. `parameters` are the group's own:
    its K(i) is the i-th of them."""

    group: Group
    parameters: tuple[Slot, ...]
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """`item` is at position `place` of the rdf list `list`: matched against `Program.listed`, not against facts."""

    place: Slot
    list: Slot
    item: Slot

    @property
    def slots(self) -> tuple[Slot, Slot, Slot]:
        return self.place, self.list, self.item


Element = Pattern | Occurs | Grouped | Listed


@dataclass(frozen=True)
class Shape:
    """Body elements, conditions and output columns. A rule's output is its head (three columns); that of a
    constraint is the triples at fault (three columns each)."""

    body: tuple[Element, ...]
    conditions: tuple[Condition, ...]
    output: tuple[Slot | Made, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Made once: programs are dictionaries of shapes."""
        return hash((self.body, self.conditions, self.output))

    @cached_property
    def uses_occurs(self) -> bool:
        groups = (condition.body for condition in self.conditions if isinstance(condition, Absent))
        return any(
            element.group.matches.uses_occurs if isinstance(element, Grouped) else isinstance(element, Occurs)
            for element in chain(self.body, *groups)
        )

    @cached_property
    def uses_lists(self) -> bool:
        """Whether it reads `Program.listed`."""
        return any(isinstance(element, Listed) for element in self.body)

    @cached_property
    def negative(self) -> bool:
        """Whether it has a NOT or an AGGREGATE: to be run when what these read is complete."""
        return any(isinstance(c, Absent) for c in self.conditions) or any(isinstance(e, Grouped) for e in self.body)

    @cached_property
    def monotone(self) -> bool:
        """Whether it is a plain join: no NOT, no AGGREGATE, no expression. What takes rules apart asks this."""
        return not self.negative and not self.makes_terms and not any(isinstance(c, Holds) for c in self.conditions)

    @cached_property
    def makes_terms(self) -> bool:
        """Whether an output is the token of a term that the dictionary may lack."""
        return any(isinstance(column, Made) for column in self.output)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """What its expressions read."""
        conditions = (m for c in self.conditions if isinstance(c, Holds | Absent) for m in c.reads)
        return *conditions, *(m for column in self.output if isinstance(column, Made) for m in column.reads)

    @cached_property
    def read(self) -> frozenset[Slot]:
        """What its conditions and output read of its body."""
        conditions = [slot for c in self.conditions for slot in _read_by(c)]
        made = [member.slot for column in self.output if isinstance(column, Made) for member in column.reads]
        return frozenset([*conditions, *made, *(column for column in self.output if not isinstance(column, Made))])

    @cached_property
    def condition_slots(self) -> frozenset[Slot]:
        """What its conditions read of its body."""
        return frozenset(slot for condition in self.conditions for slot in _read_by(condition))

    @cached_property
    def equal_slots(self) -> Mapping[Slot, Slot]:
        """The variables that have the value of another slot in every match, by conditions, each with the one slot of
        those that are equal to it which stands for all: a parameter, or the least variable."""
        return _equal_slots(self.conditions)

    @cached_property
    def sees_members(self) -> bool:
        """Whether it may have more matches when a class of equal terms grows."""
        return bool(self.members) or any(isinstance(c, Unequal) for c in self.conditions)

    @cached_property
    def sees_parameters(self) -> bool:
        """Whether it may have more matches when the class of a parameter grows, with no fact that is new."""
        unequal = (c for c in self.conditions if isinstance(c, Unequal))
        return any(isinstance(member.slot, K) for member in self.members) or any(
            isinstance(c.left, K) and isinstance(c.right, K) for c in unequal
        )

    def __str__(self) -> str:
        body = ", ".join(f"{_KINDS.get(type(e), '')}{_text(e.slots)}" for e in self.body)
        return f"{_text(self.output)} :- {body}{''.join(f', {_condition(c)}' for c in self.conditions)}"


def equated(condition: Condition) -> tuple[Slot, Slot] | None:
    """The two slots that a condition says are equal. What `sameTerm` holds of is one term, and so of one class."""
    match condition:
        case Equal(left, right):
            return left, right
        case Holds(Call("SAMETERM", (Variable(left), Variable(right))), reads):
            return reads[int(left)].slot, reads[int(right)].slot
    return None


@lru_cache(maxsize=4096)
def _equal_slots(conditions: tuple[Condition, ...]) -> Mapping[Slot, Slot]:
    groups: dict[Slot, set[Slot]] = {}
    for condition in conditions:
        pair = equated(condition)
        if pair is not None:
            merged = groups.get(pair[0], {pair[0]}) | groups.get(pair[1], {pair[1]})
            groups.update(dict.fromkeys(merged, merged))
    chosen = {slot: min(group, key=lambda one: (isinstance(one, V), one.number)) for slot, group in groups.items()}
    return {slot: to for slot, to in chosen.items() if isinstance(slot, V) and slot != to}


def _read_by(condition: Condition) -> list[Slot]:
    match condition:
        case Holds():
            return [member.slot for member in condition.reads]
        case Absent():
            within = [slot for element in condition.body for slot in element.slots]
            return [*within, *(slot for c in condition.conditions for slot in _read_by(c))]
    return [condition.left, condition.right]


_KINDS: Final[dict[type, str]] = {Grouped: "AGGREGATE", Listed: "MEMBER"}

Row = tuple[Id, ...]
"""The parameters of one rule instance."""


@dataclass(frozen=True, slots=True)
class DataVar:
    """A variable of a rule's data part, before it is numbered."""

    name: str


@dataclass(frozen=True, slots=True)
class Hole:
    """A constant to be filled in: `number` indexes the values that the specialiser collects for an instance."""

    number: int


OpenSlot = DataVar | Hole
"""A slot that has no number yet, while a shape is put in canonical form. Holes of one number are one parameter."""


Numbering = Callable[[OpenSlot], Slot]
"""Gives open slots their numbers, in the order in which it meets them."""

OpenElement = tuple[OpenSlot, ...] | Callable[[Numbering], Element]
"""Three open slots (a pattern), one (`Occurs`), or whatever is made of some, numbered."""


def canonical(
    body: Sequence[OpenElement],
    conditions: Sequence[Callable[[Numbering], Condition]],
    output: Sequence[OpenSlot | Callable[[Numbering], Made]],
) -> tuple[Shape, tuple[int, ...]]:
    """The shape of a rule's data part, and for each of its parameters the number of the hole that fills it.

    All orders of up to four atoms are tried and the smallest rendering wins, so equal joins meet whatever order their
    rules were written in.
    """
    orders = permutations(range(len(body))) if len(body) <= 4 else [tuple(range(len(body)))]
    return min((_number([body[i] for i in order], conditions, output) for order in orders), key=lambda x: str(x[0]))


def _number(
    body: Sequence[OpenElement],
    conditions: Sequence[Callable[[Numbering], Condition]],
    output: Sequence[OpenSlot | Callable[[Numbering], Made]],
) -> tuple[Shape, tuple[int, ...]]:
    variables: dict[str, V] = {}
    holes: dict[int, int] = {}

    def number(slot: OpenSlot) -> Slot:
        if isinstance(slot, DataVar):
            return variables.setdefault(slot.name, V(len(variables)))
        return K(holes.setdefault(slot.number, len(holes)))

    elements: list[Element] = []
    for element in body:
        if not isinstance(element, tuple):
            elements.append(element(number))
            continue
        slots = [number(slot) for slot in element]
        elements.append(Occurs(slots[0]) if len(slots) == 1 else Pattern(slots[0], slots[1], slots[2]))
    made = tuple(condition(number) for condition in conditions)
    columns = tuple(number(slot) if isinstance(slot, DataVar | Hole) else slot(number) for slot in output)
    return Shape(tuple(elements), made, columns), tuple(holes)


def _condition(condition: Condition) -> str:
    match condition:
        case Unequal(left, right):
            return f"{_text((left,))} != {_text((right,))}"
        case Equal(left, right):
            return f"{_text((left,))} = {_text((right,))}"
        case Before(left, right):
            return f"{_text((left,))} < {_text((right,))}"
        case Holds(expression, reads):
            return f"FILTER {_expression(expression, reads)}"
        case Absent(body, conditions):
            return f"NOT({', '.join([*(_text(e.slots) for e in body), *map(_condition, conditions)])})"


def _expression(expression: Expression | None, reads: Sequence[Member]) -> str:
    match expression:
        case Call(name, arguments):
            return f"{name}({', '.join(_expression(a, reads) for a in arguments)})"
        case Variable(name):
            member = reads[int(name)]
            return _slot(member.slot) + "'" * member.copy
        case Constant(token):
            return token
    return "*"


def _text(slots: Sequence[Slot | Made]) -> str:
    return f"({' '.join(map(_slot, slots))})"


def _slot(slot: Slot | Made) -> str:
    match slot:
        case V(number):
            return f"v{number}"
        case K(number):
            return f"k{number}"
        case Made(expression, reads):
            return _expression(expression, reads)
