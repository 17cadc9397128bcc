"""Joins of a shape with a small set of triples as focus: the maintenance algorithms' one way to run a rule.

Set at a time: a table of bindings, one column for each variable, starts with the matches of the focus and grows by one
body atom after the other, the one with the most bound places first; every step is a search in sorted keys
(`triplestore.maintain.relation`). Nothing here scans a relation that is not the focus, unless an atom shares nothing
with the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np

from triplestore.compile.join import is_wide
from triplestore.compile.plan import Absent, Element, K, Listed, Made, Pattern, Row, Shape, Slot, V
from triplestore.compile.symmetry import half
from triplestore.maintain.bindings import Bindings, Completion, Known, Which, folding, matched
from triplestore.maintain.budget import meter
from triplestore.maintain.classes import Map
from triplestore.maintain.conditions import Conditions
from triplestore.maintain.keys import NONE, Ids, Layout, Mask, distinct, places, union
from triplestore.maintain.recursion import Recursion
from triplestore.maintain.relation import ALL, Relation, TooManyError
from triplestore.maintain.state import body_facts
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.model.terms import SAME_AS
from triplestore.model.thresholds import SIZES

TRIPLE = ("s", "p", "o")
NO_OUTPUT: Final = np.empty((0, 0), dtype=np.int64)


@dataclass(slots=True)
class Instances:
    """The instances of a shape: one row of codes each. `shape` may be a rule's, or a rule's read backwards. recursive:
    whether all or none of them are, if known. member: of instances that say that all of a group are equal, the half of
    the shape, see `triplestore.maintain.groups`."""

    shape: Shape
    rows: Ids  # (instances, parameters)
    recursive: bool = False
    member: Shape | None = None
    parts: tuple[Shape, ...] | None = None  # of a shape read backwards, see `triplestore.maintain.join`
    _found: dict[tuple[int, ...], _Lookup] = field(default_factory=dict)
    _read: dict[Which, Collection[Slot] | None] = field(default_factory=dict)
    _others: dict[Shape, Instances] = field(default_factory=dict)

    def of(self, shape: Shape) -> Instances:
        """The same rows as instances of another shape."""
        if shape not in self._others:
            self._others[shape] = Instances(shape, self.rows)
        return self._others[shape]

    def read(self, which: Which) -> Collection[Slot] | None:
        """What `Bindings` takes."""
        if which not in self._read:
            self._read[which] = folding(self.shape, which)
        return self._read[which]

    def having(self, layout: Layout, focus: int, keys: Ids) -> Mask:
        """The keys for which there is an instance whose parameters in body atom `focus` agree with them."""
        start, end = self.ranges(layout, (focus,), (keys,))
        found: Mask = end > start
        return found

    def ranges(self, layout: Layout, atoms: Sequence[int], keys: Sequence[Ids]) -> tuple[Ids, Ids]:
        """Where the instances begin and end, as `matching` takes it, whose parameters in these body atoms agree with
        the keys there, which are arrays of one length, one for each atom."""
        lookup = self._found.get(tuple(atoms))
        if lookup is None:
            lookup = self._found[tuple(atoms)] = _Lookup.of([self._masked(layout, atom) for atom in atoms])
        return lookup.ranges([self._wanted(layout, *pair) for pair in zip(atoms, keys, strict=True)])

    def matching(self, atoms: Sequence[int], start: Ids, end: Ids) -> tuple[Ids, Ids]:
        """(position, instance) for each instance in the `ranges` of these atoms."""
        counts = end - start
        total = int(counts.sum())
        if not total:
            return NONE, NONE
        at = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        place = np.arange(total, dtype=np.int64) + np.repeat(end - np.cumsum(counts), counts)
        return at, self._found[tuple(atoms)].order[place]

    def constant(self, slot: K) -> int | None:
        """The one value that a parameter has in all instances; None if there are more."""
        column = self.rows[:, slot.number]
        return int(column[0]) if (column == column[0]).all() else None

    def _pattern(self, atom: int) -> Pattern:
        pattern = self.shape.body[atom]
        assert isinstance(pattern, Pattern)
        return pattern

    def _masked(self, layout: Layout, atom: int) -> Ids:
        """An atom's parameters, packed."""
        pattern = self._pattern(atom)
        zero = np.zeros(len(self.rows), dtype=np.int64)
        s, p, o = (self.rows[:, slot.number] if isinstance(slot, K) else zero for slot in pattern.slots)
        if isinstance(pattern.p, K):
            layout.register(np.unique(p).tolist())
            p = layout.numbers(p)
        return layout.pack(p, s, o)

    def _wanted(self, layout: Layout, atom: int, keys: Ids) -> Ids:
        """Of keys, what an atom's parameters must be, packed."""
        zero = np.zeros_like(keys)
        slots = zip(self._pattern(atom).slots, _parts(layout, keys), strict=True)
        s, p, o = (part if isinstance(slot, K) else zero for slot, part in slots)
        return layout.pack(p, s, o)


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Rows in the order of one or more columns. known: the sorted values of each column; groups: the combinations of
    their positions that occur, as one number each, sorted; ends: where the rows of each group begin in the order, and
    at last where those of the last one end."""

    known: Sequence[Ids]
    groups: Ids
    ends: Ids
    order: Ids

    @classmethod
    def of(cls, columns: Sequence[Ids]) -> _Lookup:
        known = [distinct(column) for column in columns]
        group = np.zeros(len(columns[0]), dtype=np.int64)
        for values, column in zip(known, columns, strict=True):
            group = group * len(values) + np.searchsorted(values, column)
        order = np.argsort(group, kind="stable")
        groups, starts = np.unique(group[order], return_index=True)
        return cls(known, groups, np.append(starts, len(order)).astype(np.int64), order)

    def ranges(self, columns: Sequence[Ids]) -> tuple[Ids, Ids]:
        """Where the rows with these values begin and end, in order."""
        at, there = places(columns[0], self.known[0])
        for values, column in zip(self.known[1:], columns[1:], strict=True):
            place, known = places(column, values)
            at, there = at * len(values) + place, there & known
        if len(self.known) > 1:  # of one column every position is a group
            at, known = places(at, self.groups)
            there &= known
        start = self.ends[at]
        return start, np.where(there, self.ends[at + 1], start)


class _ByPredicate:
    """Which instances have an atom that may match a fact, by the fact's predicate. atoms: those of the body that count,
    None for all."""

    def __init__(self, every: Sequence[Instances], atoms: Collection[int] | None = None) -> None:
        self._every = every
        self._open: list[tuple[int, int]] = []  # (instances, atom) where the predicate is a variable
        self._known: dict[int, list[tuple[int, int]]] = {}
        for number, instances in enumerate(every):
            for atom, element in enumerate(instances.shape.body):
                if not isinstance(element, Pattern) or (atoms is not None and atom not in atoms):
                    continue
                if not isinstance(element.p, K):
                    self._open.append((number, atom))
                    continue
                for predicate in distinct(instances.rows[:, element.p.number]).tolist():
                    self._known.setdefault(predicate, []).append((number, atom))

    def of(self, layout: Layout, facts: Ids) -> list[tuple[Instances, list[int]]]:
        """The instances of which an atom may match one of some facts, and these atoms."""
        found = set(self._open)
        for predicate in layout.predicates_of(facts).tolist():
            found.update(self._known.get(predicate, ()))
        atoms: dict[int, list[int]] = {}
        for number, atom in sorted(found):
            atoms.setdefault(number, []).append(atom)
        return [(self._every[number], some) for number, some in atoms.items()]


class Rules:
    """A program's instances over codes, but for shapes with `Occurs`. recursion: have the recursive instances of a
    shape apart from the others.

    forward: those without NOT and AGGREGATE; negative: the others. backward: the plain joins of them, read backwards.
    expressive: those of `forward` that are none; searched: these, read backwards.
    """

    def __init__(
        self, layout: Layout, instances: Mapping[Shape, Collection[Row]], recursion: Recursion | None = None
    ) -> None:
        self.layout = layout
        self.forward: list[Instances] = []
        self.backward: list[Instances] = []
        self.expressive: list[Instances] = []
        self.searched: list[Instances] = []
        self.negative: list[Instances] = []
        for shape, rows in instances.items():
            if shape.uses_occurs or not rows:
                continue
            if not shape.monotone:
                plain = Instances(shape, encoded(layout, list(rows), shape))
                (self.negative if shape.negative else self.expressive).append(plain)
                if not shape.negative:
                    self.searched.append(plain.of(backward(shape)))
                continue
            kinds: dict[tuple[bool, bool], list[Row]] = {}
            for row in rows:
                kind = recursion is not None and recursion.recursive(shape, row), _by_group(shape, row)
                kinds.setdefault(kind, []).append(row)
            for (recursive, by_group), some in kinds.items():
                codes = encoded(layout, some, shape)
                member = half(shape) if by_group else None
                self.forward.append(Instances(shape, codes, recursive, member=member))
                self.backward.append(Instances(backward(shape), codes, recursive))
        self.forward += self.expressive

    def reading(self, facts: Ids) -> list[tuple[Instances, list[int]]]:
        """The instances of `forward` of which a body atom may match one of some facts, and these atoms."""
        return self._read.of(self.layout, facts)

    def deriving(self, facts: Ids) -> list[Instances]:
        """The instances of `backward` that may derive one of some facts."""
        return [instances for instances, _ in self._derived.of(self.layout, facts)]

    @cached_property
    def _read(self) -> _ByPredicate:
        return _ByPredicate(self.forward)

    @cached_property
    def _derived(self) -> _ByPredicate:
        return _ByPredicate(self.backward, (0,))

    @classmethod
    def recursive(cls, rules: Rules) -> Rules:
        """The recursive ones of some rules."""
        found = cls(rules.layout, {})
        found.forward = [instances for instances in rules.forward if instances.recursive]
        found.backward = [instances for instances in rules.backward if instances.recursive]
        return found


def _by_group(shape: Shape, row: Row) -> bool:
    """Whether an instance says that all of a group are equal, and groups are found by the whole of what makes them: not
    by many properties of several values each."""
    head = shape.output[1]
    if not isinstance(head, K) or row[head.number] != SAME_AS or shape.uses_lists:
        return False
    member = half(shape)
    return member is not None and not is_wide(member.body)


def backward(shape: Shape) -> Shape:
    """The shape read backwards (Motik et al. 2015, `matchHead`): its head is the first atom, its output the triples of
    its body, three columns each. With facts in place of the first atom, the matches are their derivations.

    What an expression makes of the head is a variable there, and a column after the others: see `as_made`."""
    body = tuple(slot for element in shape.body if isinstance(element, Pattern) for slot in element.slots)
    made = dict.fromkeys(slot for slot in shape.output if isinstance(slot, Made))
    return Shape((head_pattern(shape), *shape.body), shape.conditions, (*body, *made))


def head_pattern(shape: Shape) -> Pattern:
    """The first triple of a shape's output (of a rule's the head), with variables for what expressions make."""
    made = dict.fromkeys(slot for slot in shape.output if isinstance(slot, Made))
    variables = {slot: V(number) for number, slot in enumerate(made, first_free(shape))}
    s, p, o = (variables[slot] if isinstance(slot, Made) else slot for slot in shape.output[:3])
    return Pattern(s, p, o)


def first_free(shape: Shape) -> int:
    """The number from which on a shape has no variable."""
    groups = (condition.body for condition in shape.conditions if isinstance(condition, Absent))
    slots = (slot for element in chain(shape.body, *groups) for slot in element.slots)
    return 1 + max((slot.number for slot in slots if isinstance(slot, V)), default=-1)


def as_made(layout: Layout, shape: Shape, facts: Ids, output: Ids) -> Mask:
    """Of matches of a shape read backwards, which make of the facts in place of the first atom what these have."""
    head, *atoms = (element for element in shape.body if isinstance(element, Pattern))
    bound = {slot for atom in atoms for slot in atom.slots}
    fits = np.ones(len(facts), dtype=np.bool_)
    places = dict.fromkeys(slot for slot in head.slots if isinstance(slot, V) and slot not in bound)
    numbers = {slot: 3 * len(atoms) + number for number, slot in enumerate(places)}
    for slot, codes in zip(head.slots, layout.unpack(facts), strict=True):
        if slot in numbers:
            fits &= output[:, numbers[slot]] == codes
    return fits


def encoded(layout: Layout, rows: Sequence[Row], shape: Shape) -> Ids:
    """Instances as an array of codes; every parameter that can stand for a predicate gets a number."""
    ids = np.array(rows, dtype=np.int64)
    codes = layout.encode(ids.reshape(-1)).reshape(len(rows), -1)
    for element in shape.body:
        predicate = element.slots[1] if isinstance(element, Pattern | Listed) else None
        if isinstance(predicate, K):
            layout.register(np.unique(codes[:, predicate.number]).tolist())
    return codes


def matches(
    instances: Instances,
    focus: int,
    delta: Ids,
    others: Sequence[tuple[Relation, Ids]],
    classes: Map,
    most: int = ALL,
    which: Which = Which.EVERY,
    conditions: Conditions | None = None,
) -> tuple[Ids, Ids, bool]:
    """The matches of a shape with body atom `focus` in `delta` (keys) and each other atom i in others[i], a relation
    without some keys: (position in delta of each, its output as rows of codes, whether some matches were left out since
    an atom had more than `most` for one binding). There is no output for `Which.FOCUS`. conditions: decides what plain
    joins do not."""
    completion = completed(instances.shape, classes, which, most, conditions)
    at, output = [NONE], []
    for part in focused(completion, instances, focus, delta, others):
        at.append(part.at)
        output.append(NO_OUTPUT if which is Which.FOCUS else part.output())
    if len(output) == 1:
        return at[1], output[0], completion.cut
    every = np.concatenate(output) if output else np.empty((0, len(instances.shape.output)), dtype=np.int64)
    return np.concatenate(at), every, completion.cut


def completed(shape: Shape, classes: Map, which: Which, most: int, conditions: Conditions | None) -> Completion:
    """What completes the bindings of a shape."""
    if shape.monotone:
        return Completion(classes, which, most)
    assert conditions is not None, "a shape with NOT, AGGREGATE or expressions needs its conditions"
    return Completion(classes, which, most, conditions)


def focused(
    completion: Completion,
    instances: Instances,
    focus: int,
    delta: Ids,
    others: Sequence[tuple[Relation, Ids]],
) -> Iterator[Bindings]:
    """The matches of a shape as of `matches`, in parts."""
    layout, shape = others[0][0].layout, instances.shape
    start, end = instances.ranges(layout, (focus,), (delta,))
    pairs = np.cumsum(end - start)
    if not len(pairs) or not pairs[-1]:
        return
    cuts = (
        np.searchsorted(pairs, np.arange(THRESHOLDS.room, int(pairs[-1]), THRESHOLDS.room))
        if pairs[-1] > THRESHOLDS.room
        else NONE
    )
    waiting = np.split(np.arange(len(delta), dtype=np.int64), np.unique(cuts))[::-1]
    while waiting:
        part = waiting.pop()
        if not len(part):
            continue
        left = {i: (shape.body[i], *others[i]) for i in range(len(shape.body)) if i != focus}
        try:
            bindings = _begun(completion, instances, focus, delta[part], others, left)
        except TooManyError:
            waiting += np.array_split(part, 2)[::-1]
            continue
        bindings.at = part[bindings.at]
        yield from completion.of(bindings, left)


def _begun(
    completion: Completion,
    instances: Instances,
    focus: int,
    delta: Ids,
    others: Sequence[tuple[Relation, Ids]],
    left: dict[int, tuple[Element, Relation, Ids]],
) -> Bindings:
    """The bindings by the focus and instances, in which an atom of those that are `left` may be joined: it is left no
    more. Raises TooManyError where that one makes too many rows."""
    layout, shape = others[0][0].layout, instances.shape
    read = instances.read(completion.which)
    start, end = instances.ranges(layout, (focus,), (delta,))
    pairs = int((end - start).sum())
    first = None
    if pairs > SIZES.much * len(delta):
        patterns = {i: relation for i, (element, relation, _) in left.items() if isinstance(element, Pattern)}
        first = _fewer(layout, instances, focus, delta, patterns, pairs)
    if first is None:
        at, chosen = instances.matching((focus,), start, end)
        bindings = Bindings(layout, shape, at, instances.rows[chosen], read, completion.worth_of)
        bindings.bind(shape.body[focus], delta[at])
        return bindings
    number, known = first
    room = THRESHOLDS.room if len(delta) > 1 else ALL
    at, keys, cut = matched(*others[number], known, completion.most, room)
    meter().made(len(at))
    del left[number]
    completion.cut |= cut
    both = focus, number
    found, chosen = instances.matching(both, *instances.ranges(layout, both, (delta[at], keys)))
    bindings = Bindings(layout, shape, found, instances.rows[chosen], read, completion.worth_of)
    bindings.bind(shape.body[focus], delta[at[bindings.at]])
    bindings.bind(shape.body[number], keys[bindings.at])
    bindings.at = at[bindings.at]
    return bindings


def _fewer(
    layout: Layout, instances: Instances, focus: int, delta: Ids, others: Mapping[int, Relation], pairs: int
) -> tuple[int, Known] | None:
    """The atom by whose triples there are far fewer candidates than pairs of a focus and an instance, joined with the
    focus before any instance is chosen (a class has many subclasses, a resource few types); None if there is none."""
    known = {i: found for i in others if (found := _known(layout, instances, focus, delta, i)) is not None}
    counts = {i: others[i].count(*found) for i, found in known.items()}
    best = min(counts, key=lambda i: counts[i], default=None)
    return None if best is None or SIZES.much * counts[best] > pairs else (best, known[best])


def _known(layout: Layout, instances: Instances, focus: int, delta: Ids, number: int) -> Known | None:
    """What of body atom `number` is known by the focus and by what all instances share, as `Relation.match` takes it;
    None if that is too little."""
    bound: dict[int, Ids] = {}
    for slot, codes in zip(instances.shape.body[focus].slots, layout.unpack(delta), strict=True):
        if isinstance(slot, V):
            bound[slot.number] = codes

    def value(slot: Slot) -> Ids | None:
        if isinstance(slot, K):
            constant = instances.constant(slot)
            return None if constant is None else np.full(len(delta), constant, dtype=np.int64)
        return bound.get(slot.number)

    s, p, o = (value(slot) for slot in instances.shape.body[number].slots)
    return None if p is None or (s is None and o is None) else (layout.numbers(p), s, o)


def all_matches(
    instances: Instances,
    relation: Relation,
    classes: Map,
    without: Ids = NONE,
    listed: Relation | None = None,
    which: Which = Which.EVERY,
    conditions: Conditions | None = None,
) -> Ids:
    """Every match of a shape in a relation, but for some keys, as rows of codes. listed: what `Listed` matches.
    conditions: as in `matches`."""
    completion = completed(instances.shape, classes, which, ALL, conditions)
    found = [part.output() for part in every_match(completion, instances, relation, without, listed)]
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.empty((0, len(instances.shape.output)), dtype=np.int64)


def every_match(
    completion: Completion, instances: Instances, relation: Relation, without: Ids, listed: Relation | None = None
) -> Iterator[Bindings]:
    """The matches of `all_matches`, in parts."""
    shape, count = instances.shape, len(instances.rows)
    read = instances.read(completion.which)
    at = np.arange(count, dtype=np.int64)
    bindings = Bindings(relation.layout, shape, at, instances.rows, read, completion.worth_of)
    left = {
        i: (element, relation if listed is None or isinstance(element, Pattern) else listed, without)
        for i, element in enumerate(shape.body)
    }
    return completion.of(bindings, left)


def _parts(layout: Layout, keys: Ids) -> tuple[Ids, Ids, Ids]:
    """(s, predicate number, o) of keys."""
    mask = (1 << layout.bits) - 1
    return (keys >> layout.bits) & mask, keys >> (2 * layout.bits), keys & mask


def bodies(
    instances: Instances,
    facts: Ids,
    relation: Relation,
    without: Ids,
    classes: Map,
    most: int,
    conditions: Conditions | None = None,
) -> tuple[Ids, list[Ids], bool]:
    """The derivations of facts by a shape read backwards, with bodies in `relation` but for some keys: (positions of
    the facts that have one, the bodies' facts as keys, whether there may be more since an atom had more than `most`
    matches)."""
    parts = instances.parts = instances.parts or _separate(instances.shape)
    derived, found, cut = list[Ids](), list[Ids](), False
    for rows in _each(relation, instances, facts) if len(parts) > 1 else [instances.rows]:
        matched = []
        for part in parts:
            others = [(relation, without)] * len(part.body)
            at, output, some_cut = matches(
                *(Instances(part, rows), 0, facts, others, classes, most), conditions=conditions
            )
            if part.makes_terms:
                made = np.flatnonzero(as_made(relation.layout, part, facts[at], output))
                first = _first(at[made], max(1, most // SIZES.much))
                cut |= len(first) < len(made)
                made = made[first]
                at, output = at[made], output[made, : 3 * (len(part.body) - 1)]
            matched.append((at, output))
            cut |= some_cut
        every = np.logical_and.reduce([np.bincount(at, minlength=len(facts)) > 0 for at, _ in matched])
        derived.append(np.flatnonzero(every))
        found += [keys for at, output in matched for keys in body_facts(relation.layout, output[every[at]])]
    return union(*derived), found, cut


def _first(at: Ids, most: int) -> Ids:
    """The places of the first few of each value, which are next to each other or not."""
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], at[order], side="left")
    return np.sort(order[np.arange(len(at)) - starts < most])


def _each(relation: Relation, instances: Instances, facts: Ids) -> list[Ids]:
    """Each instance whose head some facts match, by itself."""
    _, chosen = instances.matching((0,), *instances.ranges(relation.layout, (0,), (facts,)))
    return [instances.rows[row : row + 1] for row in distinct(chosen)]


def _separate(shape: Shape) -> tuple[Shape, ...]:
    """A shape read backwards as several, where many atoms are about one variable, that have no variables in common but
    those of the first atom: the facts of its bodies are those of theirs, each of which has its own matches. x and y may
    agree in each of n properties by several values: the bodies are the product of these."""
    patterns = [element for element in shape.body if isinstance(element, Pattern)]
    head, *atoms = patterns
    if shape.conditions or shape.makes_terms or not is_wide(shape.body) or len(patterns) < len(shape.body):
        return (shape,)
    parts: list[tuple[set[Slot], list[Pattern]]] = []
    closed: list[Pattern] = []
    for atom in atoms:
        free = {slot for slot in atom.slots if slot not in head.slots and isinstance(slot, V)}
        tied = [part for part in parts if not part[0].isdisjoint(free)]
        parts = [part for part in parts if part[0].isdisjoint(free)]
        if free:
            slots: set[Slot] = set().union(free, *(slots for slots, _ in tied))
            parts.append((slots, [*(a for _, some in tied for a in some), atom]))
        else:
            closed.append(atom)
    if len(parts) < 2:
        return (shape,)
    every = [*([closed] if closed else []), *(some for _, some in parts)]
    return tuple(Shape((head, *some), (), tuple(slot for atom in some for slot in atom.slots)) for some in every)
