"""Timed triples that wait for their windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from triplestore.streams.source import Chunk
from triplestore.streams.times import Window


class Pending:
    """Lines by the time at which they enter a window, each with the time at which it leaves.

    resumed: the time for which the queries were answered by a run before this one: what was in the window then enters
    it then.
    """

    def __init__(self, windows: Mapping[str, Sequence[Window]], resumed: int | None = None) -> None:
        self._windows, self._resumed = windows, resumed
        self.waiting: dict[int, list[tuple[str, Sequence[bytes], list[int]]]] = {}
        self.last = 0  # when the last of the newest chunk leaves

    def put(self, stream: str, chunk: Chunk, complete: int, lateness: int, answered: int | None) -> int:
        """Take a chunk of a stream in; how much of it is too late for a window. complete: the newest time of the
        stream before it. answered: the newest time for which the queries were answered."""
        times = np.array(chunk.times, dtype=np.int64)
        newest = np.maximum.accumulate(np.concatenate([[complete], times[:-1]])) - lateness
        late = np.zeros(len(times), dtype=np.bool_)
        self.last = answered or 0
        for window in self._windows.get(stream, ()):
            enters, leaves = window.enters(times), window.leaves(times)
            usable = leaves > enters
            missed = usable & (enters < newest)
            if self._resumed is not None:
                again = usable & ~missed & (enters <= self._resumed) & (leaves > self._resumed)
                usable &= again | (enters > self._resumed)
                enters = np.where(again, self._resumed, enters)
            if answered is not None:
                missed |= usable & (enters <= answered)
            late |= missed
            usable &= ~missed
            self.last = max(self.last, int(leaves[usable].max(initial=0)))
            for place in np.unique(enters[usable]).tolist():
                chosen = np.flatnonzero(usable & (enters == place))
                lines = chunk.lines if len(chosen) == len(times) else [chunk.lines[i] for i in chosen.tolist()]
                self.waiting.setdefault(place, []).append((stream, lines, leaves[chosen].tolist()))
        return int(late.sum())

    def take(self, now: int) -> dict[str, tuple[list[bytes], list[int]]]:
        """The lines of each stream that enter at a time, and when each leaves."""
        found: dict[str, tuple[list[bytes], list[int]]] = {}
        for stream, some, leave in self.waiting.pop(now, ()):
            lines, ends = found.setdefault(stream, ([], []))
            lines += some
            ends += leave
        return found
