"""A stored table of triples as a relation that is read by the page: what a look-up costs does not follow the table.

Files of one page at most, as those of small changes are, are read whole and become one run; so are those that are not
sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from triplestore.engine import WrittenFile
from triplestore.engine.arrow import as_numpy
from triplestore.maintain.keys import Ids, Layout, union
from triplestore.maintain.relation import ArrayRun, FileRun, Relation, Run
from triplestore.model.tables import FACT, Table
from triplestore.storage.manifest import TableFiles
from triplestore.storage.pages import PageCache, PagedFile
from triplestore.storage.verify import checked
from triplestore.storage.versions import Versions


class StoredTables:
    """Makes relations of tables of one version, with one cache of their pages. files_of: the files of a table, by name.
    small: rows of a file up to which it is read whole. large: the paths of the files that are read by the page, as long
    as the relations live. dead: table -> the triples of its tombstones, for whoever writes a change down: it notes in
    `dead_now` which are added and which removed, None where there are none any more."""

    def __init__(self, versions: Versions, files_of: Callable[[str], TableFiles], layout: Layout, small: int) -> None:
        self._versions, self._files_of, self._layout, self._small = versions, files_of, layout, small
        self.pages = PageCache()
        self.large: set[str] = set()
        self.dead: dict[str, Relation] = {}
        self.dead_now: dict[str, tuple[Ids, Ids] | None] = {}

    def relation(self, table: Table) -> Relation:
        """The triples of a table."""
        files = self._files_of(table.name)
        dead = self._runs(table, files.tombstones)
        self.dead[table.name] = Relation(self._layout, runs=dead)
        return Relation(self._layout, runs=self._runs(table, files.files), dead=dead)

    def commit(self) -> None:
        """The change that was written down is kept."""
        for table, changed in self.dead_now.items():
            if changed is None:
                self.dead[table] = Relation(self._layout)
            else:
                added, removed = changed
                self.dead[table].remove(removed)
                self.dead[table].add(added)
        self.dead_now = {}

    def revert(self) -> None:
        """It is not."""
        self.dead_now = {}

    def _runs(self, table: Table, files: Sequence[WrittenFile]) -> list[Run]:
        runs, whole = list[Run](), list[Ids]()
        for file in files:
            paged = self._paged(table, file) if file.rows > self._small else None
            if paged is None:
                whole.append(self._whole(file))
            else:
                runs.append(paged)
                self.large.update(_paths(file))
        small = union(*whole)
        return [*runs, ArrayRun(self._layout, small)] if len(small) else runs

    def _whole(self, file: WrittenFile) -> Ids:
        rows = checked(self._versions, file)
        s, p, o = (self._layout.encode(as_numpy(rows.column(name))) for name in FACT.names)
        return self._layout.keys(s, p, o)

    def _paged(self, table: Table, file: WrittenFile) -> FileRun | None:
        """The file, read by the page; None for one that is not sorted, which is read whole."""
        read = PagedFile(self._versions.place, file, table.order)
        if not read.is_sorted:
            return None
        other = None
        if file.turned is not None:
            other = partial(PagedFile, self._versions.place, file.turned, FACT.turned)
        return FileRun(self._layout, read, self.pages, other)


def _paths(file: WrittenFile) -> Iterable[str]:
    return (file.path,) if file.turned is None else (file.path, file.turned.path)
