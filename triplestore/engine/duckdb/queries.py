"""Reading tables of a DuckDB database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from triplestore.engine.dialect import Dialect
from triplestore.engine.duckdb.connection import Connection
from triplestore.engine.plan import PlanStep
from triplestore.engine.sql import Statement

_UNITS: Final = ("bytes", "kib", "mib", "gib", "tib")


class DuckDBQueries:
    """`Queries` over one connection, all but the functions."""

    name: Final = "duckdb"
    resident: Final = True
    dialect: Final = Dialect()

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._memory: int | None = None

    def query(self, sql: Statement) -> pa.Table:
        return self._connection.arrow(str(sql))

    def rows(self, sql: Statement) -> list[tuple[Any, ...]]:
        return self._connection.rows(str(sql))

    def batches(self, sql: Statement) -> Iterator[pa.RecordBatch]:
        return self._connection.stream(str(sql))

    def plan(self, sql: str) -> PlanStep:
        found = json.loads(self.rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")[0][1])["operator"][0]
        while found["type"] in ("RESULT_COLLECTOR", "EXPLAIN_ANALYZE"):
            found = found["children"][0]
        return _step(found)

    def interrupt(self) -> None:
        self._connection.interrupt()

    def share(self) -> float | None:
        return self._connection.share()

    def memory(self) -> int:
        if self._memory is None:
            ((text,),) = self.rows("SELECT current_setting('memory_limit')")  # as in 3.7 GiB
            number, unit = text.split()
            self._memory = int(float(number) * 1024 ** _UNITS.index(unit.lower()))
        return self._memory


def _step(found: dict[str, Any]) -> PlanStep:
    """An operator of DuckDB's profile in JSON."""
    details = dict(found["extra_info"])
    estimated = details.pop("Estimated Cardinality", None)
    listed = (f"{name}: {', '.join(value) if isinstance(value, list) else value}" for name, value in details.items())
    return PlanStep(
        found["type"].replace("_", " ").strip().title(),
        "; ".join(" ".join(text.split()) for text in listed)[:200],
        int(found["intermediate_rows"]),
        None if estimated is None else int(estimated),
        tuple(map(_step, found.get("children", ()))),
    )
