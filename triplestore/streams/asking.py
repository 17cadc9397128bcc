"""What a store offers of streams: its methods that ask continuous queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplestore.engine.select import make_engine
from triplestore.read.version import StoreVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from triplestore.streams.answers import Answer
    from triplestore.streams.registration import StreamQuery
    from triplestore.streams.run import StreamRun
    from triplestore.streams.structured import StructuredStream


class StreamedStore(StoreVersion):
    """A store, as the background of streams."""

    def stream(
        self,
        source: Any,
        query: str | StreamQuery | Sequence[str | StreamQuery],
        width: str | None = None,
        step: str | None = None,
        operator: str | None = None,
        **options: Any,
    ) -> StreamRun:
        """Ask continuous queries of a stream of timed triples, with this version as the background; nothing is written.

            for answer in store.stream("sensors.nt", "SELECT ?x FROM STREAM <s> [RANGE 5m STEP 1m] { ?x a :Warm }"):
                print(answer.time, answer.rows)

        source: a path, "-", a file open as bytes, an iterable of (time, triple), or a dictionary of these by the
        names of streams. query: texts (`triplestore.streams.registration`); width, step: of the window where they name
        none ("5m"). operator: "rstream", "istream", "dstream". options: algorithm ("imars", "dred", "naive", "auto");
        lateness, how long windows wait for what is out of order ("10s"); on_error, "skip" or "stop" at lines that
        cannot be read; follow, to wait for more at the end of a file or folder; pace, units of the stream's time a
        second, to replay it at; checkpoint, a folder from which a run can be taken up. Rows of answers are tokens,
        `bindings` makes terms of them. Raises UsageError, InputError.
        """
        from triplestore.streams.run import StreamRun, queries_of  # when asked for: other commands start without it

        with self._turns.turn():
            self._session.readable()
            own = self._session.engine
            engine = partial(make_engine, own.name, getattr(own, "spark", None), memory_limit=f"{own.memory()} B")
            queries = queries_of(query, width, step, operator, self._session.manifest.prefixes.known)
            return StreamRun(self._session, source, queries, engine, **options)

    def stream_dataframe(
        self,
        frame: DataFrame,
        query: str | StreamQuery | Sequence[str | StreamQuery],
        answers: Callable[[Answer], None] | str | Path,
        checkpoint: str | Path,
        **options: Any,
    ) -> StructuredStream:
        """As `stream`, of a streaming DataFrame (`triplestore.streams.structured`). options: also trigger, Spark's."""
        from triplestore.streams.run import queries_of
        from triplestore.streams.structured import StructuredStream

        width, step, operator = (options.pop(name, None) for name in ("width", "step", "operator"))
        with self._turns.turn():
            self._session.readable()
            queries = queries_of(query, width, step, operator, self._session.manifest.prefixes.known)
            engine = partial(make_engine, "spark", frame.sparkSession)
            return StructuredStream(self._session, frame, queries, engine, answers, checkpoint, **options)
