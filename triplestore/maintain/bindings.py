"""Tables of bindings, which the joins of the maintenance algorithms grow, and how they are completed: the elements that
are left are joined one after the other, and what holds is kept.

No step makes more than `THRESHOLDS.room` rows, but for a single row that matches more. Where one would:

* If the elements that are left, and the conditions, read few different combinations of values of the rows, only these
  combinations are completed, and the rows are joined with what comes of them. Of `x p y`, `y q z`, `z s w` with 6,000
  values of x, one of y and 3,000 of z, that is 3,000 rows instead of 18 million, and none where no z has a w.
* Else the rows are completed some at a time.

So the memory that a join takes follows its input and its output, not what is between them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, Protocol

import numpy as np

from triplestore.compile.join import is_wide
from triplestore.compile.plan import (
    Before,
    Element,
    Equal,
    Grouped,
    K,
    Listed,
    Made,
    Member,
    Pattern,
    Shape,
    Slot,
    Unequal,
    V,
)
from triplestore.engine.sets import combinations
from triplestore.maintain.annotation import FOREVER
from triplestore.maintain.budget import meter
from triplestore.maintain.classes import Map
from triplestore.maintain.keys import NONE, Ids, Layout, member, union
from triplestore.maintain.relation import ALL, Relation, TooManyError
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.model.stopping import check
from triplestore.model.thresholds import SIZES

Known = tuple[Ids, Ids | None, Ids | None]
"""Of an atom, for each row: the number of its predicate, its subject and its object, where they are known."""


class Which(Enum):
    """Which matches of a shape are asked for."""

    EVERY = "every"
    OUTPUT = "one or more for each position in the focus and output"
    FOCUS = "one or more for each position in the focus"


def matched(relation: Relation, without: Ids, known: Known, most: int, room: int = ALL) -> tuple[Ids, Ids, bool]:
    """As `Relation.match`, but for some keys."""
    rows, keys, cut = relation.match(*known, most, room)
    if len(without) and len(keys):
        kept = ~member(keys, without)
        rows, keys = rows[kept], keys[kept]
    return rows, keys, cut


class Bindings:
    """A table of bindings: for each row its position in the focus, its instance, and a column for each variable.

    read: what is read of the matches, if rows that agree in what is still read are to become one (`folding`). worth_of:
    what facts are worth (`triplestore.maintain.annotation`), if `worth` is to say it of the facts of each row."""

    def __init__(
        self,
        layout: Layout,
        shape: Shape,
        at: Ids,
        parameters: Ids,
        read: Collection[Slot] | None,
        worth_of: Callable[[Ids], Ids] | None = None,
    ) -> None:
        self.layout, self.shape, self.at, self.parameters = layout, shape, at, parameters
        self._same = shape.equal_slots
        self.columns: dict[int, Ids] = {}  # of variables that are equal, one has it: see `Shape.equal_slots`
        self.members: dict[Member, Ids] = {}  # what expressions see of variables
        self.made: dict[Made, Ids] = {}  # what expressions make
        self._read, self._worth_of = read, worth_of
        self.worth = None if worth_of is None else np.full(len(at), FOREVER, dtype=np.int64)

    def best(self, atoms: Mapping[int, tuple[Element, Relation]]) -> int:
        """The atom to join next: of those with the most bound places the one that matches the fewest triples; if that
        makes more rows, rather one after which a variable is not read any more, where such rows become one."""
        weights = {number: self.weight(element) for number, (element, _) in atoms.items()}
        most = max(weights.values())
        first, *others = (number for number, weight in weights.items() if weight == most)
        if not others or most <= 1:
            return first
        counts = {number: self.matching(*atoms[number]) for number in (first, *others)}
        least = min(counts, key=lambda number: counts[number])
        if self._read is None or counts[least] <= len(self.at):
            return least
        forgetting = [n for n in counts if self._forgotten([e for other, (e, _) in atoms.items() if other != n])]
        return min(forgetting, key=lambda number: counts[number], default=least)

    def matching(self, element: Element, relation: Relation) -> int:
        """How many triples an atom matches; a large number where its predicate is not bound."""
        s, p, o = element.slots
        if not self.bound(p):
            return ALL
        subjects, objects = (self.value(slot) if self.bound(slot) else None for slot in (s, o))
        return relation.count(self.layout.numbers(self.value(p)), subjects, objects)

    def weight(self, element: Element) -> int:
        """How well bound an atom is: predicates are worth little, being shared by many triples. A member that is looked
        for in its list comes before all else."""
        bound = [self.bound(slot) for slot in element.slots]
        member = 4 if isinstance(element, Listed) else 2
        return 2 * bound[0] + bound[1] + member * bound[2] if len(bound) == 3 else 0

    def bound(self, slot: Slot) -> bool:
        """Whether a slot has a value by now."""
        slot = self._same.get(slot, slot)
        return isinstance(slot, K) or slot.number in self.columns

    def value(self, slot: Slot) -> Ids:
        """The column of a bound slot."""
        slot = self._same.get(slot, slot)
        if isinstance(slot, K):
            column: Ids = self.parameters[:, slot.number]
            return column
        return self.columns[slot.number]

    def bind(self, element: Element, keys: Ids) -> None:
        """Bind an atom to a triple for each row; rows where it does not fit go. Raises StoppedError where the time
        limit is over: one join may make many rows."""
        check()
        if self.worth is not None and self._worth_of is not None and isinstance(element, Pattern):
            self.worth = np.minimum(self.worth, self._worth_of(keys))
        self.fit(element.slots, self.layout.unpack(keys))

    def fit(self, slots: Sequence[Slot], columns: Iterable[Ids]) -> None:
        """Bind slots to columns of terms; rows where one has another value go."""
        fits = np.ones(len(self.at), dtype=np.bool_)
        for slot, codes in zip(slots, columns, strict=True):
            if self.bound(slot):
                fits &= self.value(slot) == codes
            else:
                slot = self._same.get(slot, slot)
                assert isinstance(slot, V)
                self.columns[slot.number] = codes
        if not fits.all():
            self.keep(np.flatnonzero(fits))

    def extend(
        self,
        element: Element,
        relation: Relation,
        without: Ids,
        most: int,
        left: Sequence[Element],
        room: int = ALL,
    ) -> bool:
        """Join an atom with a relation, but for some keys; whether matches were left out. left: the atoms after it.
        Raises TooManyError, and nothing has changed, where there are more than `room` matches."""
        assert isinstance(element, Pattern | Listed), "shapes with `Occurs` are not maintained"
        s, p, o = element.slots
        rows = np.arange(len(self.at), dtype=np.int64)
        if self.bound(p):
            numbers = self.layout.numbers(self.value(p))
        else:
            count = len(self.layout.predicates)
            if count * len(rows) > room:
                raise TooManyError(count * len(rows))
            numbers = np.tile(np.arange(count, dtype=np.int64), len(rows))
            rows = np.repeat(rows, count)
        subjects = self.value(s)[rows] if self.bound(s) else None
        objects = self.value(o)[rows] if self.bound(o) else None
        found, keys, cut = matched(relation, without, (numbers, subjects, objects), most, room)
        meter().made(len(found))
        self.keep(rows[found])
        self.bind(element, keys)
        if self._read is not None:
            self._fold(left)
        return cut

    def _fold(self, left: Sequence[Element]) -> None:
        """Leave out the variables that are not read any more, and keep one of the rows that agree in all others."""
        forgotten = self._forgotten(left)
        if forgotten and len(self.at):
            self.columns = {number: column for number, column in self.columns.items() if number not in forgotten}
            rows = np.column_stack([self.at, self.parameters, *self.columns.values()])
            self.keep(np.sort(np.unique(rows, axis=0, return_index=True)[1]))

    def forget_all_but_output(self, known: Bindings) -> None:
        """Leave out all that the output does not read, or that is `known`, and keep one of the rows that agree."""
        read = {self._same.get(slot, slot) for slot in self.shape.output if not isinstance(slot, Made)}
        self.columns = {n: c for n, c in self.columns.items() if V(n) in read and n not in known.columns}
        self.keep(np.sort(combinations([self.at, *self.columns.values(), *self.made.values()])[0]))

    def projected(self, left: Sequence[Element]) -> tuple[Bindings, Ids]:
        """(the combinations of values that occur of what the elements that are left read, with conditions and what
        expressions make; for each row the number of its combination, which is the position `at` in these)."""
        made = (member.slot for column in self.shape.output if isinstance(column, Made) for member in column.reads)
        slots = {*made, *self.shape.condition_slots}
        for element in left:
            slots.update(element.slots)
            slots.update(element.parameters if isinstance(element, Grouped) else ())
        slots = {self._same.get(slot, slot) for slot in slots}
        columns = {number: column for number, column in self.columns.items() if V(number) in slots}
        parameters = (self.parameters[:, slot.number] for slot in slots if isinstance(slot, K))
        some, back = combinations([np.zeros_like(self.at), *columns.values(), *parameters, *self.members.values()])
        at = np.arange(len(some), dtype=np.int64)
        found = Bindings(self.layout, self.shape, at, self.parameters[some], self._read, self._worth_of)
        found.columns = {number: column[some] for number, column in columns.items()}
        found.members = {member: column[some] for member, column in self.members.items()}
        return found, back

    def chosen(self, rows: Ids) -> Bindings:
        """Some of the rows, by their numbers, by themselves."""
        found = Bindings(self.layout, self.shape, self.at, self.parameters, self._read, self._worth_of)
        found.columns, found.members, found.made, found.worth = self.columns, self.members, self.made, self.worth
        found.keep(rows)
        return found

    def crossed(self, rows: Ids, other: Bindings, others: Ids) -> Bindings:
        """Rows, by their numbers, each with what a row of other bindings has besides."""
        meter().made(len(rows))
        found = self.chosen(rows)
        found.columns |= {n: column[others] for n, column in other.columns.items() if n not in found.columns}
        found.made = {made: column[others] for made, column in other.made.items()}
        if found.worth is not None and other.worth is not None:
            found.worth = np.minimum(found.worth, other.worth[others])
        return found

    def _forgotten(self, left: Sequence[Element]) -> set[int]:
        """The variables that are not read any more if some elements are left."""
        slots = (*(self._read or ()), *(slot for element in left for slot in element.slots))
        read = {self._same.get(slot, slot) for slot in slots}
        return {number for number in self.columns if V(number) not in read}

    def keep(self, rows: Ids) -> None:
        """Keep these rows, by their numbers, as often as they are there."""
        check()
        width = 1 + self.parameters.shape[1] + len(self.columns) + len(self.members) + len(self.made)
        meter().need(8 * width * len(rows))
        self.at, self.parameters = self.at[rows], self.parameters[rows]
        self.columns = {number: column[rows] for number, column in self.columns.items()}
        self.members = {member: column[rows] for member, column in self.members.items()}
        self.made = {made: column[rows] for made, column in self.made.items()}
        if self.worth is not None:
            self.worth = self.worth[rows]

    def filter(self, classes: Map) -> None:
        """Keep the rows for which the shape's conditions on two terms hold."""
        if not len(self.at):
            return  # some variables may have no column
        for condition in self.shape.conditions:
            if not isinstance(condition, Equal | Unequal | Before):
                continue  # see `triplestore.maintain.conditions`
            left, right = self.value(condition.left), self.value(condition.right)
            if isinstance(condition, Equal):
                fits = left == right
            elif isinstance(condition, Before):
                fits = left < right
            else:  # two members of one class are different terms
                fits = (left != right) | classes.large(left)
            self.keep(np.flatnonzero(fits))

    def output(self) -> Ids:
        """The shape's output: rows of codes."""
        if not len(self.at) or not self.shape.output:
            return np.empty((len(self.at), len(self.shape.output)), dtype=np.int64)
        columns = [self.made[slot] if isinstance(slot, Made) else self.value(slot) for slot in self.shape.output]
        return np.stack(columns, axis=1)


