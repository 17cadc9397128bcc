"""Rows that were made in memory, as Arrow tables with the columns of stored ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from triplestore.compile.schema import Fact
from triplestore.engine.arrow import id_lists, int64s, strings
from triplestore.maintain.keys import Ids
from triplestore.maintain.violations import Violation
from triplestore.model.tables import SAME_AS, Table


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
