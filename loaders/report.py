"""What a load has read, and what to say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triplake.loaders.rejects import LeftOut
from triplestore.model.prefixes import Prefixes
from triplestore.model.report import UpdateReport


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What was read.

    triples: rows of the table. skipped: lines (and whole documents, and unreadable rests) left out. rejects_path: where
    they are listed, None if nothing was. named: quads in named graphs. files: how many were read. left_out: by file.
    relative: files whose relative IRIs were resolved against their own place. prefixes: those that documents declare.
    effect: of a dry run, what a load would do."""

    triples: int
    skipped: int
    rejects_path: Path | None
    named: int
    files: int
    left_out: tuple[LeftOut, ...] = ()
    relative: tuple[str, ...] = ()
    prefixes: Prefixes = field(default_factory=Prefixes)
    effect: UpdateReport | None = None

    def as_dict(self) -> dict[str, Any]:
        """What was read, as JSON: prefixes and effect left out."""
        return {
            "triples": self.triples,
            "named": self.named,
            "files": self.files,
            "skipped": self.skipped,
            "rejects": None if self.rejects_path is None else str(self.rejects_path),
            "left_out": [
                {"file": o.file, "line": o.line, "column": o.column, "entries": o.entries, "reason": o.reason}
                for o in self.left_out
            ],
            "relative": list(self.relative),
        }


def of_relative(files: Sequence[str]) -> str:
    """What to say of files whose relative IRIs became those of the place where they happen to be."""
    others = f" and {len(files) - 1:,} more have" if len(files) > 1 else " has"
    return (
        f"{files[0]}{others} IRIs that begin with file:, as relative ones do without a base: give --base IRI if that "
        "is not meant"
    )
