"""Reading a DuckDB database from one more thread: a connection of its own, in a transaction of its own.

DuckDB keeps, for every transaction, the rows and the tables as they were when it began; so a reader goes on reading its
version, whatever the engine that owns the tables makes of them meanwhile, and neither waits for the other.
"""

from __future__ import annotations

from typing import Final

import duckdb

from triplestore.engine.duckdb.checked import CheckedFiles
from triplestore.engine.duckdb.connection import StoppableConnection
from triplestore.engine.duckdb.workbench import DuckDBFiles, DuckDBFunctions, ReadersFunctions
from triplestore.engine.sql import Statement


class DuckDBReader(DuckDBFiles):
    """A `Reader` over the tables of a `DuckDBEngine`; what it makes is temporary, and its own."""

    shared: Final = None

    def __init__(self, raw: duckdb.DuckDBPyConnection, functions: DuckDBFunctions, checked: CheckedFiles) -> None:
        self._reading = StoppableConnection(raw)
        super().__init__(self._reading, temporary=True)
        self.functions, self.checked = ReadersFunctions(functions), checked
        self._made = False

    def begin(self) -> None:
        self.end()
        self._made = False
        self._reading.begin()

    def again(self) -> bool:
        return self._reading.reading and not (self._reading.stopped or self._reading.failed or self._made)

    def end(self) -> None:
        self.views.clear()
        self._reading.end()

    def create(self, name: str, sql: Statement) -> int:
        self._made = True
        return super().create(name, sql)

    def view(self, name: str, sql: str) -> None:
        self._made = True
        super().view(name, sql)

    def reader(self) -> DuckDBReader:
        return DuckDBReader(self._reading.raw.cursor(), self.functions.made, self.checked)

    def close(self) -> None:
        self.end()
        self._reading.close()
