"""Copies of a store that are kept up to date: what they lack is copied, files before the versions that name them.

A backup is a store. Whatever interrupts one, the versions in it are whole, and the next run goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triplestore.engine import WrittenFile
from triplestore.engine.disk import storage_errors
from triplestore.engine.verification import CHANGED
from triplestore.model.errors import DamagedStoreError, UsageError
from triplestore.storage import leases
from triplestore.storage.manifest import Manifest
from triplestore.storage.place import DATA, within
from triplestore.storage.verify import wrong
from triplestore.storage.versions import Versions


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What was copied. versions: there are now, of these new ones; files, bytes: copied; damaged: versions that were
    left out since they are damaged, and what is wrong with each."""

    versions: int
    new: int
    files: int
    bytes: int
    damaged: tuple[tuple[int, str], ...]


def backup(store: str | Path, dest: str | Path) -> BackedUp:
    """Bring a backup of a store up to date, or make it: each version that it lacks, oldest first, with the files that
    it lacks, compared with their checksums. Versions that the store has forgotten stay.

    Raises UsageError where `dest` is something else, or has versions of its own; DamagedStoreError where the store's
    newest version is damaged (those before it are copied); ConflictError where another process makes a store there.
    """
    source, target = Versions(store), Versions(dest)
    source.check()
    if not source.numbers():
        source.read()  # says why
    if within(source.path, target.path) or within(target.path, source.path):
        raise UsageError(f"{dest} overlaps with {store}: give another folder for the backup")
    if target.exists():
        target.check()
        _same_store(source, target)
    else:
        target.create()
    try:
        return _brought(source, target, target.numbers(), repairing=False)
    except BaseException:
        target.withdraw()
        raise


def restore(store: str | Path, copy: str | Path) -> BackedUp:
    """Bring a store back from a backup: files and versions that are missing or damaged, all versions among them, or all
    of it. Versions of its own, newer than the backup's, stay.

    Raises UsageError where the backup is of another store, DamagedStoreError where it is damaged itself.
    """
    source, target = Versions(copy), Versions(store)
    if not _is_store(source):
        raise UsageError(
            f"{copy} is not a backup: there is no store in it; name what `triplake backup {store} DEST` made"
        )
    source.check()
    if not source.numbers():
        source.read()
    if within(source.path, target.path) and within(target.path, source.path):
        raise UsageError(f"{store} is the backup itself; say which store to bring back")
    if target.numbers() or _is_store(target):
        _same_store(source, target, either=True)
        target.place.prepare()
        _adopt_mark(target, source)
        whole = [number for number in target.numbers() if _manifest(target, number) is not None]
        return _brought(source, target, whole, repairing=True)
    target.create()
    try:
        return _brought(source, target, [], repairing=True)
    except BaseException:
        target.withdraw()
        raise


def _is_store(versions: Versions) -> bool:
    """Whether there is a store; without a version it has lost them."""
    try:
        return versions.exists()
    except DamagedStoreError:  # its mark, too
        return True


def copy_of(source: Versions, number: int, path: Path) -> Versions:
    """A store at a path that has one version of another, by its number."""
    target = Versions(path)
    target.create()
    try:
        for file in _files(source.read(number)):
            target.took(Path(file.path).stem)
            target.place.keep(file.path, _as_written(source, file))
        target.adopt(number, source.text(number))
        _adopt_mark(target, source)
    except BaseException:
        target.withdraw()
        raise
    return target


