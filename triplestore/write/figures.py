"""The figures of an operation, as `stats` and `log` show them, and as --verbose tells them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.maintain import Outcome
from triplestore.maintain.regrouping import Part, regrouping
from triplestore.model.terms import to_ntriples

SHOWN: Final = 50
"""Merges and splits of classes that a dry run lists, at most."""


def figures_of(
    operation: str, seconds: float, outcome: Outcome | None = None, phases: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """The `last` of `stats --json`. phases: seconds of each."""
    figures = outcome.figures if outcome else None
    return {
        "operation": operation,
        "algorithm": outcome.algorithm if outcome else "none",
        "seconds": round(seconds, 4),
        "rounds": len(figures.rounds) if figures else 0,
        "statements": figures.statements if figures else 0,
        "derived": figures.derived if figures else 0,
        "added": outcome.added if outcome else 0,
        "deleted": outcome.deleted if outcome else 0,
        "merged": outcome.merged if outcome else 0,
        "split": outcome.split if outcome else 0,
        "doubted": figures.doubted if figures else 0,
        "checked": figures.checked if figures else 0,
        "proved": figures.proved if figures else 0,
        "sets": dict(figures.sets) if figures else {},
        "phases": {name: round(taken, 4) for name, taken in (phases or {}).items()},
        "reason": outcome.reason if outcome else "",
    }


def lines_of(outcome: Outcome, phases: Mapping[str, float]) -> Iterator[str]:
    """What maintained the closure, why, and at what cost: lines to read. phases: seconds of each."""
    figures = outcome.figures
    yield f"maintained by {outcome.algorithm}: {outcome.reason}"
    yield (
        f"  {len(figures.rounds):,} rounds, {figures.statements:,} statements, {figures.derived:,} derivations, "
        f"{figures.doubted:,} facts doubted, {figures.checked:,} checked, {figures.proved:,} proved"
    )
    if figures.sets:
        yield f"  sets: {', '.join(f'{name} {size:,}' for name, size in figures.sets.items())}"
    if phases:
        yield f"  seconds: {', '.join(f'{name} {taken:.4f}' for name, taken in phases.items())}"


def class_diff(engine: Engine) -> dict[str, object]:
    """How a dry run that has changed something changes the classes of equal terms, from `same_as` and what it was: see
    `Store.update`."""
    found = regrouping(engine, SHOWN)
    parts = [part for merge in found.merged for part in merge]
    parts += [part for whole, into in found.split for part in (whole, *into)]
    tokens = encoding.decode(engine, (i for i, _ in parts))

    def shown(part: Part) -> dict[str, object]:
        return {"term": to_ntriples(tokens[part[0]]), "members": part[1]}

    return {
        "classes_merged": found.merged_count,
        "merges": [[shown(part) for part in merge] for merge in found.merged],
        "classes_split": found.split_count,
        "splits": [{"class": shown(whole), "into": [shown(part) for part in into]} for whole, into in found.split],
    }
