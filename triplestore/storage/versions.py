"""Versions of a store: one small JSON file each, naming every file of every table.

A store is a folder:

    triplake.json             the format number
    _versions/0000000007.json one manifest per version
    data/<table>-<id>.parquet immutable files, named by manifests only

Publishing version n+1 is creating its manifest if absent (`link`), after every file it names is on disk. Whoever comes
second gets a `ConflictError` and has changed nothing. A crash leaves files that no manifest names; `vacuum` removes
them. A reader works with one manifest and never looks at another, so it never blocks and never sees half an update.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from triplestore.engine import WrittenFile
from triplestore.engine.disk import DISK, storage_errors
from triplestore.engine.written import sum_of
from triplestore.model.errors import ConflictError, DamagedStoreError, StorageError, TriplakeError, UsageError
from triplestore.storage import leases
from triplestore.storage.durable import put_if_absent, sync_folder, write_durably
from triplestore.storage.making import DATA, MARK, VERSIONS, Making, is_empty, making_of, remove_files
from triplestore.storage.manifest import (
    FORMAT,
    READABLE,
    Manifest,
    TableFiles,
    damaged,
    from_json,
    mark,
    to_json,
)
from triplestore.storage.retention import DEFAULT, KEEP_ALL, Retention

T = TypeVar("T")


class Versions:
    """The versions of the store at `path`: list, read, publish."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.data = self.path / DATA
        self.folder = self.path / VERSIONS
        self._making: Making | None = None
        self._hold = False  # whether what is published next is held back
        self._first: Manifest | None = None  # version 1, where it is held back
        self._stems: list[str] = []  # of the names of the files that this object has had made, and not published

    def exists(self) -> bool:
        """Whether there is a store here, of any format. One whose making was cut short before version 1 is none."""
        return self._format() is not None and not self._unfinished()

    def create(self, hold: bool = False) -> None:
        """Make the folders of an empty store, for version 1 to be published; nobody else makes one here meanwhile.

        hold: version 1 is published with the version after it (or by `settle`): a store whose first load fails, or is
        killed, is none.

        Raises UsageError where a store or other files are in the way, or the folder cannot be made; ConflictError where
        another process is at it. What a making left that was cut short is no obstacle. See `withdraw`.
        """
        if self.exists():
            if hold:  # there was none when it was decided to make one
                raise self._overtaken()
            raise UsageError(f"{self.path} is a Triplake store already; load into it, or give another folder")
        if self.path.exists() and not (self.path.is_dir() and (is_empty(self.path) or self._unfinished())):
            raise UsageError(f"{self.path} is not an empty folder; give a new or empty one for the store")
        try:
            self._making = Making(self.path, mark(DEFAULT.as_dict()))
        except OSError as error:
            if error.errno in DISK:
                raise
            raise UsageError(f"a store cannot be made at {self.path}: {error.strerror or error}") from error
        if self.numbers():
            self.withdraw()
            raise self._overtaken()
        self._hold = hold

    def _overtaken(self) -> ConflictError:
        return ConflictError(f"another process has made a store at {self.path} meanwhile; run the command again")

    def settle(self) -> None:
        """Publish version 1 where it is held back."""
        if (first := self._first) is not None:
            self._first = None
            self._publish(first)

    def withdraw(self) -> None:
        """Where a store is being made and nothing has been published yet: take away what was made, and nothing else."""
        making, self._making, self._first = self._making, None, None
        if making is not None:
            making.undo(self._stems)

    @property
    def version(self) -> int:
        """The number of the newest version, 0 without any."""
        return max(self.numbers(), default=0)

    def is_newest(self, version: int) -> bool:
        """Whether a version is the newest one, which takes no list of all of them: numbers have no gaps after it."""
        if self._first is not None:
            return version == self._first.version
        return self.file(version).exists() and not self.file(version + 1).exists()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Be known as a writer, whose files `vacuum` leaves alone. To be held from before the newest version is read,
        until the next one is published; if it fails before that, the files that were written go. Raises StorageError
        where the disk is full or fails."""
        with storage_errors(), leases.held(self.folder, self.version):
            if self._making is None:
                self._stems.clear()
            before = len(self._stems)
            try:
                yield
            except BaseException:
                if len(self._stems) > before:  # else published, or nothing was written
                    remove_files(self.data, self._stems[before:])
                raise

    def _unfinished(self) -> bool:
        """Whether a process died here, or is at work, between making the folders and publishing version 1."""
        if not self.folder.is_dir() or self.numbers() or self._format() not in READABLE:
            return False
        return making_of(self.path).exists() or not self.data.is_dir() or not any(self.data.iterdir())

    @property
    def format(self) -> int | None:
        """The store's format number, None without a store."""
        number = self._format()
        return number if isinstance(number, int) else None

    def _format(self) -> Any:
        """The store's format number, None without a store. Raises DamagedStoreError where it cannot be read."""
        return self._marked(lambda data: data["format"])

    @property
    def retention(self) -> Retention:
        """Which versions are kept. Raises DamagedStoreError where that cannot be read."""
        return self._marked(Retention.of) or KEEP_ALL

    def change_retention(self, retention: Retention) -> None:
        """Keep other versions from now on; nothing is forgotten by this."""
        self._mark(retention)

    def _marked(self, part: Callable[[Any], T]) -> T | None:
        """A part of what the mark says, None without a store."""
        mark = self.path / MARK
        try:
            return part(json.loads(mark.read_text()))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError, AttributeError, OSError, UsageError) as error:
            raise DamagedStoreError(f"{mark} cannot be read ({error}); restore it from a copy") from error

    def _mark(self, retention: Retention) -> None:
        """Write the mark again, as one of this format."""
        draft = self.folder / f".{MARK}.{uuid.uuid4().hex}"
        write_durably(draft, mark(retention.as_dict()))
        os.replace(draft, self.path / MARK)
        sync_folder(self.path)

    def check(self) -> None:
        """Raise UsageError where there is no store, DamagedStoreError where its format is another or unreadable."""
        number = self._format()
        if number is None and self.path.is_file():
            raise UsageError(f"{self.path} is a file, not a Triplake store, which is a folder")
        if number is None:
            raise UsageError(
                f"{self.path} is not a Triplake store; make one with `triplake init {self.path}` "
                f"or `triplake load {self.path} FILE...`"
            )
        if not isinstance(number, int):
            raise DamagedStoreError(f"{self.path / MARK} holds no format number; restore it from a copy")
        if number > FORMAT:
            raise DamagedStoreError(
                f"{self.path} is of store format {number}, this program reads up to {FORMAT}; install a newer Triplake"
            )
        if number not in READABLE:
            raise DamagedStoreError(
                f"{self.path} is of store format {number}, this program reads from {READABLE[0]} on; export its "
                "asserted triples with the Triplake that made it (`triplake export --what asserted`), and load those"
            )

    def numbers(self) -> list[int]:
        """The versions that can be read, ascending."""
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdigit())

    def read(self, version: int | None = None) -> Manifest:
        """The manifest of a version (default: the newest). Raises UsageError for an unknown one."""
        if self._first is not None and version in (None, self._first.version):
            return self._first
        if version is not None and self.file(version).exists():
            return self.manifest(version)
        numbers = self.numbers()
        if not numbers:
            raise self._none()
        if version is not None:
            raise UsageError(f"{self.path} has no version {version}; it has {_ranges(numbers)}")
        return self.manifest(numbers[-1])

    def manifest(self, version: int) -> Manifest:
        """The manifest of a version that there is. Raises DamagedStoreError where it cannot be read."""
        file = self.file(version)
        try:
            return from_json(json.loads(file.read_text()))
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise DamagedStoreError(
                f"{file} cannot be read ({error}); restore it from a copy, read an older version with --at, or go back "
                f"to one with `triplake restore {self.path} --to VERSION`"
            ) from error

    def _none(self) -> TriplakeError:
        """Why there is no version."""
        at_it = making_of(self.path)
        if at_it.exists() and leases.living(at_it, leases.now(self.folder)):
            return UsageError(f"{self.path} is being made by another process; wait until it is done")
        return DamagedStoreError(
            f"{self.path} holds no version. If its making was interrupted, make it again with `triplake init` or "
            f"`triplake load`; if {VERSIONS} was lost, restore it from a copy"
        )

    def publish(self, manifest: Manifest) -> Manifest:
        """Make `manifest` the newest version, if nobody has taken its number. Raises ConflictError if so, and where
        files that it names are gone; nothing is published then."""
        if self._hold:
            self._hold, self._first = False, manifest
            return manifest
        self.settle()
        return self._publish(manifest)

    def _publish(self, manifest: Manifest) -> Manifest:
        manifest = replace(manifest, created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        self._upgrade()
        manifest = self._summed(manifest)
        target = self.file(manifest.version)
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        sync_folder(self.data)
        write_durably(draft, json.dumps(to_json(manifest), indent=1))
        stems = self._stems
        try:
            self._check_there(manifest)
            self._stems = []  # from here on they may be part of a version
            put_if_absent(draft, target, _claimed)
        except ConflictError:
            self._stems = stems
            raise
        except FileExistsError as error:
            self._stems = stems
            raise ConflictError(
                f"another writer published version {manifest.version} of {self.path} first; "
                "nothing was changed, run the command again"
            ) from error
        finally:
            draft.unlink(missing_ok=True)
        if self._making is not None:
            self._making.done()
            self._making = None
        try:
            sync_folder(self.folder)
        except OSError as error:
            raise StorageError(
                f"version {manifest.version} of {self.path} is published, but {error.strerror or error}: the disk does "
                "not say that it would outlive a crash of the machine; see to the disk, and do not run this again"
            ) from error
        return manifest

    def adopt(self, number: int, text: str) -> None:
        """Publish a version as it is in another store, the files of which are here. One that cannot be read is
        replaced. Raises ConflictError where there is another."""
        target = self.file(number)
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        write_durably(draft, text)
        try:
            put_if_absent(draft, target, _claimed)
        except FileExistsError as error:
            if self._readable(number):
                raise ConflictError(f"another writer published version {number} of {self.path} first") from error
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
        if self._making is not None:
            self._making.done()
            self._making = None
        sync_folder(self.folder)

    def _readable(self, number: int) -> bool:
        try:
            self.manifest(number)
        except DamagedStoreError:
            return False
        return True

    def adopt_mark(self, other: Versions) -> None:
        """Let the mark say what that of another store does, which this is a copy of."""
        try:
            same = (self._format(), self._marked(Retention.of)) == (other.format, other.retention)
        except DamagedStoreError:
            same = False
        if not same:
            self._mark(other.retention)

    def took(self, stem: str) -> None:
        """Take away a file with this name, too, where a store that is being made is withdrawn."""
        self._stems.append(stem)

    def _upgrade(self) -> None:
        """Let the mark of a store of an older format say that it is of this one: older programs refuse it then."""
        if self._format() not in (None, FORMAT):
            self._mark(self.retention)

    def _summed(self, manifest: Manifest) -> Manifest:
        """A version with a checksum of each file, also of those that were written without."""

        def summed(files: tuple[WrittenFile, ...]) -> tuple[WrittenFile, ...]:
            return tuple(map(one, files))

        def one(file: WrittenFile) -> WrittenFile:
            sha256 = file.sha256 or sum_of(self.data / file.path)
            return replace(file, sha256=sha256, turned=None if file.turned is None else one(file.turned))

        if all(f.sha256 for _, f in manifest.named):
            return manifest
        self._check_there(manifest)
        tables = {name: TableFiles(summed(t.files), summed(t.tombstones)) for name, t in manifest.tables.items()}
        return replace(manifest, tables=tables)

    def _check_there(self, manifest: Manifest) -> None:
        """Raise ConflictError where a file that a version to be published names is not there."""
        try:
            self.verify(manifest)
        except DamagedStoreError as error:
            raise ConflictError(
                f"{str(error).partition(';')[0]}: another process removed it, or its disk lost it, before it could be "
                "published; nothing was changed, run the command again"
            ) from error

    def new_stem(self, table: str) -> str:
        """A fresh file name (without suffix) for a data file."""
        stem = f"{table}-{uuid.uuid4().hex[:16]}"
        self._stems.append(stem)
        return stem

    def verify(self, manifest: Manifest) -> None:
        """Raise DamagedStoreError where a file that the version names is missing or of another size."""
        for name, f in manifest.named:
            path = self.data / f.path
            try:
                size = path.stat().st_size
            except OSError:
                size = -1
            if size != f.bytes:
                what = "is missing" if size < 0 else f"has {size} bytes instead of {f.bytes}"
                raise damaged(path, name, manifest, what)

    def check_kept(self, manifest: Manifest) -> None:
        """Raise UsageError where a version that was read has been forgotten since."""
        if manifest is not self._first and self.folder.is_dir() and not self.file(manifest.version).exists():
            raise UsageError(
                f"version {manifest.version} of {self.path} has been forgotten by `triplake vacuum` while it was "
                "open: open the store again"
            )

    def file(self, version: int) -> Path:
        """Where the manifest of a version is, or would be."""
        return self.folder / f"{version:010d}.json"


def _claimed(path: Path) -> Callable[[], None] | None:
    """For `put_if_absent`."""
    lease = leases.take(path)
    return None if lease is None else lease.end


def _ranges(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
