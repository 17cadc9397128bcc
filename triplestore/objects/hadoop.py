"""Files of HDFS as objects, by the Hadoop client that PySpark has.

HDFS creates a file before it has its content, so that who creates one is seen with half of it, and one who dies leaves
it so. An object is therefore written under another name, and renamed: that is one step of the name node, which refuses
it where the new name is taken.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EEXIST, ENOENT
from pathlib import Path
from typing import Any, Final

from triplestore.engine.spark.session import java
from triplestore.model.errors import StorageError
from triplestore.model.thresholds import SIZES
from triplestore.objects.protocol import Entry

DRAFTS: Final = "_versions"
"""The folder in which what is in no folder is written before it is renamed: the one in which a store has its drafts."""


class HadoopObjects:
    """See `Objects`. url: of HDFS. patience: seconds in which it is asked again where nobody answers."""

    def __init__(self, url: str, patience: int) -> None:
        from py4j.java_gateway import java_import

        self._url, self._gateway = url, java()
        jvm = self._gateway.new_jvm_view()
        for name in ("fs.*", "conf.Configuration"):
            java_import(jvm, f"org.apache.hadoop.{name}")
        self._jvm = jvm
        with self._asking(""):
            settings = jvm.Configuration(jvm.org.apache.spark.deploy.SparkHadoopUtil.get().conf())
            settings.set("ipc.client.connect.max.retries", str(patience))  # one a second
            settings.set("ipc.client.connect.max.retries.on.timeouts", str(max(1, patience // 20)))
            address = jvm.Path(url).toUri()
            self._files = jvm.FileSystem.newInstance(address, settings)
            self._names = jvm.FileContext.getFileContext(address, settings)
            self._root = str(address.getPath())
            renaming = jvm.org.apache.hadoop.fs.Options.Rename
            self._over = self._gateway.new_array(renaming, 1)
            self._over[0] = renaming.OVERWRITE
            self._absent = self._gateway.new_array(renaming, 0)

    def _path(self, name: str) -> Any:
        return self._jvm.Path(f"{self._url}/{name}" if name else self._url)

    @contextmanager
    def _asking(self, name: str) -> Iterator[None]:
        """Raise Java's errors as those of a file of that name."""
        from py4j.protocol import Py4JError, Py4JJavaError

        shown = f"{self._url}/{name}".rstrip("/")
        try:
            yield
        except Py4JJavaError as error:
            kind = str(error.java_exception.getClass().getSimpleName())
            reason = str(error.java_exception.getMessage()).partition("\n")[0].strip().rstrip(".")
            if kind == "FileNotFoundException":
                raise FileNotFoundError(ENOENT, os.strerror(ENOENT), shown) from error
            if kind in ("FileAlreadyExistsException", "ParentNotDirectoryException"):
                raise FileExistsError(EEXIST, os.strerror(EEXIST), shown) from error
            if kind == "AccessControlException":
                raise PermissionError(EACCES, f"access is refused ({reason})", shown) from error
            raise StorageError(
                f"{shown}: {kind}: {reason}. See to the network, the address and the rights, and run it again"
            ) from error
        except (Py4JError, OSError) as error:
            raise StorageError(f"{shown}: Java has ended, by which HDFS is read; run it again") from error

    @contextmanager
    def _reading(self, name: str) -> Iterator[Any]:
        """An open file."""
        with self._asking(name):
            source = self._files.open(self._path(name))
            try:
                yield source
            finally:
                source.close()

    def get(self, name: str) -> bytes:
        """See `Objects`."""
        with self._reading(name) as source:
            return bytes(source.readAllBytes())

    def blocks(self, name: str) -> Iterator[bytes]:
        """See `Objects`."""
        with self._reading(name) as source:
            while block := bytes(source.readNBytes(SIZES.download)):
                yield block

    def part(self, name: str, start: int, length: int) -> bytes:
        """See `Objects`."""
        with self._reading(name) as source:
            source.seek(start)
            return bytes(source.readNBytes(length))

    def put(self, name: str, content: bytes | Path, absent: bool = False) -> None:
        """See `Objects`. On return it is on the data nodes, in memory or on disk as they are set up."""
        folder, _, own = name.rpartition("/")
        draft = self._path(f"{folder or DRAFTS}/.{own}.{uuid.uuid4().hex}")
        with self._asking(name):
            try:
                if isinstance(content, Path):
                    self._files.copyFromLocalFile(False, True, self._jvm.Path(content.absolute().as_uri()), draft)
                else:
                    target = self._files.create(draft, False)
                    try:
                        target.write(content)
                        target.hsync()
                    finally:
                        target.close()
                self._names.rename(draft, self._path(name), self._absent if absent else self._over)
            except BaseException:
                self._files.delete(draft, False)
                raise

    def delete(self, name: str) -> None:
        """See `Objects`."""
        with self._asking(name):
            self._files.delete(self._path(name), True)

    def head(self, name: str) -> Entry:
        """See `Objects`."""
        with self._asking(name):
            status = self._files.getFileStatus(self._path(name))
            is_folder, found = status.isDirectory(), self._entry(status, name)
        if is_folder:
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT), f"{self._url}/{name}")
        return found

    def listed(self, folder: str) -> Iterator[Entry]:
        """See `Objects`."""
        with suppress(FileNotFoundError), self._asking(folder):
            found = self._files.listFiles(self._path(folder), True)
            while found.hasNext():
                status = found.next()
                path = str(status.getPath().toUri().getPath())
                yield self._entry(status, path.removeprefix(self._root).lstrip("/"))

    @staticmethod
    def _entry(status: Any, name: str) -> Entry:
        return Entry(name, int(status.getLen()), int(status.getModificationTime()) / 1000)

    def sweep(self) -> None:
        """See `Objects`."""
        if next(self.listed(""), None) is None:
            with self._asking(""):
                self._files.delete(self._path(""), True)