def _brought(source: Versions, target: Versions, known: list[int], repairing: bool) -> BackedUp:
    """Copy the versions of `source` that are not `known`; repairing: also the files of those that are."""
    files = size = new = 0
    damaged = list[tuple[int, str]]()
    with storage_errors(), leases.held(target.place, target.version), leases.held(source.place, source.version):
        there = {entry.name: entry.bytes for entry in target.place.listed(DATA)}
        if repairing:
            target.place.prepare_data()
            there = _whole(target, there)
        for number in source.numbers():
            if number in known and not repairing:
                continue
            manifest = _manifest(source, number)
            if manifest is None:
                if number in source.numbers():  # else it has been forgotten meanwhile
                    damaged.append((number, f"{source.place.at(source.file(number))} cannot be read"))
                continue
            try:
                for file in _files(manifest):
                    if there.get(file.path) != file.bytes:
                        target.took(Path(file.path).stem)
                        target.place.keep(file.path, _as_written(source, file))
                        there[file.path] = file.bytes
                        files, size = files + 1, size + file.bytes
            except DamagedStoreError as error:
                if number in source.numbers():
                    damaged.append((number, str(error)))
                continue
            if number not in known:
                target.place.deliver(())
                target.adopt(number, source.text(number))
                new += 1
        _adopt_mark(target, source)
    newest = source.numbers()[-1]
    if damaged and damaged[-1][0] == newest:
        raise DamagedStoreError(f"{damaged[-1][1]}; version {newest} of {source.path} cannot be copied")
    return BackedUp(len(target.numbers()), new, files, size, tuple(damaged))


def _adopt_mark(target: Versions, source: Versions) -> None:
    """Let the mark of a store say what that of the store does which it is a copy of."""
    try:
        same = (target.format, target.retention) == (source.format, source.retention)
    except DamagedStoreError:
        same = False
    if not same:
        target.change_retention(source.retention)


def _files(manifest: Manifest) -> Iterator[WrittenFile]:
    return (file for _, file in manifest.named)


def _manifest(versions: Versions, number: int) -> Manifest | None:
    """The manifest of a version, if it can be read."""
    try:
        return versions.manifest(number)
    except (DamagedStoreError, FileNotFoundError):
        return None


def _same_store(source: Versions, target: Versions, either: bool = False) -> None:
    """Raise UsageError where two folders hold different stores: versions of one number that are not the same, or
    neither a version nor a file in common, if any; or, unless `either` may be ahead, newer ones in `target`."""
    ours, theirs = source.numbers(), target.numbers()
    copy, store = (source, target) if either else (target, source)
    no_backup = f"{copy.path} is not a backup of {store.path}"
    common = sorted({*ours} & {*theirs})
    for number in common:
        one, other = _manifest(source, number), _manifest(target, number)
        if one is not None and other is not None and one != other:
            raise UsageError(f"{no_backup}: version {number} is another there; give another folder")
    held = _named(target).keys() if theirs else {entry.name for entry in target.place.listed(DATA)}
    akin = bool(common) or not _named(source).keys().isdisjoint(held) or not (theirs or held)
    if not akin or (not either and theirs[-1] > ours[-1]):
        has = f"version {theirs[-1]}" if theirs else "files of others"
        raise UsageError(
            f"{no_backup}: {target.path} has {has}, and {source.path} has {ours[0]} to {ours[-1]}; give another folder"
        )


def _named(versions: Versions) -> dict[str, WrittenFile]:
    """The files that the versions of a store name, by their paths."""
    manifests = (_manifest(versions, number) for number in versions.numbers())
    return {file.path: file for manifest in manifests if manifest is not None for file in _files(manifest)}


def _whole(versions: Versions, there: dict[str, int]) -> dict[str, int]:
    """Of the files of a store those that are what was written."""
    damaged = {file.path for file, _ in wrong(versions, list(_named(versions).values()), sums=True, stored=True)}
    return {path: size for path, size in there.items() if path not in damaged}


def _as_written(versions: Versions, file: WrittenFile) -> Iterator[bytes]:
    """The bytes of a file. Raises DamagedStoreError, after the last of them, where it is not what was written."""
    digest, size = hashlib.sha256(), 0
    shown = versions.place.at(f"{DATA}/{file.path}")
    try:
        for block in versions.place.blocks(file.path):
            digest.update(block)
            size += len(block)
            yield block
    except FileNotFoundError as error:
        raise DamagedStoreError(f"{shown} is missing") from error
    if size != file.bytes or (file.sha256 and digest.hexdigest() != file.sha256):
        raise DamagedStoreError(f"{shown} {CHANGED}")
