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
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from triplestore.engine.disk import DISK, check_damage, storage_errors
from triplestore.engine.written import sum_of
from triplestore.model.arguments import check_whole
from triplestore.model.errors import (
    ConflictError,
    DamagedStoreError,
    PublishedError,
    StorageError,
    TriplakeError,
    UsageError,
)
from triplestore.storage import leases
from triplestore.storage.making import MAKING, Making
from triplestore.storage.manifest import (
    FORMAT,
    READABLE,
    Manifest,
    check_format,
    damaged,
    from_json,
    mark,
    read_mark,
    summed,
    to_json,
)
from triplestore.storage.place import DATA, MARK, VERSIONS
from triplestore.storage.places import place_of
from triplestore.storage.queueing import Ticket
from triplestore.storage.retention import DEFAULT, KEEP_ALL, Retention

T = TypeVar("T")


class Versions:
    """The versions of the store at `path`: list, read, publish."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.place = place_of(path)
        self._making: Making | None = None
        self._hold = False  # whether what is published next is held back
        self._first: Manifest | None = None  # version 1, where it is held back
        self._stems: list[str] = []  # of the names of the files that this object has had made, and not published
        self._working = 0  # how many of them there were when the writer at work began
        self._ticket: Ticket | None = None  # of the writer at work, or of one that is about to try again
        self._attempts = 0  # calls that try again after a conflict, one within the other

    @property
    def path(self) -> Path | str:
        """Where the store is, as people name it."""
        return self.place.path

    @property
    def data(self) -> Path:
        """The folder of this machine in which files of data are written."""
        return self.place.data

    def exists(self) -> bool:
        """Whether there is a store here, of any format. One whose making was cut short before version 1 is none."""
        return (self._format() is not None or bool(self.numbers())) and not self._unfinished()

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
        if not self.place.vacant(self._unfinished):
            raise UsageError(f"{self.path} is not an empty folder; give a new or empty one for the store")
        try:
            self._making = Making(self.place, mark(DEFAULT.as_dict()))
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

    def is_newest(self, known: Manifest) -> bool:
        """Whether a version is the newest one, of the store that it was read from: another may be here since. Numbers
        have gaps: where somebody reads an old version, those after it may have been forgotten."""
        if self._first is not None:
            return known.version == self._first.version
        with suppress(FileNotFoundError, NotADirectoryError, DamagedStoreError):
            found = self.manifest(known.version)
            return (found.created, found.tables) == (known.created, known.tables) and self.version == found.version
        return False

    @contextmanager
    def working(
        self, version: int | None = None, publishes: bool = True, notify: Callable[[str], None] = lambda line: None
    ) -> Iterator[None]:
        """Be known as a writer, whose files `vacuum` leaves alone, and those of the version on which it works (default:
        the newest). To be held from before that is read until the next one is published; if it fails before that, the
        files that were written go. Raises StorageError where the disk is full or fails.

        publishes: wait until it is this writer's turn (see `triplestore.storage.queueing`), and keep the turn to the
        end; `notify` gets a line that says whom it waits for. Without it (a dry run) it waits for nobody.
        """
        version = self.version if version is None else version
        with storage_errors(), self._turn(version, notify) if publishes else leases.held(self.place, version):
            if self._making is None:
                self._stems.clear()
            self._working = len(self._stems)
            try:
                yield
            except BaseException:
                self.discard_drafts()
                raise

    @contextmanager
    def _turn(self, version: int, notify: Callable[[str], None]) -> Iterator[None]:
        try:
            self.take_turn(version, notify)
            yield
        except ConflictError:
            if not self._attempts:
                self._leave()
            raise
        except BaseException:
            self._leave()
            raise
        else:
            self._leave()

    def take_turn(self, version: int, notify: Callable[[str], None]) -> None:
        """Wait until it is this writer's turn. It ends with the next `working`, or with `attempts`, in which this is to
        be called. version: the one that has been read. Raises StorageError."""
        with storage_errors():
            if self._ticket is None:
                self._ticket = Ticket.drawn(self.place, version)
            if self._ticket is not None:
                self._ticket.wait(notify)

    @contextmanager
    def attempts(self) -> Iterator[None]:
        """Inside, a writer that has met with a conflict keeps its turn for another attempt."""
        self._attempts += 1
        try:
            yield
        finally:
            self._attempts -= 1
            if not self._attempts:
                self._leave()

    def _leave(self) -> None:
        """Give the turn to the next writer."""
        ticket, self._ticket = self._ticket, None
        if ticket is not None:
            ticket.end()

    def discard_drafts(self) -> None:
        """Take away the files that a writer has written since it began to work, none of which was published."""
        drafts = self._stems[self._working :]
        if drafts:  # else published, or nothing was written
            self.place.discard(drafts)
            del self._stems[self._working :]

    def _unfinished(self) -> bool:
        """Whether a process died here, or is at work, between making the folders and publishing version 1."""
        if not self.place.has_versions or self.numbers() or self._format() not in READABLE:
            return False
        return self.place.entry(MAKING) is not None or not self.place.names(DATA)

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
        try:
            return part(read_mark(self.place.read(MARK)))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            check_damage(error)
            raise self._unmarked(f"cannot be read ({error})") from error

    def _unmarked(self, what: str) -> DamagedStoreError:
        return DamagedStoreError(
            f"{self.place.at(MARK)} {what}; `triplake restore {self.path} --from BACKUP` brings it back, "
            f"`triplake restore {self.path} --to VERSION` writes it again, with a retention of all versions"
        )

    def mark_fault(self) -> str:
        """What is wrong with the mark of a store that has versions, empty where nothing is: it cannot be read, is not
        what was written, or is missing."""
        try:
            return "" if self._format() is not None else "is missing"
        except DamagedStoreError as error:
            return str(error).partition(";")[0].removeprefix(f"{self.place.at(MARK)} ")

    def _mark(self, retention: Retention) -> None:
        """Write the mark again, as one of this format."""
        self.place.replace(MARK, mark(retention.as_dict()))

    def check(self) -> None:
        """Raise UsageError where there is no store, DamagedStoreError where its format is another or unreadable."""
        number = self._format()
        if number is None and isinstance(self.path, Path) and self.path.is_file():
            raise UsageError(f"{self.path} is a file, not a Triplake store, which is a folder")
        if number is None and self.numbers():
            raise self._unmarked("is missing")
        if number is None:
            raise UsageError(
                f"{self.path} is not a Triplake store; make one with `triplake init {self.path}` "
                f"or `triplake load {self.path} FILE...`, in Python with Store.create"
            )
        check_format(number, self.path, self.place.at(MARK))

    def numbers(self) -> list[int]:
        """The versions that can be read, ascending."""
        names = self.place.names(VERSIONS)
        return sorted(int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdigit())

    def read(self, version: int | None = None) -> Manifest:
        """The manifest of a version (default: the newest). Raises UsageError for an unknown one."""
        if version is not None:
            check_whole("version", version)
        if self._first is not None and version in (None, self._first.version):
            return self._first
        if version is not None:
            with suppress(FileNotFoundError, NotADirectoryError):
                return self.manifest(version)
        numbers = self.numbers()
        if not numbers:
            raise self._none()
        if version is not None:
            known = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))
            raise UsageError(f"{self.path} has no version {version}; it has {known}")
        try:
            return self.manifest(numbers[-1])
        except FileNotFoundError:  # it is forgotten, since there is a newer one
            return self.manifest(self.version)

    def manifest(self, version: int) -> Manifest:
        """The manifest of a version. Raises DamagedStoreError where it cannot be read, FileNotFoundError where there is
        none any more: one that was listed has been forgotten since."""
        try:
            found = from_json(json.loads(self.text(version)))
            if found.version != version:
                raise ValueError(f"it is the manifest of version {found.version}")
            return found
        except (FileNotFoundError, NotADirectoryError):  # no damage
            raise
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            check_damage(error)
            raise DamagedStoreError(
                f"{self.place.at(self.file(version))} cannot be read ({error}); restore it from a copy, read an older "
                f"version with --at, or go back to one with `triplake restore {self.path} --to VERSION`"
            ) from error

    def _none(self) -> TriplakeError:
        """Why there is no version."""
        if self.place.entry(MAKING) is not None and leases.living(self.place, MAKING, self.place.now()):
            return UsageError(f"{self.path} is being made by another process; wait until it is done")
        if self.place.entry(MARK) is None and not self.place.names(DATA):
            return UsageError(f"there is no store at {self.path} any more")
        return DamagedStoreError(
            f"{self.path} holds no version. If its making was interrupted, make it again with `triplake init` or "
            f"`triplake load`; if {VERSIONS} was lost, `triplake restore {self.path} --from BACKUP` brings it back"
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
        if not all(f.sha256 for _, f in manifest.named):
            self._check_there(manifest)
            manifest = summed(manifest, lambda name: sum_of(self.place.blocks(name)))
        self.place.deliver(file for _, file in manifest.named)
        self._check_there(manifest)
        newest, text = self.version, json.dumps(to_json(manifest), indent=1)
        stems, self._stems = self._stems, []  # from here on they may be part of a version
        try:
            if newest >= manifest.version:  # its own number may have been forgotten since
                raise FileExistsError(self.file(newest))
            self.place.create(self.file(manifest.version), text)
        except ConflictError:
            self._stems = stems
            raise
        except FileExistsError as error:
            self._stems = stems
            raise ConflictError(
                f"another writer published version {manifest.version} of {self.path} first; "
                "nothing was changed, run the command again"
            ) from error
        except (OSError, StorageError) as error:
            if not self._is_there(manifest.version, text):
                if isinstance(error, OSError):  # else a request that got lost may arrive yet
                    self._stems = stems
                raise
        self._done(manifest.version)
        self.place.keep_here(manifest.paths)
        return manifest

    def _is_there(self, number: int, text: str) -> bool:
        """Whether a version was published after all. Raises PublishedError where that cannot be known."""
        try:
            return self.text(number) == text
        except FileNotFoundError:
            return False
        except (OSError, StorageError) as error:
            raise PublishedError(
                f"{str(error).partition('. See to')[0]}, so it is not known whether version {number} of {self.path} "
                f"was published. See to the network or the disk, then to `triplake log {self.path}`, before you run "
                "this again"
            ) from error

    def _done(self, number: int) -> None:
        """A version has been published."""
        if self._making is not None:
            self._making.done()
            self._making = None
        try:
            self.place.settle()
        except OSError as error:
            raise PublishedError(
                f"version {number} of {self.path} is published, but {error.strerror or error}: the disk does not say "
                "that it would outlive a crash of the machine; see to the disk, and do not run this again"
            ) from error

    def adopt(self, number: int, text: str) -> None:
        """Publish a version as it is in another store, the files of which are here. One that cannot be read is
        replaced. Raises ConflictError where there is another."""
        try:
            self.place.create(self.file(number), text)
        except FileExistsError as error:
            if self._readable(number):
                raise ConflictError(f"another writer published version {number} of {self.path} first") from error
            self.place.replace(self.file(number), text)
        self._done(number)

    def _readable(self, number: int) -> bool:
        with suppress(DamagedStoreError, FileNotFoundError):
            self.manifest(number)
            return True
        return False

    def took(self, stem: str) -> None:
        """Take away a file with this name, too, where a store that is being made is withdrawn."""
        self._stems.append(stem)

    def _upgrade(self) -> None:
        """Let the mark of a store of an older format say that it is of this one: older programs refuse it then."""
        if self._format() not in (None, FORMAT):
            self._mark(self.retention)

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
        self._stems.append(f"{table}-{uuid.uuid4().hex[:16]}")
        return self._stems[-1]

    def verify(self, manifest: Manifest) -> None:
        """Raise DamagedStoreError where a file that the version names is missing or of another size."""
        named = list(manifest.named)
        sizes = self.place.sizes({f.path for _, f in named})
        for name, f in named:
            size = sizes.get(f.path)
            if size != f.bytes:
                what = "is missing" if size is None else f"has {size} bytes instead of {f.bytes}"
                raise damaged(self.place, f.path, name, manifest, what)

    def check_kept(self, manifest: Manifest) -> None:
        """Raise UsageError where a version that was read has been forgotten since."""
        name = self.file(manifest.version)
        if manifest is not self._first and self.place.has_versions and self.place.entry(name) is None:
            raise UsageError(
                f"version {manifest.version} of {self.path} has been forgotten by `triplake vacuum` while it was "
                "open: open the store again"
            )

    def text(self, version: int) -> str:
        """What the manifest of a version says."""
        return self.place.read(self.file(version))

    def forget(self, version: int) -> None:
        """Let a version be none any more; its files stay."""
        self.place.remove(self.file(version))

    def file(self, version: int) -> str:
        """The name of the manifest of a version in the store."""
        return f"{VERSIONS}/{version:010d}.json"
