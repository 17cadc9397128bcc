"""What an engine does with a file that it has written: has it on disk, and takes its checksum."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from triplestore.engine.disk import naming
from triplestore.engine.protocol import WrittenFile

BATCH: Final = 100_000
"""Rows of a batch of an answer that is streamed, at most."""


def finished(path: Path, rows: int, name: str = "") -> WrittenFile:
    """A file that has been written, on disk on return. It is read once for its sum, from the system's cache. name: by
    which it will be known, where it is to be renamed."""
    with naming(path), open(path, "r+b") as file:  # not every platform syncs what is open to be read
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return WrittenFile(name or path.name, rows, file.tell(), digest)


def sum_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
