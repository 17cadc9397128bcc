"""What is asked of an object store: whole objects, their names and sizes, ranges of their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Entry(NamedTuple):
    """A file, or a folder with all that is in it. modified: in seconds since 1970, by the clock of the place."""

    name: str
    bytes: int
    modified: float


class Objects(Protocol):
    """The objects below a URL, by their names. Every method raises FileNotFoundError, FileExistsError, PermissionError,
    or StorageError where the other side does not answer or refuses."""

    def get(self, name: str) -> bytes:
        """An object."""

    def blocks(self, name: str) -> Iterator[bytes]:
        """An object, in parts."""

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of an object, which has them."""

    def put(self, name: str, content: bytes | Path, absent: bool = False) -> None:
        """Make an object, seen by all or by none, in place of what was there. absent: only if there is none."""

    def delete(self, name: str) -> None:
        """Remove an object (or a folder, where there are such things), if it is there."""

    def head(self, name: str) -> Entry:
        """Of an object."""

    def listed(self, folder: str) -> Iterator[Entry]:
        """The objects whose names begin with those of a folder ("": all), also of folders in it."""

    def sweep(self) -> None:
        """Remove folders, where there are such things and nothing is in them."""


class Ranges(RawIOBase):
    """An object that is read by ranges of its bytes, as a file."""

    def __init__(self, objects: Objects, name: str, size: int) -> None:
        self._objects, self._name, self._size, self._at = objects, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._at = offset + {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        length = self._size - self._at if size is None or size < 0 else min(size, self._size - self._at)
        if length <= 0:
            return b""
        found = self._objects.part(self._name, self._at, length)
        self._at += len(found)
        return found

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)
