"""Functions of SQL in a DuckDB database that are written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from triplestore.engine.arrow import of_arity
from triplestore.engine.duckdb.connection import Connection
from triplestore.model.errors import EngineError


class DuckDBFunctions:
    """The functions of a database, by the connection that owns it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.names: set[str] = set()

    def add(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        if name not in self.names:
            kinds: Any = ["VARCHAR"] * arity
            how: Any = {"type": "arrow", "null_handling": "special"}
            self._connection.raw.create_function(name, of_arity(columns, arity), kinds, "VARCHAR", **how)
            self.names.add(name)


class ReadersFunctions:
    """The functions of a database for one of its readers. It calls those that its engine has made; one made by the
    reader would be dropped at the end of its transaction."""

    def __init__(self, made: DuckDBFunctions) -> None:
        self.made = made

    def add(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        if name not in self.made.names:
            raise EngineError(f"function {name} is unknown: add it to the engine before its readers begin")
