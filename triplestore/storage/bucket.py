"""A store in an object store (S3, Google Cloud Storage, Azure), by the package obstore.

Publishing is a put of the manifest if there is none (`If-None-Match: *`). Files of data are written on this machine and
uploaded before that; they are brought here to be read (`triplestore.storage.cache`), or by ranges of bytes.
"""

from __future__ import annotations

import io
import os
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from errno import EACCES, EEXIST, ENOENT
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triplestore.engine import WrittenFile
from triplestore.engine.disk import naming
from triplestore.engine.written import blocks_of
from triplestore.model.errors import DamagedStoreError, StorageError, UsageError, how_to_install
from triplestore.storage.cache import Cache
from triplestore.storage.place import DATA, MARK, VERSIONS, Entry

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES: Final = ("s3", "gs", "az")
"""Of the URLs of object stores."""

PATIENCE: Final = "TRIPLAKE_PATIENCE"
"""The variable of the environment with the seconds in which a request that fails is tried again, by default 60."""

AT_ONCE: Final = 8
"""Files that are brought, or uploaded, at a time."""

HEADS: Final = 8
"""Up to so many files are asked for one by one; more are listed with all others."""

WHOLE: Final = 8 << 20
"""Bytes up to which a file is brought whole, where only parts are read."""

_BLOCK: Final = 4 << 20
"""Bytes that are brought at a time."""


class Bucket:
    """See `Place`. url: with one of `SCHEMES`; store: what it stands for, if it is open already."""

    remote = True

    def __init__(self, url: str, store: ObjectStore | None = None) -> None:
        self.path = url.rstrip("/")
        self._given, self._cache = store, Cache()
        self._there: set[str] = set()  # files of data that this object has found there, or uploaded
        self._uploaded: set[str] = set()

    @cached_property
    def _store(self) -> ObjectStore:
        return _opened(self.path) if self._given is None else self._given

    @cached_property
    def data(self) -> Path:
        """See `Place`."""
        return self._cache.opened(self)

    def at(self, name: str) -> str:
        """See `Place`."""
        return f"{self.path}/{name}"

    @contextmanager
    def _asking(self, name: str) -> Iterator[None]:
        """Raise the errors of an object store as those of a file of that name."""
        from obstore import exceptions

        try:
            yield
        except exceptions.AlreadyExistsError as error:
            raise FileExistsError(EEXIST, os.strerror(EEXIST), self.at(name)) from error
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise PermissionError(EACCES, f"access is refused ({_reason(error)})", self.at(name)) from error
        except FileNotFoundError as error:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), self.at(name)) from error
        except exceptions.BaseError as error:
            raise StorageError(
                f"{self.at(name)}: {_reason(error)}. See to the network, the address and the credentials of the "
                "environment, and run it again"
            ) from error

    # -- texts -----------------------------------------------------------------------------------------------------

    def read(self, name: str) -> str:
        """See `Place`."""
        with self._asking(name):
            return bytes(self._store.get(name).bytes()).decode("utf-8")

    def create(self, name: str, text: str) -> None:
        """See `Place`. Where the answer to a first try was lost, a second finds the file, which says the same."""
        try:
            self.claim(name, text)
        except FileExistsError:
            if self.read(name) != text:
                raise

    def replace(self, name: str, text: str) -> None:
        """See `Place`."""
        with self._asking(name):
            self._store.put(name, text.encode("utf-8"))

    def claim(self, name: str, text: str) -> None:
        """See `Place`."""
        with self._asking(name):
            self._store.put(name, text.encode("utf-8"), mode="create")

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
        with suppress(FileNotFoundError), self._asking(name):
            self._store.delete(name)

    def entry(self, name: str) -> Entry | None:
        """See `Place`."""
        try:
            with self._asking(name):
                return _entry(self._store.head(name), name)
        except FileNotFoundError:
            return None

    def listed(self, folder: str) -> list[Entry]:
        """See `Place`. Those of its folders have their paths in it as names."""
        with self._asking(folder):
            return [
                _entry(found, found["path"].removeprefix(f"{folder}/"))
                for some in self._store.list(folder)
                for found in some
            ]

    def now(self) -> float:
        """See `Place`."""
        probe = f"{VERSIONS}/.now.{uuid.uuid4().hex}"
        self.claim(probe, "")
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
        if len(asked) > HEADS:
            found = self.listed(DATA)
        else:
            with ThreadPoolExecutor(AT_ONCE) as pool:
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
            with ThreadPoolExecutor(AT_ONCE) as pool:
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
                raise DamagedStoreError(f"{shown} is missing; `triplake verify {self.path}` tells more") from error
        self._there.add(file.path)

    def opened(self, file: WrittenFile) -> Path | io.RawIOBase:
        """See `Place`."""
        path = self.data / file.path
        if path.exists() or self._cache.link(file, path) or file.bytes <= WHOLE:
            return self.here([file])[0]
        return Ranges(self._store, f"{DATA}/{file.path}", file.bytes)

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
        with self._asking(f"{DATA}/{name}"):
            for part in self._store.get(f"{DATA}/{name}").stream(min_chunk_size=_BLOCK):
                yield bytes(part)

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
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(self._upload, new.values()):
                pass

    def _upload(self, file: WrittenFile) -> None:
        self._put(file.path, self.data / file.path)
        self._cache.add(file, self.data / file.path)

    def _put(self, name: str, path: Path) -> None:
        self._uploaded.add(name)  # before it is there: who is interrupted takes it away
        with self._asking(f"{DATA}/{name}"):
            self._store.put(f"{DATA}/{name}", path)
        self._there.add(name)

    def discard(self, stems: Sequence[str]) -> None:
        """See `Place`."""
        gone = [name for name in self._uploaded if any(stem in name for stem in stems)]
        for name in gone:
            with suppress(OSError, StorageError):
                self.remove(f"{DATA}/{name}")
        self._uploaded.difference_update(gone)
        self._there.difference_update(gone)
        if "data" in vars(self):
            for path in self.data.iterdir():
                if any(stem in path.name for stem in stems):
                    path.unlink(missing_ok=True)

    # -- making a store ----------------------------------------------------------------------------------------------

    def vacant(self, unfinished: Callable[[], bool]) -> bool:
        """See `Place`."""
        with self._asking(""):
            some = next(iter(self._store.list()), [])
        drafts = (f"{VERSIONS}/.", f"{DATA}/.")
        return all(found["path"].startswith(drafts) for found in some) or unfinished()

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

    def clear(self) -> None:
        """See `Place`."""

    @property
    def has_versions(self) -> bool:
        """See `Place`."""
        return True


