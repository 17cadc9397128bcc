"""Every error Triplake raises on purpose, with the exit code that the command line gives it.

A message tells what happened, where, and what to do. Errors of the user carry the place (file, line, column);
faults of ours carry the SQL that failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final


class TriplakeError(Exception):
    """Base of all errors that Triplake raises on purpose. `exit_code` is the command line's."""

    exit_code = 70


class UsageError(TriplakeError):
    """The request cannot be carried out as written: a wrong option, an unknown name, an unsupported construct."""

    exit_code = 2


class UnsupportedError(UsageError):
    """A construct of a standard that Triplake does not support yet; names the construct."""


class LimitError(UsageError):
    """A text goes beyond a limit of size or nesting, which the message tells with the place."""


class FormatError(UsageError):
    """What was found cannot be written in the format that was asked for; names one that can hold it."""


class InputError(TriplakeError):
    """Bad input data. Nothing was committed.

    Attributes: file (path as given, or None), line and column (1-based, or None), reason (what is wrong).
    """

    exit_code = 3

    def __init__(
        self, reason: str, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.reason, self.file, self.line, self.column = reason, file, line, column
        where = file or ""
        if line is not None:
            where += f":{line}" if where else f"line {line}"
            if column is not None:
                where += f":{column}" if file else f", column {column}"
        super().__init__(f"{where}: {reason}" if where else reason)


class NonConformingError(TriplakeError):
    """A change whose result does not conform to the shapes that guard the store. Nothing was committed.

    Attributes: report (of the result: a `triplestore.shapes.report.ValidationReport`).
    """

    exit_code = 1

    def __init__(self, message: str, report: object) -> None:
        self.report = report
        super().__init__(message)


class FaultyFilesError(InputError):
    """Several faulty files: `faults` has what is wrong with each, in the order read; file, line, column and reason are
    those of the first. Nothing was committed."""

    NAMED: Final = 50
    """Files that the message names."""

    def __init__(self, faults: Sequence[InputError]) -> None:
        first = faults[0]
        super().__init__(first.reason, first.file, first.line, first.column)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        named = [str(fault) for fault in self.faults[: self.NAMED]]
        if len(self.faults) > self.NAMED:
            named.append(f"and {len(self.faults) - self.NAMED:,} more files")
        return "\n  ".join((f"{len(self.faults):,} files cannot be read, and nothing was committed:", *named))


class ConflictError(TriplakeError):
    """Another writer committed first. Nothing of this writer's work is visible; run the command again."""

    exit_code = 4


class DamagedStoreError(TriplakeError):
    """The store lacks a file it names, holds one that cannot be read, or is of a newer format."""

    exit_code = 5


class MemoryLimitError(TriplakeError):
    """The work needs more memory, or more room for what it spills, than it may have. Nothing was committed."""

    exit_code = 7


def out_of_memory(error: MemoryError) -> MemoryLimitError:
    """What to raise for an array or an object of Python that does not fit into the machine's memory."""
    reason = f" ({error})" if str(error) else ""
    return MemoryLimitError(
        f"out of memory{reason}: end other programs or take a larger machine, ask for less (LIMIT, a closer pattern), "
        "or make a large change in several steps"
    )


class StorageError(TriplakeError):
    """The disk is full, or fails. The message says what was committed: nothing, unless it says otherwise."""

    exit_code = 6


class PublishedError(StorageError):
    """A version has been published, or may have been, and the disk or the object store fails after that. The change is
    not to be made again before somebody has looked."""


class EndlessError(TriplakeError):
    """Rules make more terms, or go on making some for more rounds, than they may. Nothing was committed."""

    exit_code = 8


class StoppedError(TriplakeError):
    """The work was stopped from outside before its end: its time was up, or nobody waits for it any more."""

    exit_code = 130


class EndpointError(TriplakeError):
    """The endpoint of a SERVICE did not answer, or not as it has to; names the endpoint. Nothing was committed."""

    exit_code = 9


class EngineError(TriplakeError):
    """A statement failed on the engine: a fault of ours (or of the machine: disk, memory). Carries the SQL."""

    def __init__(self, message: str, sql: str = "") -> None:
        self.sql = sql
        super().__init__(f"{message}\n-- while running:\n{sql}" if sql else message)


def how_to_install(extra: str) -> str:
    """The command that installs an extra of ours: where the package index has no triplake, from the checkout."""
    return f"pip install 'triplake[{extra}]', in a checkout '.[{extra}]'"
