"""The bodies by which facts are derived: rules read backwards."""

from __future__ import annotations

from typing import Final

import numpy as np

from triplestore.compile.join import is_wide
from triplestore.compile.plan import Pattern, Shape, Slot, V
from triplestore.maintain.classes import Map
from triplestore.maintain.conditions import Conditions
from triplestore.maintain.join import Instances, as_made, matches
from triplestore.maintain.keys import Ids, distinct, union
from triplestore.maintain.relation import Relation
from triplestore.maintain.state import body_facts

LONG: Final = 4
"""A derivation by an expression stands for so many others: a few of them are looked at first, as they lead far back."""


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
    parts = instances.parts = instances.parts or _parts(instances.shape)
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
                first = _first(at[made], max(1, most // LONG))
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


def _parts(shape: Shape) -> tuple[Shape, ...]:
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
