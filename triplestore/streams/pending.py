"""Timed triples that wait for their windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplestore.engine.arrow import int64s
from triplestore.engine.sets import Ids
from triplestore.streams.times import Window


class Pending:
    """Triples by the time at which they enter a window, each with the time at which it leaves.

    resumed: the time for which the queries were answered by a run before this one: what was in the window then enters
    it then.
    """

    def __init__(self, windows: Mapping[str, Sequence[Window]], resumed: int | None = None) -> None:
        self._windows, self._resumed = windows, resumed
        self.waiting: dict[int, list[pa.Table]] = {}
        self.last = 0  # when the last of the newest chunk leaves

    def put(
        self, stream: str, times: Ids, triples: pa.Table, complete: int, lateness: int, answered: int | None
    ) -> npt.NDArray[np.bool_]:
        """Take triples of a stream in (tokens s, p, o), with their times; which of them come too late for one of their
        windows. They enter those that are still open: a window is complete for a stream when this has brought a time
        more than the lateness after it. complete: the newest time of the stream before them. answered: the newest time
        for which the queries were answered."""
        newest = np.maximum.accumulate(np.concatenate([[complete], times[:-1]])) - lateness
        late = np.zeros(len(times), dtype=np.bool_)
        self.last = answered or 0
        for window in self._windows.get(stream, ()):
            enters, leaves = window.enters(times), window.leaves(times)
            still_open = window.enters(newest)
            late |= (leaves > enters) & (enters < still_open)
            enters = np.maximum(enters, still_open)
            if self._resumed is not None:
                enters = np.maximum(enters, self._resumed)
            usable = np.flatnonzero(leaves > enters)
            self.last = max(self.last, int(leaves[usable].max(initial=0)))
            self._wait(usable[np.argsort(enters[usable], kind="stable")], enters, leaves, triples)
        return late

    def _wait(self, order: Ids, enters: Ids, leaves: Ids, triples: pa.Table) -> None:
        """Let triples wait for the times at which they enter, in whose order they are."""
        if not len(order):
            return
        table = triples.select(["s", "p", "o"]).take(pa.array(order)).append_column("e", int64s(leaves[order]))
        places, starts = np.unique(enters[order], return_index=True)
        for place, start, end in zip(places.tolist(), starts.tolist(), [*starts.tolist()[1:], len(order)], strict=True):
            self.waiting.setdefault(place, []).append(table.slice(start, end - start))

    def take(self, now: int) -> pa.Table | None:
        """The triples that enter at a time, and when each leaves (e)."""
        found = self.waiting.pop(now, None)
        return pa.concat_tables(found) if found else None
