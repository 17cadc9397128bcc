"""Tables of triples in files of small pages, as a store may have them, for tests of what reads them by the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from triplestore.compile.schema import Fact
from triplestore.engine import Engine, WrittenFile
from triplestore.engine.written import finished
from triplestore.maintain.keys import Layout
from triplestore.maintain.relation import StoredTables
from triplestore.materialise.statements import triples_table
from triplestore.model.tables import ASSERTED, FACT
from triplestore.storage.manifest import TableFiles
from triplestore.storage.versions import Versions

PAGE = 8
"""Rows of a page."""


@contextmanager
def small_pages(rows: int | None) -> Iterator[None]:
    """Whatever writes triples writes them by so many rows a page, and files of more are read by it (None: as ever)."""
    if rows is None:
        yield
        return
    before = [(table, table.page) for table in (ASSERTED, FACT)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("triplestore.model.thresholds.Sizes.small", rows)
        for table, _ in before:
            object.__setattr__(table, "page", rows)  # it is frozen, and known by many names
        try:
            yield
        finally:
            for table, page in before:
                object.__setattr__(table, "page", page)


class PagedTables:
    """Writes tables as a version may have them: several files, some of them in both orders, and tombstones of rows that
    are gone. random: of how they are cut. page: rows of one."""

    def __init__(self, random: Random, page: int = PAGE) -> None:
        self._random, self._page = random, page
        self._folder = TemporaryDirectory()
        self._versions = Versions(Path(self._folder.name))
        self._versions.data.mkdir()
        self._written = 0

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._versions.data

    def reader(self, engine: Engine) -> Callable[[Layout], StoredTables]:
        """What `ClosureCache.read` takes, of the tables of an engine."""

        def files_of(table: str) -> TableFiles:
            rows = engine.query(f"SELECT s, p, o FROM {table}").to_pydict()
            return self.files(list(zip(rows["s"], rows["p"], rows["o"], strict=True)))

        return lambda layout: StoredTables(self._versions, files_of, layout, small=0)

    def stored(self, files: TableFiles, layout: Layout, small: int = 0) -> StoredTables:
        """Makes relations of what was written, of whatever table."""
        return StoredTables(self._versions, lambda table: files, layout, small)

    def files(self, kept: list[Fact]) -> TableFiles:
        """Files of rows, and of some that tombstones take away again."""
        random = self._random
        terms = [row[place] for row in kept for place in (0, 2)]
        dead = {(s, p, random.choice(terms)) for s, p, _ in kept if random.random() < 0.3} - set(kept)
        parts: list[list[Fact]] = [[] for _ in range(random.randint(1, 3))]
        for row in (*kept, *dead):
            random.choice(parts).append(row)
        gone: list[list[Fact]] = [[] for _ in range(random.randint(1, 2))]
        for row in dead:
            random.choice(gone).append(row)
        files, tombstones = (
            [self.file(part, random.random() >= 0.3) for part in some if part] for some in (parts, gone)
        )
        return TableFiles(tuple(files), tuple(tombstones))

    def file(self, rows: list[Fact], turned: bool) -> WrittenFile:
        """A file of rows. turned: there is a second one, by (p, o, s)."""
        self._written += 1
        table, name = triples_table(rows), f"t{self._written}"
        file = self._put(table, name, FACT.order)
        if not turned:
            return file
        second = self._put(table, f"{name}-turned", FACT.turned)
        return replace(file, turned=second)

    def _put(self, table: pa.Table, name: str, order: tuple[str, ...]) -> WrittenFile:
        path = self._versions.data / f"{name}.parquet"
        pq.write_table(table.sort_by([(column, "ascending") for column in order]), path, row_group_size=self._page)
        return finished(path, table.num_rows)
