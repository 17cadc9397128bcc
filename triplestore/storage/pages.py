"""Sorted Parquet files of whole numbers that are read by the page: one row group, of which the footer tells the least
and the greatest of each column."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine.arrow import as_numpy
from triplestore.engine.sets import Ids
from triplestore.model.errors import DamagedStoreError

CACHED: Final = 64 << 20
"""Bytes of pages that are kept, those used last."""


class PagedFile:
    """A file whose rows are sorted by the columns `order`. rows: of each page; low, high: the least and the greatest
    value of each of these columns in each page, arrays of (page, column)."""

    def __init__(self, path: Path, order: Sequence[str]) -> None:
        self.path, self.order = path, tuple(order)
        try:
            self._file = pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        found = self._file.metadata
        places = [self._file.schema_arrow.get_field_index(column) for column in self.order]
        bounds = np.empty((2, found.num_row_groups, len(places)), dtype=np.int64)
        self.rows = np.empty(found.num_row_groups, dtype=np.int64)
        for page in range(found.num_row_groups):
            group = found.row_group(page)
            self.rows[page] = group.num_rows
            for number, place in enumerate(places):
                known = group.column(place).statistics
                if known is None or not known.has_min_max:
                    raise self._damaged(f"row group {page} has no bounds")
                bounds[:, page, number] = known.min, known.max
        self.low, self.high = bounds

    def __len__(self) -> int:
        return int(self.rows.sum())

    def read(self, page: int, columns: Iterable[str] | None = None) -> list[Ids]:
        """Columns of a page (default: those of the order). Raises DamagedStoreError where it is not as its footer says
        or not sorted: a page is not worth the checksum of its whole file."""
        names = self.order if columns is None else tuple(columns)
        try:
            table = self._file.read_row_group(page, list(names), use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        found = [as_numpy(table.column(name)) for name in names]
        for name, values in zip(names, found, strict=True):
            low, high = (bounds[page, self.order.index(name)] for bounds in (self.low, self.high))
            if len(values) != self.rows[page] or (len(values) and not low <= values.min() <= values.max() <= high):
                raise self._damaged(f"row group {page} is not what its footer says")
        return found

    def _damaged(self, what: object) -> DamagedStoreError:
        return DamagedStoreError(
            f"{self.path} cannot be read ({what}); "
            f"`triplake verify {self.path.parent.parent}` tells which versions are whole"
        )


class PageCache:
    """Arrays that were made of pages, those used last, up to `CACHED` bytes. read: rows that were read so far, also
    those read again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Ids] = OrderedDict()
        self._bytes = self.read = 0

    def get(self, key: Hashable) -> Ids | None:
        """What was made of a page, if it is kept still."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Hashable, made: Ids) -> None:
        """Keep what was made of a page that has been read."""
        self.read += len(made)
        self._kept[key] = made
        self._bytes += made.nbytes
        while self._bytes > CACHED and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