def folding(shape: Shape, which: Which) -> Collection[Slot] | None:
    """What is read of the matches of a shape, if there may be far more of them than are asked for: many atoms are about
    one variable, which may have several values of each of many properties. Otherwise None."""
    if which is Which.EVERY or not is_wide(shape.body):
        return None
    read = (shape if which is Which.OUTPUT else Shape((), shape.conditions, ())).read
    within = {slot for element in shape.body for slot in element.slots if isinstance(slot, V)}
    return read if len(within - read) > THRESHOLDS.separate else None


UNTIED: Final = 2
"""The weight of an element (`Bindings.weight`) of which at most the predicate is known."""

Sources = Mapping[int, tuple[Element, Relation, Ids]]
"""Body elements that are left to be joined, each with what it reads: a relation but for some keys."""


class Decider(Protocol):
    """Decides what plain joins do not: see `triplestore.maintain.conditions.Conditions`."""

    def join(self, bindings: Bindings, element: Grouped) -> None:
        """Join the rows with the groups of an AGGREGATE."""

    def join_equal(self, bindings: Bindings, left: Sources, room: int) -> bool:
        """Join the rows by an equation of which one side is known, if there is such a one."""

    def finish(self, bindings: Bindings) -> None:
        """Apply the conditions, and make the output."""


