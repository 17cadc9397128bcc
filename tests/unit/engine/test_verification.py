"""Checksums of files and of their blocks, and what is compared with them when."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.engines import pairs, rows
from triplestore.engine import Engine, StoredFile, WrittenFile, verification
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.engine.verification import AlteredError, Digest, compare, opened_by_block
from triplestore.engine.written import finished, write_rows
from triplestore.model.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = [("a", "BIGINT"), ("b", "BIGINT")]


@pytest.fixture
def by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is a large one, of blocks of 256 bytes."""
    monkeypatch.setattr(verification, "BLOCK", 256)
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.block", 64)
    monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.whole", 0)


def flip(path: Path, at: int) -> None:
    """Flip a bit, in another file of that name."""
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    draft = path.with_suffix(".flipped")
    draft.write_bytes(data)
    os.replace(draft, path)


def pieces(data: bytes, dice: random.Random) -> Iterator[bytes]:
    while data:
        size = dice.randint(1, 700)
        yield data[:size]
        data = data[size:]


@pytest.mark.parametrize("size", [1, 255, 256, 257, 512, 5000])
def test_checksums_do_not_depend_on_how_a_file_is_read(by_block: None, tmp_path: Path, size: int) -> None:
    dice = random.Random(size)
    data = dice.randbytes(size)
    (tmp_path / "f").write_bytes(data)
    file = finished(tmp_path / "f", 1)
    digest = Digest(size)
    for piece in pieces(data, dice):
        digest.update(piece)
    assert (digest.sha256, digest.blocks()) == (file.sha256, file.blocks)


def test_large_files_have_larger_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "BLOCK", 16)
    monkeypatch.setattr(verification, "MOST_BLOCKS", 4)
    assert [verification.block_size(size) for size in (1, 64, 65, 128, 129, 1000)] == [16, 16, 32, 32, 64, 256]


def test_each_block_is_compared_before_it_is_read(by_block: None, tmp_path: Path) -> None:
    dice, path = random.Random(1), tmp_path / "f"
    data = dice.randbytes(3000)
    path.write_bytes(data)
    file = finished(path, 1)
    flip(path, 1000)  # in the fourth block
    with opened_by_block(path, file) as opened:
        for _ in range(200):
            start, size = dice.randrange(3000), dice.randint(1, 900)
            opened.seek(start)
            if start // 256 <= 3 <= (min(start + size, 3000) - 1) // 256:
                with pytest.raises(AlteredError, match="its checksum differs"):
                    opened.read(size)
            else:
                assert opened.read(size) == data[start : start + size]
    with pytest.raises(AlteredError, match="its checksum differs"):
        compare(path, file)
    flip(path, 1000)
    compare(path, file)


def test_threads_read_one_file_at_positions_of_their_own(by_block: None, tmp_path: Path) -> None:
    path, data = tmp_path / "f", random.Random(2).randbytes(20_000)
    path.write_bytes(data)
    file = finished(path, 1)

    with opened_by_block(path, file) as opened, ThreadPoolExecutor(8) as pool:

        def read(seed: int) -> bool:
            dice = random.Random(seed)
            for _ in range(300):
                start = dice.randrange(20_000)
                opened.seek(start)
                if opened.read(500) != data[start : start + 500]:
                    return False
            return True

        assert all(pool.map(read, range(16)))


def test_a_file_is_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    file = WrittenFile("f", 1, 3, finished(path, 1).sha256)
    flip(path, 0)
    flip(path, 0)  # another file with the same bytes
    read: list[str] = []
    digest = verification.hashlib.file_digest
    monkeypatch.setattr(verification.hashlib, "file_digest", lambda *given: read.append("") or digest(*given))
    for _ in range(3):
        compare(path, file)
    assert len(read) == 1
    flip(path, 2)
    with pytest.raises(AlteredError, match="its checksum differs"):
        compare(path, file)
    path.write_bytes(b"abcd")
    with pytest.raises(AlteredError, match="4 bytes instead of 3"):
        compare(path, file)


