"""Compressed files: told by their suffix, unpacked as streams, and never cut short in silence."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TextIO, cast

import zstandard

from triplestore.engine.disk import storage_errors, write_whole
from triplestore.model.errors import InputError
from triplestore.objects import as_file, is_remote

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

COMPRESSIONS: Final = (".gz", ".bz2", ".zst")
"""The suffixes of compressed files."""

_MAGIC: Final = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst"}


_SKIPPED: Final = b"\x2a\x4d\x18"
"""The end of the mark of a frame of zstd that is passed over, as before its first frame."""


def compression_of(first: bytes) -> str | None:
    """The suffix that fits data by its first four bytes, None for data that is not compressed."""
    return next((suffix for magic, suffix in _MAGIC.items() if first.startswith(magic)), None)


def compression(path: str) -> str | None:
    """The suffix of the compression that a file is in by its name (one of COMPRESSIONS), None for a plain one."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix if suffix in COMPRESSIONS else None


_PACKED: Final = 1 << 10
"""Bytes of zstd unpacked at a time: each four may be 128 KiB."""


class _Zstd(io.RawIOBase):
    """The unpacked bytes of a zstd file, all its frames; EOFError if the last is cut short (zstandard keeps silent)."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        into = memoryview(buffer).cast("B")
        while not self._ready:
            packed = self._file.read(_PACKED)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the end is missing")
                return 0
            self._unpack(packed)
        size = min(len(into), len(self._ready))
        into[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _unpack(self, packed: bytes) -> None:
        pieces, self._ready = [], memoryview(b"")  # and what was read may go
        while packed:
            frame = self._frame or zstandard.ZstdDecompressor().decompressobj()
            pieces.append(frame.decompress(packed))
            packed, self._frame = (frame.unused_data, None) if frame.eof else (b"", frame)
        self._ready = memoryview(b"".join(pieces))


class ChecksumError(InputError):
    """A compressed file can be unpacked, but not to what was packed: its checksum or its length is wrong."""


_OF_SUMS: Final = ("CRC check", "Incorrect length", "checksum")
"""What the errors of gzip and zstandard say of such a file."""

Watch = Callable[[IO[bytes]], None]
"""Receives a file that is read, as it lies on the disk: its position tells how far."""


def is_object(path: str) -> bool:
    """Whether a path is the URL of an object, and not that of a file which is called so."""
    return is_remote(path) and not os.path.exists(path)


def raw(path: str) -> IO[bytes]:
    """The bytes of a file, or of an object, as they lie there."""
    return as_file(path) if is_object(path) else open(path, "rb")


@contextmanager
def opened(path: str, name: str, watch: Watch | None = None) -> Iterator[IO[bytes]]:
    """The unpacked bytes of a file, as a stream. Raises InputError where it cannot be read or unpacked."""
    try:
        _check_kind(path, name)
        with raw(path) as packed:
            if watch is not None:
                watch(packed)
            with _unpacked(packed, compression(path)) as file:
                yield file
    except (EOFError, zlib.error, zstandard.ZstdError, gzip.BadGzipFile) as error:
        kind = ChecksumError if any(words in str(error) for words in _OF_SUMS) else InputError
        raise kind(f"the compressed file is damaged ({error}): fetch or compress it again", name) from error
    except OSError as error:
        raise InputError(f"cannot read or unpack the file: {error.strerror or error}", name) from error


def _unpacked(packed: IO[bytes], suffix: str | None) -> IO[bytes]:
    """The stream of the unpacked bytes; a plain file is its own."""
    match suffix:
        case ".gz":
            return cast("IO[bytes]", gzip.open(packed))
        case ".bz2":
            return bz2.open(packed)
        case ".zst":
            return cast("IO[bytes]", io.BufferedReader(_Zstd(packed), 1 << 20))
        case _:
            return packed


def _check_kind(path: str, name: str) -> None:
    """Raise InputError where a file is plainly not compressed as its suffix says."""
    suffix = compression(path)
    if suffix is None:
        return
    with raw(path) as file:
        first = file.read(4)
    found = compression_of(first)
    if found == suffix:
        return
    if not first:
        raise InputError("the compressed file is empty: fetch or compress it again", name)
    if found:
        raise InputError(f"this seems to be a {found} file by its content: give its name that suffix", name)
    if suffix == ".gz" or not first[1:4] == _SKIPPED:
        raise InputError(f"this is not compressed, or damaged: compress it, or take {suffix} off its name", name)


@contextmanager
def open_text(path: str | Path, name: str | None = None) -> Iterator[TextIO]:
    """The unpacked text of a file. Raises InputError where it cannot be read, unpacked, or is not UTF-8."""
    name = name or str(path)
    with opened(str(path), name) as file:
        try:
            yield io.TextIOWrapper(file, "utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"the text is not UTF-8 ({error.reason})", name) from error


def unpack(path: str, name: str, folder: str, watch: Watch | None = None) -> str:
    """Unpack a compressed file into `folder`, streaming; the path of the plain file. Raises StorageError where that
    cannot be written."""
    handle, plain_path = tempfile.mkstemp(prefix="unpacked-", suffix=".txt", dir=folder)
    try:
        with opened(path, name, watch) as packed:
            while block := packed.read(1 << 20):
                with storage_errors():
                    write_whole(handle, block, plain_path)
    finally:
        os.close(handle)
    return plain_path


def is_utf8(path: str) -> bool:
    """Whether a path is text: the names of files may be any bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in path)


def linked(path: str, name: str, folder: str) -> str:
    """The path of a link in `folder` to a file, which engines take where the file's own is no text. Raises InputError
    where it cannot be read."""
    with opened(path, name):
        handle, link = tempfile.mkstemp(prefix="linked-", suffix=".txt", dir=folder)
        os.close(handle)
        os.unlink(link)
        os.symlink(os.path.abspath(path), link)
    return link
