"""What instances with NOT or AGGREGATE read, and the facts that they may derive when some of it changes.

The conditions are not asked here: so more is found than has changed, and all that has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from triplestore.compile.plan import Absent, Equal, Grouped, K, Made, Pattern, Shape, Slot, V, equated
from triplestore.engine.sets import combinations
from triplestore.maintain.bindings import Bindings, Which
from triplestore.maintain.conditions import Conditions
from triplestore.maintain.join import Instances, all_matches, first_free, head_pattern, matches
from triplestore.maintain.keys import NONE, Ids, union
from triplestore.maintain.relation import Relation
from triplestore.maintain.state import ClosureState, heads
from triplestore.model.equality import Equality


class Premises:
    """The patterns that a shape reads, all over its variables and parameters, those within AGGREGATEs renamed apart.

    own: of its body. grouped: of its AGGREGATEs. absent: of each of its NOTs; absent_grouped: of those in AGGREGATEs.
    """

    def __init__(self, shape: Shape) -> None:
        self._next = first_free(shape)
        self.own = tuple(element for element in shape.body if isinstance(element, Pattern))
        self.absent = [_patterns(c) for c in shape.conditions if isinstance(c, Absent)]
        grouped: list[Pattern] = []
        self.absent_grouped: list[tuple[Pattern, ...]] = []
        for element in shape.body:
            if not isinstance(element, Grouped):
                continue
            matches, names = element.group.matches, dict[Slot, Slot]()
            names |= zip(matches.output[: element.group.keys], element.slots, strict=False)  # type: ignore[arg-type]
            names |= {K(number): slot for number, slot in enumerate(element.parameters)}
            grouped += (self._renamed(e, names) for e in matches.body if isinstance(e, Pattern))
            groups = (_patterns(c) for c in matches.conditions if isinstance(c, Absent))
            self.absent_grouped += (tuple(self._renamed(e, names) for e in some) for some in groups)
        self.grouped = tuple(grouped)
        self.positive = (*self.own, *self.grouped)
        """Those of which every match of the shape has a triple."""
        outer = {slot for element in shape.body for slot in element.slots}
        within = {slot for pattern in self.positive for slot in pattern.slots if isinstance(slot, V)}
        self.variables = tuple(sorted(outer & within))
        """Those of the body that such triples bind."""

    def slots(self, instances: Instances) -> tuple[Slot, ...]:
        """The parameters of instances, and the variables."""
        return (*map(K, range(instances.rows.shape[1])), *self.variables)

    def _unbound(self) -> V:
        self._next += 1
        return V(self._next - 1)

    def _renamed(self, pattern: Pattern, names: dict[Slot, Slot]) -> Pattern:
        for slot in pattern.slots:
            if slot not in names:
                names[slot] = self._unbound()
        return Pattern(*(names[slot] for slot in pattern.slots))


def _patterns(group: Absent) -> tuple[Pattern, ...]:
    return tuple(element for element in group.body if isinstance(element, Pattern))


@lru_cache(maxsize=1024)
def premises(shape: Shape) -> Premises:
    """What a shape reads."""
    return Premises(shape)


def touched(
    state: ClosureState, instances: Instances, relation: Relation, without: Ids, own: Ids, grouped: Ids, absent: Ids
) -> Ids:
    """The bindings of instances, rows of `Premises.slots`, with a triple of their own in `own`, of an AGGREGATE in
    `grouped`, or of a NOT in `absent`, and the others in `relation` but for some keys."""
    read = premises(instances.shape)
    slots, count, end = read.slots(instances), len(read.own), len(read.positive)
    parts: list[tuple[tuple[Pattern, ...], range, Ids]] = [
        (read.positive, range(count), own),
        (read.positive, range(count, end), grouped),
        *(((*read.positive, *some), range(end, end + len(some)), absent) for some in read.absent),
        *(((*read.positive, *some), range(end, end + len(some)), grouped) for some in read.absent_grouped),
    ]
    found = []
    for body, focused, delta in parts if len(instances.rows) else ():
        if not len(delta):
            continue
        joined = instances.of(Shape(body, _equalities(instances.shape, body), slots))
        for focus in focused:
            others = [(relation, without)] * len(body)
            found.append(matches(joined, focus, delta, others, state.classes, which=Which.OUTPUT)[1])
    return _distinct(found, len(slots))


def _equalities(shape: Shape, body: Iterable[Pattern]) -> tuple[Equal, ...]:
    """The conditions that two slots of patterns are equal. They are no more than a join, and hold of every match in the
    terms of its facts, those that have gone or come among them."""
    bound = {slot for pattern in body for slot in pattern.slots}
    pairs = (equated(condition) for condition in shape.conditions)
    return tuple(Equal(*p) for p in pairs if p and all(isinstance(slot, K) or slot in bound for slot in p))


class Deltas:
    """What an update has changed so far, for instances with NOT or AGGREGATE: the facts that have `gone` and `come`,
    and those of which one is in either. dirty: terms whose classes have changed (codes), where there are classes: what
    mentions them has come and gone, since expressions see the members of classes."""

    def __init__(self, state: ClosureState, dirty: Iterable[int]) -> None:
        terms = np.array(sorted(dirty), dtype=np.int64)
        if state.equality == Equality.AXIOMS:  # equalities are facts, and AGGREGATE counts a class once
            changed = union(state.added, state.removed)
            s, _, o = state.layout.unpack(changed[state.is_equality(changed)])
            terms = union(s, o)
        turned = state.mentioning(terms) if len(terms) else NONE
        self._state, self.gone, self.come = state, union(state.removed, turned), union(state.added, turned)
        self._changed = union(self.gone, self.come)
        self.either = state.facts
        if len(state.removed):
            self.either = state.facts.copy()
            self.either.add(state.removed)

    def lost(self, instances: Instances) -> Ids:
        """The bindings, as of `touched`, of matches that may have gone."""
        return touched(self._state, instances, self.either, NONE, self.gone, self._changed, self.come)

    def new(self, instances: Instances) -> Ids:
        """The bindings of matches that may be new."""
        return touched(self._state, instances, self.either, NONE, self.come, self._changed, self.gone)


def every(state: ClosureState, instances: Instances, relation: Relation, without: Ids = NONE) -> Ids:
    """All bindings, as `touched` has them, in a relation but for some keys."""
    read = premises(instances.shape)
    if not read.positive:
        return instances.rows
    slots = read.slots(instances)
    joined = instances.of(Shape(read.positive, _equalities(instances.shape, read.positive), slots))
    return _distinct([all_matches(joined, relation, state.classes, without, which=Which.OUTPUT)], len(slots))


def projected(instances: Instances, rows: Ids) -> Ids:
    """The output of bindings, as rows of codes; nothing may be made."""
    slots = list(premises(instances.shape).slots(instances))
    return rows[:, [slots.index(slot) for slot in instances.shape.output if not isinstance(slot, Made)]]


def headed(state: ClosureState, instances: Instances, rows: Ids) -> Ids:
    """The facts of I that bindings may derive: what an expression or an aggregate makes may be anything."""
    if not len(rows):
        return NONE
    slots = list(premises(instances.shape).slots(instances))
    normal = state.classes.normalise
    s, p, o = (normal(rows[:, slots.index(slot)]) if slot in slots else None for slot in instances.shape.output)
    if s is not None and p is not None and o is not None:
        keys = union(heads(state.layout, np.stack((s, p, o), axis=1)))
        return keys[state.facts.contains(keys)]
    numbers = state.layout.numbers(p) if p is not None else None
    if numbers is None:
        count = len(state.layout.predicates)
        numbers = np.tile(np.arange(count, dtype=np.int64), len(rows))
        s, o = (None if column is None else np.repeat(column, count) for column in (s, o))
    asked = [column for column in (numbers, s, o) if column is not None]
    some, _ = combinations(asked)
    numbers, s, o = (None if column is None else column[some] for column in (numbers, s, o))
    assert numbers is not None
    return union(state.facts.match(numbers, s, o)[1])


def derived(instances: Instances, rows: Ids, conditions: Conditions) -> Ids:
    """The output of the matches that bindings belong to, as rows of codes: conditions are asked, of the facts at
    hand."""
    shape, read, width = instances.shape, premises(instances.shape), instances.rows.shape[1]
    bindings = Bindings(conditions.facts.layout, shape, np.arange(len(rows), dtype=np.int64), rows[:, :width], None)
    bindings.fit(read.variables, [rows[:, place] for place, _ in enumerate(read.variables, width)])
    found = [part.output() for part in conditions.close(bindings)]
    return np.concatenate(found) if found else np.empty((0, len(shape.output)), dtype=np.int64)


def fired_again(instances: Instances, facts: Ids, conditions: Conditions) -> Ids:
    """The output, as rows of codes, of all matches of which the first triple (of a rule the head) agrees with one of
    some facts but for what expressions make."""
    shape = instances.shape
    headed_ = instances.of(Shape((head_pattern(shape), *shape.body), shape.conditions, shape.output))
    others = [(conditions.facts, NONE)] * len(headed_.shape.body)
    return matches(headed_, 0, facts, others, conditions.classes, which=Which.OUTPUT, conditions=conditions)[1]


def _distinct(found: Sequence[Ids], width: int) -> Ids:
    rows = [some for some in found if len(some)]
    return np.unique(np.concatenate(rows), axis=0) if rows else np.empty((0, width), dtype=np.int64)
