"""The closure of a workspace read into memory, and the statistics of a version kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from triplestore.closure.view import ClosureView
from triplestore.maintain.cache import ClosureCache, Derivations, Rows
from triplestore.maintain.keys import Ids, Layout
from triplestore.maintain.relation import StoredTables
from triplestore.model.equality import Equality
from triplestore.model.terms import BUILTIN_IDS, FIRST_BLANK, FIRST_LITERAL, SAME_AS
from triplestore.read.reasoning import reasoning
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Counters

SAMPLED: Final = "derivations_per_1000_facts"
"""The statistic of `ClosureCache.sampled_derivations`, of the closure as it was when it was first maintained."""


def memory_of(
    workspace: Workspace,
    derivations: Derivations = "none",
    counters: Counters | None = None,
    stored: Callable[[Layout], StoredTables] | None = None,
) -> ClosureCache:
    """The closure in the tables at hand, as `ClosureCache.read` reads it. counters: the dictionary's, if it has
    grown."""
    manifest = replace(workspace.manifest, counters=counters or workspace.manifest.counters)
    known, now = reasoning(workspace.engine, manifest), manifest.counters
    counts = (len(BUILTIN_IDS), now.iri, now.blank, now.literal, now.triple)
    return ClosureCache.read(
        workspace.engine, known, counts, ClosureView.of(manifest).equal_values, now.ill_typed > 0, derivations, stored
    )


def stats_of(workspace: Workspace) -> dict[str, int]:
    """What queries must know of the closure in the working tables: equality classes, the size of the one that
    owl:sameAs is in, literals in classes, and triples that RDF has no place for."""
    classes = workspace.engine.query(
        f"SELECT count(*) AS n, coalesce(max(size), 0) AS largest, coalesce(max(own), 0) AS own FROM (SELECT "
        f"count(*) AS size, CASE WHEN representative = {SAME_AS} THEN count(*) END AS own "
        "FROM same_as GROUP BY representative) c"
    ).to_pylist()[0]
    literals = f"same_as WHERE term >= {FIRST_LITERAL}"
    if workspace.manifest.equality == Equality.AXIOMS:
        literals = f"fact WHERE p = {SAME_AS} AND o >= {FIRST_LITERAL} AND s <> o"
    return {
        "classes": int(classes["n"]),
        "largest_class": int(classes["largest"]),
        "named": int(classes["own"]),
        "literals": workspace.count(literals),
        "generalised": workspace.count(f"fact WHERE s >= {FIRST_LITERAL} OR p >= {FIRST_BLANK}"),
    }


def stats_after(before: Mapping[str, int], rows: Rows, memory: ClosureCache) -> dict[str, int]:
    """A version's statistics, from those before it and what an update in memory changed."""
    stats = dict(before)
    more = sum(t == r for t, r in rows.equal_added) - sum(t == r for t, r in rows.equal_removed)
    stats["classes"] = before.get("classes", 0) + more
    if rows.equal_added or rows.equal_removed:
        classes = memory.state.classes
        stats["largest_class"], own = classes.largest(), len(classes.of(memory.state.same_as))
        stats["named"] = own if own > 1 else 0
    stats["generalised"] = before.get("generalised", 0) + _generalised(rows.added) - _generalised(rows.removed)
    return stats


def _generalised(facts: tuple[Ids, Ids, Ids]) -> int:
    """Triples that RDF has no place for."""
    return int(((facts[0] >= FIRST_LITERAL) | (facts[1] >= FIRST_BLANK)).sum())
