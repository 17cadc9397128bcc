"""Answers that are made before they are sent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Final

from triplestore.model.stopping import check

BUFFER: Final = 1 << 16
"""Characters that are gathered before they are sent; an answer that is smaller is sent whole, with its length."""

_SPOOLED: Final = 1 << 22
"""Characters of an answer that is made before it is sent, from which it is kept on disk."""


def made(pieces: Iterator[str]) -> Iterator[str]:
    """Pieces, from the first on once all of them are made: kept in memory, or on disk where they are many."""
    with tempfile.SpooledTemporaryFile(_SPOOLED, "w+", encoding="utf-8", newline="") as kept:
        for piece in pieces:
            check()
            kept.write(piece)
        kept.seek(0)
        while piece := kept.read(BUFFER):
            yield piece
