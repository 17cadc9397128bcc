"""Files of object stores on this machine: those used last, up to a number of bytes, by their checksums.

A store that is open has a folder of its own beside them, with links to those that it reads: what it has stays, whatever
is taken out of the cache meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import uuid
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from triplestore.engine import WrittenFile
from triplestore.engine.disk import DISK, naming
from triplestore.model.errors import DamagedStoreError, UsageError
from triplestore.storage import leases
from triplestore.storage.folder import Folder
from triplestore.storage.place import DATA

FOLDER: Final = "TRIPLAKE_CACHE"
"""The variable of the environment that names the folder of the cache."""

LIMIT: Final = "TRIPLAKE_CACHE_SIZE"
"""That which bounds it."""

BYTES: Final = 10 << 30
"""The bytes that are kept where the environment says nothing."""

_YOUNG: Final = 60.0
"""Seconds in which the folder of a store that is opened gets its lease."""

_LEASE: Final = ".lease"
_UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class Cache:
    """The cache of this machine. Several processes use it at once."""

    def __init__(self) -> None:
        self.folder = Path(os.environ.get(FOLDER) or _home() / "triplake")
        self.limit = limit_of(os.environ.get(LIMIT, ""))
        self._files, self._open = self.folder / "files", self.folder / "open"
        self._added: int | None = None  # bytes since it was looked whether they are too many; None: not yet

    def opened(self, owner: object) -> Path:
        """A new folder for files of data, which is there as long as its owner."""
        folder = self._open / uuid.uuid4().hex / DATA
        try:
            self._tidy()
            self.make(folder, owner)
        except OSError as error:
            if error.errno in DISK:
                raise
            raise UsageError(
                f"the folder of the cache, {self.folder}, cannot be made ({error.strerror}): name another by {FOLDER}"
            ) from error
        return folder

    def make(self, data: Path, owner: object) -> None:
        """Make such a folder, also again where somebody has removed it."""
        data.mkdir(parents=True, exist_ok=True)
        lease = leases.take(Folder(data.parent), _LEASE)
        weakref.finalize(owner, _closed, data.parent, lease, os.getpid())

    def _tidy(self) -> None:
        """Remove the folders of processes that died."""
        self._open.mkdir(parents=True, exist_ok=True)
        probe = self._open / f".now.{uuid.uuid4().hex}"
        probe.touch()
        now = probe.stat().st_mtime
        probe.unlink()
        for folder in self._open.iterdir():
            with suppress(OSError):
                if now - folder.stat().st_mtime > _YOUNG and not leases.living(Folder(folder), _LEASE, now):
                    shutil.rmtree(folder, ignore_errors=True)

    def find(self, file: WrittenFile) -> Path | None:
        """A file of this content, if it is here."""
        path = self._path(file)
        with suppress(OSError):
            if path.stat().st_size == file.bytes:
                os.utime(path)
                return path
        return None

    def link(self, file: WrittenFile, to: Path) -> bool:
        """Let a path be a file of this content, if it is here."""
        path = self.find(file)
        if path is None:
            return False
        try:
            with suppress(FileExistsError):  # another thread was first
                _linked(path, to)
        except FileNotFoundError:  # it has been taken out meanwhile
            return False
        return True

    def bring(self, file: WrittenFile, blocks: Iterable[bytes], shown: str, to: Path) -> None:
        """Let a path be a file with these bytes, and keep it. Raises DamagedStoreError, with the name that is shown,
        where it is not what was written."""
        draft = to.with_name(f".{to.name}.{uuid.uuid4().hex}")
        digest, size = hashlib.sha256(), 0
        try:
            with naming(draft), open(draft, "xb") as target:
                for block in blocks:
                    target.write(block)
                    digest.update(block)
                    size += len(block)
            if size != file.bytes:
                raise DamagedStoreError(f"{shown} has {size} bytes instead of {file.bytes}")
            if file.sha256 and digest.hexdigest() != file.sha256:
                raise DamagedStoreError(f"{shown} is not what was written (its checksum differs)")
            os.replace(draft, to)
        finally:
            draft.unlink(missing_ok=True)
        self.add(file, to)

    def add(self, file: WrittenFile, path: Path) -> None:
        """Keep a file that is here."""
        if not file.sha256 or file.bytes > self.limit:
            return
        kept = self._path(file)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            _linked(path, kept)
        if self._added is None or self._added + file.bytes > self.limit // 16:
            self._trim()
            self._added = 0
        self._added += file.bytes

    def drop(self, file: WrittenFile) -> None:
        """Keep a file no more."""
        self._path(file).unlink(missing_ok=True)

    def _path(self, file: WrittenFile) -> Path:
        return self._files / file.sha256[:2] / (file.sha256 or "-")

    def _trim(self) -> None:
        """Take out what was used longest ago, where there is too much."""
        found = []
        for path in self._files.glob("*/*"):
            with suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
        over = sum(size for _, size, _ in found) - self.limit
        for _, size, path in sorted(found):
            if over <= 0:
                return
            path.unlink(missing_ok=True)
            over -= size


def _home() -> Path:
    """The folder of the caches of this user. Raises UsageError where the system knows of none."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:
        raise UsageError(f"this user has no home folder; name one for the cache by {FOLDER}") from error


def limit_of(text: str) -> int:
    """The bytes that a text means: `500MB`, `20GB`; nothing: `BYTES`. Raises UsageError."""
    if not text:
        return BYTES
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise UsageError(f"{LIMIT} is '{text}': give a number of bytes, such as 500MB or 20GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _linked(path: Path, to: Path) -> None:
    """Let two paths be one file; where there are no links, or on another disk, a copy."""
    try:
        os.link(path, to)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:
        draft = to.with_name(f".{to.name}.{uuid.uuid4().hex}")
        with naming(draft), open(path, "rb") as source, open(draft, "wb") as target:
            shutil.copyfileobj(source, target)
        os.replace(draft, to)


def _closed(folder: Path, lease: leases.Lease | None, process: int) -> None:
    if os.getpid() != process:  # one that was forked from it ends
        return
    if lease is not None:
        lease.end()
    shutil.rmtree(folder, ignore_errors=True)
