"""The embedded engine: DuckDB in this process, spilling to disk under its memory limit."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from typing import Final

import duckdb

from triplestore.engine import temporary
from triplestore.engine.dialect import string
from triplestore.engine.duckdb.checked import CheckedFiles
from triplestore.engine.duckdb.connection import Connection
from triplestore.engine.duckdb.reader import DuckDBReader
from triplestore.engine.duckdb.shared import DuckDBShared
from triplestore.engine.duckdb.spill import removed
from triplestore.engine.duckdb.workbench import DuckDBFiles, DuckDBFunctions
from triplestore.engine.protocol import Reader
from triplestore.model.errors import UsageError

MEMORY: Final = "50%"
"""Of the machine's memory (or the container's) that an engine takes before it spills, by default."""

THREADS: Final = "TRIPLAKE_THREADS"
"""The variable of the environment that says how many threads an engine takes; by default one a core."""


MOST_THREADS: Final = 1024
"""That an engine is given: the system runs out of them, or of memory for them, with tens of thousands."""


class DuckDBEngine(DuckDBFiles):
    """An `Engine` on one in-memory DuckDB database; see the protocol for the methods.

    memory_limit: as DuckDB writes it ("2GB", "40%"); None is half of the machine's. scratch: folder for spilled data; a
    temporary one by default, removed on close. What is spilled takes half of what is free there at most. threads: None
    is as many as `TRIPLAKE_THREADS` says, or as there are cores.

    Raises UsageError for what is no limit and no number of threads.
    """

    def __init__(self, memory_limit: str | None = None, scratch: str | None = None, threads: int | None = None) -> None:
        self._folder = tempfile.mkdtemp(prefix=temporary.prefix("duckdb", scratch), dir=scratch)
        self._tidy = weakref.finalize(self, removed, self._folder)
        super().__init__(Connection(duckdb.connect(":memory:")), temporary=False)
        self._configure(memory_limit or MEMORY, threads)
        self.functions = DuckDBFunctions(self._connection)
        self.shared = DuckDBShared(self._connection, self.views)
        self.checked = CheckedFiles(self._connection.raw)

    def _configure(self, memory_limit: str, threads: int | None) -> None:
        free = shutil.disk_usage(self._folder).free
        settings = {
            "temp_directory": string(self._folder),
            "max_temp_directory_size": string(f"{free // 2} B"),
            "preserve_insertion_order": "false",
            "allocator_background_threads": "true",  # what a statement freed is given back to the system
            "enable_progress_bar": "true",  # for `share`; it is not printed
            "enable_progress_bar_print": "false",
            "TimeZone": "'UTC'",
            # The first writes the columns of subqueries into the aggregates that read them, and theirs into these: the
            # SUM of four sums of 200,000 rows took 44 s, of five ten times as much. The second fails on comparisons
            # ("BindBuiltinScalarFunction") where it finds that one side is NULL in every row, an expression's error.
            "disabled_optimizers": "'partial_aggregate_pushdown,statistics_propagation'",
        }
        if given := str(threads or os.environ.get(THREADS, "")):
            if not re.fullmatch("[0-9]{1,9}", given) or not 1 <= int(given) <= MOST_THREADS:
                self.close()
                raise UsageError(f"{THREADS} is a number of threads, 1 to {MOST_THREADS:,}, not {given!r}")
            settings["threads"] = given
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = {value}")
        try:
            self._connection.raw.execute(f"SET memory_limit = {string(memory_limit)}")
        except duckdb.Error as error:
            self.close()
            raise UsageError(f"a memory limit is a size, as in 2GB, not {memory_limit!r}") from error

    def reader(self) -> Reader:
        return DuckDBReader(self._connection.raw.cursor(), self.functions, self.checked)

    def close(self) -> None:
        self._connection.close()
        self._tidy()
