"""What plain joins do not decide: expressions, NOT and AGGREGATE, over the facts and classes in memory.

The semantics are those of the SQL of a shape (`triplestore.compile.join`, `triplestore.materialise.aggregates`):
expressions see each member of a class of equal terms in turn, NOT and AGGREGATE see a class once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from triplestore.compile.keys import Side, equations, is_among, part_of
from triplestore.compile.plan import Absent, Group, Grouped, Holds, K, Made, Member, Shape, V
from triplestore.engine.sets import combinations
from triplestore.maintain.bindings import Bindings, Completion, Sources, Which
from triplestore.maintain.budget import meter
from triplestore.maintain.classes import Groups, Map
from triplestore.maintain.keys import NONE, Ids, Mask
from triplestore.maintain.relation import Relation, TooManyError
from triplestore.model.equality import Equality

if TYPE_CHECKING:
    from triplestore.maintain.evaluation import Evaluator


_NOTHING: Final = Shape((), (), ())


class Conditions:
    """Completes bindings of shapes that are no plain joins. facts: what NOT and AGGREGATE read. same_as: the code of
    owl:sameAs.

    A group is aggregated once: what it reads must not change any more when it is first asked for.
    """

    def __init__(self, facts: Relation, classes: Map, equality: Equality, same_as: int, evaluator: Evaluator) -> None:
        self.facts, self.classes, self.evaluator = facts, classes, evaluator
        self._layout = facts.layout
        self._same_as = same_as if equality == Equality.AXIOMS else None
        self._known: dict[tuple[Group, tuple[int, ...]], dict[tuple[int, ...], Ids]] = {}
        """Of a group, the places of keys, and its parameters and these keys: keys and results, a row each."""

    def close(self, bindings: Bindings, which: Which = Which.EVERY) -> Iterator[Bindings]:
        """Complete bindings by the facts, with every element of the body; in parts."""
        left = {i: (element, self.facts, NONE) for i, element in enumerate(bindings.shape.body)}
        return Completion(self.classes, which, conditions=self).of(bindings, left)

    def finish(self, bindings: Bindings) -> None:
        """Apply the conditions to bindings that have all elements, and make the output."""
        shape = bindings.shape
        bindings.filter(self.classes)
        self._see(bindings, (m for m in shape.members if bindings.bound(m.slot)))
        for condition in shape.conditions:
            if isinstance(condition, Holds):
                columns = self._ids(bindings, condition.reads)
                bindings.keep(np.flatnonzero(self.evaluator.holds(condition.expression, columns, len(bindings.at))))
        for condition in shape.conditions:
            if isinstance(condition, Absent):
                bindings.keep(np.flatnonzero(~self._matched(bindings, condition)))
        for column in shape.output:
            if isinstance(column, Made) and column not in bindings.made:
                columns = self._ids(bindings, column.reads)
                made = self.evaluator.made(column.expression, columns, len(bindings.at))
                some = np.flatnonzero(made >= 0)
                bindings.keep(some)
                bindings.made[column] = self.classes.normalise(self._layout.encode(made[some]))

    def _see(self, bindings: Bindings, members: Iterable[Member]) -> None:
        """Have a column of terms for each of some members."""
        for member in members:
            if member in bindings.members:
                continue
            codes = bindings.value(member.slot)
            if self.classes.large(codes).any():
                rows, codes = self.classes.expand(codes)
                bindings.keep(rows)
            bindings.members[member] = codes

    def _ids(self, bindings: Bindings, reads: Sequence[Member]) -> Sequence[Ids]:
        return [self._layout.decode(bindings.members[member]) for member in reads]

    # -- computed keys -----------------------------------------------------------------------------------------------

    def join_equal(self, bindings: Bindings, left: Sources, room: int) -> bool:
        """Join the rows with values of variables that none has yet, by an equation of which one side is known: whether
        there is such a one. Elements that are left, which have these variables, are still to be joined. Raises
        TooManyError, and nothing has changed, where that makes more rows than `room`."""
        places, elements = list(left), [element for element, _, _ in left.values()]
        for sides in equations(bindings.shape.conditions):
            for known, other in (sides, sides[::-1]):
                part = part_of(elements, other.slots)
                if (
                    all(self._is_known(bindings, member) for member in known.reads)
                    and not any(map(bindings.bound, other.slots))
                    and is_among(elements, part, other.slots)
                    and not any(isinstance(elements[place], Grouped) for place in part)
                ):
                    self._join_equal(bindings, known, other, {places[n]: left[places[n]] for n in part}, room)
                    return True
        return False

    def _is_known(self, bindings: Bindings, member: Member) -> bool:
        return member in bindings.members or bindings.bound(member.slot)

    def _join_equal(self, bindings: Bindings, known: Side, other: Side, part: Sources, room: int) -> None:
        """Join the rows by the equation of two sides. part: the elements that have the variables of the other one."""
        groups, of_row = combinations([np.zeros_like(bindings.at), *bindings.parameters.T])
        parameters = bindings.parameters[groups]
        given = [bindings.members[m] if m in bindings.members else bindings.value(m.slot) for m in known.reads]
        some, back = combinations([of_row, *given])
        mine = Bindings(self._layout, _NOTHING, np.arange(len(some), dtype=np.int64), bindings.parameters[some], None)
        bound = {m.slot for m in known.reads if isinstance(m.slot, V) and m not in bindings.members}
        mine.columns = {slot.number: bindings.value(slot)[some] for slot in bound}
        mine.members = {m: column[some] for m, column in bindings.members.items() if m in known.reads}
        my_keys = self._keys(mine, known)

        elements = tuple(element for element, _, _ in part.values())
        inner = Bindings(
            self._layout, Shape(elements, (), other.slots), np.arange(len(groups), dtype=np.int64), parameters, None
        )
        numbered = dict(enumerate(part.values()))
        rows = [
            np.column_stack([found.at, found.output()])
            for found in Completion(self.classes, Which.OUTPUT, conditions=self).of(inner, numbered)
        ]
        values = np.concatenate(rows) if rows else np.empty((0, 1 + len(other.slots)), dtype=np.int64)
        values = values[combinations([np.zeros(len(values), dtype=np.int64), *values.T])[0]]
        its = Bindings(self._layout, _NOTHING, np.arange(len(values), dtype=np.int64), parameters[values[:, 0]], None)
        its.columns = {slot.number: values[:, place] for place, slot in enumerate(other.slots, 1)}
        its_keys = self._keys(its, other)

        keys = np.concatenate((my_keys, its_keys))
        alike = combinations([np.concatenate((of_row[some][mine.at], values[:, 0][its.at])), keys])[1]
        at, place = Groups(alike[len(my_keys) :], its.at).expand(alike[: len(my_keys)])
        pairs = np.unique(np.column_stack([mine.at[at], place]), axis=0)  # classes may be alike by several members
        chosen, found = Groups(pairs[:, 0], np.arange(len(pairs), dtype=np.int64)), back
        sizes = np.bincount(pairs[:, 0], minlength=len(some))
        total = int(sizes[back].sum())
        if total > room:
            raise TooManyError(total)
        rows_, at = chosen.expand(found)
        meter().made(len(rows_))
        bindings.keep(rows_)
        bindings.fit(other.slots, values[pairs[at, 1], 1:].T)

    def _keys(self, bindings: Bindings, side: Side) -> Ids:
        """The keys of what a side makes of rows: of each member of their classes, the rows without one left out."""
        self._see(bindings, side.reads)
        keys = self.evaluator.keys(side.expression, self._ids(bindings, side.reads), len(bindings.at))
        some = np.flatnonzero(keys >= 0)
        bindings.keep(some)
        return keys[some]

    # -- NOT -------------------------------------------------------------------------------------------------------

    def _matched(self, bindings: Bindings, group: Absent) -> Mask:
        """The rows for which a group has a match."""
        slots = {slot for element in group.body for slot in element.slots}
        slots |= {slot for c in group.conditions if not isinstance(c, Holds) for slot in (c.left, c.right)}
        slots |= {member.slot for member in group.reads if member not in bindings.members}
        columns = sorted(slot for slot in slots if isinstance(slot, V) and bindings.bound(slot))
        parameters = sorted({slot.number for slot in slots if isinstance(slot, K)})
        members = [member for member in dict.fromkeys(group.reads) if member in bindings.members]
        read = [
            np.zeros(len(bindings.at), dtype=np.int64),
            *(bindings.value(slot) for slot in columns),
            *(bindings.parameters[:, n] for n in parameters),
            *(bindings.members[m] for m in members),
        ]
        some, back = combinations(read)
        shape = Shape(group.body, group.conditions, ())
        inner = Bindings(self._layout, shape, np.arange(len(some), dtype=np.int64), bindings.parameters[some], None)
        inner.members = {m: bindings.members[m][some] for m in members}
        inner.fit(columns, [bindings.value(slot)[some] for slot in columns])
        found = np.zeros(len(some), dtype=np.bool_)
        for part in self.close(inner, Which.FOCUS):
            found[part.at] = True
        return found[back]

    # -- AGGREGATE -------------------------------------------------------------------------------------------------

    def join(self, bindings: Bindings, element: Grouped) -> None:
        """Join the rows with the groups of their keys, those that are known."""
        parameters = bindings.parameters[:, [slot.number for slot in element.parameters if isinstance(slot, K)]]
        keys = element.slots[: element.group.keys]
        known = [place for place, slot in enumerate(keys) if bindings.bound(slot)]
        columns = [bindings.value(keys[place]) for place in known]
        read = np.column_stack([np.zeros(len(bindings.at), dtype=np.int64), parameters, *columns])
        some, back = combinations([*read.T])
        asked = read[some]
        width = 1 + parameters.shape[1]
        groups = self._known.setdefault((element.group, tuple(known)), {})
        named = list(map(tuple, asked.tolist()))
        unknown = np.array([number for number, one in enumerate(named) if one not in groups], dtype=np.int64)
        if len(unknown):
            new = asked[unknown]
            at, values = self._groups(element, new[:, 1:width], dict(zip(known, new[:, width:].T, strict=True)))
            order = np.argsort(at, kind="stable")
            ends = np.cumsum(np.bincount(at, minlength=len(new)))
            parts = np.split(values[order], ends[:-1])
            groups.update((named[number], part) for number, part in zip(unknown.tolist(), parts, strict=True))
        found = [groups[one] for one in named]
        at = np.repeat(np.arange(len(named), dtype=np.int64), [len(part) for part in found])
        values = np.concatenate(found) if found else np.empty((0, len(element.slots)), dtype=np.int64)
        rows, chosen = Groups(at, np.arange(len(at), dtype=np.int64)).expand(back)
        bindings.keep(rows)
        bindings.fit(element.slots, values[chosen].T)

    def _groups(self, element: Grouped, parameters: Ids, known: Mapping[int, Ids]) -> tuple[Ids, Ids]:
        """(row, keys and results as codes, a row each) of the groups of some parameters, and of keys that are known,
        by their places."""
        group, layout = element.group, self._layout
        shape = group.matches
        matched = Bindings(layout, shape, np.arange(len(parameters), dtype=np.int64), parameters, None)
        keys = [slot for slot in shape.output[: group.keys] if not isinstance(slot, Made)]
        matched.fit([keys[place] for place in known], known.values())
        width = group.keys + len(group.results)
        parts = []
        for part in self.close(matched):
            output = self.least(part.output())
            for place, codes in known.items():
                output[:, place] = codes[part.at]  # by the name that is known
            parts.append(np.column_stack([part.at, output]))
        if not parts:
            return NONE, np.empty((0, width), dtype=np.int64)
        every = np.unique(np.concatenate(parts), axis=0)
        named, number = np.unique(every[:, : 1 + group.keys], axis=0, return_inverse=True)
        terms = self._layout.decode(every[:, 1:].reshape(-1)).reshape(len(every), -1)
        found, results = self.evaluator.results(group, number.reshape(-1).astype(np.int64), terms)
        codes = layout.encode(results.reshape(-1))
        values = np.column_stack(
            [named[found, 1:], self.classes.normalise(codes).reshape(len(found), len(group.results))]
        )
        at = named[found, 0]
        for place in range(width):
            if place not in known:
                at, values = self._named(at, values, place)
        return at, values

    def least(self, codes: Ids) -> Ids:
        """Terms, in an array of any shape, with the least of each class for it, where equality is axiomatised."""
        if self._same_as is None:
            return codes
        flat = codes.reshape(-1)
        rows, others = self._equal(flat)
        least = flat.copy()
        np.minimum.at(least, rows, others)
        return least.reshape(codes.shape)

    def _named(self, at: Ids, values: Ids, place: int) -> tuple[Ids, Ids]:
        """The rows with every name of the terms in a column, where equality is axiomatised."""
        if self._same_as is None:
            return at, values
        rows, others = self._equal(values[:, place])
        other = others != values[rows, place]
        more = values[rows[other]]
        more[:, place] = others[other]
        return np.concatenate((at, at[rows[other]])), np.concatenate((values, more))

    def _equal(self, codes: Ids) -> tuple[Ids, Ids]:
        """(row, term) of the equalities of some terms."""
        same = np.full(len(codes), self._same_as, dtype=np.int64)
        rows, keys, _ = self.facts.match(self._layout.numbers(same), codes, None)
        return rows, self._layout.unpack(keys)[2]
