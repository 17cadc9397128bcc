"""Whether the files of a store are what was written: there, of their size, with their checksum, or readable."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine import Files, StoredFile, WrittenFile
from triplestore.engine.disk import check_damage
from triplestore.engine.verification import CHANGED, AlteredError, compare, is_large
from triplestore.engine.written import blocks_of, sum_of
from triplestore.model.errors import DamagedStoreError, EngineError, StorageError
from triplestore.storage import leases
from triplestore.storage.manifest import Manifest, damaged, remedy
from triplestore.storage.place import DATA, MARK, Place
from triplestore.storage.thresholds import THRESHOLDS
from triplestore.storage.versions import Versions


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that is not as it was written: its path (relative to the store), its table ("" for a manifest, and for
    `triplake.json`), what is wrong, and the versions that name it, or cannot be opened without it."""

    path: str
    table: str
    what: str
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """What was looked at. unsummed: files that had no checksum (of store format 2), whose footers were read only.
    strays: files that no version names; none is listed where not all versions were read, or a writer is alive."""

    versions: tuple[int, ...]
    files: int
    bytes: int
    unsummed: int
    damages: tuple[Damage, ...]
    strays: tuple[str, ...] = ()

    @property
    def whole(self) -> tuple[int, ...]:
        """The versions without damage."""
        hurt = {number for damage in self.damages for number in damage.versions}
        return tuple(number for number in self.versions if number not in hurt)

    @property
    def newest_is_whole(self) -> bool:
        """Whether the newest of the versions that were looked at has no damage."""
        return self.versions[-1:] == self.whole[-1:] != ()


def verify(versions: Versions, numbers: Iterable[int] | None = None) -> Verified:
    """Read every file of versions (default: of all), each once, and `triplake.json`. Those that a vacuum forgets
    meanwhile are left out."""
    # In this order: a file that is listed has a writer who is alive still, or whose version is among those read.
    listed = versions.place.names(DATA) if numbers is None else []
    if leases.writing(versions.place):
        listed = []
    asked = tuple(versions.numbers() if numbers is None else numbers)
    damages, named = list[Damage](), dict[WrittenFile, tuple[str, list[int]]]()
    for number in reversed(asked):  # newer ones may have checksums that older ones lack
        try:
            for table, file in versions.manifest(number).named:
                named.setdefault(file, (table, []))[1].insert(0, number)
        except FileNotFoundError:
            continue
        except DamagedStoreError as error:
            path, what = versions.file(number), str(error).partition(";")[0]
            damages.append(Damage(path, "", what.removeprefix(f"{versions.place.at(path)} "), (number,)))
    for file, what in wrong(versions, list(named), sums=True, stored=True):
        table, of = named[file]
        damages.append(Damage(f"{DATA}/{file.path}", table, what, tuple(of)))
    if asked and (what := versions.mark_fault()):
        damages.append(Damage(MARK, "", what, asked))
    left = set(versions.numbers())
    if not left.issuperset(asked):
        listed = []
    asked = tuple(number for number in asked if number in left)
    damages = [replace(d, versions=kept) for d in damages if (kept := tuple(n for n in d.versions if n in left))]
    unsummed = sum(not file.sha256 for file in named)
    read, paths = all(d.table or d.path == MARK for d in damages), {file.path for file in named}
    strays = tuple(name for name in listed if read and name not in paths)
    if strays:
        still = set(versions.place.names(DATA))
        strays = tuple(name for name in strays if name in still)
    return Verified(asked, len(named), sum(file.bytes for file in named), unsummed, tuple(damages), strays)


def examine(versions: Versions, *manifests: Manifest, sums: bool, among: Container[WrittenFile] | None = None) -> bool:
    """Raise DamagedStoreError where a file that one of these versions names (of those `among` them, if given) is
    missing, of another size, or cannot be read; with `sums`, where it is another than was written. UsageError where
    its version has been forgotten since it was read. Whether a copy on this machine was not so, and was brought again.
    """
    named = dict[WrittenFile, tuple[str, Manifest]]()
    for manifest in manifests:
        for table, file in manifest.named:
            if among is None or file in among:
                named.setdefault(file, (table, manifest))
    mended = list[WrittenFile]()
    for file, what in wrong(versions, list(named), sums, mended=mended):
        table, manifest = named[file]
        versions.check_kept(manifest)
        raise damaged(versions.place, file.path, table, manifest, what)
    return bool(mended)


