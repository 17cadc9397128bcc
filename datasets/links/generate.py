"""Links between equal resources: classes whose sizes follow a power law, or one long chain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datasets.university.dice import Dice

EX = "http://example.org/links/"
LARGEST = 177_794
"""Members of the largest class: that of the largest one found in LOD-a-lot's closure of 558 million owl:sameAs links
(Beek, Raad, Wielemaker, van Harmelen 2018, "sameAs.cc")."""

_EXPONENT = 2.5
_SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
_BATCH = 100_000

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Links:
    """a[i] owl:sameAs b[i], resources by number. members, labels: each resource, and the least of its class."""

    a: Ints
    b: Ints
    members: Ints
    labels: Ints


def links(count: int, largest: int = LARGEST, extra: float = 0.2, seed: int = 0) -> Links:
    """`count` links: a random spanning tree of each class, and `extra` times as many links more within classes.

    One class has `largest` members; the others' sizes s have probability proportional to s^-2.5, 2 <= s <= largest.
    Members of a class are scattered over the numbers, links point either way and come in random order.
    """
    dice = Dice(seed, 2)
    in_trees = round(count / (1 + extra))
    sizes = _sizes(dice, in_trees, largest)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(starts[-1]) - starts[owner]
    child = np.flatnonzero(place)  # each member but the first is linked to one before it
    parent = starts[owner[child]] + dice.below(place[child], len(child))
    one = dice.below(int(starts[-1]), count - len(child))
    other = starts[owner[one]] + dice.below(sizes[owner[one]], len(one))
    numbers = dice.sample(int(starts[-1]), int(starts[-1]))
    ends = np.stack([numbers[np.concatenate([child, one])], numbers[np.concatenate([parent, other])]])
    turned = dice.uniform(count) < 0.5
    ends[:, turned] = ends[::-1, turned]
    ends = ends[:, dice.sample(count, count)]
    least = np.minimum.reduceat(numbers, starts[:-1])
    return Links(ends[0], ends[1], numbers, least[owner])


def _sizes(dice: Dice, in_trees: int, largest: int) -> Ints:
    """Sizes of classes that need `in_trees` links between them to hold together."""
    if largest - 1 > in_trees:
        raise ValueError(f"a class of {largest} needs {largest - 1} links; there are {in_trees} for all")
    weights = np.arange(2, largest + 1, dtype=np.float64) ** -_EXPONENT
    steps = np.cumsum(weights) / weights.sum()
    drawn = 2 + np.searchsorted(steps, dice.uniform(in_trees - largest + 2))
    ends = np.cumsum(drawn - 1)
    fitting = drawn[ends <= in_trees - (largest - 1)]
    left = in_trees - (largest - 1) - int((fitting - 1).sum())
    return np.concatenate([[largest], fitting, [left + 1] if left else []]).astype(np.int64)


def chain(count: int, seed: int = 0) -> Links:
    """`count` links that make one chain of count + 1 resources, in random order."""
    dice = Dice(seed, 3)
    numbers = dice.sample(count + 1, count + 1)
    order = dice.sample(count, count)
    return Links(numbers[:-1][order], numbers[1:][order], numbers, np.zeros(count + 1, dtype=np.int64))


def triples(data: Links) -> Iterator[str]:
    """The links as N-Triples text, many at a time."""
    for start in range(0, len(data.a), _BATCH):
        pairs = zip(data.a[start : start + _BATCH].tolist(), data.b[start : start + _BATCH].tolist(), strict=True)
        yield "".join(f"<{EX}e{a}> {_SAME} <{EX}e{b}> .\n" for a, b in pairs)
