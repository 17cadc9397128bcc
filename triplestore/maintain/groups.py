"""Rules that say that all of a group are equal, run by group: what shares a value of an inverse-functional property, or
of a key (`triplestore.compile.symmetry`).

k members have k * k matches, which make one class. So do the links of one member to each other one, and as facts are
normalised, nothing else is read of these matches. The members are found by the half of the body that is about one of
them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from triplestore.compile.plan import K, Shape, V
from triplestore.engine.sets import combinations
from triplestore.maintain.bindings import Bindings, Completion, Which
from triplestore.maintain.classes import Map
from triplestore.maintain.join import Instances, every_match, focused
from triplestore.maintain.keys import NONE, Ids, Layout
from triplestore.maintain.relation import Relation


def links_of(member: Instances, relation: Relation, without: Ids, classes: Map, same_as: int) -> Ids:
    """The links of all groups in a relation but for some keys, and each member's to itself. member: the instances of
    the half of a shape. same_as: the code of owl:sameAs."""
    rows = _rows(every_match(Completion(classes, Which.OUTPUT), member, relation, without), member.shape)
    return links(relation.layout, rows, rows, same_as)


def links_with(
    member: Instances, delta: Ids, relation: Relation, older: Ids, done: Ids, classes: Map, same_as: int
) -> Ids:
    """The links of the groups with a member by a fact of `delta` and others in a relation (of which it is a part) but
    for `done`, and that member's to itself. older: `done` and `delta`, see `triplestore.compile.plan.Read`."""
    shape = member.shape
    found = []
    for focus in range(len(shape.body)):
        others = [(relation, older if i < focus else done) for i in range(len(shape.body))]
        found += [part.output() for part in focused(Completion(classes, Which.OUTPUT), member, focus, delta, others)]
    if not found:
        return NONE
    new = _distinct(np.concatenate(found))
    groups = _distinct(new[:, 1:])
    return links(relation.layout, _members(member, groups, relation, done, classes), new, same_as)


def links(layout: Layout, members: Ids, new: Ids, same_as: int) -> Ids:
    """The links of the least member of each group to the others, and of each of the `new` members to itself. members,
    new: rows of a member and of what makes its group; every group of a new member is among those of members."""
    if not len(members):
        return NONE
    groups = [np.zeros(len(members), dtype=np.int64), *members[:, 1:].T]
    some, group = combinations(groups)
    least = np.full(len(some), np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(least, group, members[:, 0])
    other = members[:, 0] != least[group]
    left = np.concatenate((least[group][other], new[:, 0]))
    right = np.concatenate((members[:, 0][other], new[:, 0]))
    return layout.keys(left, np.full(len(left), same_as, dtype=np.int64), right)


def _members(member: Instances, groups: Ids, relation: Relation, done: Ids, classes: Map) -> Ids:
    """The members of groups, as rows of `links`."""
    shape = member.shape
    parameters = np.zeros((len(groups), member.rows.shape[1]), dtype=np.int64)
    bindings = Bindings(relation.layout, shape, np.arange(len(groups), dtype=np.int64), parameters, None)
    known = []
    for slot, column in zip(shape.output[1:], groups.T, strict=True):
        if isinstance(slot, K):
            parameters[:, slot.number] = column
        else:
            known.append((slot, column))
    bindings.fit([slot for slot, _ in known if isinstance(slot, V)], [column for _, column in known])
    left = {i: (element, relation, done) for i, element in enumerate(shape.body)}
    return _rows(Completion(classes, Which.OUTPUT).of(bindings, left), shape)


def _rows(parts: Iterable[Bindings], shape: Shape) -> Ids:
    found = [part.output() for part in parts]
    return _distinct(np.concatenate(found)) if found else np.empty((0, len(shape.output)), dtype=np.int64)


def _distinct(rows: Ids) -> Ids:
    return rows[combinations([np.zeros(len(rows), dtype=np.int64), *rows.T])[0]]