def look_for_damage(versions: Versions, *manifests: Manifest) -> None:
    """After a failure: as `examine`, and StorageError where it was a copy on this machine that was damaged, or gone."""
    if examine(versions, *manifests, sums=True):
        raise StorageError(
            f"a copy of a file of {versions.path} in the cache on this machine was damaged, or removed; it has been "
            "brought again, and nothing was committed: run it again"
        )


def to_read(place: Place, engine: Files, files: Sequence[WrittenFile], of: str = "") -> list[StoredFile]:
    """Files of data as an engine finds them: on this machine, or where they are, for one that works on others. On this
    machine those that are not large were compared with their checksums; the engine compares the others where it reads
    them. of: what the files are of, for messages, as in "table fact, version 2".

    Raises DamagedStoreError where a file is not what was written."""
    if engine.elsewhere and (url := place.shared()) is not None:
        place.deliver(files)
        return [StoredFile(f"{url}/{file.path}", file) for file in files]
    paths = place.here(files)
    for file, path in zip(files, paths, strict=True):
        if not is_large(file):
            with suppress(FileNotFoundError):  # the engine says so
                _compare(place, file, path, of)
    return [StoredFile(str(path), file) for file, path in zip(files, paths, strict=True)]


def checked(versions: Versions, file: WrittenFile) -> pa.Table:
    """The rows of a small file. Raises DamagedStoreError where it is not what was written, EngineError where it is not
    there: its version may have been forgotten since."""
    place = versions.place
    try:
        path = place.here([file])[0]
        _compare(place, file, path)
        # `read_table` would import pandas where it is installed, which takes longer than all else.
        return pq.ParquetFile(path, pre_buffer=False).read()
    except FileNotFoundError as error:
        raise EngineError(f"there is no file {error.filename}") from error
    except (pa.ArrowException, OSError) as error:
        check_damage(error)
        raise _damaged(place, file, f"cannot be read ({error})") from error


def _compare(place: Place, file: WrittenFile, path: Path, of: str = "") -> None:
    """Compare a file on this machine with its checksums, unless this process has done so. A copy of a file from an
    object store that is not what was written is brought again. Raises DamagedStoreError, FileNotFoundError."""
    try:
        try:
            compare(path, file)
        except AlteredError:
            if not place.again(file):
                raise
            compare(place.here([file])[0], file)
    except FileNotFoundError:
        raise
    except AlteredError as error:
        raise _damaged(place, file, str(error).removeprefix(f"{path} "), of) from error
    except OSError as error:
        check_damage(error)
        raise _damaged(place, file, f"cannot be read ({error})", of) from error


def _damaged(place: Place, file: WrittenFile, what: str, of: str = "") -> DamagedStoreError:
    shown = place.at(f"{DATA}/{file.path}") + (f" ({of})" if of else "")
    return DamagedStoreError(f"{shown} {what}; {remedy(place)}")


def wrong(
    versions: Versions,
    files: Sequence[WrittenFile],
    sums: bool,
    stored: bool = False,
    mended: list[WrittenFile] | None = None,
) -> Iterator[tuple[WrittenFile, str]]:
    """Files that are not as they were written, and how; in the order given. stored: as the store has them; else as they
    are read, for which they are brought to this machine; mended: gets those of which that was needed again."""
    place = versions.place
    sizes = place.sizes({file.path for file in files})

    def same(file: WrittenFile) -> bool:
        blocks = place.blocks(file.path) if stored else blocks_of(place.here([file])[0])
        return sum_of(blocks) == file.sha256

    def look(file: WrittenFile) -> str:
        size = sizes.get(file.path)
        if size is None:
            return "is missing"
        if size != file.bytes:
            return f"has {size} bytes instead of {file.bytes}"
        try:
            if sums and file.sha256:
                gone = not stored and place.gone(file)
                if same(file):
                    if gone and mended is not None:
                        mended.append(file)
                    return ""
                if stored or not place.again(file) or not same(file):
                    return CHANGED
                if mended is not None:
                    mended.append(file)
                return ""
            if not place.remote or not file.sha256:
                opened = place.opened(file)
                if not file.sha256 or not isinstance(opened, Path):  # else it was compared whole
                    pq.read_metadata(opened)
        except FileNotFoundError:
            return "is missing"
        except DamagedStoreError as error:
            return str(error).partition("; `triplake")[0].removeprefix(f"{place.at(f'{DATA}/{file.path}')} ")
        except (pa.ArrowException, OSError) as error:
            check_damage(error)
            return f"cannot be read ({error})"
        return ""

    with ThreadPoolExecutor(THRESHOLDS.parallel) as pool:  # which starts no thread before it has work
        each = pool.map if sums or place.remote else map
        yield from ((file, what) for file, what in zip(files, each(look, files), strict=True) if what)
