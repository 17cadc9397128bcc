"""Lines of text files as Spark reads them, and files that it cannot read as they are.

What cuts lines into terms is a regular expression and functions of strings, in which DuckDB takes a tenth of the time
of Spark. So it does the cutting: in the driver where that does all work anyway, else in the executors' Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplestore.engine.dialect import Dialect
from triplestore.engine.disk import naming
from triplestore.engine.duckdb.engine import DuckDBEngine
from triplestore.engine.protocol import OverLines
from triplestore.engine.spark.filesystem import FileSystem
from triplestore.engine.spark.queries import DRIVER
from triplestore.engine.spark.session import is_local
from triplestore.engine.spark.tables import Part, Tables
from triplestore.model.errors import UnsupportedError
from triplestore.model.thresholds import SIZES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def cut_lines(tables: Tables, files: FileSystem, paths: Sequence[str], schema: Any, sql: OverLines) -> Part:
    """The rows of a SELECT over the lines of files, as a new part of columns of text (`schema`)."""
    names = [field.name for field in schema]
    folder, here = tables.folder(), [local for path in paths if (local := files.local(path)) is not None]
    scratch = files.local(folder)
    if is_local(tables.spark.sparkContext.master) and scratch is not None and len(here) == len(paths):
        return _cut_in_driver(here, names, scratch, sql)
    frame = lines(tables.spark, files, paths, f"{folder}-lines")
    cut = _cutter(f"SELECT {', '.join(names)} FROM ({sql(Dialect(), 'lines')}) cut")
    return tables.evaluated(frame.mapInArrow(cut, schema))


def _cut_in_driver(paths: Sequence[str], columns: Sequence[str], folder: str, sql: OverLines) -> Part:
    Path(folder).mkdir()
    engine = DuckDBEngine(f"{DRIVER} B", folder)
    try:
        with engine.scratch() as scratch:
            view = scratch.table("lines")
            engine.lines(view, paths)
            select = f"SELECT {', '.join(columns)} FROM ({sql(engine.dialect, view)}) cut"
            return Part(folder, sum(file.rows for file in engine.write(select, folder, "part", (), SIZES.rows)))
    finally:
        engine.close()


def _cutter(sql: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What an executor does with its batches of (file, line); a closure, which is sent as it is: an executor needs
    DuckDB and PyArrow, and not this package."""

    def cut(batches: Iterator[Any]) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        connection = duckdb.connect(":memory:", config={"threads": 1})
        for batch in batches:
            connection.register("lines", pa.Table.from_batches([batch]))
            yield from connection.sql(sql).to_arrow_table().to_batches()

    return cut


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

    with naming(copy), open(local, "rb") as packed, open(copy, "wb") as plain:
        zstandard.ZstdDecompressor().copy_stream(packed, plain)
    return str(copy)
