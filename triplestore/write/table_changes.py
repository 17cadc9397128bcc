"""How stored tables change, by the form of the change: keys in memory, Arrow rows, or working tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from triplestore.compile.schema import Fact
from triplestore.engine import WrittenFile, sql
from triplestore.engine.arrow import id_lists, int64s, strings
from triplestore.engine.sql import Scratch
from triplestore.maintain.cache import ClosureCache
from triplestore.maintain.keys import Ids, LayoutFullError, merged, minus
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.violations import Violation
from triplestore.model.tables import COUNT, FACT, SAME_AS, TERM, Table
from triplestore.read.workspace import Workspace
from triplestore.storage import segments
from triplestore.storage.manifest import Counters, TableFiles
from triplestore.storage.patches import ArrowRows, Rows, TableRows, extended, patched, whole
from triplestore.storage.versions import Versions
from triplestore.write.statistics import memory_of


@dataclass(frozen=True, slots=True)
class Whole:
    """The table is these rows."""

    rows: Rows

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """See `TableChange`."""
        return whole(versions, table, self.rows)


@dataclass(frozen=True, slots=True)
class NewTerms:
    """The new terms of the change at hand, as the workspace has them. rows: how many, where that is known."""

    workspace: Workspace
    rows: int | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def write(
        self, versions: Versions, table: Table, stem: str, merged: Sequence[WrittenFile] = ()
    ) -> tuple[WrittenFile, ...]:
        """See `Rows`. The engine merges files: terms may be large."""
        if merged:
            self.workspace.views(TERM)
        return self._rows.write(versions, table, stem, merged)

    @property
    def _rows(self) -> Rows:
        names = self.workspace.new_terms
        return TableRows(self.workspace.engine, "new_term", self.rows) if names is None else ArrowRows(names)


@dataclass(frozen=True, slots=True)
class Extended:
    """Rows are added to a table that loses none."""

    rows: Rows

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """See `TableChange`."""
        return extended(versions, table, before, self.rows)


@dataclass(frozen=True, slots=True)
class KeysPatch:
    """Triples are added and removed, as keys of the layout in memory (disjoint, true changes)."""

    workspace: Workspace
    memory: ClosureCache
    added: Ids
    removed: Ids

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """See `TableChange`. The memory notes which keys the tombstones have then."""
        memory, stored = self.memory, self.memory.stored
        assert stored is not None
        dead = stored.dead[table.name]
        back = dead.contains(self.added)
        stored.dead_now[table.name] = self.removed, self.added[back]
        left = self._rows(minus(dead.keys, self.added)) if back.any() else None
        added, removed = self._rows(self.added[~back]), self._rows(self.removed)
        with self.workspace.engine.scratch() as scratch:

            def after() -> Rows:
                stored.dead_now[table.name] = None
                if stored.large:  # the engine writes it
                    patch = LoadedPatch(self.workspace, self._rows(self.added).rows, self._rows(self.removed).rows)
                    return TableRows(self.workspace.engine, patch.applied(table, scratch))
                asserted = merged(minus(memory.asserted_forms.keys, self.removed), self.added)
                return self._rows(memory.state.facts.keys if table is FACT else asserted)

            return patched(versions, table, before, added, removed, left, after)

    def _rows(self, keys: Ids) -> ArrowRows:
        """Triples in the order of the tables' files: keys are in that of the numbers of their predicates, which are
        given as predicates are met."""
        s, p, o = self.memory.state.ids_of(keys)
        order = np.argsort(p, kind="stable")
        return ArrowRows(table_of(FACT, (s[order], p[order], o[order])))


@dataclass(frozen=True, slots=True)
class WorkingPatch:
    """Rows are added and removed, in working tables (disjoint, true changes). now: the table after the change."""

    added: TableRows
    removed: TableRows
    now: str

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """See `TableChange`."""
        return segments.patched_by(self.added.engine, versions, table, before, self.added, self.removed, self.now)


@dataclass(frozen=True, slots=True)
class StoredPatch:
    """Rows are added and removed, in working tables (disjoint, true changes), of a table that is in its files alone."""

    workspace: Workspace
    added: TableRows
    removed: TableRows

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """See `TableChange`."""
        with self.workspace.engine.scratch() as scratch:
            return WorkingPatch(self.added, self.removed, self.applied(table, scratch)).written(versions, table, before)

    def applied(self, table: Table, scratch: Scratch) -> str:
        """A view of the table after the change."""
        workspace, engine = self.workspace, self.workspace.engine
        before, now = scratch.table("before_patch"), scratch.table("after_patch")
        segments.attach(engine, workspace.versions, workspace.manifest, table, before)
        kept = sql.minus(before, self.removed.name, table.names)
        engine.view(now, f"{kept} UNION ALL SELECT {table.select} FROM {self.added.name}")
        return now


@dataclass(frozen=True, slots=True)
class LoadedPatch:
    """Rows are added and removed, in Arrow (disjoint, true changes)."""

    workspace: Workspace
    added: pa.Table
    removed: pa.Table

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """See `TableChange`."""
        with self.workspace.engine.scratch() as scratch:
            return self._loaded(scratch).written(versions, table, before)

    def applied(self, table: Table, scratch: Scratch) -> str:
        """A view of the table after the change."""
        return self._loaded(scratch).applied(table, scratch)

    def _loaded(self, scratch: Scratch) -> StoredPatch:
        engine = self.workspace.engine
        added, removed = scratch.load("added_rows", self.added), scratch.load("removed_rows", self.removed)
        return StoredPatch(
            self.workspace,
            TableRows(engine, added, self.added.num_rows),
            TableRows(engine, removed, self.removed.num_rows),
        )


@dataclass(frozen=True, slots=True)
class Recounted:
    """The derivations of the closure in the working tables, all counted from scratch; no rows where its program is none
    that is counted. counters: the dictionary's."""

    workspace: Workspace
    counters: Counters
    verbose: Callable[[str], None]

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """See `TableChange`."""
        if not self.workspace.manifest.counting:
            return TableFiles()
        try:
            counts = memory_of(self.workspace, "counted", self.counters).count_rows()
        except (NotMaintainableError, LayoutFullError) as error:
            self.verbose(f"derivations are not counted: {str(error) or 'the store has too many terms'}")
            return TableFiles()
        return whole(versions, table, ArrowRows(table_of(COUNT, counts)))


def columns_of(facts: Iterable[Fact]) -> Sequence[Ids]:
    """Facts as three columns."""
    rows = np.array(list(facts), dtype=np.int64).reshape(-1, 3)
    return [np.ascontiguousarray(rows[:, i]) for i in range(3)]


def table_of(table: Table, columns: Sequence[Ids]) -> pa.Table:
    """Columns of ids and numbers as rows of a table that has nothing else."""
    return pa.table({name: int64s(column) for name, column in zip(table.names, columns, strict=True)})


def same_as_rows(pairs: Sequence[tuple[int, int]]) -> pa.Table:
    """Pairs (term, representative) as rows of `same_as`."""
    columns = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({name: int64s(column) for name, column in zip(SAME_AS.names, columns, strict=True)})


def violation_rows(violations: Iterable[Violation]) -> pa.Table:
    """Violations as rows of `violation`, sorted."""
    ordered = sorted(violations)
    return pa.table({"rule": strings(r for r, _ in ordered), "facts": id_lists([f for _, f in ordered])})
