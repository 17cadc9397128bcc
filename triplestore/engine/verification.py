"""Comparing the bytes of stored files with their checksums when a process first reads them.

A file is compared once per process, whole or block by block. It is known by its device, inode, size, times of change
and expected checksum, so a file that is replaced or rewritten is compared again.
"""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from pathlib import Path
from typing import Any, Final

import numpy as np

from triplestore.engine.protocol import Blocks, WrittenFile
from triplestore.engine.thresholds import THRESHOLDS
from triplestore.model.thresholds import SIZES

BLOCK: Final = 64 << 10
"""Bytes of a block that has a checksum of its own."""

MOST_BLOCKS: Final = 4096
"""Blocks of a file; larger files have larger blocks, so that manifests stay small."""

CHANGED: Final = "is not what was written (its checksum differs)"


class AlteredError(OSError):
    """A file, or a block of it, is not what was written."""


def is_large(file: WrittenFile) -> bool:
    """Whether a file is so large that only the blocks are compared that are read."""
    return file.blocks is not None and file.bytes > THRESHOLDS.whole


class Digest:
    """Takes the checksums of a file of `size` bytes as it is read from its start."""

    def __init__(self, size: int) -> None:
        self._sha256, self._block = hashlib.sha256(), block_size(size)
        self._crcs: list[int] | None = [] if size >= SIZES.block else None
        self._crc = self._filled = 0

    def update(self, data: bytes) -> None:
        """Take the next bytes."""
        self._sha256.update(data)
        if self._crcs is None:
            return
        view, at = memoryview(data), 0
        while at < len(view):
            part = view[at : at + self._block - self._filled]
            self._crc = zlib.crc32(part, self._crc)
            self._filled += len(part)
            at += len(part)
            if self._filled == self._block:
                self._end(self._crcs)

    def _end(self, crcs: list[int]) -> None:
        crcs.append(self._crc)
        self._crc = self._filled = 0

    @property
    def sha256(self) -> str:
        """The SHA-256 of all bytes, in hexadecimal digits."""
        return self._sha256.hexdigest()

    def blocks(self) -> Blocks | None:
        """The checksums of the blocks, once all bytes were taken; None for a small file."""
        if self._crcs is None:
            return None
        if self._filled:
            self._end(self._crcs)
        return encoded(self._block, self._crcs)


def block_size(size: int) -> int:
    """Bytes of each block of a file of `size` bytes."""
    block = BLOCK
    while size > block * MOST_BLOCKS:
        block *= 2
    return block


def encoded(block: int, crcs: list[int]) -> Blocks:
    """The CRC-32 of each block as a manifest has them."""
    return Blocks(block, base64.b64encode(np.array(crcs, dtype="<u4").tobytes()).decode("ascii"))


