"""The Engine protocol, one body for both engines; then what only one of them has."""

from __future__ import annotations

import bz2
import gzip
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.engine.sql import Count, Select
from triplestore.model.errors import EngineError
from triplestore.model.tables import STORED, TERM, VIOLATION

Edges = list[tuple[int, int]]


def rows(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query, sorted, NULLs first."""
    table = engine.query(sql)
    found = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(found, key=lambda row: [(value is not None, value) for value in row])


def pairs(*given: tuple[int, int]) -> pa.Table:
    return pa.table(
        {"a": pa.array([a for a, _ in given], pa.int64()), "b": pa.array([b for _, b in given], pa.int64())}
    )


class TestWorkingTables:
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


class TestFiles:
    def test_attach_nothing(self, engine: Engine) -> None:
        for table in STORED:
            engine.attach("t", [], table.columns)
            assert engine.query(f"SELECT {table.select} FROM t").num_rows == 0

    def test_attach_replaces(self, engine: Engine, tmp_path: Path) -> None:
        columns = [("a", "BIGINT"), ("b", "BIGINT")]
        files = []
        for number in range(3):
            files.append(str(tmp_path / f"part {number} [x].parquet"))
            pq.write_table(pairs((number, number)), files[-1])
        engine.load("t", pairs((9, 9)))
        engine.attach("t", files[:1], columns)
        assert rows(engine, "SELECT a, b FROM t") == [(0, 0)]
        engine.attach("t", files, columns)
        assert rows(engine, "SELECT a, b FROM t") == [(0, 0), (1, 1), (2, 2)]

    def test_copies_of_attached_tables(self, engine: Engine, tmp_path: Path) -> None:
        pq.write_table(pairs((1, 2), (3, 4)), tmp_path / "a.parquet")
        pq.write_table(pairs((5, 6)), tmp_path / "b.parquet")
        engine.attach(
            "stored", [str(tmp_path / name) for name in ("a.parquet", "b.parquet")], [("a", "BIGINT"), ("b", "BIGINT")]
        )
        assert engine.create("t", "SELECT a, b FROM stored") == 3
        engine.drop("stored")
        assert engine.append("t", ["SELECT 7, 8"]) == [1]
        assert engine.remove("t", "SELECT 3 AS a, 4 AS b") == 1
        engine.drop("t")
        assert pq.read_table(tmp_path / "a.parquet").num_rows == 2

    def test_attach_many_files(self, engine: Engine, tmp_path: Path) -> None:
        files = [str(tmp_path / f"{number}.parquet") for number in range(40)]
        for number, file in enumerate(files):
            pq.write_table(pairs((number, 0)), file)
        engine.attach("t", files, [("a", "BIGINT"), ("b", "BIGINT")])
        assert rows(engine, "SELECT COUNT(*) AS n, SUM(a) AS s FROM t") == [(40, 780)]

    def test_attach_a_missing_file(self, engine: Engine, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=r"gone\.parquet"):
            engine.attach("t", [str(tmp_path / "gone.parquet")], [("a", "BIGINT")])

    def test_write_sorts_and_counts(self, engine: Engine, tmp_path: Path) -> None:
        numbers = list(range(5000))
        random.Random(7).shuffle(numbers)
        engine.load("t", pairs(*((number % 7, number) for number in numbers)))
        files = engine.write("SELECT a, b FROM t WHERE b < 4000", str(tmp_path), "fact-1", ["a", "b"])
        found = []
        for file in files:
            path = tmp_path / file.path
            assert file.path.startswith("fact-1")
            assert file.bytes == path.stat().st_size
            table = pq.read_table(path)
            assert file.rows == table.num_rows
            found += list(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))
        assert found == sorted((number % 7, number) for number in range(4000))
        assert {path.name for path in tmp_path.iterdir()} == {file.path for file in files}

    def test_write_nothing(self, engine: Engine, tmp_path: Path) -> None:
        engine.load("t", pairs())
        assert engine.write("SELECT a, b FROM t", str(tmp_path), "t", ["a"]) == []
        assert list(tmp_path.iterdir()) == []

    def test_parquet_types(self, engine: Engine, tmp_path: Path) -> None:
        engine.load("t", values())
        (file,) = engine.write("SELECT * FROM t", str(tmp_path), "t", [])
        assert physical(tmp_path / file.path) == PHYSICAL


def values() -> pa.Table:
    """One row of every column type of the store, and one of NULLs."""
    return pa.table(
        {
            "i": pa.array([1 << 61, None], pa.int64()),
            "t": pa.array(["é \\ ' \"\n", None], pa.string()),
            "d": pa.array([0.1, None], pa.float64()),
            "e": pa.array([Decimal("-12345678901234567890.123456789012345678"), None], pa.decimal128(38, 18)),
            "f": pa.array([[1, 1 << 62, -3], None], pa.list_(pa.int64())),
        }
    )


PHYSICAL = [("i", "INT64"), ("t", "BYTE_ARRAY"), ("d", "DOUBLE"), ("e", "FIXED_LEN_BYTE_ARRAY"), ("f", "INT64")]


def physical(file: Path) -> list[tuple[str, str]]:
    schema = pq.ParquetFile(file).schema
    columns = [schema.column(number) for number in range(len(schema.names))]
    return [(column.path.split(".")[0], column.physical_type) for column in columns]


def lines(engine: Engine, *files: Path) -> list[tuple[int, str]]:
    engine.lines("l", [str(file) for file in files])
    return rows(engine, "SELECT file, line FROM l")


class TestLines:
    def test_one_row_per_line(self, engine: Engine, tmp_path: Path) -> None:
        file = tmp_path / "a.nt"
        file.write_bytes('<a> "x, \\"y\\"; \'z\'"\n\n\n  # é, \t\x02\nlast'.encode())
        assert lines(engine, file) == [
            (0, ""),
            (0, ""),
            (0, "  # é, \t\x02"),
            (0, '<a> "x, \\"y\\"; \'z\'"'),
            (0, "last"),
        ]

    def test_windows_line_ends(self, engine: Engine, tmp_path: Path) -> None:
        file = tmp_path / "a.nt"
        file.write_bytes(b"a\r\nb\r\nc\r\n")
        assert lines(engine, file) == [(0, "a"), (0, "b"), (0, "c")]

    def test_files_are_numbered(self, engine: Engine, tmp_path: Path) -> None:
        files = []
        for number in range(5):
            files.append(tmp_path / f"{number} {{a,b}}*[c].nt")
            files[-1].write_text(f"{number}\n{number}\n")
        assert lines(engine, *files) == [(number, str(number)) for number in range(5) for _ in range(2)]

    def test_empty_files_and_none(self, engine: Engine, tmp_path: Path) -> None:
        (tmp_path / "empty.nt").touch()
        assert lines(engine, tmp_path / "empty.nt") == []
        assert lines(engine) == []

    @pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("zst", zstandard.ZstdCompressor().compress)])
    def test_compressed(self, engine: Engine, tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
        file = tmp_path / f"a.nt.{suffix}"
        file.write_bytes(pack(b"a\nb\n"))
        assert lines(engine, file) == [(0, "a"), (0, "b")]

    def test_hidden_names(self, engine: Engine, tmp_path: Path) -> None:
        for name in ("_a.nt", ".b.nt"):
            (tmp_path / name).write_text("x\n")
        assert lines(engine, tmp_path / "_a.nt", tmp_path / ".b.nt") == [(0, "x"), (1, "x")]

    def test_bytes_that_are_not_utf8(self, engine: Engine, tmp_path: Path) -> None:
        (tmp_path / "a.nt").write_bytes(b"a\n\xff\xfe\n")
        with pytest.raises(EngineError):
            lines(engine, tmp_path / "a.nt")


def union_find(edges: Edges) -> dict[int, int]:
    """node -> smallest node of its component, one edge at a time: the reference of the tests."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            node = parent[node]
        return node

    for a, b in edges:
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    return {node: root(node) for node in parent}


def random_graph(seed: int, nodes: int, edges: int) -> Edges:
    choose = random.Random(seed)
    names = [choose.getrandbits(62) for _ in range(nodes)]
    return [(choose.choice(names), choose.choice(names)) for _ in range(edges)]


def shuffled(edges: Iterable[tuple[int, int]], seed: int = 3) -> Edges:
    mixed = list(edges)
    random.Random(seed).shuffle(mixed)
    return mixed


GRAPHS: dict[str, Edges] = {
    "nothing": [],
    "a loop": [(5, 5)],
    "chain": shuffled((n, n + 1) for n in range(500)),
    "chain, ends far apart": shuffled(((n * 389) % 1009, ((n + 1) * 389) % 1009) for n in range(700)),
    "star, smallest in the middle": shuffled((0, n) for n in range(1, 300)),
    "star, largest in the middle": shuffled((n, 300) for n in range(300)),
    "sparse": random_graph(1, 800, 500),
    "dense": random_graph(2, 100, 2000),
    "both ways and repeated": [(1, 2), (2, 1), (1, 2), (4, 3), (3, 3)],
}


def check_components(engine: Engine, edges: Edges) -> None:
    engine.load("given", pairs(*edges))
    table = engine.components("SELECT a, b FROM given")
    found = list(zip(table["node"].to_pylist(), table["component"].to_pylist(), strict=True))
    assert sorted(found) == sorted(union_find(edges).items())


@pytest.mark.parametrize("graph", GRAPHS)
def test_components(engine: Engine, graph: str) -> None:
    check_components(engine, GRAPHS[graph])


def check_numbered(engine: Engine, tokens: set[str]) -> None:
    engine.load("given", pa.table({"token": pa.array(sorted(tokens, key=hash), pa.string())}))
    assert engine.number("given", "SELECT token FROM given", "token", len(tokens)) == len(tokens)
    assert rows(engine, "SELECT n, token FROM given") == list(enumerate(sorted(tokens, key=str.encode), 1))


TOKENS = {f"<http://e/{chr(code)}{n % 7}>" for n, code in enumerate([*range(33, 500), *range(0x1F600, 0x1F640)])}


@pytest.mark.parametrize("tokens", [set(), {"<a>"}, TOKENS], ids=["none", "one", "many"])
def test_rows_are_numbered_in_order(engine: Engine, tokens: set[str]) -> None:
    check_numbered(engine, tokens)


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


@pytest.mark.spark
class TestSparkOnly:
    @pytest.mark.parametrize("tokens", [set(), {"<a>"}, TOKENS], ids=["none", "one", "many"])
    def test_rows_are_numbered_by_ranges(self, spark: Any, tokens: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
        from triplestore.engine.spark import SparkEngine, workbench

        monkeypatch.setattr(workbench, "ONE_TASK_UP_TO", -1)
        engine = SparkEngine(spark)
        engine.spark.conf.set("spark.sql.adaptive.enabled", "false")  # which would put so few into one range
        check_numbered(engine, tokens)
        engine.close()

    @pytest.mark.parametrize("graph", ["nothing", "a loop", "chain", "star, largest in the middle", "sparse", "dense"])
    def test_components_by_joins(self, spark: Any, graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from triplestore.engine.spark import SparkEngine, components

        monkeypatch.setattr(components, "COLLECT_UP_TO", -1)
        engine = SparkEngine(spark)
        check_components(engine, GRAPHS[graph])
        engine.close()

    @pytest.mark.parametrize("graph", ["a loop", "chain", "sparse"])
    def test_components_by_graphframes(self, spark: Any, graph: str) -> None:
        from triplestore.engine.spark import SparkEngine
        from triplestore.engine.spark.components import GraphFramesMissing

        engine = SparkEngine(spark)
        engine.load("given", pairs(*GRAPHS[graph]))
        try:
            table = engine.components.by_graphframes("given")
        except GraphFramesMissing as missing:
            pytest.skip(f"GraphFrames: {missing}")  # its jars come from Maven, which not every machine reaches
        finally:
            engine.close()
        assert dict(zip(*(column.to_pylist() for column in table.columns), strict=True)) == union_find(GRAPHS[graph])

    @pytest.mark.long
    def test_out_of_memory_is_said(self) -> None:
        """In a process of its own: Java ends, and the query with it; it does not wait for ever."""
        code = """
from triplestore.engine.spark import SparkEngine
from triplestore.model.errors import EngineError

engine = SparkEngine(master="local[2]", memory_limit="900MB")
large = "SELECT id, repeat(CAST(id AS STRING), 20) AS text FROM range(50000000)"
try:
    engine.query(f"SELECT /*+ BROADCAST(b) */ count(*) AS n FROM range(10) a JOIN ({large}) b ON a.id = b.id")
except EngineError as error:
    print(error)
engine.close()
"""
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
        assert "out of memory: give it more with --memory-limit" in ran.stdout, ran.stderr
        assert "Traceback" not in ran.stderr

    def test_wrong_components_are_refused(self, spark: Any) -> None:
        from triplestore.engine.spark import SparkEngine
        from triplestore.engine.spark.components import verified

        engine = SparkEngine(spark)
        engine.load("edges", pairs((1, 2), (2, 3)))
        for wrong in (
            [(1, 1), (2, 1), (3, 3)],
            [(1, 1), (2, 1)],
            [(1, 2), (2, 2), (3, 2)],
            [(1, 1), (2, 1), (3, 1)] * 2,
        ):
            nodes, components = zip(*wrong, strict=True)
            engine.load("label", pa.table({"node": nodes, "component": components}))
            with pytest.raises(EngineError, match="connected components are wrong"):
                verified(engine, "edges", "label")
        engine.close()

    def test_each_engine_reads_what_the_other_wrote(self, spark: Any, tmp_path: Path) -> None:
        from triplestore.engine.spark import SparkEngine

        engines: tuple[Engine, Engine] = (DuckDBEngine(), SparkEngine(spark))
        columns = [("i", "BIGINT"), ("t", "STRING"), ("d", "DOUBLE"), ("e", "DECIMAL(38,18)"), ("f", "ARRAY<BIGINT>")]
        for writer, reader in (engines, engines[::-1]):
            writer.load("t", values())
            folder = tmp_path / writer.name
            folder.mkdir()
            files = writer.write("SELECT * FROM t", str(folder), "t", ["i"])
            reader.attach("read", [str(folder / file.path) for file in files], columns)
            found = reader.query("SELECT * FROM read").to_pylist()
            assert sorted(map(str, found)) == sorted(map(str, values().to_pylist()))
        for engine in engines:
            engine.close()

    def test_large_writes_are_sorted_across_files(
        self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from triplestore.engine.spark import SparkEngine
        from triplestore.engine.spark import output as spark_output

        monkeypatch.setattr(spark_output, "SMALL_WRITE", 1000)
        monkeypatch.setattr(spark_output, "ROWS_PER_FILE", 2000)
        engine = SparkEngine(spark)
        engine.load("t", pairs(*((n * 7919 % 10007, n) for n in range(10_000))))
        array = engine.dialect.array(["a", "b"])
        files = engine.write(f"SELECT a, b, {array} AS f FROM t", str(tmp_path), "t", ["a", "b"])
        assert [file.path for file in files] == [f"t-{n:05d}.parquet" for n in range(5)]
        read = pa.concat_tables(pq.read_table(tmp_path / file.path) for file in files)
        assert read["a"].to_pylist() == sorted(n * 7919 % 10007 for n in range(10_000))
        assert sum(file.rows for file in files) == 10_000
        assert {path.name for path in tmp_path.iterdir()} == {file.path for file in files}
        reader = DuckDBEngine()
        paths = [str(tmp_path / file.path) for file in files]
        reader.attach("t", paths, [("a", "BIGINT"), ("b", "BIGINT"), ("f", "ARRAY<BIGINT>")])
        assert rows(reader, "SELECT a, b, f FROM t") == [(a, b, [a, b]) for a, b in rows(engine, "SELECT a, b FROM t")]
        reader.close()
        engine.close()

    def test_bzip2_lines(self, spark: Any, tmp_path: Path) -> None:
        from triplestore.engine.spark import SparkEngine

        (tmp_path / "a.nt.bz2").write_bytes(bz2.compress(b"a\nb\n"))
        engine = SparkEngine(spark)
        assert lines(engine, tmp_path / "a.nt.bz2") == [(0, "a"), (0, "b")]
        engine.close()

    def test_engines_of_one_session_do_not_see_each_other(self, spark: Any) -> None:
        from triplestore.engine.spark import SparkEngine

        one, two = SparkEngine(spark), SparkEngine(spark)
        one.load("t", pairs((1, 1)))
        two.load("t", pairs((2, 2), (3, 3)))
        assert rows(one, "SELECT a FROM t") == [(1,)]
        one.close()
        assert rows(two, "SELECT a FROM t") == [(2,), (3,)]
        two.close()

    def test_dropped_and_closed_tables_leave_no_files(self, spark: Any, tmp_path: Path) -> None:
        from triplestore.engine.spark import SparkEngine

        engine = SparkEngine(spark, scratch=str(tmp_path))
        (scratch,) = tmp_path.iterdir()
        engine.load("t", pairs((1, 1)))
        engine.create("t", "SELECT a, b FROM t")
        engine.append("t", ["SELECT a, b FROM t", "SELECT b, a FROM t"])
        engine.remove("t", "SELECT a, b FROM t")
        assert os.listdir(scratch) == []
        engine.drop("t")
        assert os.listdir(scratch) == []
        engine.load("t", pairs((1, 1), (2, 2)))
        engine.create("copy", Select("t", "b"))
        engine.append("t", [Select("t", "ab")])
        assert len(os.listdir(scratch)) == 1
        engine.drop("t")
        assert rows(engine, "SELECT b FROM copy") == [(1,), (2,)]
        engine.drop("copy")
        assert os.listdir(scratch) == []
        engine.load("u", pairs((1, 1)))
        engine.close()
        assert os.listdir(tmp_path) == []


def test_stored_tables_have_types_that_both_engines_know(engine: Engine) -> None:
    for table in (TERM, VIOLATION):
        columns = ", ".join(f"CAST(NULL AS {engine.dialect.type(kind)}) AS {name}" for name, kind in table.columns)
        assert engine.create("t", f"SELECT {columns}") == 1
