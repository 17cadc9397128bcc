"""What a DuckDB engine does for the readers of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triplestore.engine.duckdb.connection import Connection


class DuckDBShared:
    """`Shared` over the connection of a workbench. views: the names of its views."""

    def __init__(self, connection: Connection, views: set[str]) -> None:
        self._connection, self._views = connection, views

    def index(self, name: str, column: str) -> None:
        self._connection.execute(f"CREATE INDEX IF NOT EXISTS {name}_by_{column} ON {name} ({column})")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        before = set(self._views)
        self._connection.execute("BEGIN TRANSACTION")
        try:
            yield
        except BaseException:
            self._views.clear()
            self._views.update(before)
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
