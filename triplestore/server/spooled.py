"""Answers that are made before they are sent."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator

from triplestore.engine.disk import naming
from triplestore.model.errors import LimitError
from triplestore.model.stopping import check
from triplestore.model.thresholds import SIZES


def made(pieces: Iterator[str]) -> Iterator[str]:
    """Pieces, from the first on once all of them are made: kept in memory, or on disk where they are many. Raises
    LimitError where less of the disk is left than they take: so several answers cannot fill it together."""
    with tempfile.SpooledTemporaryFile(SIZES.block, "w+", encoding="utf-8", newline="") as kept:
        size = looked = 0
        for piece in pieces:
            check()
            with naming(tempfile.gettempdir()):
                kept.write(piece)
            size += len(piece)
            if size - looked > SIZES.block:
                looked = size
                if shutil.disk_usage(tempfile.gettempdir()).free < size:
                    raise LimitError(
                        "the answer is larger than what is left of the disk for temporary files, where one of this "
                        "format is made whole: ask for JSON, CSV or TSV, of triples for Turtle or N-Triples"
                    )
        with naming(tempfile.gettempdir()):
            kept.seek(0)
        while piece := kept.read(SIZES.piece):
            yield piece