def _decoded(file: WrittenFile, blocks: Blocks) -> list[int]:
    crcs: list[int] = np.frombuffer(base64.b64decode(blocks.crc32, validate=True), dtype="<u4").tolist()
    if blocks.size <= 0 or len(crcs) != -(-file.bytes // blocks.size):
        raise AlteredError(f"{file.path}: the manifest has the checksums of {len(crcs)} blocks, not of all")
    return crcs


class _Known:
    """Which blocks of which files this process has compared: for each file a byte for each block, not 0 once it was
    found to be what was written. A file without checksums of blocks is one block."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[object, ...], bytearray] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, stat: os.stat_result, file: WrittenFile) -> bytearray:
        """The blocks of a file, to be read and marked."""
        key = stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, file.sha256
        with self._lock:
            found = self._files.get(key)
            if found is None:
                count = 1 if file.blocks is None else -(-file.bytes // file.blocks.size)
                found = self._files[key] = bytearray(count)
                if len(self._files) > SIZES.remembered:
                    self._files.popitem(last=False)
            else:
                self._files.move_to_end(key)
            return found


_known = _Known()


def compare(path: str | Path, file: WrittenFile) -> None:
    """Compare a file with its checksums, unless this process has done so. One without checksums is taken as it is.

    Raises AlteredError where it is not what was written, OSError where it cannot be read."""
    if not file.sha256:
        return
    with open(path, "rb", buffering=0) as opened:
        stat = os.fstat(opened.fileno())
        if stat.st_size != file.bytes:
            raise AlteredError(f"{path} has {stat.st_size} bytes instead of {file.bytes}")
        known = _known.of(stat, file)
        if 0 not in known:
            return
        if file.blocks is None:
            if hashlib.file_digest(opened, "sha256").hexdigest() != file.sha256:
                raise AlteredError(f"{path} {CHANGED}")
            known[0] = 1
            return
        reader = _Reader(path, file, _part_of(opened), known)
        step = max(SIZES.block // file.blocks.size, 1)
        for first in range(0, len(known), step):
            reader.check(first, min(first + step, len(known)))


def remember(file: WrittenFile, stat: os.stat_result) -> None:
    """Take a file that this process has just written and read back for compared."""
    known = _known.of(stat, file)
    known[:] = b"\1" * len(known)


def opened_by_block(path: Path, file: WrittenFile) -> CheckedFile:
    """A file with checksums of its blocks, of which each block is compared before any of it is handed out."""
    source = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with what is returned
    stat = os.fstat(source.fileno())
    if stat.st_size != file.bytes:
        source.close()
        raise AlteredError(f"{path} has {stat.st_size} bytes instead of {file.bytes}")
    return CheckedFile(path, file, _part_of(source), _known.of(stat, file), source.close)


def opened_here(path: Path, file: WrittenFile) -> Path | CheckedFile:
    """A file of which parts are to be read: without checksums of its blocks its path, once it was compared whole."""
    if file.blocks is not None:
        return opened_by_block(path, file)
    compare(path, file)
    return path


def _part_of(source: Any) -> Callable[[int, int], bytes]:
    lock = threading.Lock()

    def part(start: int, length: int) -> bytes:
        with lock:
            source.seek(start)
            found: bytes = source.read(length)
            while len(found) < length and (more := source.read(length - len(found))):
                found += more
        return found

    return part


class _Reader:
    """Reads parts of a file, comparing each block that was not compared before. part: (start, length) -> bytes."""

    def __init__(
        self, path: str | Path, file: WrittenFile, part: Callable[[int, int], bytes], known: bytearray
    ) -> None:
        assert file.blocks is not None
        self._path, self._size, self._block, self._part, self._known = path, file.bytes, file.blocks.size, part, known
        self._crcs = _decoded(file, file.blocks)

    def check(self, first: int, end: int) -> bytes:
        """The bytes of blocks `first` to `end` - 1. Raises AlteredError."""
        block, start = self._block, first * self._block
        found = self._part(start, min(end * block, self._size) - start)
        view = memoryview(found)
        for number in range(first, end):
            at = (number - first) * block
            if not self._known[number]:
                if zlib.crc32(view[at : at + block]) != self._crcs[number]:
                    raise AlteredError(f"{self._path} {CHANGED}")
                self._known[number] = 1
        return found

    def read(self, start: int, stop: int) -> bytes:
        """Some bytes. Raises AlteredError."""
        first, end = start // self._block, -(-stop // self._block)
        if 0 not in self._known[first:end]:
            found = self._part(start, stop - start)
            if len(found) != stop - start:
                raise AlteredError(f"{self._path} {CHANGED}")
            return found
        return self.check(first, end)[start - first * self._block : stop - first * self._block]


class CheckedFile(RawIOBase):
    """See `opened_by_block`. Several threads may read it, each at a position of its own: DuckDB shares one among its
    threads, which seek and read by separate calls."""

    def __init__(
        self,
        path: str | Path,
        file: WrittenFile,
        part: Callable[[int, int], bytes],
        known: bytearray | None = None,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        blocks = 0 if file.blocks is None else -(-file.bytes // file.blocks.size)
        self._reader = _Reader(path, file, part, bytearray(blocks) if known is None else known)
        self._size, self._closed = file.bytes, closed
        self._at: dict[int, int] = {}  # by thread

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at.get(threading.get_ident(), 0)

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        place = offset + {SEEK_SET: 0, SEEK_CUR: self.tell(), SEEK_END: self._size}[whence]
        self._at[threading.get_ident()] = place
        return place

    def read(self, size: int | None = -1) -> bytes:
        at = self.tell()
        stop = self._size if size is None or size < 0 else min(at + size, self._size)
        if stop <= at:
            return b""
        found = self._reader.read(at, stop)
        self._at[threading.get_ident()] = stop
        return found

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._closed()
        super().close()
