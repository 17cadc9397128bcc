"""Reading update files: RDF Patch, SPARQL Update, and plain triples to add or delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from loaders import sources
from loaders.compression import open_text
from loaders.patch import Change, read_patch, triples_of
from triplestore.errors import UsageError

if TYPE_CHECKING:
    from sparql.update import Operation

PATCH_SUFFIXES: Final = (".rdfp", ".patch")
SPARQL_SUFFIXES: Final = (".ru", ".rq", ".sparql")
COMPRESSED: Final = (".gz", ".bz2", ".zst")


@dataclass(frozen=True, slots=True)
class Request:
    """A SPARQL Update request, one transaction. number to last: the file numbers that scope its blank nodes, and those
    of the documents that it loads."""

    operations: tuple[Operation, ...]
    number: int
    last: int


def sparql_request(text: str, number: int, source: str | None = None) -> Request:
    """Parse a request. Raises InputError with its place in the text (source: the file), UnsupportedError."""
    from sparql.update import Load, parse_update  # when asked for: a store starts without the parser

    operations = parse_update(text, source, f"f{number}_")
    return Request(operations, number, number + sum(isinstance(operation, Load) for operation in operations))


def read_changes(path: str, number: int) -> list[Change] | list[Request]:
    """The transactions of an update file. `number` scopes the blank nodes that a SPARQL Update makes.

    Raises InputError with the place of a fault, UsageError for a missing file or an unknown suffix.
    """
    suffixes = [s for s in Path(path).suffixes if s not in COMPRESSED]
    suffix = suffixes[-1].lower() if suffixes else ""
    if not Path(path).is_file():
        raise UsageError(f"{path}: no such file")
    if suffix in PATCH_SUFFIXES:
        return read_patch(path)
    if suffix in SPARQL_SUFFIXES:
        with open_text(path) as file:
            return [sparql_request(file.read(), number, path)]
    known = ", ".join((*PATCH_SUFFIXES, *SPARQL_SUFFIXES[:1]))
    raise UsageError(
        f"{path}: not an update file by its suffix ({known}); for a file of plain triples use --add or --delete"
    )


def plain_change(add: Sequence[str], delete: Sequence[str], number: int) -> Change:
    """One transaction from RDF files. Blank nodes to add are new, those to delete are the store's own labels."""
    added = {t: None for i, source in enumerate(sources(add, None)) for t in triples_of(source, number + i)}
    deleted = {t: None for source in sources(delete, None) for t in triples_of(source, None) if t not in added}
    return Change(list(added), list(deleted))
