"""Tables that are given to DuckDB while somebody stops it."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from triplestore.engine.duckdb.connection import StoppableConnection
from triplestore.model.errors import EngineError, StoppedError


class Interrupted:
    """A connection of DuckDB's that is stopped as it takes a table."""

    def __init__(self) -> None:
        self.around: Any = None

    def register(self, name: str, table: pa.Table) -> None:
        if self.around is not None:
            self.around.stopped = True
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    def interrupt(self) -> None:
        pass


@pytest.mark.parametrize("stopped", [False, True])
def test_a_table_that_arrives_as_the_engine_is_stopped(stopped: bool) -> None:
    raw = Interrupted()
    connection = StoppableConnection(raw)  # type: ignore[arg-type]
    if stopped:
        raw.around = connection
    with (
        pytest.raises(StoppedError if stopped else EngineError),
        connection.registered("arriving", pa.table({"a": [1]})),
    ):
        pass
