"""Which inconsistencies a change makes, and which it mends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from triplestore.dictionary import encoding
from triplestore.engine import Queries
from triplestore.model.report import Inconsistency, ViolationDiff
from triplestore.model.terms import to_ntriples
from triplestore.write.class_diff import at_once, class_parts, class_sizes

SHOWN: Final = 50
"""Inconsistencies that a report lists, at most."""

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
    return ViolationDiff(len(made), _shown(engine, classes[1], made), len(gone), _shown(engine, classes[0], gone))


def _renamed(engine: Queries, classes: str, ids: set[int]) -> Callable[[int], int]:
    """What represents some terms in a table of classes."""
    found: dict[int, int] = {}
    for some in at_once(ids):
        found.update(engine.rows(f"SELECT term, representative FROM {classes} WHERE term IN ({some})"))
    return lambda term: found.get(term, term)


def _as(violation: Violation, renamed: Callable[[int], int]) -> Violation:
    rule, facts = violation
    return rule, tuple(map(renamed, facts))


def _shown(engine: Queries, classes: str, found: set[Violation]) -> tuple[Inconsistency, ...]:
    """Some inconsistencies. classes: the table of the version that has them."""
    listed = sorted(found)[:SHOWN]
    ids = {i for _, facts in listed for i in facts}
    tokens = encoding.decode(engine, ids)
    equals = class_parts(engine, classes, class_sizes(engine, classes, ids).items())

    def inconsistency(rule: str, facts: tuple[int, ...]) -> Inconsistency:
        terms = [to_ntriples(tokens[i]) for i in facts]
        triples = tuple((terms[i], terms[i + 1], terms[i + 2]) for i in range(0, len(terms), 3))
        return Inconsistency(rule, triples, tuple(equals[i] for i in dict.fromkeys(facts) if i in equals))

    return tuple(inconsistency(rule, facts) for rule, facts in listed)
