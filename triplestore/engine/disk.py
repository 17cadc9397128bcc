"""What the operating system refuses or fails at, in the words of engines, which wrap its message."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from errno import (
    EACCES,
    EDQUOT,
    EFBIG,
    EIO,
    EISDIR,
    EMFILE,
    ENAMETOOLONG,
    ENFILE,
    ENOMEM,
    ENOSPC,
    ENOTDIR,
    EPERM,
    EROFS,
)
from pathlib import Path
from typing import Final

from triplestore.model.errors import StorageError, TriplakeError, UsageError

DISK: Final = frozenset((ENOSPC, EDQUOT, EIO, EFBIG))
"""Errors of the disk, or of a limit of it, not of what was asked."""

REFUSED: Final = frozenset((EACCES, EPERM, EROFS, EMFILE, ENOTDIR, EISDIR, ENAMETOOLONG))
"""What the operating system refuses and the user can put right: permissions, paths, limits."""

NO_DAMAGE: Final = frozenset((EACCES, EPERM, EROFS, EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EFBIG, ENAMETOOLONG))
"""For want of what a file may not be read that is whole: of rights, of what the system has no more of, of room for the
copy of it that is read."""

_NUMBERS: Final = {os.strerror(number).lower(): number for number in sorted(DISK | {EACCES, EPERM, EROFS, EMFILE})}
_MESSAGE: Final = re.compile("|".join(map(re.escape, _NUMBERS)), re.IGNORECASE)
_FILE: Final = re.compile(r"""["']((?:file:)?[^\\"']*/[^\\"']+)\\?["']| ((?:file:)?/[^\\"':\s]+)""")


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Give an error of the operating system the file that it is about, where it has none, as those of writes. To be
    entered before the file is opened: closing it writes what is left, and fails again."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def write_whole(handle: int, block: bytes, path: str) -> None:
    """Write a block to a file that is open, whose path an error names."""
    with naming(path):
        while block:
            block = block[os.write(handle, block) :]


def check_damage(error: Exception) -> None:
    """Raise an error of reading a file that tells of no damage."""
    if isinstance(error, OSError) and error.errno in NO_DAMAGE:
        raise error


@contextmanager
def storage_errors() -> Iterator[None]:
    """Raise StorageError for an error of the operating system that is about a disk which is full or fails."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK:
            raise
        raise StorageError(told(error.strerror, error.filename)) from error


def disk_failure(message: str) -> TriplakeError | None:
    """The error to raise where an engine's message is about a disk that is full or fails (StorageError), or about a
    file that the operating system refuses (UsageError), else None."""
    found = _MESSAGE.search(message)
    if found is None:
        return None
    in_message = _FILE.search(message)
    file = in_message and (in_message[1] or in_message[2])
    return (
        StorageError(told(found[0], file))
        if _NUMBERS[found[0].lower()] in DISK
        else UsageError(refused(found[0], file))
    )


def told(what: str | None, file: str | None) -> str:
    """What to say of a disk that is full or fails."""
    return f"{file or 'a file'}: {what}; nothing was committed. Make room on the disk, or see to it, and run it again"


def refused(what: str | None, file: str | None) -> str:
    """What to say of a file that the operating system refuses to open, make or write."""
    return f"{file or 'a file'}: {what}; nothing was committed"
