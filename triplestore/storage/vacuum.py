"""Removing what no version needs: versions that are forgotten with their files, and what dead writers have left."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final, NamedTuple

from triplestore.model.errors import DamagedStoreError
from triplestore.storage import leases
from triplestore.storage.durable import sync_folder
from triplestore.storage.manifest import Manifest
from triplestore.storage.verify import examine
from triplestore.storage.versions import Versions

ORPHAN_AGE: Final = 3600.0
"""Seconds before a file that no version names is taken for a dead writer's, where no lease tells of a living one."""


class VacuumReport(NamedTuple):
    """What a vacuum did: versions forgotten, files deleted, bytes freed."""

    versions: int
    files: int
    bytes: int


def vacuum(versions: Versions, keep: int | None, sums: bool = False) -> VacuumReport:
    """Forget all but the newest `keep` versions (None: none) and delete the files that only they, or dead writers,
    named.

    While a writer holds a lease, what no version names stays, and so do the version that it works on and those after
    it; where none does, what no version names is deleted when it is `ORPHAN_AGE` old. Raises DamagedStoreError, and
    deletes nothing, where a version to keep is damaged (with `sums`: by the checksums of its files): an older one may
    be all that can still be read.
    """
    newest = versions.read()
    # In this order: a file that is listed has a writer who has its lease still, or whose version is among those read.
    now = leases.now(versions.folder)
    listed = [*versions.data.iterdir(), *(f for f in versions.folder.iterdir() if f.name.startswith("."))]
    writers = [lease for lease in versions.folder.glob(f"{leases.PREFIX}*") if leases.living(lease, now)]
    kept, gone = _split(versions.numbers(), keep, writers)
    manifests = [newest, *(versions.manifest(n) for n in kept if n != newest.version)]
    examine(versions, *manifests, sums=sums)
    needed = frozenset(path for manifest in manifests for path in _paths(manifest))
    dropped = frozenset(path for n in gone for path in _paths_of(versions, n)) - needed
    for number in gone:
        versions.file(number).unlink(missing_ok=True)
    if gone:
        sync_folder(versions.folder)
    deleted = freed = 0
    for file in listed:
        if file.name in needed or file in writers:
            continue
        held = file.parent == versions.folder and leases.living(file, now)
        if file.name in dropped or (not writers and not held and _age(file, now) > ORPHAN_AGE):
            freed += _remove(file)
            deleted += 1
    return VacuumReport(len(gone), deleted, freed)


def forgettable(versions: Versions) -> tuple[int, int]:
    """How many versions there are besides the newest, and the bytes of the files that only they name."""
    *older, newest = versions.numbers()
    needed = frozenset(_paths(versions.manifest(newest)))
    only = {path for n in older for path in _paths_of(versions, n)} - needed
    return len(older), sum(_size(versions.data / path) for path in only)


def _split(numbers: list[int], keep: int | None, writers: list[Path]) -> tuple[list[int], list[int]]:
    """The versions to keep, and those to forget."""
    if keep is None or keep >= len(numbers):
        return numbers, []
    first = min([numbers[-keep], *(found.version for lease in writers if (found := leases.holder(lease)))])
    return [n for n in numbers if n >= first], [n for n in numbers if n < first]


def _paths(manifest: Manifest) -> frozenset[str]:
    return frozenset(path for table in manifest.tables.values() for path in table.paths)


def _paths_of(versions: Versions, number: int) -> frozenset[str]:
    """What a version names that is to be forgotten; nothing, where it cannot be read."""
    try:
        return _paths(versions.manifest(number))
    except DamagedStoreError:
        return frozenset()


def _age(file: Path, now: float) -> float:
    try:
        return now - file.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _remove(file: Path) -> int:
    """Remove a file, or a folder of them; the bytes."""
    if file.is_dir():
        freed = sum(_size(f) for f in file.rglob("*") if f.is_file())
        shutil.rmtree(file, ignore_errors=True)
        return freed
    freed = _size(file)
    file.unlink(missing_ok=True)
    return freed
