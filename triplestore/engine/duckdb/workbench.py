"""Making tables and views in a DuckDB database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from triplestore.engine.components import connected_components
from triplestore.engine.duckdb.connection import Connection
from triplestore.engine.duckdb.queries import DuckDBQueries
from triplestore.engine.queries import places
from triplestore.engine.scratch import Scratch
from triplestore.engine.sql import Statement


class DuckDBWorkbench(DuckDBQueries):
    """`Workbench` over one connection. temporary: its tables are seen by this connection alone.

    views: the names that are views, which DuckDB drops and replaces by other statements than tables.
    """

    joint: Final = False

    def __init__(self, connection: Connection, temporary: bool) -> None:
        super().__init__(connection)
        self._kind, self._schema = ("TEMP ", "temp.") if temporary else ("", "")
        self.views: set[str] = set()

    def scratch(self) -> Scratch:
        return Scratch(self)

    def load(self, name: str, table: pa.Table) -> int:
        with self._connection.registered("_arriving", table):
            return self.create(name, "SELECT * FROM _arriving")

    def create(self, name: str, sql: Statement) -> int:
        if name not in self.views:
            return self._connection.changed(f"CREATE OR REPLACE {self._kind}TABLE {name} AS {sql}")
        rows = self._connection.changed(f"CREATE OR REPLACE {self._kind}TABLE {name}_new AS {sql}")  # may read the view
        self._drop_view(name)
        self._connection.execute(f"ALTER TABLE {self._schema}{name}_new RENAME TO {name}")
        return rows

    def number(self, name: str, sql: str, by: str, most: int, select: str = "*") -> int:
        return self.create(name, places(sql, by, select))

    def append(self, name: str, selects: Sequence[Statement]) -> list[int]:
        return [self._connection.changed(f"INSERT INTO {name} {select}") for select in selects]

    def remove(self, name: str, sql: str) -> int:
        columns = [row[0] for row in self.rows(f"DESCRIBE {name}")]
        same = " AND ".join(f"t.{column} = gone.{column}" for column in columns)
        return self._connection.changed(f"DELETE FROM {name} t USING ({sql}) gone WHERE {same}")

    def keep(self, name: str, condition: str) -> int:
        return self._connection.changed(f"DELETE FROM {name} WHERE NOT coalesce({condition}, FALSE)")

    def settle(self) -> None:
        self._connection.execute("CHECKPOINT")

    def view(self, name: str, sql: str) -> None:
        if name not in self.views:
            self._connection.execute(f"DROP TABLE IF EXISTS {self._schema}{name}")
            self.views.add(name)
        self._connection.execute(f"CREATE OR REPLACE {self._kind}VIEW {name} AS {sql}")

    def drop(self, *names: str) -> None:
        for name in names:
            self._drop_view(name)
            self._connection.execute(f"DROP TABLE IF EXISTS {self._schema}{name}")

    def components(self, sql: str) -> pa.Table:
        return connected_components(self.query(sql))

    def _drop_view(self, name: str) -> None:
        if name in self.views:
            self._connection.execute(f"DROP VIEW IF EXISTS {self._schema}{name}")
            self.views.discard(name)
