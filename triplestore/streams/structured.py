"""Continuous queries over a DataFrame of Spark Structured Streaming.

Each micro-batch is a chunk: its rows, in the order of their times, are fed to the windows, whose closures Spark keeps
(`triplestore.streams.maintainers`). Before that the batch is written to the checkpoint's folder, since a source like a
socket gives it once; a batch goes when the last of it has left every window. After a crash the batches that are there
are fed again, without answers for the windows that were answered, and Spark gives the next one. A batch that it gives
a second time is passed over. What is answered goes to a callable, for which a window may be answered twice if the
process dies between its answer and the checkpoint, or to a file, in which it is once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine import Engine
from triplestore.engine.disk import naming
from triplestore.model.errors import UsageError
from triplestore.read.session import Session
from triplestore.storage.durable import sync_folder
from triplestore.streams.answers import Answer, StreamStats, Writer
from triplestore.streams.checkpoint import Checkpoint, Place, Trail, durable, taken_up
from triplestore.streams.registration import StreamQuery
from triplestore.streams.source import cut
from triplestore.streams.windows import Windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

SPARK: Final = "spark"
"""The folder of Spark's own checkpoint, in ours."""

Sink = Callable[[Answer], None]


class StructuredStream:
    """A run over a streaming DataFrame; `query` is Spark's own handle. Close it, or use it with `with`.

    frame: rows (time, s, p, o), or (time, triple): time an integer or a timestamp, the rest text as in N-Triples.
    answers: called with each answer, or the path of a file, which gets a line of JSON for each.
    """

    def __init__(
        self,
        background: Session,
        frame: DataFrame,
        queries: Sequence[StreamQuery],
        engine: Callable[[], Engine],
        answers: Sink | str | Path,
        checkpoint: str | Path,
        *,
        algorithm: str = "auto",
        lateness: str | None = None,
        on_error: str = "skip",
        trigger: dict[str, Any] | None = None,
    ) -> None:
        """trigger: the arguments of `DataStreamWriter.trigger`. Raises UsageError."""
        self._frame, self._folder = _lines(frame), Path(checkpoint)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._checkpoint = Checkpoint(checkpoint, background.manifest.version, queries)
        before = self._checkpoint.state
        self._windows = Windows(background, queries, engine, algorithm, lateness, on_error, before)
        self._file: IO[str] | None = None
        self._open = True
        self._lock = threading.Lock()
        try:
            if len(self._windows.streams) != 1:
                raise UsageError("a DataFrame is one stream: the queries name several")
            self._stream = self._windows.streams[0]
            self._place = Place() if before is None else before.places[self._stream]
            self._trail = Trail()
            self._last = -1 if before is None else before.batch
            if isinstance(answers, str | Path):
                self._file = taken_up(answers, before)
                self._write: Sink = Writer(self._file, "jsonl", len(queries)).write
            else:
                self._write = answers
            self._again()
            writer = self._frame.writeStream.foreachBatch(self._batch)
            writer = writer.option("checkpointLocation", str(self._folder / SPARK))
            if trigger:
                writer = writer.trigger(**trigger)
            self.query: StreamingQuery = writer.start()
        except BaseException:
            self._free()
            raise

    @property
    def stats(self) -> StreamStats:
        """What has become of the stream so far."""
        return self._windows.stats

    def close(self) -> None:
        """Stop, and free what the run holds. Windows that are not complete are answered by the next run."""
        if not self._open:
            return
        self._open = False
        self.query.stop()
        with self._lock:
            self._free()

    def _free(self) -> None:
        self._windows.close()
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> StructuredStream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _again(self) -> None:
        """Feed the batches of the run before this one that are still in a window."""
        batches = sorted((int(path.stem.removeprefix("batch-")), path) for path in self._folder.glob("batch-*.parquet"))
        for number, path in batches:
            if number < self._place.read or number > self._last:
                path.unlink()
            else:
                self._feed(number, pq.read_table(path))
        self._answer()

    def _batch(self, frame: DataFrame, number: int) -> None:
        """Take a micro-batch in."""
        with self._lock:
            if not self._open or number <= self._last:
                return
            table = frame.toArrow().sort_by("time")
            draft = self._folder / f".batch-{number}"
            with naming(draft):
                pq.write_table(table, draft)
                with open(draft, "rb") as file:
                    os.fsync(file.fileno())
            os.replace(draft, self._folder / f"batch-{number}.parquet")
            sync_folder(self._folder)
            self._feed(number, table)
            self._last = number
            self._answer()
            self._save()

    def _feed(self, number: int, table: pa.Table) -> None:
        before = Place(number, self._windows.newest(self._stream))
        rows = zip(table["time"].to_pylist(), table["line"].to_pylist(), strict=True)
        chunk = cut([f"{time} {line}".encode() for time, line in rows], f"batch {number} of the DataFrame")
        self._windows.feed(self._stream, chunk)
        if chunk.times:
            self._trail.add(before, self._windows.last)

    def _answer(self) -> None:
        for answers in self._windows.complete():
            for answer in answers:
                self._write(answer)

    def _save(self) -> None:
        """Have it on record that the batches so far are taken in, and forget those that no window needs."""
        written = 0 if self._file is None else durable(self._file)
        answered = self._windows.answered
        least = min((time for time in answered if time is not None), default=0)
        place = self._trail.place(least, Place(self._last + 1, self._windows.newest(self._stream)))
        self._checkpoint.save({self._stream: place}, answered, written, self._last)
        for path in self._folder.glob("batch-*.parquet"):
            if int(path.stem.removeprefix("batch-")) < place.read:
                with suppress(FileNotFoundError):
                    path.unlink()


def _lines(frame: DataFrame) -> DataFrame:
    """The rows as (time: integer, line: a triple of N-Triples)."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import IntegralType, TimestampType

    if not frame.isStreaming:
        raise UsageError("the DataFrame is not a streaming one: make it with spark.readStream")
    names = set(frame.columns)
    if "time" not in names or not ({"triple"} <= names or {"s", "p", "o"} <= names):
        raise UsageError(
            f"the DataFrame has the columns {', '.join(frame.columns)}: it needs time, and triple or s, p, o"
        )
    kind = frame.schema["time"].dataType
    if isinstance(kind, TimestampType):
        time = f.unix_millis(f.col("time"))
    elif isinstance(kind, IntegralType):
        time = f.col("time").cast("bigint")
    else:
        raise UsageError(f"the column time is of type {kind.simpleString()}: it is an integer or a timestamp")
    triple = f.rtrim(f.coalesce("triple", f.lit(""))) if "triple" in names else f.concat_ws(" ", "s", "p", "o")
    line = f.when(f.endswith(triple, f.lit(".")), triple).otherwise(f.concat(triple, f.lit(" .")))
    return frame.where("time IS NOT NULL").select(time.alias("time"), line.alias("line"))
