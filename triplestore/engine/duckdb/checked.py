"""Large files as DuckDB reads them: each block is compared with its checksum when it is first read.

DuckDB reads through a file system of fsspec's, which is imported where there is a large file: that takes as long as
comparing 100 MB.
"""

from __future__ import annotations

import itertools
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import duckdb

from triplestore.engine.protocol import StoredFile
from triplestore.engine.verification import CheckedFile, opened_by_block

SCHEME: Final = "triplake"
"""How the paths of such files begin in SQL, before `://`."""


class CheckedFiles:
    """The large files that a database reads. raw: a connection of it."""

    def __init__(self, raw: duckdb.DuckDBPyConnection) -> None:
        self._raw = raw
        self._paths: dict[tuple[str, str], str] = {}
        self._files: dict[str, StoredFile] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def path(self, file: StoredFile) -> str:
        """The path by which statements read a file."""
        with self._lock:
            if not self._files:
                self._raw.register_filesystem(_file_system(self._files))
            key = file.path, file.written.sha256
            if key not in self._paths:
                self._paths[key] = path = f"{SCHEME}://{next(self._numbers)}"
                self._files[path] = file
            return self._paths[key]


def _file_system(files: dict[str, StoredFile]) -> Any:
    """What DuckDB asks for files by the paths that are given."""
    from fsspec import AbstractFileSystem

    class FileSystem(AbstractFileSystem):  # type: ignore[misc]
        protocol = SCHEME
        cachable = False

        def open(self, path: str, mode: str = "rb", **options: object) -> CheckedFile:
            file = files[path]
            return opened_by_block(Path(file.path), file.written)

        def glob(self, path: str, **options: object) -> list[str]:
            return [path]

        def exists(self, path: str, **options: object) -> bool:
            return path in files and os.path.exists(files[path].path)

        def info(self, path: str, **options: object) -> dict[str, object]:
            return {"name": path, "size": files[path].written.bytes, "type": "file"}

        def modified(self, path: str) -> datetime:
            return datetime.fromtimestamp(os.stat(files[path].path).st_mtime, UTC)

    return FileSystem()
