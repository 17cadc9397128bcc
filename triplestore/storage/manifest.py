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
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from triplestore.engine import WrittenFile
from triplestore.errors import ConflictError, DamagedStoreError, UsageError

FORMAT: Final = 1
"""The store format that this program reads and writes."""

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
    """Next free numbers: of each kind of term, and of input files (which scope blank nodes)."""

    iri: int = 0
    blank: int = 0
    literal: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a store. `materialised` says whether `fact` is the closure of `asserted` under `rulesets`."""

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
        """Whether there is a store here, of any format."""
        return (self.path / _MARK).is_file()

    def create(self) -> None:
        """Make the folders of an empty store. Raises UsageError where a store or other files are in the way."""
        if self.exists():
            raise UsageError(f"{self.path} is a Triplake store already; load into it, or give another folder")
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise UsageError(f"{self.path} is not an empty folder; give a new or empty one for the store")
        (self.path / _VERSIONS).mkdir(parents=True, exist_ok=True)
        self.data.mkdir(exist_ok=True)
        _write_durably(self.path / _MARK, json.dumps({"format": FORMAT}))

    def check(self) -> None:
        """Raise UsageError where there is no store, DamagedStoreError where its format is newer or unreadable."""
        if not self.exists():
            raise UsageError(
                f"{self.path} is not a Triplake store; make one with `triplake init {self.path}` "
                f"or `triplake load {self.path} FILE...`"
            )
        try:
            number = json.loads((self.path / _MARK).read_text())["format"]
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DamagedStoreError(f"{self.path / _MARK} cannot be read ({error}); restore it from a copy") from error
        if number > FORMAT:
            raise DamagedStoreError(
                f"{self.path} is of store format {number}, this program reads up to {FORMAT}; install a newer Triplake"
            )

    def numbers(self) -> list[int]:
        """The versions that can be read, ascending."""
        folder = self.path / _VERSIONS
        return sorted(int(f.stem) for f in folder.glob("*.json") if f.stem.isdigit()) if folder.is_dir() else []

    def read(self, version: int | None = None) -> Manifest:
        """The manifest of a version (default: the newest). Raises UsageError for an unknown one."""
        numbers = self.numbers()
        if not numbers:
            raise DamagedStoreError(f"{self.path} holds no version; restore {_VERSIONS} from a copy")
        number = numbers[-1] if version is None else version
        if number not in numbers:
            raise UsageError(f"{self.path} has no version {number}; it has {_ranges(numbers)}")
        file = self._file(number)
        try:
            return _from_json(json.loads(file.read_text()))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise DamagedStoreError(f"{file} cannot be read ({error}); restore it from a copy") from error

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
                    raise DamagedStoreError(
                        f"{path} (table {name}, version {manifest.version}) {what}; "
                        "restore it from a copy, or read an older version with --at"
                    )

    def vacuum(self, keep: int = 1) -> tuple[int, int, int]:
        """Forget all but the newest `keep` versions and delete the files that only they (or dead writers) named.

        Returns (versions forgotten, files deleted, bytes freed). Files that no version names are left alone for
        `ORPHAN_AGE` seconds, since a living writer may be about to publish them.
        """
        numbers = self.numbers()
        kept, gone = numbers[-keep:], numbers[:-keep]
        needed = frozenset(path for n in kept for path in self._paths(n))
        dropped = frozenset(path for n in gone for path in self._paths(n)) - needed
        for number in gone:
            self._file(number).unlink(missing_ok=True)
        _sync_folder(self.path / _VERSIONS)
        deleted = freed = 0
        now = time.time()
        for file in self.data.iterdir():
            if file.name in needed:
                continue
            status = file.stat()
            if file.name in dropped or now - status.st_mtime > ORPHAN_AGE:
                file.unlink(missing_ok=True)
                deleted, freed = deleted + 1, freed + status.st_size
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
