"""Where a store is: a folder (`triplestore.storage.folder`), or an object store (`triplestore.storage.bucket`).

A store asks little of either, for its files never change: short texts (the mark, manifests, leases) are read, listed
and made if nobody else has made them; files of data are written on this machine, then handed over, and are brought
here to be read. Names are relative to the store, with "/" between their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from io import RawIOBase
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote

from triplestore.engine import Files, WrittenFile
from triplestore.objects import Entry

MARK: Final = "triplake.json"
VERSIONS: Final = "_versions"
DATA: Final = "data"


class Place(Protocol):
    """What a store needs of where it is. Every method raises OSError, or StorageError where the place is another
    machine that does not answer or refuses."""

    @property
    def path(self) -> Path | str:
        """As people name it, without anything secret: a path, or a URL."""

    @property
    def data(self) -> Path:
        """The folder of this machine in which files of data are written, and found once they were brought here."""

    @property
    def remote(self) -> bool:
        """Whether it is another machine, which has a price for each question."""

    def at(self, name: str) -> str:
        """As people name a file of it."""

    # -- texts -----------------------------------------------------------------------------------------------------

    def read(self, name: str) -> str:
        """Raises FileNotFoundError (NotADirectoryError where the store is not a folder)."""

    def create(self, name: str, text: str) -> None:
        """Make a file, whole and durable on return, if nobody has made it: FileExistsError then."""

    def replace(self, name: str, text: str) -> None:
        """Write a file, whole and durable on return, in place of what was there."""

    def claim(self, name: str, text: str) -> None:
        """As `create`, but it need not outlive a crash of the machine."""

    def renew(self, name: str, text: str) -> None:
        """Let a claimed file that says `text` be modified now. Raises FileNotFoundError where it is gone."""

    def revise(self, name: str, text: str) -> None:
        """Let a claimed file say something else."""

    def bury(self, name: str, text: str) -> None:
        """Remove a file that says `text`; another that has taken its name stays."""

    def remove(self, name: str) -> None:
        """Remove a file (or folder), if it is there."""

    def entry(self, name: str) -> Entry | None:
        """A file, None where there is none."""

    def names(self, folder: str) -> list[str]:
        """The names of the files of a folder; none without it."""

    def listed(self, folder: str, prefix: str = "") -> list[Entry]:
        """The files of a folder whose names begin with `prefix`, by their names in it; none without it."""

    def now(self) -> float:
        """The time by the clock of the place, as in `Entry`."""

    def settle(self) -> None:
        """Have the names of what was made outlive a crash of the machine."""

    # -- files of data ---------------------------------------------------------------------------------------------

    def sizes(self, names: Collection[str]) -> dict[str, int]:
        """Of files of data, by their names in `DATA`, the bytes of those that are there."""

    def here(self, files: Sequence[WrittenFile]) -> list[Path]:
        """Files of data on this machine, brought here where they are not."""

    def shared(self) -> str | None:
        """The URL below which every machine finds the files of data by their names, by Hadoop's file systems, and may
        write more of them; None where there is none but a path."""

    def opened(self, file: WrittenFile) -> Path | RawIOBase:
        """A file of data of which parts are to be read; only those are brought here, and compared with their checksums.
        Raises AlteredError where the file is not what was written, now or when it is read."""

    def keep_here(self, names: Collection[str]) -> None:
        """Of the files of data that `here` has brought, or that were delivered, keep these on this machine, and those
        that were needed not long ago."""

    def gone(self, file: WrittenFile) -> bool:
        """Whether the copy that `here` has brought is on this machine no more, which nobody here has let go."""

    def again(self, file: WrittenFile) -> bool:
        """Forget the copy that `here` has brought, which is not what was written; whether there was one."""

    def blocks(self, name: str) -> Iterator[bytes]:
        """The bytes of a file of data, as the place has them. Raises FileNotFoundError."""

    def keep(self, name: str, blocks: Iterable[bytes]) -> None:
        """Write a file of data, whole and durable on return; nothing is left of it where reading `blocks` fails."""

    def deliver(self, files: Iterable[WrittenFile]) -> None:
        """Have the files of data that were written here where everybody finds them, durable on return."""

    def discard(self, stems: Sequence[str]) -> None:
        """Remove the files of data whose names hold one of `stems`, which nobody else gives."""

    # -- making a store ----------------------------------------------------------------------------------------------

    def vacant(self, unfinished: Callable[[], bool]) -> bool:
        """Whether a store may be made here: nothing is here, or what a making left that is `unfinished`."""

    def prepare(self) -> None:
        """Make what the leases of a store need. Raises FileNotFoundError where somebody takes it away meanwhile."""

    def prepare_data(self) -> None:
        """Make what files of data need."""

    def clear_data(self) -> None:
        """Remove what `prepare_data` made, if nothing is in it."""

    def destroy(self) -> None:
        """Remove the store, for good."""

    def clear(self) -> None:
        """Remove what `prepare` made, if nothing is in it."""

    @property
    def has_versions(self) -> bool:
        """Whether there is a place for versions, where that can be lost."""


def to_write(place: Place, engine: Files) -> str:
    """The folder in which an engine writes files of data."""
    return (place.shared() if engine.elsewhere else None) or str(place.data)


def within(path: Path | str, other: Path | str) -> bool:
    """Whether the store of a path, or a URL, is that of another, or in it."""
    if isinstance(path, Path) and isinstance(other, Path):
        return path.resolve().is_relative_to(other.resolve())
    if not isinstance(path, str) or not isinstance(other, str):
        return False
    return f"{unquote(path)}/".startswith(f"{unquote(other)}/")
