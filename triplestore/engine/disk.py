"""The disk's faults in the words of engines, which wrap the message of the operating system."""

from __future__ import annotations

import os
import re
from errno import EDQUOT, EIO, ENOSPC
from typing import Final

from triplestore.model.errors import StorageError

DISK: Final = frozenset((ENOSPC, EDQUOT, EIO))
"""Errors of the disk, not of what was asked."""

_MESSAGE: Final = re.compile("|".join(re.escape(os.strerror(number)) for number in sorted(DISK)), re.IGNORECASE)
_FILE: Final = re.compile(r"""[\\"' ]((?:file:)?/[^\\"':\s]+)""")


def disk_failure(message: str) -> StorageError | None:
    """The error to raise where an engine's message is about a disk that is full or fails, else None."""
    found = _MESSAGE.search(message)
    if found is None:
        return None
    file = _FILE.search(message)
    return StorageError(told(found[0], file[1] if file else ""))


def told(what: str | None, file: str | None) -> str:
    """What to say of a disk that is full or fails."""
    return f"{file or 'a file'}: {what}; nothing was committed. Make room on the disk, or see to it, and run it again"
