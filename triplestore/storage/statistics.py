"""Counts of the closure, for planning joins: of each predicate its facts, distinct subjects and distinct objects
(approximate: HyperLogLog), and the members of each class.

They are written with the closure, by one grouping of it, as the table `statistic`. An update leaves them as they are
until a fifth of the facts have come or gone since: they are roughly right. No answer depends on them, only its speed.
A closure of a few thousand facts has no such table: it is counted when it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from triplestore.engine import Queries
from triplestore.model.tables import FACT, STATISTIC
from triplestore.model.terms import TYPE
from triplestore.model.thresholds import SIZES


@dataclass(frozen=True, slots=True)
class Counts:
    """Of the facts of a predicate, or of all: how many, and of how many subjects and objects."""

    facts: float
    subjects: float
    objects: float


_GUESS: Final = Counts(1e6, 1e5, 1e5)
_GUESS_OF_ONE: Final = Counts(1e4, 5e3, 5e3)


@dataclass(frozen=True)
class Statistics:
    """What is known of a closure. Without any counts everything is guessed."""

    predicates: Mapping[int, Counts] = field(default_factory=dict)
    classes: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def whole(self) -> Counts:
        """Of all facts."""
        if not self.predicates:
            return _GUESS
        found = self.predicates.values()
        return Counts(
            sum(counts.facts for counts in found),
            max(counts.subjects for counts in found),
            sum(counts.objects for counts in found),
        )

    def of(self, predicate: int | None, kind: int | None = None) -> Counts:
        """Of the facts of a predicate (None: of any), or of rdf:type and a class."""
        if predicate is None:
            return self.whole
        found = self.predicates.get(predicate)
        if found is None:
            return Counts(1, 1, 1) if self.predicates else _GUESS_OF_ONE
        if predicate == TYPE and kind is not None:
            members = self.classes.get(kind, 1.0)
            return Counts(members, members, 1)
        return found


def counted_sql(facts: str) -> str:
    """The rows of the table `statistic` for a table of facts."""
    return (
        "SELECT p AS predicate, CAST(NULL AS BIGINT) AS class, count(*) AS facts, "
        "least(count(*), approx_count_distinct(s)) AS subjects, least(count(*), approx_count_distinct(o)) AS objects "
        f"FROM {facts} f GROUP BY p UNION ALL "
        "SELECT p, o, count(*), count(*), CAST(1 AS BIGINT) "
        f"FROM {facts} g WHERE p = {TYPE} GROUP BY p, o"
    )


def read(engine: Queries) -> Statistics:
    """What the table `statistic` says."""
    return _read(engine, STATISTIC.name)


def counted(engine: Queries) -> Statistics:
    """What the table `fact` has, counted now."""
    return _read(engine, f"({counted_sql(FACT.name)}) c")


def _read(engine: Queries, source: str) -> Statistics:
    found = engine.query(f"SELECT {STATISTIC.select} FROM {source} ORDER BY facts DESC LIMIT {SIZES.rows}").to_pydict()
    predicates: dict[int, Counts] = {}
    classes: dict[int, float] = {}
    for predicate, kind, *counts in zip(*(found[name] for name in STATISTIC.names), strict=True):
        if kind is None:
            predicates[predicate] = Counts(*counts)
        else:
            classes[kind] = counts[0]
    return Statistics(predicates, classes)
