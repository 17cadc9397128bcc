"""Rules that say that all of a group are equal, run by group: what shares a value of an inverse-functional property, or
of a key (`triplestore.compile.symmetry`).

k members have k * k matches, which make one class. So do the links of one member to each other one, and as facts are
normalised, nothing else is read of these matches. The members are found by the half of the body that is about one of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from triplestore.compile.plan import K, V
from triplestore.engine.sets import combinations
from triplestore.maintain.bindings import Bindings, Completion, Which
from triplestore.maintain.classes import Map
from triplestore.maintain.join import Instances, every_match, focused
from triplestore.maintain.keys import NONE, Ids, Layout
from triplestore.maintain.relation import Relation

Worth = Ids | None
"""What matches are worth (`triplestore.maintain.annotation`), if that is asked for."""


class Links:
    """Links of groups, in a relation but for some keys. member: the instances of the half of a shape. same_as: the code
    of owl:sameAs. worth_of: what facts are worth, if links are to carry it along: then the others are linked to the
    member that is worth the most, so that a way between two of them is worth as much as their match."""

    def __init__(
        self, member: Instances, classes: Map, same_as: int, worth_of: Callable[[Ids], Ids] | None = None
    ) -> None:
        self._member, self._classes, self._same_as, self._worth_of = member, classes, same_as, worth_of

    def all(self, relation: Relation, without: Ids) -> tuple[Ids, Worth]:
        """The links of all groups, and each member's to itself."""
        rows, worth = self._rows(every_match(self._completion, self._member, relation, without))
        return links(relation.layout, rows, rows, self._same_as, worth, worth)

    def with_new(self, delta: Ids, relation: Relation, older: Ids, done: Ids) -> tuple[Ids, Worth]:
        """The links of the groups with a member by a fact of `delta` and others in a relation (of which it is a part)
        but for `done`, and that member's to itself. older: `done` and `delta`, see `triplestore.compile.plan.Read`."""
        shape = self._member.shape
        found: list[Bindings] = []
        for focus in range(len(shape.body)):
            others = [(relation, older if i < focus else done) for i in range(len(shape.body))]
            found += focused(self._completion, self._member, focus, delta, others)
        new, worth = self._rows(found)
        if not len(new):
            return NONE, worth
        members, theirs = self._members(_distinct(new[:, 1:]), relation, done)
        return links(relation.layout, members, new, self._same_as, theirs, worth)

    @property
    def _completion(self) -> Completion:
        which = Which.OUTPUT if self._worth_of is None else Which.EVERY
        return Completion(self._classes, which, worth_of=self._worth_of)

    def _members(self, groups: Ids, relation: Relation, done: Ids) -> tuple[Ids, Worth]:
        """The members of groups, as rows of `links`."""
        shape = self._member.shape
        parameters = np.zeros((len(groups), self._member.rows.shape[1]), dtype=np.int64)
        at = np.arange(len(groups), dtype=np.int64)
        bindings = Bindings(relation.layout, shape, at, parameters, None, self._worth_of)
        known = []
        for slot, column in zip(shape.output[1:], groups.T, strict=True):
            if isinstance(slot, K):
                parameters[:, slot.number] = column
            else:
                known.append((slot, column))
        bindings.fit([slot for slot, _ in known if isinstance(slot, V)], [column for _, column in known])
        left = {i: (element, relation, done) for i, element in enumerate(shape.body)}
        return self._rows(self._completion.of(bindings, left))

    def _rows(self, parts: Iterable[Bindings]) -> tuple[Ids, Worth]:
        """Members and groups, distinct, each with the most that it is worth."""
        found = list(parts)
        if not found:
            return np.empty((0, len(self._member.shape.output)), dtype=np.int64), None
        rows = np.concatenate([part.output() for part in found])
        some, number = combinations([np.zeros(len(rows), dtype=np.int64), *rows.T])
        if self._worth_of is None:
            return rows[some], None
        worth = np.full(len(some), np.iinfo(np.int64).min, dtype=np.int64)
        np.maximum.at(worth, number, np.concatenate([part.worth for part in found if part.worth is not None]))
        return rows[some], worth


def links(
    layout: Layout, members: Ids, new: Ids, same_as: int, worth: Worth = None, of_new: Worth = None
) -> tuple[Ids, Worth]:
    """The links of a member of each group to the others, and of each of the `new` members to itself: of the member that
    is worth the most, or else the least one. members, new: rows of a member and of what makes its group; every group of
    a new member is among those of members. worth, of_new: what they are worth."""
    if not len(members):
        return NONE, worth
    _, group = combinations([np.zeros(len(members), dtype=np.int64), *members[:, 1:].T])
    order = np.lexsort((members[:, 0], group) if worth is None else (members[:, 0], -worth, group))
    first = order[np.flatnonzero(np.diff(group[order], prepend=-1))]
    hub = first[group]
    other = members[:, 0] != members[hub, 0]
    left = np.concatenate((members[hub, 0][other], new[:, 0]))
    right = np.concatenate((members[:, 0][other], new[:, 0]))
    found = layout.keys(left, np.full(len(left), same_as, dtype=np.int64), right)
    if worth is None or of_new is None:
        return found, None
    return found, np.concatenate((np.minimum(worth[hub], worth)[other], of_new))


def _distinct(rows: Ids) -> Ids:
    return rows[combinations([np.zeros(len(rows), dtype=np.int64), *rows.T])[0]]
