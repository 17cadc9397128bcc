"""Removing what no version needs: versions that are forgotten with their files, and what dead writers have left."""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

from triplestore.model.errors import DamagedStoreError, TriplakeError
from triplestore.objects import Entry
from triplestore.storage import leases
from triplestore.storage.manifest import Manifest
from triplestore.storage.place import DATA, VERSIONS, Place
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
    place = versions.place
    now, data, hidden = place.now(), place.listed(DATA), place.listed(VERSIONS)
    alive, writers, readers = _alive(place, hidden, now)
    known = {newest.version: newest}

    def manifest(number: int) -> Manifest:
        if number not in known:
            known[number] = versions.manifest(number)
        return known[number]

    def created(number: int) -> str:
        try:
            return manifest(number).created
        except (DamagedStoreError, FileNotFoundError):
            return ""

    def paths_of(number: int) -> frozenset[str]:
        """What a version names that is to be forgotten; nothing, where it cannot be read."""
        try:
            return manifest(number).paths
        except (DamagedStoreError, FileNotFoundError):
            return frozenset()

    numbers = versions.numbers()
    first, read = min([newest.version, *_held(place, writers)]), _held(place, readers)
    kept = {n for n in numbers if n >= first or n in read} | rule.kept(numbers, created)
    gone = [n for n in numbers if n not in kept]
    manifests = [newest]
    for number in sorted(kept - {newest.version}):
        with suppress(FileNotFoundError):  # another vacuum has forgotten it since
            manifests.append(manifest(number))
    examine(versions, *manifests, sums=sums)
    needed = {path for found in manifests for path in found.paths}
    dropped = {number: paths_of(number) for number in gone}
    for number in () if dry else gone:
        versions.forget(number)
    if gone and not dry:
        place.settle()
        # Who has read a version before it was forgotten had a lease for it then, or has published what it made of it.
        _, writers, readers = _alive(place, place.listed(VERSIONS), now)
        needed.update(*(dropped.get(number, ()) for number in _held(place, [*writers, *readers])))
        needed.update(*(versions.read(number).paths for number in versions.numbers() if number not in numbers))
    unnamed = {path for paths in dropped.values() for path in paths}
    deleted = freed = 0
    orphaned = not writers
    for folder, listed in ((DATA, data), (VERSIONS, hidden)):
        for file in listed:
            if file.name in needed or file in alive or (folder == VERSIONS and not file.name.startswith(".")):
                continue
            if file.name in unnamed or (orphaned and now - file.modified > ORPHAN_AGE):
                freed += file.bytes
                deleted += 1
                if not dry:
                    place.remove(f"{folder}/{file.name}")
    return VacuumReport(len(gone), deleted, freed, len(kept))


def tidy(versions: Versions) -> None:
    """Forget what the store's rule does not keep, as its writers do now and then. What stands in the way is no fault of
    theirs: it stays for a vacuum that somebody asks for, which says what it is."""
    with suppress(TriplakeError, OSError):
        rule = versions.retention
        if rule.versions is not None:
            vacuum(versions, rule)


def _alive(place: Place, hidden: list[Entry], now: float) -> tuple[list[Entry], list[Entry], list[Entry]]:
    """Of the files beside the versions the leases of who is alive; of these those of writers, and those of readers."""
    alive = [f for f in hidden if f.name.startswith(".") and leases.living(place, f"{VERSIONS}/{f.name}", now)]
    writers, readers = ([f for f in alive if f.name.startswith(prefix)] for prefix in (leases.PREFIX, leases.READER))
    return alive, writers, readers


def _held(place: Place, found: list[Entry]) -> set[int]:
    """The versions that leases are for."""
    return {held.version for lease in found if (held := leases.holder(place, f"{VERSIONS}/{lease.name}"))}
