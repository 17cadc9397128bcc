"""The disk's faults in the words of engines, which wrap the message of the operating system."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from pathlib import Path
from typing import Final

from triplestore.model.errors import StorageError

DISK: Final = frozenset((ENOSPC, EDQUOT, EFBIG, EIO))
"""Errors of the disk, not of what was asked."""

_MESSAGE: Final = re.compile("|".join(re.escape(os.strerror(number)) for number in sorted(DISK)), re.IGNORECASE)
_FILE: Final = re.compile(r"""["']((?:file:)?[^\\"']*/[^\\"']+)\\?["']| ((?:file:)?/[^\\"':\s]+)""")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an error of the operating system the file that it is about, where it has none, as those of writes."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise StorageError for an error of the operating system that is about a disk which is full or fails."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK:
            raise
        raise StorageError(told(error.strerror, error.filename)) from error


def disk_failure(message: str) -> StorageError | None:
    """The error to raise where an engine's message is about a disk that is full or fails, else None."""
    found = _MESSAGE.search(message)
    if found is None:
        return None
    file = _FILE.search(message)
    return StorageError(told(found[0], file and (file[1] or file[2])))


def told(what: str | None, file: str | None) -> str:
    """What to say of a disk that is full or fails."""
    return f"{file or 'a file'}: {what}; nothing was committed. Make room on the disk, or see to it, and run it again"
