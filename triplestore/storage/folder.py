"""A store in a folder of this machine's file systems."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from triplestore.engine import WrittenFile
from triplestore.engine.disk import naming
from triplestore.engine.verification import CheckedFile, opened_here
from triplestore.engine.written import blocks_of
from triplestore.objects import Entry
from triplestore.storage import leases
from triplestore.storage.durable import linked, put_if_absent, sync_folder, write_durably
from triplestore.storage.place import DATA, VERSIONS


class Folder:
    """See `Place`."""

    remote = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        # DuckDB and Arrow take a ~ that a path begins with for the user's home folder.
        self.data = (self.path.absolute() if str(path).startswith("~") else self.path) / DATA
        self._made: list[Path] = []  # folders that `prepare` made

    def at(self, name: str) -> str:
        """See `Place`."""
        return str(self.path / name)

    def read(self, name: str) -> str:
        """See `Place`."""
        return (self.path / name).read_text(encoding="utf-8")

    def create(self, name: str, text: str) -> None:
        """See `Place`."""
        target = self.path / name
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        write_durably(draft, text)
        try:
            put_if_absent(draft, target, self._claimed)
        finally:
            draft.unlink(missing_ok=True)

    def _claimed(self, path: Path) -> Callable[[], None] | None:
        """For `put_if_absent`."""
        lease = leases.take(self, path.relative_to(self.path).as_posix())
        return None if lease is None else lease.end

    def replace(self, name: str, text: str) -> None:
        """See `Place`."""
        target = self.path / name
        draft = self.path / VERSIONS / f".{target.name}.{uuid.uuid4().hex}"
        write_durably(draft, text)
        os.replace(draft, target)
        sync_folder(target.parent)

    def claim(self, name: str, text: str) -> None:
        """See `Place`. By a link, where there are any: who dies between making a file and writing it leaves an empty
        one, which would seem to be held by another machine."""
        path = self.path / name
        draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        _write_new(draft, text)
        try:
            if not linked(draft, path):
                _write_new(path, text)
        finally:
            draft.unlink(missing_ok=True)

    def renew(self, name: str, text: str) -> None:
        """See `Place`."""
        os.utime(self.path / name)

    def revise(self, name: str, text: str) -> None:
        """See `Place`."""
        target = self.path / name
        draft = target.with_name(f".draft{target.name}")
        with naming(draft):
            draft.write_text(text, encoding="utf-8")
        os.replace(draft, target)

    def bury(self, name: str, text: str) -> None:
        """See `Place`."""
        path = self.path / name
        aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        with suppress(OSError):
            os.rename(path, aside)
            if aside.read_text(encoding="utf-8") != text:
                os.link(aside, path)
            aside.unlink()

    def remove(self, name: str) -> None:
        """See `Place`."""
        path = self.path / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def entry(self, name: str) -> Entry | None:
        """See `Place`."""
        try:
            found = (self.path / name).stat()
        except OSError:
            return None
        return Entry(name, found.st_size, found.st_mtime)

    def names(self, folder: str) -> list[str]:
        """See `Place`."""
        try:
            return os.listdir(self.path / folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def listed(self, folder: str, prefix: str = "") -> list[Entry]:
        """See `Place`."""
        try:
            with os.scandir(self.path / folder) as found:
                named = [one for one in found if one.name.startswith(prefix)]
                return [entry for one in named if (entry := _entry(one)) is not None]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def now(self) -> float:
        """See `Place`."""
        probe = (self.path / VERSIONS if self.has_versions else self.path) / f".now.{uuid.uuid4().hex}"
        try:
            probe.touch()
            return probe.stat().st_mtime
        finally:
            probe.unlink(missing_ok=True)

    def settle(self) -> None:
        """See `Place`."""
        sync_folder(self.path / VERSIONS)

    def sizes(self, names: Collection[str]) -> dict[str, int]:
        """See `Place`."""
        found = {}
        for name in names:
            with suppress(OSError):
                found[name] = (self.data / name).stat().st_size
        return found

    def here(self, files: Sequence[WrittenFile]) -> list[Path]:
        """See `Place`."""
        return [self.data / file.path for file in files]

    def shared(self) -> None:
        """See `Place`. What Spark's machines see of a folder, they see at the same path."""

    def opened(self, file: WrittenFile) -> Path | CheckedFile:
        """See `Place`."""
        return opened_here(self.data / file.path, file)

    def keep_here(self, names: Collection[str]) -> None:
        """See `Place`."""

    def gone(self, file: WrittenFile) -> bool:
        """See `Place`."""
        return False

    def again(self, file: WrittenFile) -> bool:
        """See `Place`."""
        return False

    def blocks(self, name: str) -> Iterator[bytes]:
        """See `Place`."""
        return blocks_of(self.data / name)

    def keep(self, name: str, blocks: Iterable[bytes]) -> None:
        """See `Place`."""
        target = self.data / name
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with naming(draft), open(draft, "wb") as file:
                for block in blocks:
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)

    def deliver(self, files: Iterable[WrittenFile]) -> None:
        """See `Place`."""
        sync_folder(self.data)

    def discard(self, stems: Sequence[str]) -> None:
        """See `Place`."""
        for file in list(self.data.iterdir()) if stems and self.data.is_dir() else ():
            if any(stem in file.name for stem in stems):
                with suppress(OSError):
                    self.remove(f"{DATA}/{file.name}")

    def vacant(self, unfinished: Callable[[], bool]) -> bool:
        """See `Place`."""
        return not self.path.exists() or (self.path.is_dir() and (_is_empty(self.path) or unfinished()))

    def prepare(self) -> None:
        """See `Place`."""
        missing = [self.path]
        while not missing[-1].parent.exists():
            missing.append(missing[-1].parent)
        for folder in (*reversed(missing), self.path / VERSIONS):
            self._make(folder)

    def prepare_data(self) -> None:
        """See `Place`."""
        self._make(self.data)
        for folder in {self.path, *(made.parent for made in self._made)}:
            sync_folder(folder)

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():
                raise
        except FileNotFoundError:  # somebody takes the folder above away: there is no lease then
            return
        else:
            if folder not in self._made:
                self._made.append(folder)

    def clear_data(self) -> None:
        """See `Place`."""
        if self.data in self._made:
            with suppress(OSError):
                self.data.rmdir()

    def destroy(self) -> None:
        """See `Place`."""
        shutil.rmtree(self.path)

    def clear(self) -> None:
        """See `Place`."""
        for folder in reversed([made for made in self._made if made != self.data]):
            with suppress(OSError):
                folder.rmdir()

    @property
    def has_versions(self) -> bool:
        """See `Place`."""
        return (self.path / VERSIONS).is_dir()


def _write_new(path: Path, text: str) -> None:
    """Write a new file; nothing is left of it where that fails. Raises FileExistsError."""
    with naming(path), open(path, "x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _entry(found: os.DirEntry[str]) -> Entry | None:
    """None where it is gone meanwhile."""
    try:
        stat = found.stat()
        size = _within(Path(found.path)) if found.is_dir() else stat.st_size
    except OSError:
        return None
    return Entry(found.name, size, stat.st_mtime)


def _within(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


def _is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing, or no more than a store's folders with nothing but drafts in them."""
    return all(
        entry.name in (VERSIONS, DATA) and entry.is_dir() and all(f.name.startswith(".") for f in entry.iterdir())
        for entry in folder.iterdir()
    )
