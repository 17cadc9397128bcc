"""Removing what no version needs: versions that are forgotten with their files, and what dead writers have left."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from triplestore.model.errors import DamagedStoreError, TriplakeError
from triplestore.storage import leases
from triplestore.storage.durable import sync_folder
from triplestore.storage.manifest import Manifest
from triplestore.storage.retention import KEEP_ALL, Retention
from triplestore.storage.verify import examine
from triplestore.storage.versions import Versions

ORPHAN_AGE: Final = 3600.0
"""Seconds before a file that no version names is taken for a dead writer's, where no lease tells of a living one."""


class VacuumReport(NamedTuple):
    """What a vacuum did: versions forgotten, files deleted, bytes freed; how many versions are left."""

    versions: int
    files: int
    bytes: int
    kept: int


def vacuum(versions: Versions, rule: Retention = KEEP_ALL, sums: bool = False, dry: bool = False) -> VacuumReport:
    """Forget the versions that a rule does not keep, and delete the files that only they, or dead writers, named.

    The newest version stays, and those that somebody reads. While a writer holds a lease, what no version names stays,
    and so do the version that it works on and those after it; where none does, what no version names is deleted when it
    is `ORPHAN_AGE` old. dry: tell only what that would be. Raises DamagedStoreError, and deletes nothing, where a
    version to keep is damaged (with `sums`: by the checksums of its files): an older one may be all that can still be
    read.
    """
    newest = versions.read()
    # In this order: a file that is listed has a writer who has its lease still, or whose version is among those read.
    now = leases.now(versions.folder)
    listed = [*versions.data.iterdir(), *(f for f in versions.folder.iterdir() if f.name.startswith("."))]
    writers, readers = (
        [lease for lease in versions.folder.glob(f"{prefix}*") if leases.living(lease, now)]
        for prefix in (leases.PREFIX, leases.READER)
    )
    known = {newest.version: newest}

    def manifest(number: int) -> Manifest:
        if number not in known:
            known[number] = versions.manifest(number)
        return known[number]

    def created(number: int) -> str:
        try:
            return manifest(number).created
        except DamagedStoreError:
            return ""

    def paths_of(number: int) -> frozenset[str]:
        """What a version names that is to be forgotten; nothing, where it cannot be read."""
        try:
            return _paths(manifest(number))
        except DamagedStoreError:
            return frozenset()

    numbers = versions.numbers()
    first, read = min([newest.version, *_held(writers)]), _held(readers)
    kept = {n for n in numbers if n >= first or n in read} | rule.kept(numbers, created)
    gone = [n for n in numbers if n not in kept]
    manifests = [newest, *(manifest(n) for n in sorted(kept) if n != newest.version)]
    examine(versions, *manifests, sums=sums)
    needed = frozenset(path for found in manifests for path in _paths(found))
    dropped = frozenset(path for n in gone for path in paths_of(n)) - needed
    for number in () if dry else gone:
        versions.file(number).unlink(missing_ok=True)
    if gone and not dry:
        sync_folder(versions.folder)
    deleted = freed = 0
    for file in listed:
        if file.name in needed or file in writers:
            continue
        held = file.parent == versions.folder and leases.living(file, now)
        if file.name in dropped or (not writers and not held and _age(file, now) > ORPHAN_AGE):
            freed += _bytes(file)
            deleted += 1
            if not dry:
                _remove(file)
    return VacuumReport(len(gone), deleted, freed, len(kept))


def tidy(versions: Versions) -> None:
    """Forget what the store's rule does not keep, as its writers do now and then. What stands in the way is no fault of
    theirs: it stays for a vacuum that somebody asks for, which says what it is."""
    with suppress(TriplakeError, OSError):
        rule = versions.retention
        if rule.versions is not None:
            vacuum(versions, rule)


def _held(found: list[Path]) -> set[int]:
    """The versions that leases are for."""
    return {held.version for lease in found if (held := leases.holder(lease))}


def _paths(manifest: Manifest) -> frozenset[str]:
    return frozenset(path for table in manifest.tables.values() for path in table.paths)


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


def _bytes(file: Path) -> int:
    """Of a file, or a folder of them."""
    return sum(_size(f) for f in file.rglob("*") if f.is_file()) if file.is_dir() else _size(file)


def _remove(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file, ignore_errors=True)
    else:
        file.unlink(missing_ok=True)
