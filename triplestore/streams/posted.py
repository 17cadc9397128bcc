"""A stream that is given a piece at a time, by other threads: what clients of a server post."""

from __future__ import annotations

import io
import threading
from collections import deque
from collections.abc import Iterator
from typing import Final

from triplake.loaders.lines import parse_lines
from triplake.loaders.sources import Syntax
from triplake.loaders.tokens import Scope
from triplestore.model.errors import InputError
from triplestore.model.stopping import check
from triplestore.streams.source import Chunk, chunks

MOST: Final = 64 << 20
"""Bytes of pieces that wait to be read; more are not taken."""

LOOK: Final = 0.2
"""Seconds after which who waits for a piece looks whether to stop."""


class Posted:
    """The pieces that wait, the oldest first. Any thread may `put`; one reads `chunks`."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._changed = threading.Condition()

    def put(self, body: bytes, name: str) -> int | None:
        """Add lines; how many timed triples they are. None: too much waits already, and nothing was added. name: what
        errors call the piece. Raises InputError for a line that is not a timed triple: nothing was added then."""
        count = 0
        for chunk in chunks(io.BytesIO(body)):
            for error in chunk.bad.first:
                raise InputError(error.reason, name, error.line)
            parsed = parse_lines(chunk.lines, Syntax.NTRIPLES, Scope(0, anonymous=False))
            for wrong in parsed.bad:
                raise InputError(wrong.reason, name, chunk.numbers[wrong.index])
            count += len(parsed.quads)
        with self._changed:
            if self._size and self._size + len(body) > MOST:
                return None
            self._waiting.append(body)
            self._size += len(body)
            self._changed.notify()
        return count

    def chunks(self) -> Iterator[Chunk]:
        """The pieces as they come; it never ends by itself. Raises StoppedError where this thread is to stop."""
        while True:
            with self._changed:
                while not self._waiting:
                    check()
                    self._changed.wait(LOOK)
                body = self._waiting.popleft()
                self._size -= len(body)
            yield from chunks(io.BytesIO(body))
