"""A table of a version = the rows of its added Parquet files minus those of its tombstone files, small ones.

The invariant: the added files are disjoint, and the tombstones are a subset of their rows. So a deleted row that comes
back is taken out of the tombstones again, never added twice. `compact` turns both into one sorted file.
"""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.engine import Engine, WrittenFile
from triplestore.engine.queries import minus
from triplestore.engine.scratch import Scratch
from triplestore.model.tables import Table
from triplestore.storage.manifest import Manifest, TableFiles, Versions
from triplestore.storage.patches import TableRows, patched


def attach(engine: Engine, versions: Versions, manifest: Manifest, table: Table, name: str | None = None) -> None:
    """Make view `name` (default: the table's own) over a table of a version."""
    name = name or table.name
    stored = manifest.files_of(table.name)
    if not stored.tombstones:
        engine.attach(name, _paths(versions, stored.files), table.columns)
        return
    engine.attach(f"{name}_added", _paths(versions, stored.files), table.columns)
    engine.attach(f"{name}_dead", _paths(versions, stored.tombstones), table.columns)
    engine.view(name, minus(f"{name}_added", f"{name}_dead", table.names))


def advance(engine: Engine, versions: Versions, before: Manifest, after: Manifest, table: Table) -> None:
    """Bring working table `table`, which holds its rows of version `before`, to those of version `after`; what they
    share is not read again."""
    old, new = before.files_of(table.name), after.files_of(table.name)
    if old == new:
        return
    fresh = [f for f in new.files if f not in old.files]
    stale = [f for f in old.files if f not in new.files]
    if stale and old.tombstones == new.tombstones and _merged(engine, versions, table, old, stale, fresh):
        there = f"SELECT 1 FROM leaving l WHERE {_same(table)}"
        engine.append(table.name, [f"SELECT {table.select} FROM arriving a WHERE NOT EXISTS ({there})"])
    elif stale:  # rewritten
        attach(engine, versions, after, table, "arriving")
        engine.create(table.name, f"SELECT {table.select} FROM arriving")
    else:
        engine.attach("arriving", _paths(versions, fresh), table.columns)
        engine.append(table.name, [f"SELECT {table.select} FROM arriving"])
        if old.tombstones != new.tombstones:
            engine.attach("arriving_dead", _paths(versions, new.tombstones), table.columns)
            engine.attach("arriving_was_dead", _paths(versions, old.tombstones), table.columns)
            engine.append(table.name, [minus("arriving_was_dead", "arriving_dead", table.names)])
            engine.remove(table.name, minus("arriving_dead", "arriving_was_dead", table.names))
    engine.drop("arriving", "arriving_added", "arriving_dead", "arriving_was_dead", "leaving")


def _same(table: Table) -> str:
    return " AND ".join(f"l.{column} IS NOT DISTINCT FROM a.{column}" for column in table.names)


def _merged(
    engine: Engine,
    versions: Versions,
    table: Table,
    old: TableFiles,
    stale: Sequence[WrittenFile],
    fresh: Sequence[WrittenFile],
) -> bool:
    """Whether all rows of the files that went (made the view `leaving`) are in those that came (`arriving`), as when
    small files were merged; looked at only where they are a small part of the table."""
    if 2 * sum(f.rows for f in stale) > sum(f.rows for f in old.files):
        return False
    for name, files in (("leaving", stale), ("arriving", fresh)):
        engine.attach(name, _paths(versions, files), table.columns)
    gone = f"SELECT count(*) AS n FROM leaving l WHERE NOT EXISTS (SELECT 1 FROM arriving a WHERE {_same(table)})"
    return not engine.query(gone).column(0)[0].as_py()


def difference(
    engine: Engine, versions: Versions, before: Manifest, after: Manifest, table: Table, came: str, went: str
) -> None:
    """Make views of the rows of a table that came (`came`) and went (`went`) from version `before` to version `after`.
    Files that both name are not read: what it costs follows the change, where the table was not rewritten."""
    old, new = before.files_of(table.name), after.files_of(table.name)
    parts = {
        "fresh": [f for f in new.files if f not in old.files],
        "stale": [f for f in old.files if f not in new.files],
        "dead": new.tombstones,
        "was_dead": old.tombstones,
    }
    name = {part: f"{table.name}_{part}" for part in parts}
    for part, files in parts.items():
        engine.attach(name[part], _paths(versions, files), table.columns)

    def less(left: str, right: str) -> str:
        return f"({minus(left, right, table.names)})"

    fresh, stale = less(name["fresh"], name["dead"]), less(name["stale"], name["was_dead"])
    # A tombstone that went brings a row back only if its file is still there; one that came takes away only a row that
    # was there before.
    back, gone = less(name["was_dead"], name["dead"]), less(name["dead"], name["was_dead"])
    for view, rows, others, turned, files_of in (
        (came, fresh, stale, back, name["stale"]),
        (went, stale, fresh, gone, name["fresh"]),
    ):
        engine.view(view, f"{minus(rows, others, table.names)} UNION ALL {minus(turned, files_of, table.names)}")


def patched_by(
    engine: Engine, versions: Versions, table: Table, before: TableFiles, added: TableRows, removed: TableRows, now: str
) -> TableFiles:
    """The files of a table of plain BIGINT columns after a change: `added` and `removed` (disjoint, true changes) are
    in working tables, `now` is the name of the table after the change, read only if it is better written whole."""
    if not before.tombstones or not len(added):
        return patched(versions, table, before, added, removed, None, lambda: TableRows(engine, now))
    scratch = Scratch(engine)
    dead = scratch.name("dead")
    engine.attach(dead, _paths(versions, before.tombstones), table.columns)
    new, left = scratch.name("new_rows"), None
    rows = engine.create(new, minus(added.name, dead, table.names))
    if rows < len(added):
        kept = scratch.name("dead_left")
        left = TableRows(engine, kept, engine.create(kept, minus(dead, added.name, table.names)))
    files = patched(
        versions, table, before, TableRows(engine, new, rows), removed, left, lambda: TableRows(engine, now)
    )
    scratch.clear()
    return files


def _paths(versions: Versions, files: Sequence[WrittenFile]) -> list[str]:
    return [str(versions.data / f.path) for f in files]
