"""Which statements DuckDB runs in the driver of a Spark engine: those over few rows that both engines read alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.engines import pairs, rows
from triplestore.engine.dialect import OWN, Dialect
from triplestore.engine.spark import SparkEngine
from triplestore.engine.sql import Select, Spelled
from triplestore.model.errors import EngineError, StoppedError

pytestmark = [pytest.mark.spark, pytest.mark.by_driver]


@pytest.fixture
def asked(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that Spark is asked."""
    from triplestore.engine.spark.tables import Tables

    found: list[str] = []
    select = Tables.select

    def listed(self: Tables, sql: str) -> Any:
        found.append(sql)
        return select(self, sql)

    monkeypatch.setattr(Tables, "select", listed)
    return found


def test_few_rows_make_no_job(spark_engine: Any, asked: list[str]) -> None:
    engine = spark_engine
    engine.load("t", pairs((1, 2), (2, 3), (3, 4)))
    assert engine.create("u", "SELECT x.a, y.b FROM t x JOIN t y ON y.a = x.b") == 2
    assert engine.append(
        "u", ["SELECT a, b FROM t", Select("t", "ba"), "SELECT 9, 9", "SELECT a, b FROM t WHERE a > 3"]
    ) == [
        3,
        3,
        1,
        0,
    ]
    assert engine.remove("u", "SELECT b AS a, a AS b FROM t") == 3
    assert engine.keep("u", "a < 9") == 1
    engine.view("v", "SELECT a FROM u")
    engine.view("w", "SELECT a FROM v WHERE a > 1")
    assert rows(engine, "SELECT count(*) FROM w") == [(3,)]
    assert engine.number("n", "SELECT DISTINCT a FROM w", "a", 10) == 2
    assert [row for batch in engine.batches("SELECT a, n FROM n ORDER BY n") for row in batch.to_pylist()] == [
        {"a": 2, "n": 1},
        {"a": 3, "n": 2},
    ]
    engine.load("t", pairs((7, 7)))  # in place of what the statements before have read
    assert rows(engine, "SELECT a FROM t") == [(7,)]
    engine.drop("u")
    assert asked == []
    with pytest.raises(EngineError, match="u"):
        engine.query("SELECT a FROM w")


@pytest.mark.parametrize("local", [True, False])
def test_more_rows_are_for_a_cluster(
    spark: Any, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch, local: bool
) -> None:
    monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.in_driver", 4)
    monkeypatch.setattr("triplestore.engine.spark.queries.is_local", lambda master: local)
    spark_engine = SparkEngine(spark, scratch=str(tmp_path))
    spark_engine.load("t", pairs((1, 2), (2, 3)))
    assert rows(spark_engine, "SELECT max(a) FROM t") == [(2,)]
    assert not asked
    spark_engine.view("v", "SELECT a FROM t")
    spark_engine.load("u", pairs((1, 2), (2, 3)))
    assert rows(spark_engine, "SELECT max(v.a) FROM v, u") == [(2,)]
    assert len(asked) == (0 if local else 1)
    spark_engine.close()


def test_what_only_spark_reads(spark_engine: Any, asked: list[str]) -> None:
    """What is marked, what DuckDB cannot bind, and what has types that Spark has not."""
    spark_engine.load("t", pairs((1, 2), (2, 3)))
    d = spark_engine.dialect
    for sql in (
        f"SELECT {d.array(['a', 'b'])} AS f FROM t",
        "SELECT shiftleft(a, 1) AS f FROM t",
        "SELECT sum(a) AS f FROM t",
    ):
        asked.clear()
        assert spark_engine.create("u", sql) > 0
        assert len(asked) == 1
    asked.clear()
    spark_engine.view("v", f"SELECT a, {d.array(['b'])} AS f FROM t")
    assert rows(spark_engine, "SELECT a FROM v ORDER BY a") == [(1,), (2,)]
    assert len(asked) == 1
    assert d.string("it's") == f"{OWN}'it\\'s'"
    assert rows(spark_engine, f"SELECT {d.string(chr(39) + chr(92))}") == [("'\\",)]


def test_a_statement_that_is_spelled(spark_engine: Any, asked: list[str]) -> None:
    spark_engine.load("t", pairs((1, 2), (2, 3)))

    def spelled(dialect: Dialect) -> str:
        return f"SELECT {dialect.array(['a', 'b'])} AS f FROM t"

    statement = Spelled(spark_engine.dialect, spelled)
    assert spark_engine.create("u", statement) == 2
    assert spark_engine.append("u", [statement]) == [2]
    assert not asked
    lengths = f"SELECT {spark_engine.dialect.explode('f')} AS e FROM u"
    assert sorted(rows(spark_engine, lengths)) == [(1,), (1,), (2,), (2,), (2,), (2,), (3,), (3,)]


@pytest.mark.long
def test_more_than_fits_is_for_spark(spark: Any, asked: list[str]) -> None:
    from triplestore.engine.spark import SparkEngine

    class Narrow(SparkEngine):
        driver_memory = 20_000_000

    engine = Narrow(spark)
    engine.load("t", pairs(*((n, n) for n in range(3000))))
    engine._driver.query("SELECT 1")  # started
    engine._driver._engine.rows("SET max_temp_directory_size = '1 KB'")  # type: ignore[union-attr]
    made = "SELECT DISTINCT concat(x.a, '-', y.b) AS s FROM t x, t y WHERE y.b < 400"
    assert rows(engine, f"SELECT count(*) AS n, count(DISTINCT s) AS d FROM ({made}) q") == [(1_200_000, 1_200_000)]
    assert len(asked) == 1
    engine.close()


def test_a_stopped_reader_leaves_nothing_to_spark(
    spark: Any, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted while the driver looks whether it can run a statement, which looks as if it could not."""
    from triplestore.engine.spark.driver import Driver
    from triplestore.engine.spark.engine import SparkReader

    reader = SparkReader(spark)
    reader.begin()
    reader.load("t", pairs((1, 2)))
    query = Driver.query

    def interrupted(self: Driver, statement: str) -> Any:
        reader.interrupt()
        monkeypatch.setattr(Driver, "query", query)

    monkeypatch.setattr(Driver, "query", interrupted)
    with pytest.raises(StoppedError):
        reader.query("SELECT a FROM t")
    reader.begin()
    assert rows(reader, "SELECT a FROM t") == [(1,)]
    assert not asked
    reader.close()
