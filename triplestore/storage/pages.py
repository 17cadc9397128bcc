"""Sorted Parquet files of whole numbers that are read by the page: one row group, of which the footer tells the least
and the greatest of each column."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine import WrittenFile
from triplestore.engine.arrow import as_numpy
from triplestore.engine.disk import check_damage
from triplestore.engine.sets import Ids
from triplestore.model.errors import DamagedStoreError
from triplestore.storage.manifest import remedy
from triplestore.storage.place import DATA, Place
from triplestore.storage.thresholds import THRESHOLDS

T = TypeVar("T")


class PagedFile:
    """A file whose rows are sorted by the columns `order`. rows: of each page; low, high: the least and the greatest
    value of each of these columns in each page, arrays of (page, column); name: in the store."""

    def __init__(self, place: Place, file: WrittenFile, order: Sequence[str]) -> None:
        self._place, self._stored, self.name, self.order = place, file, f"{DATA}/{file.path}", tuple(order)
        self._file: pq.ParquetFile | None = None
        found, schema = self._read(lambda opened: (opened.metadata, opened.schema_arrow))
        places = [schema.get_field_index(column) for column in self.order]
        bounds = np.empty((2, found.num_row_groups, len(places)), dtype=np.int64)
        self.rows = np.empty(found.num_row_groups, dtype=np.int64)
        for page in range(found.num_row_groups):
            group = found.row_group(page)
            self.rows[page] = group.num_rows
            for number, place in enumerate(places):
                known = group.column(place).statistics
                if known is None or not known.has_min_max:
                    raise self.damaged(f"row group {page} has no bounds")
                bounds[:, page, number] = known.min, known.max
        self.low, self.high = bounds

    def __len__(self) -> int:
        return int(self.rows.sum())

    @property
    def is_sorted(self) -> bool:
        """Whether each page begins where the one before ends, by the first column. Those that large changes in memory
        once wrote are not: they have the blocks of some predicates before others."""
        return bool((self.low[1:, 0] >= self.high[:-1, 0]).all())

    def read(self, pages: Sequence[int], places: Sequence[int]) -> list[list[Ids]]:
        """The columns of pages at some places of the order, by the page: arrays that are only read. One that has a
        single value in each of them is not decoded, but made of it; the others are decoded at once. Raises
        DamagedStoreError where a page is not what was written."""
        at = np.asarray(pages, dtype=np.int64)
        low, high, ends = self.low[at], self.high[at], self.rows[at].cumsum()
        names = [self.order[place] for place in places if (low[:, place] != high[:, place]).any()]
        table = self._read(lambda opened: opened.read_row_groups(pages, names)) if names else None
        found: list[list[Ids]] = [[] for _ in pages]
        for place in places:
            column = table.column(self.order[place]) if table is not None and self.order[place] in names else None
            values = np.repeat(low[:, place], self.rows[at]) if column is None else as_numpy(column, copy=False)
            for number, part in enumerate(np.split(values, ends[:-1])):
                found[number].append(part)
        return found

    def _read(self, part: Callable[[pq.ParquetFile], T]) -> T:
        """A part of the file; where its copy on this machine cannot be read, of one that is brought again."""
        try:
            self._file = self._file or self._opened()
            return part(self._file)
        except (pa.ArrowException, OSError) as error:
            check_damage(error)
            if not self._place.again(self._stored):
                raise self.damaged(error) from error
        try:
            self._file = self._opened()
            return part(self._file)
        except (pa.ArrowException, OSError) as error:
            check_damage(error)
            raise self.damaged(error) from error

    def _opened(self) -> pq.ParquetFile:
        return pq.ParquetFile(self._place.opened(self._stored), pre_buffer=False)

    def damaged(self, what: object) -> DamagedStoreError:
        """The message that the file is not what was written."""
        return DamagedStoreError(f"{self._place.at(self.name)} cannot be read ({what}); {remedy(self._place)}")


class PageCache:
    """Arrays that were made of pages, those used last: up to `THRESHOLDS.cached` bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Ids] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Ids | None:
        """What was made of a page, if it is kept still."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Hashable, made: Ids) -> None:
        """Keep what was made of a page that has been read."""
        self._kept[key] = made
        self._bytes += made.nbytes
        while self._bytes > THRESHOLDS.cached and len(self._kept) > 1:
            _, freed = self._kept.popitem(last=False)
            self._bytes -= freed.nbytes
