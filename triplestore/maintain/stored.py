"""A stored table of triples as a relation that is read by the page: what a look-up costs does not follow the table.

Files of one page at most, as those of small changes are, are read whole and become one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Final

from triplestore.engine import WrittenFile
from triplestore.engine.arrow import as_numpy
from triplestore.maintain.keys import Ids, Layout, union
from triplestore.maintain.relation import Relation
from triplestore.maintain.runs import ArrayRun, FileRun, Run
from triplestore.model.tables import FACT, PAGE, Table
from triplestore.storage.manifest import TableFiles
from triplestore.storage.pages import PageCache, PagedFile
from triplestore.storage.verify import checked
from triplestore.storage.versions import Versions

SMALL: Final = PAGE
"""Rows of a file up to which it is read whole."""


class StoredTables:
    """Makes relations of tables of one version, with one cache of their pages. large: the paths of the files that are
    read by the page, as long as the relations live."""

    def __init__(self, versions: Versions, layout: Layout) -> None:
        self._versions, self._layout = versions, layout
        self.pages = PageCache()
        self.large: set[str] = set()

    def relation(self, table: Table, files: TableFiles) -> tuple[Relation, Relation]:
        """The triples of a table, and those of its tombstones."""
        dead = self._runs(table, files.tombstones)
        return Relation(self._layout, runs=self._runs(table, files.files), dead=dead), Relation(self._layout, runs=dead)

    def _runs(self, table: Table, files: Sequence[WrittenFile]) -> list[Run]:
        large = [file for file in files if file.rows > SMALL]
        self.large.update(chain.from_iterable(_paths(file) for file in large))
        small = union(*(self._whole(file) for file in files if file.rows <= SMALL))
        runs: list[Run] = [self._paged(table, file) for file in large]
        return [*runs, ArrayRun(self._layout, small)] if len(small) else runs

    def _whole(self, file: WrittenFile) -> Ids:
        rows = checked(self._versions, file)
        s, p, o = (self._layout.encode(as_numpy(rows.column(name))) for name in FACT.names)
        return self._layout.keys(s, p, o)

    def _paged(self, table: Table, file: WrittenFile) -> FileRun:
        other = None
        if file.turned is not None:
            other = partial(PagedFile, self._versions.data / file.turned.path, FACT.turned)
        return FileRun(self._layout, PagedFile(self._versions.data / file.path, table.order), self.pages, other)


def _paths(file: WrittenFile) -> Iterable[str]:
    return (file.path,) if file.turned is None else (file.path, file.turned.path)
