"""Lines of text files as Spark reads them, and files that it cannot read as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from triplestore.engine.spark.filesystem import FileSystem
from triplestore.model.errors import UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def lines(spark: SparkSession, files: FileSystem, paths: Sequence[str], scratch: str) -> DataFrame:
    """The lines of files: (file, line), `file` being the place in `paths`. scratch: a new folder, not made yet.

    Raises UnsupportedError for a file that is neither local nor readable for Spark.
    """
    frames = [
        spark.read.text(files.url(_readable(files, path, f"{scratch}-{index}"))).selectExpr(
            f"{index} AS file", "validate_utf8(value) AS line"
        )
        for index, path in enumerate(paths)
    ]
    while len(frames) > 1:  # a balanced tree: a deep plan takes long
        frames = [
            frames[i].unionAll(frames[i + 1]) if i + 1 < len(frames) else frames[i] for i in range(0, len(frames), 2)
        ]
    return frames[0] if frames else spark.sql("SELECT 0 AS file, '' AS line WHERE FALSE")


def _readable(files: FileSystem, path: str, scratch: str) -> str:
    """The file itself, or a copy that Spark can read. Spark skips hidden names in silence, and knows no zst."""
    local = files.local(path)
    hidden = Path(path).name.startswith(("_", "."))
    if not path.endswith(".zst") and not hidden:
        return path
    if local is None:
        reason = "has a name that Spark takes for hidden" if hidden else "is compressed with zstd"
        raise UnsupportedError(f"{path} {reason}: rename or recompress it (gz, bz2)")
    folder = Path(scratch)
    folder.mkdir()
    copy = folder / ("lines-" + Path(local).name.removesuffix(".zst"))
    if not path.endswith(".zst"):
        copy.symlink_to(Path(local).resolve())
        return str(copy)
    import zstandard

    with open(local, "rb") as packed, open(copy, "wb") as plain:
        zstandard.ZstdDecompressor().copy_stream(packed, plain)
    return str(copy)
