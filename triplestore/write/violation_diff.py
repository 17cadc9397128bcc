"""Which inconsistencies a change makes, and which it mends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from triplestore.dictionary import encoding
from triplestore.engine import Queries
from triplestore.model.report import Inconsistency, ViolationDiff
from triplestore.model.terms import to_ntriples

SHOWN: Final = 50
"""Inconsistencies that a report lists, at most."""

_AT_ONCE: Final = 1000
"""Ids that one statement asks for."""

Violation = tuple[str, tuple[int, ...]]
"""A rule, and the triples at fault by the ids that represent their terms."""


def violations_of(engine: Queries, table: str) -> set[Violation]:
    """The rows of a table of violations."""
    return {(rule, tuple(facts)) for rule, facts in engine.rows(f"SELECT rule, facts FROM {table}")}


def violation_diff(
    engine: Queries, before: set[Violation], after: Iterable[Violation], classes: tuple[str, str]
) -> ViolationDiff:
    """What becomes of inconsistencies. classes: the tables (term, representative) before and after: one whose terms are
    represented by others is the same. `term` can be read, with all terms of both."""
    now = {(rule, tuple(facts)) for rule, facts in after}
    gone, made = before - now, now - before
    moved, was = (
        _renamed(engine, table, {i for _, facts in found for i in facts})
        for table, found in zip(classes[::-1], (gone, made), strict=True)
    )
    into, of = {_as(violation, moved) for violation in gone} & now, {_as(violation, was) for violation in made} & before
    gone = {violation for violation in gone if _as(violation, moved) not in now} - of
    made = {violation for violation in made if _as(violation, was) not in before} - into
    listed = sorted(made)[:SHOWN], sorted(gone)[:SHOWN]
    tokens = encoding.decode(engine, {i for found in listed for _, facts in found for i in facts})

    def shown(found: Sequence[Violation]) -> tuple[Inconsistency, ...]:
        return tuple(_shown(rule, [to_ntriples(tokens[i]) for i in facts]) for rule, facts in found)

    return ViolationDiff(len(made), shown(listed[0]), len(gone), shown(listed[1]))


def _renamed(engine: Queries, classes: str, ids: set[int]) -> Callable[[int], int]:
    """What represents some terms in a table of classes."""
    ordered, found = sorted(ids), dict[int, int]()
    for start in range(0, len(ordered), _AT_ONCE):
        listed = ", ".join(map(str, ordered[start : start + _AT_ONCE]))
        found.update(engine.rows(f"SELECT term, representative FROM {classes} WHERE term IN ({listed})"))
    return lambda term: found.get(term, term)


def _as(violation: Violation, renamed: Callable[[int], int]) -> Violation:
    rule, facts = violation
    return rule, tuple(map(renamed, facts))


def _shown(rule: str, terms: Sequence[str]) -> Inconsistency:
    return Inconsistency(rule, tuple((terms[i], terms[i + 1], terms[i + 2]) for i in range(0, len(terms), 3)))
