"""What loading leaves out where it may: listed in a file, and counted by file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from triplestore.engine.disk import naming
from triplestore.model.errors import FaultyFilesError, InputError, UsageError

COUNTED: Final = 100
"""Wrong lines of a file that are counted where none may be left out."""


def check_rejects(path: Path, read: Iterable[str]) -> None:
    """Raise UsageError where a rejects file cannot be written, or is one of the files that are read."""
    if path.is_dir():
        raise UsageError(f"the rejects file {path} is a folder: give a file (--rejects)")
    if not path.parent.is_dir():
        raise UsageError(f"the rejects file {path} cannot be written: there is no folder {path.parent} (--rejects)")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"the rejects file {path} cannot be written: permission denied (--rejects)")
    if path.is_file() and any(os.path.isfile(file) and path.samefile(file) for file in read):
        raise UsageError(f"the rejects file {path} is one of the files to load, which it would overwrite (--rejects)")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was left out of one file: how many entries (lines, a whole document, an unreadable rest), where the first
    is (line and column 1-based, or None), and what is wrong with it."""

    file: str
    entries: int
    line: int | None
    reason: str
    column: int | None = None

    @property
    def error(self) -> InputError:
        """It as the error that loading ends with where nothing may be left out."""
        least = " at least" if self.entries >= COUNTED else ""
        more = f" (and{least} {self.entries - 1:,} more of this file)" if self.entries > 1 else ""
        return InputError(f"{self.reason}{more}", self.file, self.line, self.column)


@dataclass(slots=True)
class Rejects:
    """Writes what is left out to a file, made with the first of it. path: None to count only."""

    path: Path | None
    _out: TextIO | None = None
    _files: dict[str, LeftOut] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """How many there are."""
        return sum(left.entries for left in self._files.values())

    @property
    def files(self) -> tuple[LeftOut, ...]:
        """The rejected parts, by file, in the order read."""
        return tuple(self._files.values())

    def of(self, file: str) -> int:
        """How many there are of one file."""
        known = self._files.get(file)
        return 0 if known is None else known.entries

    @property
    def error(self) -> InputError:
        """All of them as one error."""
        errors = [left.error for left in self.files]
        return errors[0] if len(errors) == 1 else FaultyFilesError(errors)

    def add(self, file: str, line: int | None, reason: str, text: bytes | None, column: int | None = None) -> None:
        """One more: a line with its text, or (without a text) what the reason says."""
        reason = " ".join(reason.split())
        known = self._files.get(file)
        first = (line, reason, column) if known is None else (known.line, known.reason, known.column)
        self._files[file] = LeftOut(file, 1 if known is None else known.entries + 1, *first)
        if self.path is None:
            return
        with naming(self.path):
            if self._out is None:
                self._out = self.path.open("w", encoding="utf-8", errors="surrogateescape", newline="\n")
            self._out.write(f"# {file if line is None else f'{file}:{line}'}: {reason}\n")
            if text is not None:
                self._out.write(text.decode("utf-8", "surrogateescape") + "\n")

    def close(self) -> None:
        """Nothing more comes."""
        if self._out is not None and self.path is not None:
            with naming(self.path):
                self._out.close()
