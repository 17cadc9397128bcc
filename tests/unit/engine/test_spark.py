"""What only Spark has of an engine: ways for many rows, sessions, the files of its tables."""

from __future__ import annotations

import bz2
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.engines import (
    GRAPHS,
    TOKENS,
    check_components,
    check_numbered,
    lines,
    pairs,
    rows,
    union_find,
    values,
)
from triplestore.engine import Engine, StoredFile, WrittenFile
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.engine.sql import Select
from triplestore.model.errors import EngineError, UsageError
from triplestore.model.tables import GROUP

pytestmark = pytest.mark.spark_alone


@pytest.mark.spark
class TestSparkOnly:
    @pytest.mark.parametrize("tokens", [set(), {"<a>"}, TOKENS], ids=["none", "one", "many"])
    def test_rows_are_numbered_by_ranges(self, spark: Any, tokens: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
        from triplestore.engine.spark import SparkEngine

        monkeypatch.setattr("triplestore.model.thresholds.Sizes.one_thread", 0)
        monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.in_driver", 0)
        engine = SparkEngine(spark)
        engine.spark.conf.set("spark.sql.adaptive.enabled", "false")  # which would put so few into one range
        check_numbered(engine, tokens)
        engine.close()

    @pytest.mark.parametrize("graph", ["nothing", "a loop", "chain", "star, largest in the middle", "sparse", "dense"])
    @pytest.mark.sampled(each=4)
    def test_components_by_joins(self, spark: Any, graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from triplestore.engine.spark import SparkEngine

        monkeypatch.setattr("triplestore.model.thresholds.Sizes.in_memory", 0)
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
            files = writer.write("SELECT * FROM t", str(folder), "t", ["i"], GROUP)
            reader.attach("read", [StoredFile(str(folder / file.path), file) for file in files], columns)
            found = reader.query("SELECT * FROM read").to_pylist()
            assert sorted(map(str, found)) == sorted(map(str, values().to_pylist()))
        for engine in engines:
            engine.close()

    def test_large_writes_are_sorted_across_files(
        self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from triplestore.engine.spark import SparkEngine
        from triplestore.engine.spark import output as spark_output

        monkeypatch.setattr(spark_output, "is_local", lambda master: False)
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.one_thread", 1000)
        monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.rows_per_file", 2000)
        engine = SparkEngine(spark)
        engine.load("t", pairs(*((n * 7919 % 10007, n) for n in range(10_000))))
        array = engine.dialect.array(["a", "b"])
        files = engine.write(f"SELECT a, b, {array} AS f FROM t", str(tmp_path), "t", ["a", "b"], GROUP)
        assert [file.path for file in files] == [f"t-{n:05d}.parquet" for n in range(6)]  # 5 and one to be even
        read = pa.concat_tables(pq.read_table(tmp_path / file.path) for file in files)
        assert read["a"].to_pylist() == sorted(n * 7919 % 10007 for n in range(10_000))
        assert sum(file.rows for file in files) == 10_000
        assert {path.name for path in tmp_path.iterdir()} == {file.path for file in files}
        reader = DuckDBEngine()
        paths = [StoredFile(str(tmp_path / file.path), file) for file in files]
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

    def test_without_what_reads_s3(self, spark: Any) -> None:
        from triplestore.engine.spark import SparkEngine

        with pytest.raises(EngineError, match=r"give Spark what reads it .*org\.apache\.hadoop:hadoop-aws"):
            SparkEngine(spark).attach(
                "far", [StoredFile("s3a://lake/x.parquet", WrittenFile("x.parquet", 1, 1))], [("a", "BIGINT")]
            )

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

        def left(scratch: Path) -> list[str]:
            return [name for name in os.listdir(scratch) if not name.startswith("triplake-")]  # the driver's

        engine = SparkEngine(spark, scratch=str(tmp_path))
        (scratch,) = tmp_path.iterdir()
        engine.load("t", pairs((1, 1)))
        engine.create("t", "SELECT a, b FROM t")
        engine.append("t", ["SELECT a, b FROM t", "SELECT b, a FROM t"])
        engine.remove("t", "SELECT a, b FROM t")
        assert left(scratch) == []
        engine.drop("t")
        assert left(scratch) == []
        engine.load("t", pairs((1, 1), (2, 2)))
        engine.create("copy", Select("t", "b"))
        engine.append("t", [Select("t", "ab")])
        assert len(left(scratch)) == 1
        engine.drop("t")
        assert rows(engine, "SELECT b FROM copy") == [(1,), (2,)]
        engine.drop("copy")
        assert left(scratch) == []
        engine.load("u", pairs((1, 1)))
        engine.close()
        assert os.listdir(tmp_path) == []


def test_a_session_of_spark_connect_is_refused() -> None:
    from triplestore.engine.spark import SparkEngine

    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(UsageError, match=r"a session of Spark Connect, .* give a classic session"):
        SparkEngine(remote)
