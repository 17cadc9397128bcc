"""Working tables, queries and errors of the Engine protocol, one body for both engines; then what only DuckDB has."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from tests.support.engines import pairs, rows, values
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.engine.sql import Count, Select
from triplestore.model.errors import EngineError
from triplestore.model.tables import TERM, VIOLATION

pytestmark = pytest.mark.spark_alone


class TestWorkingTables:
    def test_how_much_of_a_statement_is_done(self, engine: Engine) -> None:
        """Another thread sees it grow; where nothing runs there is none."""
        engine.load("numbers", pa.table({"n": pa.array(range(2_000), pa.int64())}))
        pairs = "SELECT count(*) AS c FROM numbers a, numbers b WHERE concat(a.n, '-', b.n) LIKE '%7-1%9%'"
        ended, seen = threading.Event(), list[float | None]()

        def look() -> None:
            while not ended.wait(0.001):
                seen.append(engine.share())

        watching = threading.Thread(target=look)
        watching.start()
        try:
            for _ in range(50):
                engine.query(pairs)
                if any(share is not None for share in seen):
                    break
        finally:
            ended.set()
            watching.join()
        shares = [share for share in seen if share is not None]
        assert shares
        assert 0 <= min(shares) <= max(shares) <= 1
        end = time.monotonic() + 10  # Spark's listeners hear later that a stage has ended
        while engine.share() is not None and time.monotonic() < end:
            time.sleep(0.05)
        assert engine.share() is None

    def test_plan_counts_rows(self, engine: Engine) -> None:
        engine.load("numbers", pa.table({"n": pa.array(range(10), pa.int64())}))
        root = engine.plan("SELECT n FROM numbers WHERE n > 6 ORDER BY n DESC")
        found, left = set[int | None](), [root]
        while left:
            step = left.pop()
            found.add(step.rows)
            left += step.inputs
        assert 3 in found
        assert root.operation in next(root.lines())
        with pytest.raises(EngineError):
            engine.plan("SELECT nothing FROM numbers")

    def test_rows_are_a_query_in_python(self, engine: Engine) -> None:
        values = "(VALUES (CAST(1 AS BIGINT), 'a'), (CAST(NULL AS BIGINT), 'b')) x(n, t)"
        assert engine.rows(f"SELECT n, t FROM {values} ORDER BY t") == [(1, "a"), (None, "b")]
        assert engine.rows(f"SELECT n FROM {values} WHERE t = 'c'") == []
        with pytest.raises(EngineError):
            engine.rows("SELECT nothing FROM nowhere")

    def test_load_replaces(self, engine: Engine) -> None:
        assert engine.load("t", pairs((1, 2), (3, 4))) == 2
        assert engine.load("t", pairs((5, 6))) == 1
        assert rows(engine, "SELECT a, b FROM t") == [(5, 6)]

    def test_load_nothing(self, engine: Engine) -> None:
        assert engine.load("t", pairs()) == 0
        assert rows(engine, "SELECT a, b FROM t") == []

    def test_create_is_evaluated_now(self, engine: Engine) -> None:
        engine.load("source", pairs((1, 2)))
        assert engine.create("t", "SELECT a + 10 AS a, b FROM source") == 1
        engine.load("source", pairs((7, 8), (9, 9)))
        engine.drop("source")
        assert rows(engine, "SELECT a, b FROM t") == [(11, 2)]

    def test_create_may_read_itself(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 2), (2, 3)))
        for expected in (4, 8, 16):
            assert engine.create("t", "SELECT a, b FROM t UNION ALL SELECT a + b, b FROM t") == expected
        assert len(rows(engine, "SELECT a FROM t")) == 16

    def test_create_replaces_a_view_that_it_reads(self, engine: Engine) -> None:
        engine.load("base", pairs((1, 2)))
        engine.view("v", "SELECT a, b FROM base")
        assert engine.create("v", "SELECT a, b FROM v UNION ALL SELECT 3, 4") == 2
        engine.drop("base")
        assert rows(engine, "SELECT a, b FROM v") == [(1, 2), (3, 4)]

    def test_names_are_case_insensitive(self, engine: Engine) -> None:
        engine.load("Derived", pairs((1, 2)))
        engine.append("DERIVED", ["SELECT 3, 4"])
        assert rows(engine, "SELECT A FROM derived") == [(1,), (3,)]
        engine.drop("derived")
        with pytest.raises(EngineError):
            engine.query("SELECT * FROM Derived")

    def test_append_counts_each_select(self, engine: Engine) -> None:
        engine.load("source", pairs((1, 2), (2, 3), (3, 4)))
        engine.load("t", pairs((0, 0)))
        counts = engine.append(
            "t",
            [
                "SELECT a, b FROM source WHERE a > 1",
                "SELECT a, b FROM source WHERE a > 9",
                "SELECT b, a FROM source",
                "SELECT DISTINCT 7, 7 FROM source",
            ],
        )
        assert counts == [2, 0, 3, 1]
        assert rows(engine, "SELECT a, b FROM t") == [(0, 0), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (7, 7)]

    def test_append_takes_columns_by_place_and_casts(self, engine: Engine) -> None:
        engine.load("t", pairs())
        assert engine.append("t", ["SELECT 1 AS x, CAST(2 AS INTEGER) AS y"]) == [1]
        table = engine.query("SELECT a, b FROM t")
        assert table.schema.types == [pa.int64(), pa.int64()]
        assert table.to_pylist() == [{"a": 1, "b": 2}]

    def test_append_may_read_its_table_and_be_repeated(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 1)))
        for size in (1, 2, 4, 8):
            assert engine.append("t", [f"SELECT a + {size}, b FROM t"]) == [size]
        assert [a for (a,) in rows(engine, "SELECT a FROM t")] == list(range(1, 17))

    def test_append_nothing(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 1)))
        assert engine.append("t", []) == []
        assert engine.append("t", ["SELECT a, b FROM t WHERE a > 5"]) == [0]
        assert rows(engine, "SELECT a, b FROM t") == [(1, 1)]

    def test_keep(self, engine: Engine) -> None:
        engine.load("numbers", pa.table({"n": pa.array([1, 2, 3, None], pa.int64())}))
        assert engine.keep("numbers", "n > 1") == 2
        assert sorted(engine.rows("SELECT n FROM numbers")) == [(2,), (3,)]
        assert engine.keep("numbers", "n > 9") == 2

    def test_settle(self, engine: Engine) -> None:
        for last in range(3):
            engine.create(
                "numbers", f"SELECT id AS n FROM {engine.scratch().load('ids', pa.table({'id': range(5000)}))}"
            )
            engine.keep("numbers", f"n > {last}")
            engine.settle()
            assert engine.rows("SELECT count(*), min(n) FROM numbers") == [(4999 - last, last + 1)]

    def test_remove(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 2), (1, 3), (2, 2), (2, 2)))
        assert engine.remove("t", "SELECT 1 AS a, 2 AS b UNION ALL SELECT 2, 2 UNION ALL SELECT 9, 9") == 3
        assert rows(engine, "SELECT a, b FROM t") == [(1, 3)]
        assert engine.remove("t", "SELECT a, b FROM t WHERE a > 5") == 0
        assert engine.remove("t", "SELECT a, b FROM t") == 1
        assert rows(engine, "SELECT a, b FROM t") == []

    def test_a_copy_stays_as_it_was(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 2), (3, 4)))
        assert engine.create("before", Select("t", "ab")) == 2
        assert engine.create("turned", Select("t", "ba")) == 2
        assert engine.append("t", [Select("before", "ab"), "SELECT b AS a, a AS b FROM before"]) == [2, 2]
        assert engine.append("t", [Select("t", "ba")]) == [6]
        assert engine.append("before", [Select("before", "ab")]) == [2]
        engine.remove("t", "SELECT 1 AS a, 2 AS b")
        assert rows(engine, "SELECT a, b FROM before") == [(1, 2), (1, 2), (3, 4), (3, 4)]
        assert rows(engine, "SELECT b, a FROM turned") == [(2, 1), (4, 3)]
        assert rows(engine, "SELECT COUNT(*) AS n FROM t") == [(12 - 3,)]

    @pytest.mark.long_on_spark
    def test_many_appends(self, engine: Engine) -> None:
        engine.load("t", pairs())
        for number in range(30):
            assert engine.append("t", [f"SELECT {number}, {number}"]) == [1]
        assert engine.query(Count("t")).to_pylist() == [{"n": 30}]
        assert [a for (a,) in rows(engine, "SELECT a FROM t")] == list(range(30))

    def test_empty_tables_in_joins(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 2), (3, 4)))
        engine.load("none", pairs())
        absent = "SELECT a, b FROM t WHERE NOT EXISTS (SELECT 1 FROM none WHERE none.a = t.a)"
        assert engine.create("u", absent) == 2
        assert engine.create("u", "SELECT t.a, none.b FROM t JOIN none ON t.a = none.a") == 0
        assert engine.append(
            "u", ["SELECT a, b FROM none", absent, "SELECT t.a, t.b FROM t JOIN none ON t.a = none.a"]
        ) == [
            0,
            2,
            0,
        ]
        assert engine.create("w", "SELECT COUNT(*) AS n, SUM(a) AS s FROM none") == 1
        assert rows(engine, "SELECT n, s FROM w") == [(0, None)]
        assert engine.create("x", "SELECT t.a, none.b FROM t LEFT JOIN none ON t.a = none.a") == 2
        assert rows(engine, "SELECT a, b FROM x") == [(1, None), (3, None)]

    def test_view_sees_later_rows(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 2)))
        engine.view("v", "SELECT a FROM t WHERE a > 0")
        engine.append("t", ["SELECT 5, 6"])
        assert rows(engine, "SELECT a FROM v") == [(1,), (5,)]
        engine.view("v", "SELECT b FROM t")
        assert rows(engine, "SELECT b FROM v") == [(2,), (6,)]

    def test_a_name_may_turn_from_table_to_view_and_back(self, engine: Engine) -> None:
        engine.load("base", pairs((1, 2)))
        engine.load("t", pairs((3, 4)))
        engine.view("t", "SELECT a, b FROM base")
        assert rows(engine, "SELECT a, b FROM t") == [(1, 2)]
        engine.load("t", pairs((5, 6)))
        assert rows(engine, "SELECT a, b FROM t") == [(5, 6)]

    def test_drop(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 2)))
        engine.view("v", "SELECT 1 AS one")
        engine.drop("t", "v", "never_made")
        for name in ("t", "v"):
            with pytest.raises(EngineError):
                engine.query(f"SELECT * FROM {name}")

    def test_columns_of_every_type_and_null(self, engine: Engine) -> None:
        table = values()
        engine.load("t", table)
        assert engine.query("SELECT * FROM t").to_pylist() == table.to_pylist()
        assert engine.create("u", "SELECT * FROM t") == 2
        found = engine.query("SELECT * FROM u ORDER BY i").to_pylist()
        assert sorted(found, key=lambda row: str(row)) == sorted(table.to_pylist(), key=lambda row: str(row))


class TestQuery:
    def test_empty_results_have_columns(self, engine: Engine) -> None:
        table = engine.query("SELECT CAST(1 AS BIGINT) AS x, 'a' AS y WHERE 1 = 2")
        assert (table.num_rows, table.schema.names, table.schema.types) == (0, ["x", "y"], [pa.int64(), pa.string()])

    def test_columns_are_nullable(self, engine: Engine) -> None:
        assert all(field.nullable for field in engine.query("SELECT 1 AS x, 'a' AS y").schema)

    def test_double_quotes_name_columns(self, engine: Engine) -> None:
        assert engine.query('SELECT 1 AS "from", 2 AS "b c"').to_pylist() == [{"from": 1, "b c": 2}]

    @pytest.mark.parametrize(
        "text",
        ["", "it's", "back\\slash \\n \\u0041", 'dou"ble', "${x} $1 {y}", "line\nbreak", "é𝄞", "%_", "-- /* */ ;"],
    )
    def test_string_literals_mean_themselves(self, engine: Engine, text: str) -> None:
        assert engine.query(f"SELECT {engine.dialect.string(text)} AS x").to_pylist() == [{"x": text}]

    def test_matches_is_about_the_whole_text(self, engine: Engine) -> None:
        texts = ["12", "12\n", "x12", "12x", "\n12", "1\n2", ""]
        engine.load("t", pa.table({"x": texts}))
        matches = engine.dialect.matches("x", "[0-9]+|y1.")
        assert rows(engine, f"SELECT x FROM t WHERE {matches}") == [("12",)]
        assert rows(engine, f"SELECT x FROM t WHERE {engine.dialect.matches('x', '1.2')}") == []

    def test_arrays(self, engine: Engine) -> None:
        engine.load("t", pairs((1, 2), (3, 4)))
        array = engine.dialect.array(["a", "b", "a + b"])
        assert rows(engine, f"SELECT {array} AS x FROM t") == [([1, 2, 3],), ([3, 4, 7],)]
        exploded = f"SELECT {engine.dialect.explode('x')} AS y FROM (SELECT {array} AS x FROM t) u"
        assert rows(engine, exploded) == [(1,), (2,), (3,), (3,), (4,), (7,)]

    def test_double_is_null_where_it_is_none(self, engine: Engine) -> None:
        engine.load("t", pa.table({"x": ["1.5e3", "one", None]}))
        assert rows(engine, f"SELECT {engine.dialect.double('x')} AS y FROM t") == [(None,), (None,), (1500.0,)]

    def test_batches_stream_in_order(self, engine: Engine) -> None:
        engine.load("t", pa.table({"x": pa.array(range(250_000), pa.int64())}))
        batches = list(engine.batches("SELECT x * 7919 % 250007 AS y FROM t ORDER BY y"))
        assert len(batches) > 1
        found = [y for batch in batches for y in batch.column(0).to_pylist()]
        assert found == sorted(x * 7919 % 250007 for x in range(250_000))


class TestErrors:
    @pytest.mark.parametrize(
        "fail",
        [
            lambda engine, sql: engine.query(sql),
            lambda engine, sql: engine.create("x", sql),
            lambda engine, sql: engine.append("t", [sql]),
            lambda engine, sql: engine.remove("t", sql),
            lambda engine, sql: engine.view("v", sql) or engine.query("SELECT * FROM v"),
            lambda engine, sql: engine.components(sql),
            lambda engine, sql: list(engine.batches(sql)),
        ],
    )
    @pytest.mark.parametrize(
        "sql", ["SELECT a, nonsense_column AS b FROM t", "SELEC a, b FRM t", "SELECT a FROM nowhere"]
    )
    def test_carry_the_sql(self, engine: Engine, fail: Callable[[Engine, str], Any], sql: str) -> None:
        engine.load("t", pairs((1, 2)))
        with pytest.raises(EngineError) as caught:
            fail(engine, sql)
        assert sql in caught.value.sql or "FROM v" in caught.value.sql
        assert len(str(caught.value)) < 3000
        assert "\tat " not in str(caught.value)

    def test_of_running_statements_are_short_and_leave_the_table(self, engine: Engine) -> None:
        engine.load("t", pa.table({"a": ["1", "x"]}))
        with pytest.raises(EngineError) as caught:
            engine.create("t", "SELECT CAST(a AS BIGINT) AS a FROM t")
        assert "SELECT CAST(a AS BIGINT) AS a FROM t" in caught.value.sql
        assert len(str(caught.value)) < 1500
        assert rows(engine, "SELECT a FROM t") == [("1",), ("x",)]


def test_stored_tables_have_types_that_both_engines_know(engine: Engine) -> None:
    for table in (TERM, VIOLATION):
        columns = ", ".join(f"CAST(NULL AS {engine.dialect.type(kind)}) AS {name}" for name, kind in table.columns)
        assert engine.create("t", f"SELECT {columns}") == 1


def test_index() -> None:
    """It changes no answer, whatever becomes of the table."""
    engine = DuckDBEngine()
    shared = engine.shared
    engine.load("t", pairs(*((n, n % 100) for n in range(5_000))))
    for _ in range(2):
        shared.index("t", "b")
        assert [a for a, _ in rows(engine, "SELECT a, b FROM t WHERE b = 7")] == list(range(7, 5_000, 100))
    engine.remove("t", "SELECT a, b FROM t WHERE a < 4900")
    engine.append("t", ["SELECT CAST(1 AS BIGINT) AS a, CAST(7 AS BIGINT) AS b"])
    with shared.transaction():
        engine.append("t", ["SELECT CAST(2 AS BIGINT) AS a, CAST(7 AS BIGINT) AS b"])
    assert rows(engine, "SELECT a, b FROM t WHERE b = 7") == [(1, 7), (2, 7), (4_907, 7)]
    engine.create("t", "SELECT a, b FROM t WHERE a < 5")
    assert rows(engine, "SELECT a, b FROM t WHERE b = 7") == [(1, 7), (2, 7)]
    shared.index("t", "b")
    engine.view("t", "SELECT CAST(3 AS BIGINT) AS a, CAST(7 AS BIGINT) AS b")
    assert rows(engine, "SELECT a, b FROM t WHERE b = 7") == [(3, 7)]
    engine.load("t", pairs((4, 7)))
    shared.index("t", "b")
    engine.drop("t")
    engine.close()