class Ranges(io.RawIOBase):
    """An object that is read by ranges of its bytes, as a file."""

    def __init__(self, store: ObjectStore, name: str, size: int) -> None:
        self._store, self._name, self._size, self._at = store, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        length = self._size - self._at if size is None or size < 0 else min(size, self._size - self._at)
        if length <= 0:
            return b""
        found = bytes(self._store.get_range(self._name, start=self._at, length=length))
        self._at += len(found)
        return found

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


def _opened(url: str) -> ObjectStore:
    """Raises UsageError without obstore, or for a URL that means no object store."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise UsageError(f"{url}: object stores need the package obstore: {how_to_install('cloud')}") from error
    text = os.environ.get(PATIENCE, "60")
    if not text.isdecimal():
        raise UsageError(f"{PATIENCE} is '{text}': give a number of seconds")
    options: dict[str, Any] = {"retry_config": {"retry_timeout": timedelta(seconds=int(text))}}
    if url.startswith("s3:"):
        if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3"):
            options["config"] = {"endpoint": endpoint}
        if "AWS_ACCESS_KEY_ID" not in os.environ and (provider := _profile()) is not None:
            options["credential_provider"] = provider
    try:
        return from_url(url, **options)
    except (BaseError, ValueError) as error:
        raise UsageError(f"{url} cannot be opened: {_reason(error)}") from error


def _profile() -> Any:
    """The credentials that AWS's tools have for this user (profiles, single sign-on), where boto3 is installed."""
    try:
        import boto3
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        return None
    session = boto3.Session()
    return Boto3CredentialProvider(session) if session.get_credentials() is not None else None


def _entry(found: Any, name: str) -> Entry:
    return Entry(name, int(found["size"]), found["last_modified"].timestamp())


def _reason(error: Exception) -> str:
    """What an object store says, in a line, without what an address may have that is secret."""
    return re.sub(r"\?[^\s\"')]*", "", str(error).partition("\n")[0]).strip().rstrip(".")
