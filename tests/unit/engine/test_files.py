"""Files that engines read and write, one body for both engines."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard

from tests.support.engines import PHYSICAL, lines, pairs, physical, rows, stored, values
from triplestore.engine import Engine, StoredFile
from triplestore.engine.dialect import Dialect
from triplestore.engine.written import write_rows
from triplestore.model.errors import EngineError
from triplestore.model.tables import GROUP, STORED

pytestmark = pytest.mark.spark_alone


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
        engine.attach("t", stored(*files[:1]), columns)
        assert rows(engine, "SELECT a, b FROM t") == [(0, 0)]
        engine.attach("t", stored(*files), columns)
        assert rows(engine, "SELECT a, b FROM t") == [(0, 0), (1, 1), (2, 2)]

    @pytest.mark.parametrize("wide", [False, True])
    def test_ids_are_written_as_differences(
        self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: bool
    ) -> None:
        """Which take a quarter of the room; by DuckDB, by Arrow, and by Spark's own writer on a cluster."""
        if engine.name == "spark" and wide:
            from triplestore.engine.spark import output

            monkeypatch.setattr(output, "is_local", lambda master: False)
            monkeypatch.setattr("triplestore.model.thresholds.Sizes.one_thread", 1)
        given = pairs(*((n, n * n) for n in range(30_000)))
        engine.load("t", given)
        files = [file.path for file in engine.write("SELECT a, b FROM t", str(tmp_path), "t", ["a"], 8192)]
        files.append(write_rows(given, tmp_path, "by_arrow", 8192).path)
        for file in files:
            group = pq.read_metadata(tmp_path / file).row_group(0)
            for number in range(2):
                assert {*group.column(number).encodings} - {"RLE"} == {"DELTA_BINARY_PACKED"}
        engine.attach("r", stored(*(tmp_path / file for file in files)), [("a", "BIGINT"), ("b", "BIGINT")])
        assert rows(engine, "SELECT count(*), count(DISTINCT a), sum(b) FROM r") == [
            (60_000, 30_000, 2 * sum(n * n for n in range(30_000)))
        ]

    @pytest.mark.parametrize("name", ["a=7", "b=x", "[a=7]", "a*=?"])
    def test_paths_say_nothing_of_what_is_in_them(self, engine: Engine, tmp_path: Path, name: str) -> None:
        """Neither as patterns nor, as in folders of Hive's, of columns."""
        folder = tmp_path / name
        for other in (folder, tmp_path / "a=7", tmp_path / "a"):
            other.mkdir(exist_ok=True)
            pq.write_table(pairs((9, 9)), other / "t.parquet")
        engine.load("t", pairs((1, 2), (3, 4)))
        (file,) = engine.write("SELECT a, b FROM t", str(folder), "t", ["a", "b"], 1, ["b", "a"])
        assert file.turned is not None
        for one in (file, file.turned):
            engine.attach("t", [StoredFile(str(folder / one.path), one)], [("a", "BIGINT"), ("b", "BIGINT")])
            assert rows(engine, "SELECT a, b FROM t ORDER BY a") == [(1, 2), (3, 4)]
            assert rows(engine, "SELECT n.a, t.b FROM t JOIN (SELECT 3 AS a) n ON n.a = t.a") == [(3, 4)]

    def test_copies_of_attached_tables(self, engine: Engine, tmp_path: Path) -> None:
        pq.write_table(pairs((1, 2), (3, 4)), tmp_path / "a.parquet")
        pq.write_table(pairs((5, 6)), tmp_path / "b.parquet")
        engine.attach(
            "stored", stored(tmp_path / "a.parquet", tmp_path / "b.parquet"), [("a", "BIGINT"), ("b", "BIGINT")]
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
        engine.attach("t", stored(*files), [("a", "BIGINT"), ("b", "BIGINT")])
        assert rows(engine, "SELECT COUNT(*) AS n, SUM(a) AS s FROM t") == [(40, 780)]

    def test_attach_a_missing_file(self, engine: Engine, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=r"gone\.parquet"):
            engine.attach("t", stored(tmp_path / "gone.parquet"), [("a", "BIGINT")])

    def test_write_sorts_and_counts(self, engine: Engine, tmp_path: Path) -> None:
        numbers = list(range(5000))
        random.Random(7).shuffle(numbers)
        engine.load("t", pairs(*((number % 7, number) for number in numbers)))
        files = engine.write("SELECT a, b FROM t WHERE b < 4000", str(tmp_path), "fact-1", ["a", "b"], GROUP)
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

    @pytest.mark.parametrize("small", [0, 1_000_000])
    def test_write_in_two_orders(
        self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
    ) -> None:
        if engine.name == "spark":
            from triplestore.engine.spark import output

            monkeypatch.setattr(output, "is_local", lambda master: False)
            monkeypatch.setattr("triplestore.model.thresholds.Sizes.one_thread", small or 1)
            monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.rows_per_file", 2000)
        engine.load("t", pairs(*((n % 7, n * 7919 % 10007) for n in range(9_000))))
        files = engine.write("SELECT a, b FROM t", str(tmp_path), "t", ["a", "b"], 2048, ["b", "a"])
        assert len(files) == (6 if engine.name == "spark" and not small else 1)  # for two tasks, so an even number
        names = set()
        for file in files:
            other = file.turned
            names.add(file.path)
            if other is None:
                assert file.rows <= 2048
                continue
            assert (other.rows, other.bytes) == (file.rows, (tmp_path / other.path).stat().st_size)
            names.add(other.path)
            found = [pq.read_table(tmp_path / one.path).to_pydict() for one in (file, other)]
            first, second = (list(zip(one["a"], one["b"], strict=True)) for one in found)
            assert first == sorted(second)
            assert second == sorted(first, key=lambda row: row[::-1])
            assert pq.read_metadata(tmp_path / other.path).num_row_groups == -(-file.rows // 2048)
        assert {path.name for path in tmp_path.iterdir()} == names
        assert sum(file.rows for file in files) == 9_000

    def test_write_nothing(self, engine: Engine, tmp_path: Path) -> None:
        engine.load("t", pairs())
        assert engine.write("SELECT a, b FROM t", str(tmp_path), "t", ["a"], GROUP) == []
        assert list(tmp_path.iterdir()) == []

    def test_parquet_types(self, engine: Engine, tmp_path: Path) -> None:
        engine.load("t", values())
        (file,) = engine.write("SELECT * FROM t", str(tmp_path), "t", [], GROUP)
        assert physical(tmp_path / file.path) == PHYSICAL


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

    @pytest.mark.parametrize("local", [True, False])
    def test_cut(self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: bool) -> None:
        if engine.name == "spark" and not local:
            from triplestore.engine.spark import input as spark_input

            monkeypatch.setattr(spark_input, "is_local", lambda master: False)
        files = []
        for number in range(3):
            files.append(str(tmp_path / f"{number}.nt"))
            Path(files[-1]).write_text("".join(f"{number} {n} é\n" for n in range(number * 30_000)))

        def halves(dialect: Dialect, lines: str) -> str:
            return f"SELECT CAST(file AS STRING) AS f, split_part(line, ' ', 2) AS n, NULL AS gone FROM {lines}"

        columns = ("n", "f")
        expected = [(str(n), str(number)) for number in range(3) for n in range(number * 30_000)]
        assert engine.cut_lines("t", files, columns, halves) == 90_000
        assert sorted(rows(engine, "SELECT n, f FROM t")) == sorted(expected)
        assert engine.cut_lines("t", files[:1], columns, halves, add=True) == 0
        assert engine.cut_lines("t", files[:2], columns, halves, add=True) == 30_000
        assert sorted(rows(engine, "SELECT * FROM t")) == sorted(expected + expected[:30_000])
        assert engine.cut_lines("t", files[:1], columns, halves) == 0
        assert rows(engine, "SELECT * FROM t") == []

    def test_bytes_that_are_not_utf8(self, engine: Engine, tmp_path: Path) -> None:
        (tmp_path / "a.nt").write_bytes(b"a\n\xff\xfe\n")
        with pytest.raises(EngineError):
            lines(engine, tmp_path / "a.nt")