class Completion:
    """Completes bindings. classes: what conditions on two terms see. which: which matches are asked for. most: matches
    of an atom for one binding that are looked at. conditions: decides what plain joins do not. worth_of: see
    `Bindings`.

    cut: whether matches were left out since an atom had more than `most`.
    """

    def __init__(
        self,
        classes: Map,
        which: Which = Which.EVERY,
        most: int = ALL,
        conditions: Decider | None = None,
        worth_of: Callable[[Ids], Ids] | None = None,
    ) -> None:
        self._classes, self.which, self.most, self._conditions = classes, which, most, conditions
        self.worth_of = worth_of
        self.cut = False

    def of(self, bindings: Bindings, left: Sources, split: bool = False) -> Iterator[Bindings]:
        """The complete bindings, in parts; the given ones are used up. split: they are a part of rows of which too many
        read different values."""
        left = dict(left)
        while left and len(bindings.at):
            number = self._next(bindings, left)
            element, relation, without = left[number]
            if self._conditions is not None and isinstance(element, Pattern) and bindings.weight(element) <= UNTIED:
                try:
                    if self._conditions.join_equal(bindings, left, THRESHOLDS.room if len(bindings.at) > 1 else ALL):
                        continue
                except TooManyError as error:
                    yield from self._in_parts(bindings, left, error.total or 0, split)
                    return
            if isinstance(element, Grouped):
                assert self._conditions is not None
                self._conditions.join(bindings, element)
            else:
                room = THRESHOLDS.room if len(bindings.at) > 1 else ALL
                others = [e for n, (e, _, _) in left.items() if n != number]
                try:
                    self.cut |= bindings.extend(element, relation, without, self.most, others, room)
                except TooManyError as error:
                    total = error.total or bindings.matching(element, relation)
                    yield from self._in_parts(bindings, left, total, split)
                    return
            del left[number]
            split = False
        if len(bindings.at):
            if self._conditions is not None:
                self._conditions.finish(bindings)
            else:
                bindings.filter(self._classes)
        if len(bindings.at):
            yield bindings

    def _next(self, bindings: Bindings, left: Sources) -> int:
        """The element to join next: an AGGREGATE whose keys are known, else the best pattern."""
        groups = {number: e for number, (e, _, _) in left.items() if isinstance(e, Grouped)}
        for number, element in groups.items():
            if all(map(bindings.bound, element.slots[: element.group.keys])):
                return number
        patterns = {n: (e, relation) for n, (e, relation, _) in left.items() if n not in groups}
        return bindings.best(patterns) if patterns else next(iter(groups))

    def _in_parts(self, bindings: Bindings, left: Sources, matching: int, split: bool) -> Iterator[Bindings]:
        """As `of`, where the next step makes too many rows: about `matching`."""
        rows = len(bindings.at)
        if not split and matching >= SIZES.much * rows:
            fewer, back = bindings.projected([element for element, _, _ in left.values()])
            if 2 * len(fewer.at) <= rows:
                yield from self._crossed(bindings, back, self.of(fewer, left))
                return
        parts = min(rows, max(2, -(-min(matching, THRESHOLDS.room * rows) // THRESHOLDS.room)))
        for part in np.array_split(np.arange(rows, dtype=np.int64), parts):
            yield from self.of(bindings.chosen(part), left, split=True)

    def _crossed(self, bindings: Bindings, back: Ids, parts: Iterator[Bindings]) -> Iterator[Bindings]:
        """Rows joined with the completions of what the elements read of them. back: for each row its place there."""
        if self.which is Which.FOCUS:
            some = union(*(part.at for part in parts))
            found = np.zeros(int(back.max()) + 1, dtype=np.bool_)
            found[some] = True
            kept = bindings.chosen(np.flatnonzero(found[back]))
            if len(kept.at):
                yield kept
            return
        for part in parts:
            if self.which is Which.OUTPUT:
                part.forget_all_but_output(bindings)
            order = np.argsort(part.at, kind="stable")
            at = part.at[order]
            start, end = np.searchsorted(at, back), np.searchsorted(at, back, "right")
            ends = np.cumsum(end - start)
            cuts = (
                np.searchsorted(ends, np.arange(THRESHOLDS.room, int(ends[-1]), THRESHOLDS.room)) if len(ends) else NONE
            )
            for rows in np.split(np.arange(len(back), dtype=np.int64), np.unique(cuts)):
                counts = (end - start)[rows]
                total = int(counts.sum())
                if total:
                    within = np.arange(total, dtype=np.int64) + np.repeat(
                        start[rows] + counts - np.cumsum(counts), counts
                    )
                    yield bindings.crossed(np.repeat(rows, counts), part, order[within])
