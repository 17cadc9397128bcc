"""The closure of a workspace in memory, and the derivation counts of a closure that was computed in the engine's
tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from triplestore.engine.arrow import int64s
from triplestore.maintain.keys import LayoutFullError
from triplestore.maintain.memory import Derivations, Memory
from triplestore.maintain.program import NotMaintainableError
from triplestore.reasoning import reasoning, twins
from triplestore.storage import segments
from triplestore.storage.manifest import Counters, TableFiles
from triplestore.tables import COUNT
from triplestore.terms import BUILTIN_IDS
from triplestore.workspace import Workspace


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
    engine, columns = workspace.engine, zip(COUNT.names, counts, strict=True)
    engine.load("count_now", pa.table({name: int64s(column) for name, column in columns}))
    files = segments.write_whole(engine, workspace.versions, COUNT, "count_now")
    engine.drop("count_now")
    return {COUNT.name: files}
