"""Pipes: what comes from one is copied to a scratch file first, since reading means reading twice at times."""

from __future__ import annotations

import atexit
import os
import stat
import tempfile
import time
from contextlib import suppress
from typing import IO, Final

from triplake.loaders.compression import compression_of
from triplestore.engine import temporary
from triplestore.engine.disk import write_whole
from triplestore.model.errors import InputError

PATIENCE: Final = 5.0
"""Seconds for which a named pipe may be without a writer."""


_spooled: Final = set[str]()  # the scratch files that are there still


def spooled(stream: IO[bytes]) -> str:
    """Copy a stream to a scratch file that goes when the process ends, or this fails; its path, whose suffix tells the
    compression."""
    first = stream.read(4)
    handle, path = tempfile.mkstemp(prefix=temporary.prefix("pipe"), suffix=compression_of(first) or ".txt")
    _spooled.add(path)
    try:
        block = first
        while block:
            write_whole(handle, block, path)
            block = stream.read(1 << 20)
    except BaseException:  # a full disk, say
        remove(path)
        raise
    finally:
        os.close(handle)
    return path


def remove(path: str) -> None:
    """Remove a scratch file, if it is there."""
    _spooled.discard(path)
    with suppress(OSError):
        os.unlink(path)


@atexit.register
def _remove_all() -> None:
    for path in list(_spooled):
        remove(path)


def is_regular(path: str) -> bool:
    """Whether a path is that of a regular file. Raises InputError for what is neither that nor a pipe."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise InputError("this is neither a file nor a folder nor a pipe: give a file", path)
    return stat.S_ISREG(mode)


def spooled_pipe(path: str) -> str:
    """Copy what comes from a named pipe to a scratch file; its path. Raises InputError if nobody writes to the pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise InputError(f"cannot read the pipe: {error.strerror or error}", path) from error
    first, until = b"", time.monotonic() + PATIENCE
    try:
        while not first and time.monotonic() < until:
            first = os.read(handle, 1)  # nothing: no writer yet; an error: there is one, but nothing to read yet
            if not first:
                time.sleep(0.02)
        if not first:
            os.close(handle)
            raise InputError(f"nobody has written to this pipe for {PATIENCE:.0f} s: start its writer first", path)
    except BlockingIOError:
        pass
    os.set_blocking(handle, True)
    with os.fdopen(handle, "rb") as stream:
        return spooled(_Begun(first, stream))  # type: ignore[arg-type]


class _Begun:
    """A stream of which the first bytes have been read."""

    def __init__(self, first: bytes, stream: IO[bytes]) -> None:
        self._first, self._stream = first, stream

    def read(self, size: int) -> bytes:
        first, self._first = self._first, b""
        return first + self._stream.read(size - len(first))
