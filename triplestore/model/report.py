"""Reports: what an operation did, or what a store holds, as a value and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import Any, Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"

LONGEST: Final = 500
"""Characters of a value that a notebook shows."""


class Report(Mapping[str, Any]):
    """A frozen dataclass with a JSON form, whose keys are documented and stay.

    It also is a mapping of that form (`report["added"]`, `{**report}`, `==`), as reports were dictionaries once; use
    the attributes, and `as_dict` where a dictionary is needed. Mapping access ends with version 1.0.
    """

    __slots__ = ()

    def as_dict(self) -> JsonObject:
        """The JSON form: a new dictionary."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """The JSON form as a table, for notebooks."""
        rows = (f"<tr><th>{escape(key)}</th><td>{_cell(value)}</td></tr>" for key, value in self.as_dict().items())
        return f"<table><tbody>{''.join(rows)}</tbody></table>"

    def __getitem__(self, key: str) -> Any:
        return self.as_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.as_dict())

    def __len__(self) -> int:
        return len(self.as_dict())


def _cell(value: Json) -> str:
    """A value of a report as HTML: numbers with separators, lists and objects as JSON."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = value if isinstance(value, str) else json.dumps(value, default=dict, ensure_ascii=False)
    return escape(text if len(text) <= LONGEST else f"{text[:LONGEST]} ..")


@dataclass(frozen=True, slots=True)
class ClassPart:
    """A class of equal terms: the term that represents it, as N-Triples writes it, and the number of its members.

    names: the first members, beginning with that term; none for a term that is equal to no other."""

    term: str
    members: int
    names: tuple[str, ...] = ()

    def as_dict(self) -> JsonObject:
        return {"term": self.term, "members": self.members, **({"names": list(self.names)} if self.names else {})}


@dataclass(frozen=True, slots=True)
class ClassSplit:
    """A class that falls apart, and what it falls into."""

    whole: ClassPart
    into: tuple[ClassPart, ...]

    def as_dict(self) -> JsonObject:
        return {"class": self.whole.as_dict(), "into": [part.as_dict() for part in self.into]}


@dataclass(frozen=True, slots=True)
class ClassDiff:
    """How classes of equal terms change. merged: classes that several become; split: classes that fall apart. merges
    (the classes that become one) and splits list some of them, the largest first."""

    merged: int
    merges: tuple[tuple[ClassPart, ...], ...]
    split: int
    splits: tuple[ClassSplit, ...]

    def as_dict(self) -> JsonObject:
        return {
            "classes_merged": self.merged,
            "merges": [[part.as_dict() for part in merge] for merge in self.merges],
            "classes_split": self.split,
            "splits": [split.as_dict() for split in self.splits],
        }


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """A rule that is violated, and the triples at fault, of the terms that represent their classes, as N-Triples writes
    them. classes: of those terms that represent others too."""

    rule: str
    triples: tuple[tuple[str, str, str], ...]
    classes: tuple[ClassPart, ...] = ()

    def as_dict(self) -> JsonObject:
        found: JsonObject = {"rule": self.rule, "triples": [list(triple) for triple in self.triples]}
        return found | ({"classes": [part.as_dict() for part in self.classes]} if self.classes else {})


@dataclass(frozen=True, slots=True)
class ViolationDiff:
    """How many inconsistencies a change makes, and how many it mends, with some of each."""

    made: int
    makes: tuple[Inconsistency, ...]
    mended: int
    mends: tuple[Inconsistency, ...]

    def as_dict(self) -> JsonObject:
        return {
            "inconsistencies_made": self.made,
            "makes": [one.as_dict() for one in self.makes],
            "inconsistencies_mended": self.mended,
            "mends": [one.as_dict() for one in self.mends],
        }


@dataclass(frozen=True, slots=True, eq=False)
class UpdateReport(Report):
    """What a write did, and at what cost; docs/maintenance.md explains each figure.

    added, deleted: stored facts of the closure. merged, split: terms that ceased to represent a class, or began to.
    seconds: of the whole transaction; phases: of its parts. reason: why the algorithm was chosen.

    not_asserted: triples to delete that were not asserted (None: the operation deletes no triples by name).
    transactions: of an update file or a batch, that this one is made of. classes, violations: how a dry run changes the
    classes of equal terms, and the inconsistencies.
    """

    operation: str
    algorithm: str = "none"
    seconds: float = 0.0
    rounds: int = 0
    statements: int = 0
    derived: int = 0
    added: int = 0
    deleted: int = 0
    merged: int = 0
    split: int = 0
    doubted: int = 0
    checked: int = 0
    proved: int = 0
    sets: Mapping[str, int] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    not_asserted: int | None = None
    transactions: int | None = None
    classes: ClassDiff | None = None
    violations: ViolationDiff | None = None

    def as_dict(self) -> JsonObject:
        """See `Report`. The last four fields are left out where they are None."""
        found: JsonObject = {name: getattr(self, name) for name in _FIGURES}
        found |= {"sets": dict(self.sets), "phases": dict(self.phases)}
        found |= {} if self.classes is None else self.classes.as_dict()
        found |= {} if self.violations is None else self.violations.as_dict()
        found |= {} if self.not_asserted is None else {"not_asserted": self.not_asserted}
        return found | ({} if self.transactions is None else {"transactions": self.transactions})

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> UpdateReport:
        """The report of a version, as its manifest holds it; what an older version lacks is 0."""
        return cls(**{"operation": "", **{name: stored[name] for name in _FIGURES if name in stored}})


_NOT_KEPT = ("not_asserted", "transactions", "classes", "violations")
_FIGURES = tuple(f.name for f in fields(UpdateReport) if f.name not in _NOT_KEPT)
"""The figures that every write has, and its version keeps."""
