"""Making a store's folders, by one process at a time, so that what was made can be taken away again.

Whoever makes a store holds the lease `_versions/.making` until version 1 is published. A making that was killed leaves
its lease, which is dead then: so another may take up what it left. Files of data without a version and without that
lease are something else: a store that has lost its versions.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from triplestore.model.errors import ConflictError
from triplestore.storage import leases
from triplestore.storage.durable import sync_folder, write_durably

MARK: Final = "triplake.json"
VERSIONS: Final = "_versions"
DATA: Final = "data"


def making_of(path: Path) -> Path:
    """The lease of whoever makes the store at a path."""
    return path / VERSIONS / ".making"


class Making:
    """The folders of a store without a version, with its mark (the text given), and the right to publish version 1.

    Raises ConflictError where another process has that, OSError.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self._path, self._made, self._marked = path, list[Path](), False
        try:
            self._lease = self._taken()
        except OSError:
            self._remove_folders()
            raise
        try:
            self._folder(path / DATA)
            if not (path / MARK).exists():
                self._marked = True
                draft = path / VERSIONS / f".{MARK}.{uuid.uuid4().hex}"
                write_durably(draft, mark)
                os.replace(draft, path / MARK)
            for folder in {path, *(made.parent for made in self._made)}:
                sync_folder(folder)
        except BaseException:
            self.undo(())
            raise

    def _taken(self) -> leases.Lease:
        """The lease, with the folders that it needs."""
        for _ in range(100):
            missing = [self._path]
            while not missing[-1].parent.exists():
                missing.append(missing[-1].parent)
            for folder in (*reversed(missing), self._path / VERSIONS):
                self._folder(folder)
            try:
                lease = leases.take(making_of(self._path))
            except FileNotFoundError:  # whoever was here before us is taking its folders away
                continue
            if lease is not None:
                return lease
            break
        raise ConflictError(
            f"another process is making a store at {self._path}; wait until it is done, then run the command again"
        )

    def _folder(self, folder: Path) -> None:
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():
                raise
        except FileNotFoundError:  # as above
            return
        else:
            if folder not in self._made:
                self._made.append(folder)

    def done(self) -> None:
        """The store is made."""
        self._lease.end()

    def undo(self, stems: Sequence[str]) -> None:
        """Take away what was made: files of data whose names hold one of `stems`, the mark, the folders. Nothing that
        was there before goes, nor what another process has written."""
        data = self._path / DATA
        remove_files(data, stems)
        if self._marked:
            with suppress(OSError):
                (self._path / MARK).unlink(missing_ok=True)
        if data in self._made:
            with suppress(OSError):
                data.rmdir()  # as long as nobody else may make one
        self._lease.end()
        self._remove_folders()

    def _remove_folders(self) -> None:
        """Remove the folders that were made, but that of data, and are empty: in others another process is at work."""
        for folder in reversed([made for made in self._made if made != self._path / DATA]):
            with suppress(OSError):
                folder.rmdir()


def remove_files(data: Path, stems: Sequence[str]) -> None:
    """Remove the files of a folder, or folders of them, whose names hold one of `stems`, which nobody else gives."""
    for file in list(data.iterdir()) if stems and data.is_dir() else ():
        if any(stem in file.name for stem in stems):
            if file.is_dir():
                shutil.rmtree(file, ignore_errors=True)
            else:
                with suppress(OSError):
                    file.unlink(missing_ok=True)


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing, or no more than a store's folders with nothing but drafts in them."""
    return all(
        entry.name in (VERSIONS, DATA) and entry.is_dir() and all(f.name.startswith(".") for f in entry.iterdir())
        for entry in folder.iterdir()
    )