class TestDuckDB:
    """A large file is read by block."""

    @pytest.fixture
    def stored(self, by_block: None, tmp_path: Path) -> StoredFile:
        dice = random.Random(3)
        file = write_rows(pairs(*((n, dice.getrandbits(60)) for n in range(50_000))), tmp_path, "t", 1000)
        assert file.bytes > 300_000
        path = tmp_path / file.path
        flip(path, 0)
        flip(path, 0)  # not the file that was compared as it was written
        return StoredFile(str(path), file)

    def test_few_blocks_are_read_for_few_rows(self, stored: StoredFile) -> None:
        engine = DuckDBEngine()
        engine.attach("t", [stored], COLUMNS)
        assert rows(engine, "SELECT a, b > 0 FROM t WHERE a = 15000") == [(15_000, True)]
        known = verification._known.of(os.stat(stored.path), stored.written)
        assert 0 < sum(known) < len(known) / 4
        assert rows(engine, "SELECT sum(a), count(b), max(b) > 0 FROM t") == [(sum(range(50_000)), 50_000, True)]
        assert 0 not in known[1:-1]
        engine.close()

    def test_only_what_is_read_is_an_error(self, stored: StoredFile) -> None:
        flip(Path(stored.path), 1000)  # in the first group
        engine = DuckDBEngine()
        engine.attach("t", [stored], COLUMNS)
        assert rows(engine, "SELECT a FROM t WHERE a = 15000") == [(15_000,)]
        with pytest.raises(EngineError, match="its checksum differs"):
            engine.query("SELECT sum(a), sum(b) FROM t")
        assert rows(engine, "SELECT a FROM t WHERE a = 15000") == [(15_000,)]
        engine.close()

    @pytest.mark.timeout(60)
    def test_an_answer_that_is_not_read_to_its_end(self, stored: StoredFile) -> None:
        """Its threads wait for Python, which waits for them nowhere."""
        engine = DuckDBEngine()
        engine.attach("t", [stored], COLUMNS)
        for _ in range(5):
            answer = engine.batches("SELECT l.a FROM t l, t r WHERE l.b <> r.b")
            next(answer)
            answer.close()  # type: ignore[attr-defined]
        reader = engine.reader()
        reader.begin()
        reader.attach("u", [stored], COLUMNS)
        next(reader.batches("SELECT l.a FROM u l, u r WHERE l.b <> r.b"))
        reader.end()
        reader.close()
        engine.close()


def test_a_small_file_is_compared_before_it_is_read(engine: Engine, tmp_path: Path) -> None:
    file = write_rows(pairs((1, 2), (3, 4)), tmp_path, "t", 1000)
    stored = StoredFile(str(tmp_path / file.path), file)
    engine.attach("t", [stored], COLUMNS)
    assert rows(engine, "SELECT a, b FROM t") == [(1, 2), (3, 4)]
    flip(tmp_path / file.path, file.bytes // 2)

    def read() -> None:  # Spark compares when a statement names the table
        engine.attach("t", [stored], COLUMNS)
        engine.query("SELECT a, b FROM t")

    with pytest.raises(EngineError, match="its checksum differs"):
        read()


@pytest.mark.spark
def test_executors_compare_files(by_block: None, spark: SparkSession, tmp_path: Path) -> None:
    """As on a cluster whose driver does not read them."""
    from triplestore.engine.spark.filesystem import FileSystem

    files = FileSystem(spark)
    written = [write_rows(pairs(*((n, k) for n in range(500))), tmp_path, f"t{k}", 100) for k in range(2)]
    urls = [f"file://{tmp_path}/{file.path}" for file in written]
    found = files._written(urls)
    assert [(f.path, f.rows, f.bytes, f.sha256, f.blocks) for f in found] == [
        (f.path, f.rows, f.bytes, f.sha256, f.blocks) for f in written
    ]
    files.compare(list(zip(urls, written, strict=True)))
    flip(tmp_path / written[1].path, 700)
    with pytest.raises(AlteredError, match=r"t1\.parquet is not what was written"):
        files.compare(list(zip(urls, written, strict=True)))
