"""A store that is open: the version at hand in an engine, and what is kept from one call to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from triplestore.closure.view import ClosureView
from triplestore.engine import Engine
from triplestore.model.errors import UsageError
from triplestore.read.lookup import Lookups
from triplestore.read.turns import Turns
from triplestore.read.workspace import Workspace
from triplestore.storage.leases import Reading
from triplestore.storage.manifest import Manifest
from triplestore.storage.verify import look_for_damage
from triplestore.storage.versions import Versions

if TYPE_CHECKING:
    from triplake.loaders import Progress
    from triplestore.materialise.figures import RoundFigures
    from triplestore.shapes.model import Shape

Notify = Callable[[str], None]
"""Where progress goes: one readable line at a time."""


RETRIES: Final = 10
"""How often a change is carried out again where another process was first, if nobody says otherwise."""

Name = TypeVar("Name", str, str | Path)


def several(given: Name | Sequence[Name]) -> tuple[Name, ...]:
    """What was given, one text (or path) or several of them, as several. Raises UsageError for what is neither."""
    if isinstance(given, str | Path):
        return (given,)
    found = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(one, str | Path) for one in found):
        raise UsageError(f"{given!r} is neither a text or a path nor a list of these: give [] for none")
    return found


class Session:
    """What every part of an open store works with. `watch`: what `live` is at first, of each.

    pinned: the version is an older one, or a reader's: nothing can be written. workspace: a reader's, which finds its
    tables made; it makes no indexes of its own. in_memory: those tables are no files. retries: how often a change is
    carried out again where another process was first. notify, verbose: where progress goes. live: how far files are
    read, from another thread (None: nobody asks). rounds: what gets the figures of each round of a materialisation.
    """

    watch: ClassVar[Callable[[Progress], None] | None] = None

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
        self.asked = 0  # queries of the version at hand
        self.lookups = Lookups(self.workspace.cache) if workspace is None else None
        self.retries = RETRIES
        self.reading = Reading(versions.place)
        if not in_memory:
            self.reading.at(manifest.version)
        self.services: tuple[str, ...] = ()  # endpoints that queries may ask
        self.shapes: tuple[Shape, ...] = ()  # that what is published has to conform to
        self.notify: Notify = lambda line: None
        self.verbose: Notify = lambda line: None
        self.live = Session.watch
        self.rounds: Callable[[RoundFigures], None] = lambda figures: None

    @property
    def manifest(self) -> Manifest:
        """The version at hand."""
        return self.workspace.manifest

    @property
    def view(self) -> ClosureView:
        """How the closure of that version is to be read."""
        return self.workspace.cache.get("view", self.manifest, lambda: ClosureView.of(self.manifest))

    @property
    def path(self) -> Path | str:
        """The store's folder, or its URL."""
        return self.versions.path

    def examine(self) -> None:
        """See `triplestore.storage.verify.look_for_damage`, of the version at hand."""
        look_for_damage(self.versions, self.manifest)

    def newest(self) -> None:
        """Move on to the version that another writer may have published since."""
        if not self.versions.is_newest(self.manifest):
            self.workspace.forget(self.versions.read())
            self.versions.place.keep_here(self.manifest.paths)
            self.reading.at(self.manifest.version)

    def writable(self) -> None:
        """Raise UsageError where an older version is open."""
        if self.pinned:
            version = self.manifest.version
            raise UsageError(f"version {version} was opened to read (--at); open the newest version to change it")

    def turn(self) -> None:
        """Wait until it is this writer's turn, which ends with the transaction that comes next, or with the call that
        is being repeated. For what has to read the newest version before its transaction begins."""
        self.writable()
        self.versions.take_turn(self.manifest.version, self.notify)
        self.newest()

    def readable(self) -> None:
        """Raise UsageError where the closure is not up to date."""
        if not self.manifest.materialised:
            raise UsageError(
                f"the closure of {self.path} is not up to date (files were loaded with --no-materialise); "
                f"run `triplake materialise {self.path}` first"
            )
