"""Copies of a store that are kept up to date: what they lack is copied, files before the versions that name them.

A backup is a store. Whatever interrupts one, the versions in it are whole, and the next run goes on.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from triplestore.engine import WrittenFile
from triplestore.engine.disk import naming, storage_errors
from triplestore.model.errors import DamagedStoreError, UsageError
from triplestore.storage import leases
from triplestore.storage.durable import sync_folder
from triplestore.storage.manifest import Manifest
from triplestore.storage.verify import CHANGED, wrong
from triplestore.storage.versions import Versions

_BLOCK: Final = 1 << 20
"""Bytes that are copied at a time."""


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
    here, there = source.path.resolve(), target.path.resolve()
    if here in (there, *there.parents) or there in here.parents:
        raise UsageError(f"{dest} is not apart from {store}; give another folder for the backup")
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
    """Bring a store back from a backup: files and versions that are missing or damaged, or all of it. Versions of its
    own, newer than the backup's, stay.

    Raises UsageError where the backup is of another store, DamagedStoreError where it is damaged itself.
    """
    source, target = Versions(copy), Versions(store)
    source.check()
    if not source.numbers():
        source.read()
    if source.path.resolve() == target.path.resolve():
        raise UsageError(f"{store} is the backup itself; say which store to bring back")
    if target.numbers() and target.path.is_dir():
        target.adopt_mark(source)
        _same_store(source, target, either=True)
        whole = [number for number in target.numbers() if _manifest(target, number) is not None]
        return _brought(source, target, whole, repairing=True)
    target.create()
    try:
        return _brought(source, target, [], repairing=True)
    except BaseException:
        target.withdraw()
        raise


def _brought(source: Versions, target: Versions, known: list[int], repairing: bool) -> BackedUp:
    """Copy the versions of `source` that are not `known`; repairing: also the files of those that are."""
    files = size = new = 0
    damaged = list[tuple[int, str]]()
    with storage_errors(), leases.held(target.folder, target.version), leases.held(source.folder, source.version):
        there = {entry.name: entry.stat().st_size for entry in os.scandir(target.data)} if target.data.is_dir() else {}
        if repairing:
            target.data.mkdir(exist_ok=True)
            there = _whole(target, there)
        for number in source.numbers():
            if number in known and not repairing:
                continue
            manifest = _manifest(source, number)
            if manifest is None:
                if source.file(number).exists():  # else it has been forgotten meanwhile
                    damaged.append((number, f"{source.file(number)} cannot be read"))
                continue
            try:
                for file in _files(manifest):
                    if there.get(file.path) != file.bytes:
                        target.took(Path(file.path).stem)
                        _copied(source.data / file.path, target.data / file.path, file)
                        there[file.path] = file.bytes
                        files, size = files + 1, size + file.bytes
            except DamagedStoreError as error:
                if source.file(number).exists():
                    damaged.append((number, str(error)))
                continue
            if number not in known:
                sync_folder(target.data)
                target.adopt(number, source.file(number).read_text(encoding="utf-8"))
                new += 1
        target.adopt_mark(source)
    newest = source.numbers()[-1]
    if damaged and damaged[-1][0] == newest:
        raise DamagedStoreError(f"{damaged[-1][1]}; version {newest} of {source.path} cannot be copied")
    return BackedUp(len(target.numbers()), new, files, size, tuple(damaged))


def _files(manifest: Manifest) -> Iterator[WrittenFile]:
    return (file for _, file in manifest.named)


def _manifest(versions: Versions, number: int) -> Manifest | None:
    """The manifest of a version, if it can be read."""
    try:
        return versions.manifest(number)
    except DamagedStoreError:
        return None


def _same_store(source: Versions, target: Versions, either: bool = False) -> None:
    """Raise UsageError where two folders hold different stores: versions of one number that are not the same, or
    neither a version nor a file in common; or, unless `either` may be ahead, newer ones in `target`."""
    ours, theirs = source.numbers(), target.numbers()
    common = sorted({*ours} & {*theirs})
    for number in common:
        one, other = _manifest(source, number), _manifest(target, number)
        if one is not None and other is not None and one != other:
            raise UsageError(
                f"{target.path} is no backup of {source.path}: version {number} is another there; give another folder"
            )
    akin = bool(common) or not _named(source).keys().isdisjoint(_named(target))
    if not akin or (not either and theirs[-1] > ours[-1]):
        raise UsageError(
            f"{target.path} is no backup of {source.path}: it has version {theirs[-1]}, and {source.path} has "
            f"{ours[0]} to {ours[-1]}; give another folder"
        )


def _named(versions: Versions) -> dict[str, WrittenFile]:
    """The files that the versions of a store name, by their paths."""
    manifests = (_manifest(versions, number) for number in versions.numbers())
    return {file.path: file for manifest in manifests if manifest is not None for file in _files(manifest)}


def _whole(versions: Versions, there: dict[str, int]) -> dict[str, int]:
    """Of the files of a store those that are what was written."""
    damaged = {file.path for file, _ in wrong(versions, list(_named(versions).values()), True)}
    return {path: size for path, size in there.items() if path not in damaged}


def _copied(path: Path, to: Path, file: WrittenFile) -> None:
    """Copy a file, on disk on return, if it is what was written. Raises DamagedStoreError."""
    draft = to.with_name(f".{to.name}.{uuid.uuid4().hex}")
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as source, naming(draft), open(draft, "wb") as target:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
                target.write(block)
            if size != file.bytes or (file.sha256 and digest.hexdigest() != file.sha256):
                raise DamagedStoreError(f"{path} {CHANGED}")
            target.flush()
            os.fsync(target.fileno())
        os.replace(draft, to)
    except FileNotFoundError as error:
        raise DamagedStoreError(f"{path} is missing") from error
    finally:
        draft.unlink(missing_ok=True)
