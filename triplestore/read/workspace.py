"""A version of a store, at hand in an engine: each table a view over its files, or a working table once needed.

After a commit the working tables already hold the new version, so a warm process reads no file again.

`VersionCache` has what was made of the tables of a version, and holds for as long as they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pyarrow as pa

from triplestore.dictionary import object_types
from triplestore.dictionary.encoding import terms_view
from triplestore.dictionary.literals import by_value
from triplestore.dictionary.object_types import Types
from triplestore.dictionary.older_numbers import corrected_sql
from triplestore.engine import Engine
from triplestore.engine.sql import Select, count
from triplestore.maintain.cache import ClosureCache
from triplestore.materialise.limits import Limits
from triplestore.model.tables import (
    ASSERTED,
    COUNT,
    FACT,
    GIVEN,
    LOOKED_UP,
    OBJECT_TYPE,
    QUERIED,
    STORED,
    TERM,
    VIOLATION,
    Table,
)
from triplestore.model.thresholds import SIZES
from triplestore.storage import segments
from triplestore.storage.manifest import Manifest
from triplestore.storage.versions import Versions

Value = TypeVar("Value")


class VersionCache:
    """One value for each key, with the files that it was made of: it is never returned for others.

    Files are whatever tells two states of the tables apart: a manifest, the files of some tables, a tuple of such.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, Any]] = {}

    def get(self, key: str, files: object, make: Callable[[], Value]) -> Value:
        """The value for these files: the one that is kept, or else a new one."""
        if not self.has(key, files):
            self.put(key, files, make())
        value: Value = self._kept[key][1]
        return value

    def has(self, key: str, files: object) -> bool:
        """Whether there is a value for these files."""
        kept = self._kept.get(key)
        return kept is not None and (kept[0] is files or kept[0] == files)

    def last(self, key: str) -> tuple[Any, Any] | None:
        """The files and the value that are kept, whatever files these are: later values may be made of it."""
        return self._kept.get(key)

    def put(self, key: str, files: object, value: object) -> None:
        """Keep a value in place of the one before."""
        self._kept[key] = files, value

    def drop(self, *keys: str) -> None:
        """Keep no value for these keys."""
        for key in keys:
            self._kept.pop(key, None)

    def clear(self) -> None:
        """Keep no value."""
        self._kept.clear()


