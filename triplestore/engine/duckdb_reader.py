"""Reading a DuckDB database from one more thread: a connection of its own, in a transaction of its own.

DuckDB keeps, for every transaction, the rows and the tables as they were when it began; so a reader goes on reading its
version, whatever the engine that owns the tables makes of them meanwhile, and neither waits for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

import duckdb
import pyarrow as pa

from triplestore.engine.duckdb import DuckDBEngine, streamed
from triplestore.model.errors import EngineError, StoppedError, TriplakeError


class DuckDBReader(DuckDBEngine):
    """A `Reader` over the tables of a `DuckDBEngine`; what it makes is temporary, and its own."""

    shares = True

    def __init__(self, connection: duckdb.DuckDBPyConnection, functions: set[str]) -> None:
        self._connection, self._functions = connection, functions
        self._views: set[str] = set()
        self._reading = self._stopped = self._spoilt = False
        self._streams: WeakSet[Generator[pa.RecordBatch]] = (
            WeakSet()
        )  # answers that may not have been read to their end

    def begin(self) -> None:
        self.end()
        self._stopped = self._spoilt = False
        self._statement("BEGIN TRANSACTION")
        self._reading = True

    def again(self) -> bool:
        return self._reading and not (self._stopped or self._spoilt)

    def end(self) -> None:
        if self._reading:
            self._reading = False
            self._views.clear()
            for stream in list(self._streams):  # a connection with an open answer takes no statement
                with suppress(ValueError):  # being read at this moment by another thread
                    stream.close()
            self._streams.clear()
            self._connection.execute("ROLLBACK")

    def interrupt(self) -> None:
        self._stopped = True
        super().interrupt()

    def _statement(self, sql: str) -> Any:
        with self._stoppable():
            return super()._statement(sql)

    def query(self, sql: str) -> pa.Table:
        with self._stoppable():
            return super().query(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._stoppable():
            return super().rows(sql)

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        with self._stoppable():
            stream = streamed(self._connection, sql)
            self._streams.add(stream)
            for batch in stream:
                yield batch
                self._check()
                if stream not in self._streams:
                    raise StoppedError("the answer was not read to its end before its reader ended")

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """A statement: StoppedError where it is stopped, and before it where the work has been."""
        self._check()
        try:
            yield
        except TriplakeError:
            self._spoilt = True
            self._check()
            raise

    def _check(self) -> None:
        if self._stopped:
            raise StoppedError("the work was stopped before its end")

    def create(self, name: str, sql: str) -> int:
        self._spoilt = True
        if name in self._views:
            rows = self._changed(f"CREATE OR REPLACE TEMP TABLE {name}_new AS {sql}")  # it may read the view
            self._forget_view(name)
            self._statement(f"ALTER TABLE temp.{name}_new RENAME TO {name}")
            return rows
        return self._changed(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def drop(self, *names: str) -> None:
        for name in names:
            self._forget_view(name)
            self._statement(f"DROP TABLE IF EXISTS temp.{name}")

    def view(self, name: str, sql: str) -> None:
        self._spoilt = True
        if name not in self._views:
            self._statement(f"DROP TABLE IF EXISTS temp.{name}")
            self._views.add(name)
        self._statement(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")

    def _forget_view(self, name: str) -> None:
        if name in self._views:
            self._statement(f"DROP VIEW IF EXISTS temp.{name}")
            self._views.discard(name)

    def function(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        if name not in self._functions:  # made here, it would be gone at the end of the transaction
            raise EngineError(f"the engine that this reader is of does not know the function {name}")

    def index(self, name: str, column: str) -> None:
        """Nothing: the engine that owns the tables does that."""

    def write(self, sql: str, folder: str, stem: str, order: Sequence[str]) -> list[Any]:
        raise EngineError("a reader writes no files", sql)

    def reader(self) -> DuckDBReader:
        return DuckDBReader(self._connection.cursor(), self._functions)

    def close(self) -> None:
        self.end()
        self._connection.close()
