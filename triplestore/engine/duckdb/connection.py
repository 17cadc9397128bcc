"""One connection of a DuckDB database: it runs one statement at a time, and raises DuckDB's errors as ours."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from weakref import WeakSet

import duckdb
import pyarrow as pa

from triplestore.engine import written
from triplestore.engine.duckdb.errors import failure
from triplestore.model.errors import StoppedError, TriplakeError
from triplestore.model.stopping import waited

T = TypeVar("T")


class Connection:
    """A connection that runs what it is given."""

    def __init__(self, raw: duckdb.DuckDBPyConnection) -> None:
        self.raw = raw

    def execute(self, sql: str) -> Any:
        """Run a statement; DuckDB's cursor over its result."""
        return self._run(lambda: self.raw.execute(sql), sql)

    def changed(self, sql: str) -> int:
        """Run a statement that changes rows; how many."""
        row = self.execute(sql).fetchone()
        return int(row[0]) if row else 0

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement. (As a relation it would be bound three times.)"""
        return self._run(lambda: self.raw.execute(sql).fetchall(), sql)

    def arrow(self, sql: str) -> pa.Table:
        """The rows of a SELECT, as Arrow."""
        return self._run(lambda: self.raw.sql(sql).to_arrow_table(), sql)

    @contextmanager
    def registered(self, name: str, table: pa.Table) -> Iterator[None]:
        """In this context statements read a table of Arrow's by a name."""
        self._run(lambda: self.raw.register(name, table), f"register {name}")
        try:
            yield
        finally:
            with suppress(duckdb.Error):  # stopped: another table takes the name
                self.raw.unregister(name)

    def stream(self, sql: str) -> Generator[pa.RecordBatch]:
        """The rows of a SELECT as they are found, from a connection of their own."""
        cursor = self.raw.cursor()
        try:
            yield from _streamed(cursor, sql)
        finally:
            cursor.close()

    def interrupt(self) -> None:
        """From another thread: stop the statement that runs."""
        with suppress(duckdb.ConnectionException):  # closed: nothing runs
            self.raw.interrupt()

    def share(self) -> float | None:
        """From another thread: how much of the statement that runs is done, from 0 to 1; None where none runs."""
        try:
            percent = self.raw.query_progress()
        except duckdb.ConnectionException:  # closed
            return None
        return percent / 100 if percent >= 0 else None

    def close(self) -> None:
        """Close the connection."""
        self.raw.close()

    def _run(self, work: Callable[[], T], sql: str) -> T:
        try:
            return waited(work, self.raw.interrupt)
        except (duckdb.Error, RuntimeError) as error:
            raise failure(error, sql) from error


class StoppableConnection(Connection):
    """A connection that works between `begin` and `end`, in one transaction, and refuses to once it was stopped.

    failed: whether a statement has failed since `begin`. reading: whether it is between `begin` and `end`.
    """

    def __init__(self, raw: duckdb.DuckDBPyConnection) -> None:
        super().__init__(raw)
        self.reading = self.stopped = self.failed = False
        self._streams: WeakSet[Generator[pa.RecordBatch]] = WeakSet()  # answers that may not be read to their end

    def begin(self) -> None:
        """Begin a transaction: from here on it reads the tables as they are now."""
        self.stopped = self.failed = False
        self.execute("BEGIN TRANSACTION")
        self.reading = True

    def end(self) -> None:
        """End the transaction; what was made in it is dropped. Without one it does nothing."""
        if self.reading:
            self.reading = False
            for stream in list(self._streams):  # a connection with an open answer takes no statement
                with suppress(ValueError):  # being read at this moment by another thread
                    stream.close()
            self._streams.clear()
            self.raw.execute("ROLLBACK")

    def interrupt(self) -> None:
        self.stopped = True
        super().interrupt()

    def stream(self, sql: str) -> Generator[pa.RecordBatch]:
        self._check()
        stream = _streamed(self.raw, sql)
        self._streams.add(stream)
        try:
            for batch in stream:
                yield batch
                self._check()
                if stream not in self._streams:
                    raise StoppedError("the answer was not read to its end before its reader ended")
        except TriplakeError:
            self._fail()
            raise

    def _run(self, work: Callable[[], T], sql: str) -> T:
        self._check()
        try:
            return super()._run(work, sql)
        except TriplakeError:
            self._fail()
            raise

    def _fail(self) -> None:
        """Remember that a statement failed. Raises StoppedError where it was because it was stopped."""
        self.failed = True
        self._check()

    def _check(self) -> None:
        if self.stopped:
            raise StoppedError("the work was stopped before its end")


def _streamed(raw: duckdb.DuckDBPyConnection, sql: str) -> Generator[pa.RecordBatch]:
    """The rows of a SELECT as they are found; the connection is free again when the last is read, or this is closed."""
    try:
        reader = waited(lambda: raw.sql(sql).to_arrow_reader(written.AT_ONCE), raw.interrupt)
        try:
            yield from written.gathered(iter(lambda: waited(lambda: next(reader, None), raw.interrupt), None))
        finally:
            reader.close()
    except (duckdb.Error, RuntimeError, OSError) as error:  # OSError: Arrow's report of an error between two batches
        raise failure(error, sql) from error
