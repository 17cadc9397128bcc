"""The wrong lines of files of lines, found by reading these again: N-Triples, N-Quads."""

from __future__ import annotations

from triplake.loaders.lines import batches_of_lines, parse_lines
from triplake.loaders.rejects import COUNTED, Rejects
from triplake.loaders.seeming import head, seeming
from triplake.loaders.sources import Source
from triplake.loaders.tokens import Scope
from triplestore.model.errors import InputError


def note_bad_lines(source: Source, scope: Scope, rejects: Rejects, stop: bool) -> None:
    """Take down the wrong lines of a file, and where it cannot be read any further.

    stop: nothing may be left out, so that COUNTED lines do, or, of a file without a right line that seems to be of
    another kind, that alone.

    Raises InputError where the file has none.
    """
    instead = seeming(head(source.path, source.name), source.syntax.value)
    if stop and instead and not _any_right(source, scope):
        rejects.add(source.name, 1, instead, None, 1)
        return
    read, before = 0, rejects.of(source.name)
    try:
        for first, lines in batches_of_lines(source):
            for bad in parse_lines(lines, source.syntax, scope).bad:
                reason = f"{bad.reason} ({instead})" if instead else bad.reason
                rejects.add(source.name, first + bad.index, reason, lines[bad.index], bad.column)
                if stop and rejects.of(source.name) - before == COUNTED:
                    return
            read = first + len(lines) - 1
    except InputError as error:
        part = f"the file from line {read + 1:,} on" if read else "the whole file"
        ending = "" if stop else f" ({part} was left out)"
        rejects.add(source.name, read + 1 if read else None, error.reason + ending, None)
    if rejects.of(source.name) == before:
        raise InputError("the file changed while it was being read: load it again", source.name)


def _any_right(source: Source, scope: Scope) -> bool:
    """Whether any line of a file can be read."""
    try:
        return any(parse_lines(lines, source.syntax, scope).quads for _, lines in batches_of_lines(source))
    except InputError:
        return False
