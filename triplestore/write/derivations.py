"""From tables to memory and back: the closure of a workspace read, derivations counted, statistics kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from triplestore.maintain.keys import Ids, LayoutFullError
from triplestore.maintain.memory import Derivations, Memory, Rows
from triplestore.maintain.program import NotMaintainableError
from triplestore.model.tables import COUNT
from triplestore.model.terms import BUILTIN_IDS, FIRST_BLANK, FIRST_LITERAL
from triplestore.read.reasoning import reasoning, twins
from triplestore.read.workspace import Workspace
from triplestore.storage import segments
from triplestore.storage.manifest import Counters, TableFiles
from triplestore.write.rows import table_of


def memory_of(workspace: Workspace, derivations: Derivations = "none", counters: Counters | None = None) -> Memory:
    """The closure in the tables at hand, read into memory; see `Memory.read`. counters: the dictionary's, if it has
    grown."""
    manifest = replace(workspace.manifest, counters=counters or workspace.manifest.counters)
    known, now = reasoning(workspace.engine, manifest), manifest.counters
    counts = (len(BUILTIN_IDS), now.iri, now.blank, now.literal)
    return Memory.read(workspace.engine, known, counts, twins(manifest), now.ill_typed > 0, derivations)


def counts_written(workspace: Workspace, counters: Counters, verbose: Callable[[str], None]) -> dict[str, TableFiles]:
    """The files of `count`, for the closure in the working tables: all derivations counted anew, where the store keeps
    counts. None where the program is none that is counted."""
    if not workspace.manifest.counting:
        return {COUNT.name: TableFiles()} if workspace.manifest.files_of(COUNT.name).files else {}
    try:
        counts = memory_of(workspace, "counted", counters).count_rows()
    except (NotMaintainableError, LayoutFullError) as error:
        verbose(f"derivations are not counted: {str(error) or 'the store has too many terms'}")
        return {COUNT.name: TableFiles()}
    engine = workspace.engine
    engine.load("count_now", table_of(COUNT, counts))
    files = segments.write_whole(engine, workspace.versions, COUNT, "count_now")
    engine.drop("count_now")
    return {COUNT.name: files}


def stats_after(before: Mapping[str, int], rows: Rows, memory: Memory) -> dict[str, int]:
    """A version's statistics, from those before it and what an update in memory changed."""
    stats = dict(before)
    more = sum(t == r for t, r in rows.equal_added) - sum(t == r for t, r in rows.equal_removed)
    stats["classes"] = before.get("classes", 0) + more
    if rows.equal_added or rows.equal_removed:
        classes = memory.working.classes
        stats["largest_class"], own = classes.largest(), len(classes.of(memory.working.same_as))
        stats["named"] = own if own > 1 else 0
    stats["generalised"] = before.get("generalised", 0) + _odd(rows.added) - _odd(rows.removed)
    return stats


def _odd(facts: tuple[Ids, Ids, Ids]) -> int:
    """Triples that RDF has no place for."""
    return int(((facts[0] >= FIRST_LITERAL) | (facts[1] >= FIRST_BLANK)).sum())
