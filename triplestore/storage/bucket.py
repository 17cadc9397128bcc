"""A store in an object store (S3, Google Cloud Storage, Azure), or in HDFS (see `triplestore.objects`).

Publishing is a put of the manifest if there is none (`If-None-Match: *`). Files of data are written on this machine and
uploaded before that; they are brought here to be read (`triplestore.storage.cache`), or by ranges of bytes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from triplestore.engine import WrittenFile
from triplestore.engine.disk import naming
from triplestore.engine.verification import CheckedFile, opened_here
from triplestore.engine.written import blocks_of
from triplestore.model.errors import DamagedStoreError, StorageError
from triplestore.model.thresholds import SIZES
from triplestore.objects import Entry, Objects, of_hadoop, opened
from triplestore.storage.cache import Cache
from triplestore.storage.manifest import remedy
from triplestore.storage.place import DATA, MARK, VERSIONS
from triplestore.storage.thresholds import THRESHOLDS

IDLE: Final = 3600.0
"""Seconds for which a file stays on this machine that its version does not name any more: an answer may be read yet."""


class Bucket:
    """See `Place`. url: see `triplestore.objects`."""

    remote = True

    def __init__(self, url: str) -> None:
        self.path = url.rstrip("/")
        self._cache = Cache()
        self._there: set[str] = set()  # files of data that this object has found there, or uploaded
        self._uploaded: set[str] = set()
        self._idle: dict[str, float] = {}  # of these on this machine that are not needed any more: since when
        self._is_shared = False  # whether others may have written files of data for this object

    @cached_property
    def _objects(self) -> Objects:
        return opened(self.path)

    @cached_property
    def _data(self) -> Path:
        return self._cache.opened(self)

    @property
    def data(self) -> Path:
        """See `Place`. Whoever tidies the cache may remove the folder of a store that is open."""
        if not self._data.is_dir():
            self._cache.make(self._data, self)
        return self._data

    def at(self, name: str) -> str:
        """See `Place`."""
        return f"{self.path}/{name}"

    # -- texts -----------------------------------------------------------------------------------------------------

    def read(self, name: str) -> str:
        """See `Place`."""
        return self._objects.get(name).decode("utf-8")

    def create(self, name: str, text: str) -> None:
        """See `Place`. Where the answer to a first try was lost, a second finds the file, which says the same."""
        try:
            self.claim(name, text)
        except FileExistsError:
            if self.read(name) != text:
                raise

    def replace(self, name: str, text: str) -> None:
        """See `Place`."""
        self._objects.put(name, text.encode("utf-8"))

    def claim(self, name: str, text: str) -> None:
        """See `Place`."""
        self._objects.put(name, text.encode("utf-8"), absent=True)

    def renew(self, name: str, text: str) -> None:
        """See `Place`."""
        if self.read(name) == text:
            self.replace(name, text)

    def revise(self, name: str, text: str) -> None:
        """See `Place`."""
        self.replace(name, text)

    def bury(self, name: str, text: str) -> None:
        """See `Place`."""
        with suppress(FileNotFoundError):
            if self.read(name) == text:
                self.remove(name)

    def remove(self, name: str) -> None:
        """See `Place`."""
        with suppress(FileNotFoundError):
            self._objects.delete(name)

    def entry(self, name: str) -> Entry | None:
        """See `Place`."""
        try:
            return self._objects.head(name)
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """See `Place`."""
        return [entry.name for entry in self.listed(folder)]

    def listed(self, folder: str, prefix: str = "") -> list[Entry]:
        """See `Place`. Those of its folders have their paths in it as names."""
        found = (entry._replace(name=entry.name.removeprefix(f"{folder}/")) for entry in self._objects.listed(folder))
        return [entry for entry in found if entry.name.startswith(prefix)]

    def now(self) -> float:
        """See `Place`."""
        probe = f"{VERSIONS}/.now.{uuid.uuid4().hex}"
        self.create(probe, "")
        try:
            found = self.entry(probe)
        finally:
            self.remove(probe)
        if found is None:
            raise StorageError(f"{self.at(probe)} was written, and is not there")
        return found.modified

    def settle(self) -> None:
        """See `Place`."""

    # -- files of data ---------------------------------------------------------------------------------------------

    def sizes(self, names: Collection[str]) -> dict[str, int]:
        """See `Place`. What has not been uploaded yet is found here."""
        here = {name: path.stat().st_size for name in names if (path := self._written(name)) is not None}
        asked = [name for name in names if name not in here]
        if len(asked) > THRESHOLDS.parallel:
            found = self.listed(DATA)
        else:
            with ThreadPoolExecutor(THRESHOLDS.parallel) as pool:
                heads = pool.map(lambda name: (name, self.entry(f"{DATA}/{name}")), asked)
                found = [entry._replace(name=name) for name, entry in heads if entry is not None]
        wanted = set(asked)
        return here | {entry.name: entry.bytes for entry in found if entry.name in wanted}

    def _written(self, name: str) -> Path | None:
        """A file that was written here, and not uploaded yet."""
        path = self.data / name
        return path if name not in self._there and path.exists() else None

    def here(self, files: Sequence[WrittenFile]) -> list[Path]:
        """See `Place`. Raises DamagedStoreError where what is brought is not what was written."""
        missing = {file.path: file for file in files if not (self.data / file.path).exists()}
        if missing:
            with ThreadPoolExecutor(THRESHOLDS.parallel) as pool:
                for _ in pool.map(self._bring, missing.values()):
                    pass
        return [self.data / file.path for file in files]

    def _bring(self, file: WrittenFile) -> None:
        path = self.data / file.path
        if not self._cache.link(file, path):
            shown = self.at(f"{DATA}/{file.path}")
            try:
                self._cache.bring(file, self.blocks(file.path), shown, path)
            except FileNotFoundError as error:
                raise DamagedStoreError(f"{shown} is missing; {remedy(self)}") from error
            except DamagedStoreError as error:
                raise DamagedStoreError(f"{error}; {remedy(self)}") from error
        self._there.add(file.path)

    def shared(self) -> str:
        """See `Place`."""
        self._is_shared = True
        return f"{of_hadoop(self.path)}/{DATA}"

    def opened(self, file: WrittenFile) -> Path | CheckedFile:
        """See `Place`."""
        here = (self.data / file.path).exists() or self._cache.find(file) is not None
        if file.bytes <= SIZES.batch or file.blocks is None or here:
            return opened_here(self.here([file])[0], file)
        name = f"{DATA}/{file.path}"
        return CheckedFile(self.at(name), file, partial(self._objects.part, name))

    def keep_here(self, names: Collection[str]) -> None:
        """See `Place`. What is in the cache stays there."""
        now, here = time.monotonic(), tuple(self._there) if "_data" in vars(self) else ()
        self._idle = {name: self._idle.get(name, now) for name in here if name not in names}
        for name in [name for name, since in self._idle.items() if now - since > IDLE]:
            (self.data / name).unlink(missing_ok=True)
            self._there.discard(name)
            self._uploaded.discard(name)

    def gone(self, file: WrittenFile) -> bool:
        """See `Place`."""
        return file.path in self._there and not (self.data / file.path).exists()

    def again(self, file: WrittenFile) -> bool:
        """See `Place`."""
        path = self.data / file.path
        if file.path not in self._there or not path.exists():
            return False
        path.unlink(missing_ok=True)
        self._cache.drop(file)
        return True

    def blocks(self, name: str) -> Iterator[bytes]:
        """See `Place`."""
        if (path := self._written(name)) is not None:
            yield from blocks_of(path)
            return
        yield from self._objects.blocks(f"{DATA}/{name}")

    def keep(self, name: str, blocks: Iterable[bytes]) -> None:
        """See `Place`."""
        draft = self.data / f".{name}.{uuid.uuid4().hex}"
        try:
            with naming(draft), open(draft, "xb") as file:
                file.writelines(blocks)
            self._put(name, draft)
        finally:
            draft.unlink(missing_ok=True)

    def deliver(self, files: Iterable[WrittenFile]) -> None:
        """See `Place`."""
        new = {file.path: file for file in files if self._written(file.path) is not None}
        with ThreadPoolExecutor(THRESHOLDS.parallel) as pool:
            for _ in pool.map(self._upload, new.values()):
                pass

    def _upload(self, file: WrittenFile) -> None:
        self._put(file.path, self.data / file.path)
        self._cache.add(file, self.data / file.path)

    def _put(self, name: str, path: Path) -> None:
        self._uploaded.add(name)  # before it is there: who is interrupted takes it away
        self._objects.put(f"{DATA}/{name}", path)
        self._there.add(name)

    def discard(self, stems: Sequence[str]) -> None:
        """See `Place`."""
        names = {entry.name for entry in self.listed(DATA)} if stems and self._is_shared else self._uploaded
        gone = [name for name in names if any(stem in name for stem in stems)]
        for name in gone:
            with suppress(OSError, StorageError):
                self.remove(f"{DATA}/{name}")
        self._uploaded.difference_update(gone)
        self._there.difference_update(gone)
        if "_data" in vars(self):
            for path in self.data.iterdir():
                if any(stem in path.name for stem in stems):
                    path.unlink(missing_ok=True)

    # -- making a store ----------------------------------------------------------------------------------------------

    def vacant(self, unfinished: Callable[[], bool]) -> bool:
        """See `Place`."""
        drafts = (f"{VERSIONS}/.", f"{DATA}/.")
        return all(entry.name.startswith(drafts) for entry in self._objects.listed("")) or unfinished()

    def prepare(self) -> None:
        """See `Place`. An object store has no folders."""

    def prepare_data(self) -> None:
        """See `Place`."""

    def clear_data(self) -> None:
        """See `Place`."""

    def destroy(self) -> None:
        """See `Place`. First what says that there is a store."""
        names = [f"{folder}/{found.name}" for folder in (VERSIONS, DATA) for found in self.listed(folder)]
        for name in (MARK, *names):
            self.remove(name)
        self._objects.sweep()

    def clear(self) -> None:
        """See `Place`."""

    @property
    def has_versions(self) -> bool:
        """See `Place`."""
        return True
