"""The standard streams of a process: those that it was started without, and encodings that lack the signs of proofs."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress
from typing import Any, Final

from triplestore.model.errors import UsageError

_ASCII: Final = {"─": "-", "│": "|", "├": "|", "└": "`", "█": "#", **dict.fromkeys("▁▂▃▄▅▆▇", ".")}

_HANDLER: Final = "triplake-ascii"


def prepare() -> None:
    """Let each standard stream be one: what is written to one that was closed goes nowhere, and reading one is wrong
    usage. Messages that nobody takes end no command. Characters that an output's encoding lacks are written as ASCII,
    or escaped as N-Triples does."""
    codecs.register_error(_HANDLER, _ascii)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        while os.open(os.devnull, os.O_RDWR) < 3:  # so that no file is opened under the number of such a stream
            pass
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(_Closed()), encoding="utf-8")
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 until the process ends
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    binary = getattr(sys.stderr, "buffer", None)  # a file itself where Python buffers nothing
    if isinstance(sys.stderr, io.TextIOWrapper) and isinstance(getattr(binary, "raw", binary), io.FileIO):
        taken = io.BufferedWriter(_Taken(sys.stderr.fileno()))
        sys.stderr = io.TextIOWrapper(taken, sys.stderr.encoding, sys.stderr.errors, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors=_HANDLER)


def _ascii(error: UnicodeError) -> tuple[str, int]:
    """For the codec of an output."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking), error.end


class _Taken(io.FileIO):
    """Standard error: what its reader, who may be gone, or a full disk does not take is lost, and the work goes on."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)

    def write(self, data: Any, /) -> int:
        """How much was taken, or is lost."""
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


class _Closed(io.RawIOBase):
    """What standard input reads where there is none."""

    def readable(self) -> bool:
        """So that it may be tried."""
        return True

    def readinto(self, buffer: object, /) -> int:
        """Raise UsageError."""
        raise UsageError("standard input is closed: name a file, or give the command an input (`< FILE`)")
