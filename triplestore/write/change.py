"""The one way of a write: a `Change` of what is asserted, by a maintainer, becomes a `ChangeSet`, which is committed.

    operations --pending--> quads --netting--> Change --in_memory--> ChangeSet --commit--> files, manifest
                                                  |          |           ^
                                                  |       Refused        |
                                                  +------in_tables-------+

A maintainer changes neither files nor the version: a dry run looks at the change set and undoes it, the operations of a
request stage one after another, and publish once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from triplestore.compile.schema import Fact
from triplestore.dictionary.encoding import Numbered
from triplestore.engine.sql import Scratch
from triplestore.maintain import Outcome
from triplestore.model.prefixes import Prefix
from triplestore.model.tables import Table
from triplestore.storage.manifest import Counters, Manifest, TableFiles
from triplestore.storage.versions import Versions

if TYPE_CHECKING:
    from triplake.sparql.update import Operation


@dataclass(frozen=True, slots=True)
class Facts:
    """A small change itself: asserted facts that are added and removed, and their terms; where some are new, working
    table `new_term` holds them."""

    added: Sequence[Fact]
    removed: Sequence[Fact]
    terms: Numbered


@dataclass(frozen=True, slots=True)
class Change:
    """The net change of what is asserted: how many facts are added that were not asserted, and removed that were.

    counters: the dictionary's after it. not_asserted: triples to delete that were not asserted. facts: the change, if
    it was netted in memory; else working tables `plus`, `minus` (ids) and `new_term` hold it. quads: how table `quad`
    changes, where it does: graphs may gain and lose triples that were, and stay, asserted.
    """

    added: int
    removed: int
    counters: Counters
    not_asserted: int = 0
    facts: Facts | None = None
    quads: TableChange | None = None

    def __bool__(self) -> bool:
        """Whether other triples are asserted than before."""
        return self.added > 0 or self.removed > 0


class Reason(Enum):
    """Why the closure is not maintained in memory."""

    LARGE_CHANGE = "the change is too large to be maintained in memory"
    LARGE_STORE = "the store is too large to be maintained in memory"
    DRAFT = "the operations of a dry run are maintained in tables"
    REPLACED = "all that was asserted is replaced"
    NOT_MATERIALISED = "the closure was not up to date"
    LITERALS = "literals are to be matched another way"
    OUTDATED = "the closure is of an older version of Triplake"
    NOT_MAINTAINABLE = "the rules, or the facts, are not maintained in memory"
    LAYOUT_FULL = "the store has too many terms to be maintained in memory"
    FROM_SCRATCH = "computing the closure from scratch is asked for, or cheaper"
    OVER_BUDGET = "maintaining the closure is more work than computing it from scratch"


@dataclass(frozen=True, slots=True)
class Refused:
    """A change that is not maintained in memory: nothing has been done. detail: what is known besides the reason; it is
    what reports say then."""

    reason: Reason
    detail: str = ""

    def __str__(self) -> str:
        return self.detail or self.reason.value


class TableChange(Protocol):
    """How a stored table changes."""

    def written(self, versions: Versions, table: Table, before: TableFiles) -> TableFiles:
        """Write the change; the table's files after it."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All that a change makes of a version, not yet written: by itself nothing.

    outcome: of the algorithm that maintained the closure (None: it is left as it is). counters: the dictionary's after
    it. tables: those that change. loaded: those of them whose working tables hold the next version.
    """

    change: Change
    counters: Counters
    outcome: Outcome | None = None
    tables: Mapping[Table, TableChange] = field(default_factory=dict)
    loaded: Sequence[Table] = ()

    def __bool__(self) -> bool:
        """Whether anything changes."""
        return bool(self.tables)

    def statistics(self, before: Manifest) -> dict[str, int]:
        """The statistics of the next version. before: the one that is changed."""
        return dict(before.stats)

    def object_types(self) -> Collection[tuple[int, int]]:
        """The predicates of the triples that are added to `asserted` and `fact`, each with the types of its objects
        (`triplestore.dictionary.object_types`): at least those that the version before does not have. Not asked for
        where the closure was computed from scratch."""
        return ()

    def same_as(self, scratch: Scratch) -> str:
        """The name of a table of the classes of equal terms after the change; `term` has all their terms. scratch: for
        what has to be made to read it."""
        return "same_as"

    def violations(self) -> Iterable[tuple[str, tuple[int, ...]]] | None:
        """The inconsistencies after the change (rule, ids); None where the working table `violation` has them."""
        return None

    def keep(self, now: Manifest) -> None:
        """The change is written, and the workspace holds `now`."""

    def undo(self) -> None:
        """The change is not to be."""


@dataclass(frozen=True, slots=True)
class Request:
    """A SPARQL Update request, one transaction. number to last: the file numbers that scope its blank nodes, and those
    of the documents that it loads. prefixes: those that it declares."""

    operations: tuple[Operation, ...]
    number: int
    last: int
    prefixes: Sequence[Prefix] = ()
