"""Files as Spark sees them: local ones through the operating system, any other through Hadoop's file systems."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from triplestore.engine import verification
from triplestore.engine.protocol import WrittenFile
from triplestore.engine.verification import CHANGED, AlteredError, encoded
from triplestore.engine.written import finished
from triplestore.model.thresholds import SIZES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CRCS: Final = (
    "transform(sequence(0, CAST(ceil(length / block) AS INT) - 1), "
    "i -> crc32(substring(content, i * block + 1, block)))"
)
"""The CRC-32 of each block of a file, in Spark's SQL."""

_MOST_BINARY: Final = (1 << 31) - 1
"""Bytes of the largest file that is a value of Spark's."""

_GLOB = re.compile(r"([\\\[\]{}*?])")


class FileSystem:
    """Lists, moves and deletes what Spark reads and writes. Paths are local ones or URLs (file:, hdfs:, s3a: ...)."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def default(self) -> str:
        """The URL of the file system that a bare path means to Spark."""
        return str(self._hadoop("/").getUri().toString()).rstrip("/")

    def local(self, path: str) -> str | None:
        """The path as the operating system knows it, None where it is on another file system."""
        if path.startswith("file:"):
            return "/" + path.removeprefix("file:").lstrip("/")
        return None if re.match(r"\w[\w+.-]*://", path) else path

    def url(self, path: str) -> str:
        """The path as Spark's readers take it: absolute, with nothing in it that they would expand."""
        local = self.local(path)
        return _GLOB.sub(r"\\\1", path if local is None else f"file://{os.path.abspath(local)}")

    def parquet(self, folder: str) -> list[str]:
        """The Parquet files of a folder, by name (or the one file that it is)."""
        local = self.local(folder)
        if local is not None and os.path.isfile(local):
            return [local]
        if local is not None:
            return sorted(str(file) for file in Path(local).glob("*.parquet"))
        statuses = self._hadoop(folder).listStatus(self._path(folder))
        names = sorted(str(status.getPath().getName()) for status in statuses)
        return [f"{folder}/{name}" for name in names if name.endswith(".parquet")]

    def delete(self, path: str) -> None:
        """Delete a file or folder, if it is there."""
        local = self.local(path)
        if local is not None:
            shutil.rmtree(local, ignore_errors=True)
        else:
            self._hadoop(path).delete(self._path(path), True)

    def publish(self, draft: str, folder: str, stem: str, suffix: str = "") -> list[WrittenFile]:
        """Move a draft's Parquet files into `folder` as `<stem>-<n><suffix>.parquet`, in their order; durable on
        return."""
        drafts, folder = self.parquet(draft), folder.rstrip("/")
        many = len(drafts) > 1
        targets = {
            source: f"{folder}/{stem}{f'-{number:05d}' if many else ''}{suffix}.parquet"
            for number, source in enumerate(drafts)
        }
        if self.local(folder) is None:
            for source, target in targets.items():
                if not self._hadoop(target).rename(self._path(source), self._path(target)):
                    raise OSError(f"{source} could not be renamed to {target}")
            return self._written(list(targets.values()))
        written = []
        for source, target in targets.items():
            here = str(self.local(source))
            rows = int(pq.read_metadata(here).num_rows)
            written.append(finished(Path(here), rows, os.path.basename(target)))
            os.rename(here, str(self.local(target)))
        return written

    def _written(self, files: Sequence[str]) -> list[WrittenFile]:
        """Of Parquet files that are elsewhere: executors count their rows and take their checksums."""
        from pyspark.sql import functions as sql

        if not files:
            return []
        urls = [self.url(file) for file in files]
        name = sql.col("_metadata.file_name")
        counted = self._spark.read.parquet(*urls).groupBy(name.alias("name")).count()
        rows = {row["name"]: int(row["count"]) for row in counted.collect()}
        whole = self._spark.read.format("binaryFile").load(urls).withColumn("block", sql.expr(_block_size()))
        crcs = sql.expr(f"CASE WHEN length >= {SIZES.block} THEN {_CRCS} END")
        summed = whole.select(
            name.alias("name"), "length", sql.sha2("content", 256).alias("sum"), "block", crcs.alias("crcs")
        ).collect()
        found = {
            row["name"]: (
                int(row["length"]),
                str(row["sum"]),
                None if row["crcs"] is None else encoded(row["block"], row["crcs"]),
            )
            for row in summed
        }
        return [
            WrittenFile(name, rows.get(name, 0), size, sha256, blocks=blocks)
            for name, (size, sha256, blocks) in ((name, found[name]) for name in (f.rpartition("/")[2] for f in files))
        ]

    def compare(self, files: Sequence[tuple[str, WrittenFile]]) -> None:
        """Compare files that are elsewhere, by their URLs, with their checksums: executors read them. Raises
        AlteredError. A file of more than 2 GB, which Spark never writes, is not a value of Spark's, and is not read."""
        from pyspark.sql import functions as sql

        files = [(url, file) for url, file in files if file.bytes <= _MOST_BINARY]
        if not files:
            return
        whole = self._spark.read.format("binaryFile").load([self.url(url) for url, _ in files])
        summed = whole.select(sql.col("_metadata.file_name").alias("name"), sql.sha2("content", 256).alias("sum"))
        found = {row["name"]: row["sum"] for row in summed.collect()}
        for url, file in files:
            if found.get(url.rpartition("/")[2]) != file.sha256:
                raise AlteredError(f"{url} {CHANGED}")

    def _path(self, path: str) -> Any:
        return self._spark._jvm.org.apache.hadoop.fs.Path(path)

    def _hadoop(self, path: str) -> Any:
        return self._path(path).getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf())


def _block_size() -> str:
    """As `triplestore.engine.verification.block_size`, in Spark's SQL."""
    most = verification.BLOCK * verification.MOST_BLOCKS
    return f"CAST({verification.BLOCK} * power(2, greatest(0, ceil(log2(length / {most})))) AS INT)"
