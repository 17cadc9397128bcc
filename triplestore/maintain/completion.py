"""How bindings are completed: the elements that are left are joined one after the other, and what holds is kept.

No step makes more than `ROOM` rows, but for a single row that matches more. Where one would:

* If the elements that are left, and the conditions, read few different combinations of values of the rows, only these
  combinations are completed, and the rows are joined with what comes of them. Of `x p y`, `y q z`, `z s w` with 6,000
  values of x, one of y and 3,000 of z, that is 3,000 rows instead of 18 million, and none where no z has a w.
* Else the rows are completed some at a time.

So the memory that a join takes follows its input and its output, not what is between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

import numpy as np

from triplestore.compile.plan import Element, Grouped, Pattern
from triplestore.maintain.bindings import Bindings, Which
from triplestore.maintain.classes import Map
from triplestore.maintain.keys import NONE, Ids, union
from triplestore.maintain.relation import ALL, Relation
from triplestore.maintain.runs import TooManyError

ROOM: Final = 1 << 18
"""Rows that one step makes at most: some 20 MB of columns."""

FAN_OUT: Final = 4
"""Rows that a step makes of one, from which on it is worth a sort to look for rows that read the same."""

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
    of an atom for one binding that are looked at. conditions: decides what plain joins do not.

    cut: whether matches were left out since an atom had more than `most`.
    """

    def __init__(
        self, classes: Map, which: Which = Which.EVERY, most: int = ALL, conditions: Decider | None = None
    ) -> None:
        self._classes, self.which, self.most, self._conditions = classes, which, most, conditions
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
                    if self._conditions.join_equal(bindings, left, ROOM if len(bindings.at) > 1 else ALL):
                        continue
                except TooManyError as error:
                    yield from self._in_parts(bindings, left, error.total or 0, split)
                    return
            if isinstance(element, Grouped):
                assert self._conditions is not None
                self._conditions.join(bindings, element)
            else:
                room = ROOM if len(bindings.at) > 1 else ALL
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
        if not split and matching >= FAN_OUT * rows:
            fewer, back = bindings.projected([element for element, _, _ in left.values()])
            if 2 * len(fewer.at) <= rows:
                yield from self._crossed(bindings, back, self.of(fewer, left))
                return
        parts = min(rows, max(2, -(-min(matching, ROOM * rows) // ROOM)))
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
            cuts = np.searchsorted(ends, np.arange(ROOM, int(ends[-1]), ROOM)) if len(ends) else NONE
            for rows in np.split(np.arange(len(back), dtype=np.int64), np.unique(cuts)):
                counts = (end - start)[rows]
                total = int(counts.sum())
                if total:
                    within = np.arange(total, dtype=np.int64) + np.repeat(
                        start[rows] + counts - np.cumsum(counts), counts
                    )
                    yield bindings.crossed(np.repeat(rows, counts), part, order[within])
