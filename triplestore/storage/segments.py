"""A table of a version = the rows of its added Parquet files minus those of its tombstone files, small ones.

The invariant: the added files are disjoint, and the tombstones are a subset of their rows. So a deleted row that comes
back is taken out of the tombstones again, never added twice. `compact` turns both into one sorted file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplestore.engine import Engine, WrittenFile
from triplestore.engine.sql import Scratch, Select, count, minus
from triplestore.model.tables import Table
from triplestore.storage.manifest import Manifest, TableFiles
from triplestore.storage.patches import TableRows, patched
from triplestore.storage.verify import to_read
from triplestore.storage.versions import Versions


def attach(engine: Engine, versions: Versions, manifest: Manifest, table: Table, name: str | None = None) -> None:
    """Make view `name` (default: the table's own) over a table of a version."""
    name = name or table.name
    stored, of = manifest.files_of(table.name), f"table {table.name}, version {manifest.version}"
    if not stored.tombstones:
        engine.attach(name, to_read(versions.place, engine, stored.files, of), table.columns)
        return
    engine.attach(f"{name}_added", to_read(versions.place, engine, stored.files, of), table.columns)
    engine.attach(f"{name}_dead", to_read(versions.place, engine, stored.tombstones, of), table.columns)
    engine.view(name, minus(f"{name}_added", f"{name}_dead", table.names))


def advance(engine: Engine, versions: Versions, before: Manifest, after: Manifest, table: Table) -> None:
    """Bring working table `table`, which holds its rows of version `before`, to those of version `after`; what they
    share is not read again."""
    old, new = before.files_of(table.name), after.files_of(table.name)
    if old == new:
        return
    fresh = [f for f in new.files if f not in old.files]
    stale = [f for f in old.files if f not in new.files]
    with engine.scratch() as scratch:
        view = _Views(engine, scratch, versions, table)
        if stale:
            added = _added_by_merging(view, old, stale, fresh) if old.tombstones == new.tombstones else None
            if added is not None:
                engine.append(table.name, [added])
            else:  # rewritten
                engine.create(table.name, f"SELECT {table.select} FROM {view.whole(after)}")
            return
        engine.append(table.name, [Select(view.of("fresh", fresh), table.names)])
        if old.tombstones != new.tombstones:
            dead, was_dead = view.of("dead", new.tombstones), view.of("was_dead", old.tombstones)
            engine.append(table.name, [minus(was_dead, dead, table.names)])
            engine.remove(table.name, minus(dead, was_dead, table.names))


@dataclass(frozen=True, slots=True)
class _Views:
    """Makes views of a table's files."""

    engine: Engine
    scratch: Scratch
    versions: Versions
    table: Table

    def of(self, label: str, files: Sequence[WrittenFile]) -> str:
        """The view of some files."""
        name = self.scratch.table(f"{self.table.name}_{label}")
        paths = to_read(self.versions.place, self.engine, files, f"table {self.table.name}")
        self.engine.attach(name, paths, self.table.columns)
        return name

    def whole(self, manifest: Manifest) -> str:
        """The rows of a version, as SQL after FROM."""
        stored = manifest.files_of(self.table.name)
        files = self.of("files", stored.files)
        if not stored.tombstones:
            return files
        return f"({minus(files, self.of('dead', stored.tombstones), self.table.names)}) w"


def _added_by_merging(
    view: _Views, old: TableFiles, stale: Sequence[WrittenFile], fresh: Sequence[WrittenFile]
) -> str | None:
    """Where all rows of the files that were removed are in those that were added, as when small files were merged: the
    SELECT of the other rows of these. It is looked at only where they are a small part of the table."""
    if 2 * sum(f.rows for f in stale) > sum(f.rows for f in old.files):
        return None
    before, after = view.of("stale", stale), view.of("fresh", fresh)
    same = " AND ".join(f"l.{column} IS NOT DISTINCT FROM a.{column}" for column in view.table.names)
    if count(view.engine, f"{before} l WHERE NOT EXISTS (SELECT 1 FROM {after} a WHERE {same})"):
        return None
    return f"SELECT {view.table.select} FROM {after} a WHERE NOT EXISTS (SELECT 1 FROM {before} l WHERE {same})"


def difference(
    engine: Engine,
    scratch: Scratch,
    versions: Versions,
    before: Manifest,
    after: Manifest,
    table: Table,
    added: str,
    removed: str,
) -> None:
    """Make views of the rows of a table that were added (`added`) and removed (`removed`) from version `before` to
    version `after`. Files that both name are not read: the cost follows the change, where the table was not rewritten.
    """
    old, new = before.files_of(table.name), after.files_of(table.name)
    view = _Views(engine, scratch, versions, table)
    fresh_files = view.of("fresh", [f for f in new.files if f not in old.files])
    stale_files = view.of("stale", [f for f in old.files if f not in new.files])
    dead, was_dead = view.of("dead", new.tombstones), view.of("was_dead", old.tombstones)

    def less(left: str, right: str) -> str:
        return f"({minus(left, right, table.names)})"

    fresh, stale = less(fresh_files, dead), less(stale_files, was_dead)
    # A tombstone that is no longer there brings a row back only if its file is still there; a new one removes only a
    # row that was there before.
    back, gone = less(was_dead, dead), less(dead, was_dead)
    for name, rows, others, turned, files in (
        (added, fresh, stale, back, stale_files),
        (removed, stale, fresh, gone, fresh_files),
    ):
        engine.view(name, f"{minus(rows, others, table.names)} UNION ALL {minus(turned, files, table.names)}")


def patched_by(
    engine: Engine, versions: Versions, table: Table, before: TableFiles, added: TableRows, removed: TableRows, now: str
) -> TableFiles:
    """The files of a table of plain BIGINT columns after a change: `added` and `removed` (disjoint, true changes) are
    in working tables, `now` is the name of the table after the change, read only if it is better written whole."""
    if not before.tombstones or not len(added):
        return patched(versions, table, before, added, removed, None, lambda: TableRows(engine, now))
    with engine.scratch() as scratch:
        dead = _Views(engine, scratch, versions, table).of("dead", before.tombstones)
        new, left = scratch.table("new_rows"), None
        rows = engine.create(new, minus(added.name, dead, table.names))
        if rows < len(added):
            kept = scratch.table("dead_left")
            left = TableRows(engine, kept, engine.create(kept, minus(dead, added.name, table.names)))
        return patched(
            versions, table, before, TableRows(engine, new, rows), removed, left, lambda: TableRows(engine, now)
        )