class Workspace:
    """The tables of `manifest` in `engine`, under their own names."""

    def __init__(self, engine: Engine, versions: Versions, manifest: Manifest) -> None:
        self.engine, self.versions, self.manifest = engine, versions, manifest
        self._bound: dict[str, str] = {}  # table -> "view" or "table"
        self.cache = VersionCache()
        self.memory: tuple[object, ClosureCache] | None = None  # the closure in memory, and what it was read from
        self.limits = Limits()  # of rules that make terms
        self.new_terms: pa.Table | None = None  # of the change at hand: rows of TERM that `term` does not read yet
        self._extended = False  # `term` reads working table `new_term` too

    @property
    def in_place(self) -> bool:
        """Whether the store is too large for its tables to be held in memory."""
        return sum(self.manifest.files_of(table.name).rows for table in QUERIED) > SIZES.resident

    def attach(self, table: Table, name: str) -> None:
        """Make view `name` over the files of a table."""
        if self.in_place:
            self.engine.keep_footers()
        if table is not TERM or self.manifest.current_numbers:
            segments.attach(self.engine, self.versions, self.manifest, table, name)
            return
        raw = f"{name}_older"
        segments.attach(self.engine, self.versions, self.manifest, table, raw)
        self.engine.view(name, corrected_sql(self.engine.dialect, raw))

    def views(self, *tables: Table) -> None:
        """Make sure that the tables can be read, `term` with the new terms of the change at hand."""
        for table in tables:
            if table is TERM and self.new_terms is not None:
                self.extend_terms()
            elif table.name not in self._bound and not (table is TERM and self._extended):
                stored = f"stored_{table.name}"
                self.attach(table, stored)
                self.engine.view(table.name, f"SELECT {table.select} FROM {stored}")
                self._bound[table.name] = "view"

    def extend_terms(self) -> None:
        """Make `term` read working table `new_term` too, which becomes the `new_terms` of the change at hand if it has
        such."""
        if self.new_terms is not None:
            self.engine.load("new_term", self.new_terms)
        self.attach(TERM, "stored_term")
        terms_view(self.engine)
        self._bound.pop(TERM.name, None)
        self.new_terms, self._extended = None, True

    def without_terms(self) -> None:
        """Forget the new terms of a change that is not to be, or has become a version."""
        self.new_terms, self._extended = None, False

    def tables(self, *tables: Table) -> None:
        """Make sure that the tables are working tables, which can be written too."""
        missing = [table for table in tables if self._bound.get(table.name) != "table"]
        for table in missing:
            stored = f"stored_{table.name}"
            self.attach(table, stored)
            self.engine.create(table.name, Select(stored, table.names))
            self.engine.drop(stored)
            self._bound[table.name] = "table"

    def indexed(self) -> None:
        """Make terms, and the facts of single resources, quick to find in the working tables. The indexes take some 30
        bytes a fact, and a second for two million: very many facts go without."""
        shared = self.engine.shared
        if shared is not None and self.manifest.files_of(FACT.name).rows <= SIZES.in_memory:
            for table, column in LOOKED_UP:
                if self._bound.get(table.name) == "table":
                    shared.index(table.name, column)

    @property
    def object_types(self) -> Types | None:
        """The types that the objects of each predicate may have, None where the version does not say."""
        if OBJECT_TYPE.name not in self.manifest.tables:
            return None

        def made() -> Types:
            self.views(OBJECT_TYPE)
            return object_types.read(self.engine)

        return self.cache.get(OBJECT_TYPE.name, self.manifest.files_of(OBJECT_TYPE.name), made)

    def given(self, equal_valued: bool) -> None:
        """Make sure that `given` can be read: the asserted facts as the reasoner reads them. equal_valued: some
        literals have equal values, and one of them stands for each value; else it is `asserted` itself."""
        if not equal_valued:
            self.engine.view(GIVEN, f"SELECT {ASSERTED.select} FROM {ASSERTED.name}")
            self._bound.pop(GIVEN, None)
        elif self._bound.get(GIVEN) != "table":
            self.engine.create(GIVEN, by_value(ASSERTED.name))
            self._bound[GIVEN] = "table"

    def moved(self, manifest: Manifest, changed: Iterable[Table]) -> None:
        """The working tables hold `manifest` now: `changed` were written as working tables, the others kept as they
        are if their files are."""
        fresh = {table.name for table in changed}
        for table in (*STORED, COUNT):
            same = manifest.files_of(table.name) == self.manifest.files_of(table.name)
            if table.name in fresh:
                self._bound[table.name] = "table"
            elif not same:
                self.unbind(table)
        self.manifest = manifest
        self.without_terms()

    def unbind(self, table: Table) -> None:
        """Take one table's view or working table for invalid, and what was made of it. It is dropped, so that nothing
        reads it by mistake."""
        if self._bound.pop(table.name, None) is not None:
            self.engine.drop(table.name)
        if table is ASSERTED:
            self._bound.pop(GIVEN, None)

    def adopt(self, manifest: Manifest, tables: Iterable[Table]) -> None:
        """Take the engine's tables of these names, and nothing else, for working tables that hold `manifest`."""
        self.forget(manifest)
        self._bound.update((table.name, "table") for table in tables)

    def forget(self, manifest: Manifest | None = None) -> None:
        """Take nothing in the engine for valid (after a failure, or another writer's commit)."""
        self._bound.clear()
        self.without_terms()
        self.cache.drop("proofs")
        self.manifest = manifest or self.manifest

    def abandon(self, manifest: Manifest) -> None:
        """As `forget`, and throw away what is kept in memory from one change to the next: after an interruption it may
        be neither what it was nor what it was to become."""
        self.memory = None
        self.cache.drop("reasoning", "fingerprints")
        self.forget(manifest)

    def outdated(self) -> str:
        """Why the closure is to be computed from scratch, or nothing: it is of a version in which no literal
        equals another term, and has such equalities among its violations."""
        if "literals" in self.manifest.stats:
            return ""
        self.views(VIOLATION)
        refused = self.engine.rows("SELECT rule, facts FROM violation WHERE rule IN ('eq-literal', 'eq-diff1')")
        return "the closure has no literals among equals" if any(len(facts) == 3 for _, facts in refused) else ""

    def count(self, source: str) -> int:
        """Rows of a table, or of anything that can stand after FROM."""
        return count(self.engine, source)
