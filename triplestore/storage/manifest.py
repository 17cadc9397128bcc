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
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine import WrittenFile
from triplestore.errors import ConflictError, DamagedStoreError, UsageError

FORMAT: Final = 2
"""The store format that this program reads and writes. 2: terms carry ill_typed, canonical and value."""

ORPHAN_AGE: Final = 3600.0
"""Seconds before `vacuum` takes a file that no version names for a dead writer's, not a living one's."""

_MARK: Final = "triplake.json"
_VERSIONS: Final = "_versions"
_DATA: Final = "data"


@dataclass(frozen=True, slots=True)
class TableFiles:
    """A table of one version: the rows of `files` (disjoint) minus the rows of `tombstones` (a subset of them)."""

    files: tuple[WrittenFile, ...] = ()
    tombstones: tuple[WrittenFile, ...] = ()

    @property
    def rows(self) -> int:
        return sum(f.rows for f in self.files) - sum(f.rows for f in self.tombstones)

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.files) + sum(f.bytes for f in self.tombstones)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(f.path for f in (*self.files, *self.tombstones))


@dataclass(frozen=True, slots=True)
class RulesetText:
    """A ruleset of a store: a built-in one by name (text None), or a user's file with its text."""

    name: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """Next free numbers: of each kind of term, and of input files (which scope blank nodes). Then, of the literals of
    the dictionary: how many equal an earlier one, and how many are ill-typed."""

    iri: int = 0
    blank: int = 0
    literal: int = 0
    files: int = 0
    twins: int = 0
    ill_typed: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a store. `materialised` says whether `fact` is the closure of `asserted` under `rulesets`;
    `counting` whether the derivations of facts are counted."""

    version: int
    rulesets: tuple[RulesetText, ...]
    equality: str
    engine: str
    created: str = ""
    counters: Counters = Counters()
    tables: dict[str, TableFiles] = field(default_factory=dict)
    materialised: bool = True
    stats: dict[str, int] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)
    counting: bool = False

    def files_of(self, table: str) -> TableFiles:
        return self.tables.get(table, TableFiles())

    @property
    def bytes(self) -> int:
        return sum(t.bytes for t in self.tables.values())


class Versions:
    """The versions of the store at `path`: list, read, publish, vacuum."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.data = self.path / _DATA

    def exists(self) -> bool:
        """Whether there is a store here, of any format. One whose making was cut short before version 1 is none."""
        return self._format() is not None and not self._unfinished()

    def create(self) -> None:
        """Make the folders of an empty store. Raises UsageError where a store or other files are in the way, or the
        folder cannot be made. What a creation left that was cut short is no obstacle."""
        if self.exists():
            raise UsageError(f"{self.path} is a Triplake store already; load into it, or give another folder")
        if self.path.exists() and not (self.path.is_dir() and (_is_empty(self.path) or self._unfinished())):
            raise UsageError(f"{self.path} is not an empty folder; give a new or empty one for the store")
        try:
            (self.path / _VERSIONS).mkdir(parents=True, exist_ok=True)
            self.data.mkdir(exist_ok=True)
            draft = self.path / _VERSIONS / f".{_MARK}.{uuid.uuid4().hex}"
            _write_durably(draft, json.dumps({"format": FORMAT}))
            os.replace(draft, self.path / _MARK)
        except OSError as error:
            raise UsageError(f"a store cannot be made at {self.path}: {error.strerror or error}") from error

    def _unfinished(self) -> bool:
        """Whether a process died here between making the folders and publishing version 1."""
        return (self.path / _VERSIONS).is_dir() and not self.numbers() and self._format() == FORMAT

    def _format(self) -> Any:
        """The store's format number, None without a store. Raises DamagedStoreError where it cannot be read."""
        mark = self.path / _MARK
        try:
            return json.loads(mark.read_text())["format"]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DamagedStoreError(f"{mark} cannot be read ({error}); restore it from a copy") from error

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
            raise DamagedStoreError(f"{self.path / _MARK} holds no format number; restore it from a copy")
        if number > FORMAT:
            raise DamagedStoreError(
                f"{self.path} is of store format {number}, this program reads up to {FORMAT}; install a newer Triplake"
            )
        if number < FORMAT:
            raise DamagedStoreError(
                f"{self.path} is of store format {number}, this program reads format {FORMAT}; export its asserted "
                "triples with the Triplake that made it (`triplake export --what asserted`) and load them anew"
            )

    def numbers(self) -> list[int]:
        """The versions that can be read, ascending."""
        folder = self.path / _VERSIONS
        return sorted(int(f.stem) for f in folder.glob("*.json") if f.stem.isdigit()) if folder.is_dir() else []

    def read(self, version: int | None = None) -> Manifest:
        """The manifest of a version (default: the newest). Raises UsageError for an unknown one."""
        numbers = self.numbers()
        if not numbers:
            raise DamagedStoreError(
                f"{self.path} holds no version. If its making was interrupted, make it again with `triplake init` or "
                f"`triplake load`; if {_VERSIONS} was lost, restore it from a copy"
            )
        number = numbers[-1] if version is None else version
        if number not in numbers:
            raise UsageError(f"{self.path} has no version {number}; it has {_ranges(numbers)}")
        file = self._file(number)
        try:
            return _from_json(json.loads(file.read_text()))
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise DamagedStoreError(
                f"{file} cannot be read ({error}); restore it from a copy, or read an older version with --at"
            ) from error

    def publish(self, manifest: Manifest) -> Manifest:
        """Make `manifest` the newest version, if nobody has taken its number. Raises ConflictError if so."""
        manifest = replace(manifest, created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        target = self._file(manifest.version)
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        _sync_folder(self.data)
        _write_durably(draft, json.dumps(_to_json(manifest), indent=1))
        try:
            os.link(draft, target)
        except FileExistsError as error:
            raise ConflictError(
                f"another writer published version {manifest.version} of {self.path} first; "
                "nothing was changed, run the command again"
            ) from error
        finally:
            draft.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return manifest

    def new_stem(self, table: str) -> str:
        """A fresh file name (without suffix) for a data file."""
        return f"{table}-{uuid.uuid4().hex[:16]}"

    def verify(self, manifest: Manifest) -> None:
        """Raise DamagedStoreError where a file that the version names is missing or of another size."""
        for name, table in manifest.tables.items():
            for f in (*table.files, *table.tombstones):
                path = self.data / f.path
                try:
                    size = path.stat().st_size
                except OSError:
                    size = -1
                if size != f.bytes:
                    what = "is missing" if size < 0 else f"has {size} bytes instead of {f.bytes}"
                    raise _damaged(path, name, manifest, what)

    def examine(self, manifest: Manifest) -> None:
        """As `verify`, and each file's footer is read too: what to do where an engine could not read the store."""
        self.verify(manifest)
        for name, table in manifest.tables.items():
            for f in (*table.files, *table.tombstones):
                try:
                    pq.read_metadata(self.data / f.path)
                except (pa.ArrowException, OSError) as error:
                    raise _damaged(self.data / f.path, name, manifest, f"cannot be read ({error})") from error

    def vacuum(self, keep: int = 1) -> tuple[int, int, int]:
        """Forget all but the newest `keep` versions and delete the files that only they (or dead writers) named.

        Returns (versions forgotten, files deleted, bytes freed). Files that no version names are left alone for
        `ORPHAN_AGE` seconds, since a living writer may be about to publish them. Raises DamagedStoreError, and deletes
        nothing, where a version to keep is damaged: an older one may be all that can still be read.
        """
        newest, numbers = self.read(), self.numbers()
        for manifest in (*(self.read(n) for n in numbers[-keep:-1]), newest):
            self.examine(manifest)
        kept, gone = numbers[-keep:], numbers[:-keep]
        needed = frozenset(path for n in kept for path in self._paths(n))
        dropped = frozenset(path for n in gone for path in self._paths(n)) - needed
        for number in gone:
            self._file(number).unlink(missing_ok=True)
        _sync_folder(self.path / _VERSIONS)
        deleted = freed = 0
        now = time.time()
        for file in (*self.data.iterdir(), *(self.path / _VERSIONS).glob(".*")):
            if file.name in needed:
                continue
            status = file.stat()
            if file.name in dropped or now - status.st_mtime > ORPHAN_AGE:
                if file.is_dir():
                    freed += sum(f.stat().st_size for f in file.rglob("*") if f.is_file())
                    shutil.rmtree(file, ignore_errors=True)
                else:
                    freed += status.st_size
                    file.unlink(missing_ok=True)
                deleted += 1
        return len(gone), deleted, freed

    def _paths(self, version: int) -> Iterator[str]:
        for table in self.read(version).tables.values():
            yield from table.paths

    def _file(self, version: int) -> Path:
        return self.path / _VERSIONS / f"{version:010d}.json"


def _to_json(manifest: Manifest) -> dict[str, Any]:
    return {"format": FORMAT, **asdict(manifest)}


def _from_json(data: dict[str, Any]) -> Manifest:
    if data.pop("format") > FORMAT:
        raise DamagedStoreError(f"version {data['version']} was written by a newer Triplake; install that one")
    tables = {
        name: TableFiles(*(tuple(WrittenFile(**f) for f in table[part]) for part in ("files", "tombstones")))
        for name, table in data.pop("tables").items()
    }
    rulesets = tuple(RulesetText(**r) for r in data.pop("rulesets"))
    return Manifest(rulesets=rulesets, counters=Counters(**data.pop("counters")), tables=tables, **data)


def _damaged(path: Path, table: str, manifest: Manifest, what: str) -> DamagedStoreError:
    return DamagedStoreError(
        f"{path} (table {table}, version {manifest.version}) {what}; "
        "restore it from a copy, or read an older version with --at"
    )


def _is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing, or no more than a store's folders with nothing but drafts in them."""
    return all(
        entry.name in (_VERSIONS, _DATA) and entry.is_dir() and all(f.name.startswith(".") for f in entry.iterdir())
        for entry in folder.iterdir()
    )


def _ranges(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _write_durably(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
