"""A store that is open: the version at hand in an engine, and what is kept from one call to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from triplestore.engine import Engine
from triplestore.model.errors import UsageError
from triplestore.read.lookup import Lookups
from triplestore.read.turns import Turns
from triplestore.read.workspace import Workspace
from triplestore.storage.manifest import Manifest, TableFiles, Versions
from triplestore.storage.statistics import Statistics
from triplestore.storage.verify import examine

if TYPE_CHECKING:
    from triplake.sparql.constants import Known

Notify = Callable[[str], None]
"""Where progress goes: one readable line at a time."""


Name = TypeVar("Name", str, str | Path)


def several(given: Name | Sequence[Name]) -> tuple[Name, ...]:
    """What was given, one text (or path) or several of them, as several."""
    return (given,) if isinstance(given, str | Path) else tuple(given)


class Session:
    """What every part of an open store works with.

    pinned: the version is an older one, or a reader's: nothing can be written. workspace: a reader's, which finds its
    tables made; it makes no indexes of its own. in_memory: those tables are no files. notify, verbose: where progress
    goes.
    """

    def __init__(
        self,
        versions: Versions,
        engine: Engine,
        manifest: Manifest,
        pinned: bool,
        workspace: Workspace | None = None,
        in_memory: bool = False,
    ) -> None:
        self.versions, self.engine, self.pinned = versions, engine, pinned
        self.turns = Turns(versions.path) if in_memory else Turns(versions.path, self.examine)
        self.workspace = workspace or Workspace(engine, versions, manifest)
        self.known: tuple[Manifest, Known] | None = None  # what queries of that version have looked up
        self.asked = 0  # queries of that version
        self.lookups = Lookups() if workspace is None else None
        self.statistics: tuple[TableFiles, Statistics] | None = None  # of the closure, from these files
        self.notify: Notify = lambda line: None
        self.verbose: Notify = lambda line: None

    @property
    def manifest(self) -> Manifest:
        """The version at hand."""
        return self.workspace.manifest

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self.versions.path

    def examine(self) -> None:
        """See `triplestore.storage.verify.examine`, of the version at hand."""
        examine(self.versions, self.manifest, sums=True)

    def newest(self) -> None:
        """Move on to the version that another writer may have published since."""
        if not self.versions.is_newest(self.manifest.version):
            self.workspace.forget(self.versions.read())

    def readable(self) -> None:
        """Raise UsageError where the closure is not up to date."""
        if not self.manifest.materialised:
            raise UsageError(
                f"the closure of {self.path} is not up to date (files were loaded with --no-materialise); "
                f"run `triplake materialise {self.path}` first"
            )
