"""What a DuckDB engine does for the readers of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triplestore.engine.duckdb.connection import Connection
from triplestore.engine.duckdb.workbench import DuckDBWorkbench


class DuckDBShared:
    """`Shared` over the connection of a workbench."""

    def __init__(self, connection: Connection, workbench: DuckDBWorkbench) -> None:
        self._connection, self._workbench = connection, workbench

    def index(self, name: str, column: str) -> None:
        self._connection.execute(f"CREATE INDEX IF NOT EXISTS {name}_by_{column} ON {name} ({column})")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        views = set(self._workbench.views)
        self._connection.execute("BEGIN TRANSACTION")
        try:
            yield
        except BaseException:
            self._workbench.views = views
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
