"""Update files (RDF Patch, SPARQL Update, plain triples to add or delete), read and applied."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from triplake.loaders import Source, discard, sources
from triplake.loaders.compression import open_text
from triplake.loaders.patch import Change, quads_of, read_patch
from triplake.loaders.report import of_relative
from triplestore.model.dataset import Quad
from triplestore.model.errors import ConflictError, UsageError
from triplestore.model.prefixes import Prefix, Prefixes
from triplestore.model.report import UpdateReport
from triplestore.read.names import graph_token
from triplestore.read.session import Session
from triplestore.write.change import Request
from triplestore.write.transaction import RenumberError, repeated
from triplestore.write.update import apply

PATCH_SUFFIXES: Final = (".rdfp", ".patch")
SPARQL_SUFFIXES: Final = (".ru", ".rq", ".sparql")
COMPRESSED: Final = (".gz", ".bz2", ".zst")


def apply_files(
    session: Session,
    files: Sequence[str | Path],
    add: Sequence[str | Path],
    delete: Sequence[str | Path],
    base: str | None,
    drop_graphs: Sequence[str],
    batch: int,
    algorithm: str,
    dry: bool,
    load_folder: str | Path | None,
    each: Callable[[UpdateReport], None],
) -> list[UpdateReport]:
    """See `Store.update_files`. They are read when it is this writer's turn, since their blank nodes are numbered from
    what the newest version says; standard input and pipes are copied before."""
    session.writable()
    added, deleted = list[Source](), list[Source]()

    def once() -> list[UpdateReport]:
        if not dry:
            session.turn()
        changes, number = read_updates(session, files, added, deleted, base, drop_graphs)
        size = max(1, len(changes)) if dry else batch
        return apply_all(session, changes, size, number, algorithm, dry, load_folder, each)

    try:
        for found, given in ((added, add), (deleted, delete)):
            found += sources([str(file) for file in given], None) if given else ()
        return repeated(session, once, RenumberError)
    finally:
        discard([*added, *deleted])


def read_updates(
    session: Session,
    files: Sequence[str | Path],
    add: Sequence[Source],
    delete: Sequence[Source],
    base: str | None,
    drop_graphs: Sequence[str] = (),
) -> tuple[list[Change | Request], int]:
    """The transactions of update files, with those of plain triples and dropped graphs, and the number of the last
    file; see
    `Store.update_files`."""
    session.newest()
    number = session.manifest.counters.files + 1
    changes: list[Change | Request] = []
    for file in update_files([str(file) for file in files]):
        found = read_changes(file, number, base, session.manifest.prefixes)
        number = max((change.last + 1 for change in found if isinstance(change, Request)), default=number)
        changes += found
    if add or delete:
        change, relative = plain_change(add, delete, number, base)
        changes.append(change)
        if relative:
            session.notify(f"warning: {of_relative(relative)}")
        number += len(add)
    if drop_graphs:
        changes.append(_dropping(drop_graphs))
    return changes, number - 1


def _dropping(graphs: Sequence[str]) -> Request:
    """The transaction that drops graphs."""
    from triplake.sparql.update import Clear  # when asked for: a store starts without the parser

    names = [graph_token(graph) for graph in graphs]
    return Request(tuple(Clear(name, True, False, "the graph to drop") for name in names), 0, 0)


def apply_all(
    session: Session,
    changes: Sequence[Change | Request],
    size: int,
    number: int,
    algorithm: str,
    dry: bool,
    load_folder: str | Path | None,
    each: Callable[[UpdateReport], None],
) -> list[UpdateReport]:
    """Apply transactions in batches of a size, and give `each` the report of each batch. number: of the last file; the
    first transaction that is committed reserves them all. dry: a dry run. Raises RenumberError where nothing has been
    carried out yet, and all may be read again."""
    done, first, reports = 0, session.manifest.version, list[UpdateReport]()
    began = session.manifest.counters.files
    for change, several in grouped(changes, size):
        free = None if session.manifest.counters.files >= number else began
        try:
            if isinstance(change, Change):
                report = apply(session, change.operations, algorithm, dry, number, change.prefixes, free)
            else:
                requests = [replace(request, last=number) for request in change]
                report = carry_out(session, requests, algorithm, dry, load_folder, free)
            began = session.manifest.counters.files
        except BaseException as error:
            if done and isinstance(error, RenumberError):
                error = ConflictError(str(error))
            if session.manifest.version > first:
                committed = f"{done:,} of {len(changes):,} transactions were committed before this"
                error.add_note(f"{committed}: the store is at version {session.manifest.version}")
            raise error
        done += several
        reports.append(replace(report, transactions=several))
        each(reports[-1])
    return reports


def sparql_update(
    session: Session,
    text: str,
    algorithm: str,
    dry: bool,
    load_folder: str | Path | None,
    base: str | None,
    default_graphs: Sequence[str],
    named_graphs: Sequence[str],
) -> UpdateReport:
    """See `Store.sparql_update`."""

    def once() -> UpdateReport:
        if dry:
            session.newest()
        else:
            session.turn()
        manifest = session.manifest
        began = manifest.counters.files
        request = requested(text, began + 1, base, manifest.prefixes, default_graphs, named_graphs)
        return carry_out(session, (request,), algorithm, dry, load_folder, began)

    return repeated(session, once, RenumberError)


def requested(
    text: str,
    number: int,
    base: str | None,
    known: Prefixes,
    default_graphs: Sequence[str],
    named_graphs: Sequence[str],
) -> Request:
    """Parse a request whose patterns read these graphs (IRIs). number, base, known: see `sparql_request`."""
    from triplake.sparql.dataset import dataset_of  # when asked for: a store starts without the parser
    from triplake.sparql.update import reading

    dataset = dataset_of([graph_token(name) for name in default_graphs], [graph_token(name) for name in named_graphs])
    request = sparql_request(text, number, base=base, known=known)
    return replace(request, operations=reading(request.operations, dataset))


def carry_out(
    session: Session,
    requests: Sequence[Request],
    algorithm: str,
    dry: bool,
    load_folder: str | Path | None,
    began: int | None,
) -> UpdateReport:
    """Carry out requests as one transaction. began: see `check_numbers`."""
    from triplestore.write.request import carry_out  # when asked for: a store starts without the parser

    return carry_out(session, requests, algorithm, dry, None if load_folder is None else Path(load_folder), began)


def sparql_request(
    text: str, number: int, source: str | None = None, base: str | None = None, known: Prefixes | None = None
) -> Request:
    """Parse a request. base: what relative IRIs are resolved against. known: prefixes that it need not declare.
    Raises InputError with its place in the text (source: the file), UnsupportedError."""
    from triplake.sparql.update import Load, parse_update  # when asked for: a store starts without the parser

    declared: dict[str, str] = {}
    operations = parse_update(text, source, f"f{number}_", base, known, declared)
    last = number + sum(isinstance(operation, Load) for operation in operations)
    name = "update" if source is None else Path(source).name
    return Request(operations, number, last, [Prefix(*found, name) for found in declared.items()])


def update_files(paths: Sequence[str]) -> list[str]:
    """Files and folders as files: of a folder (and those under it) the update files by their suffixes, sorted by path;
    hidden ones are left out. Raises UsageError for a folder without any."""
    found: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            found.append(path)
            continue
        inside = [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(path)
            for name in names
            if not any(part.startswith(".") for part in Path(os.path.relpath(folder, path), name).parts if part != ".")
            and _suffix(name) in (*PATCH_SUFFIXES, *SPARQL_SUFFIXES)
        ]
        if not inside:
            raise UsageError(
                f"{path}: the folder holds no update file ({', '.join((*PATCH_SUFFIXES, *SPARQL_SUFFIXES))})"
            )
        found += sorted(inside)
    return found


def grouped(changes: Sequence[Change | Request], most: int) -> Iterator[tuple[Change | tuple[Request, ...], int]]:
    """Transactions put together, up to `most` in each: a group as one transaction, and how many it is made of. What
    becomes of the store is the same: all operations are carried out in order."""
    for group in (changes[start : start + most] for start in range(0, len(changes), most)):
        plain = [change for change in group if isinstance(change, Change)]
        if len(plain) == len(group):
            operations = [operation for change in plain for operation in change.operations]
            yield Change(operations, [prefix for change in plain for prefix in change.prefixes]), len(group)
        else:
            yield tuple(_as_request(change) for change in group), len(group)


def _as_request(change: Change | Request) -> Request:
    from triplake.sparql.update import Data

    if isinstance(change, Request):
        return change
    return Request(tuple(Data(insert, tuple(quads)) for insert, quads in change.operations), 0, 0, change.prefixes)


def _suffix(path: str) -> str:
    """The suffix that tells what an update file is in, whatever it is compressed by."""
    suffixes = [s for s in Path(path.lower()).suffixes if s not in COMPRESSED]
    return suffixes[-1] if suffixes else ""


def read_changes(
    path: str, number: int, base: str | None = None, known: Prefixes | None = None
) -> list[Change | Request]:
    """The transactions of an update file. `number` scopes the blank nodes that a SPARQL Update makes; `base`: what its
    relative IRIs are resolved against; `known`: prefixes that it need not declare.

    Raises InputError with the place of a fault, UsageError for a missing file or an unknown suffix.
    """
    suffix = _suffix(path)
    if not Path(path).is_file():
        what = "an update is read from a file: write it to one (.ru)" if "{" in path else "check the path"
        raise UsageError(f"{path}: there is no such file: {what}")
    if suffix in PATCH_SUFFIXES:
        return [*read_patch(path)]
    if suffix in SPARQL_SUFFIXES:
        with open_text(path) as file:
            return [sparql_request(file.read(), number, path, base, known)]
    suffixes = ", ".join((*PATCH_SUFFIXES, *SPARQL_SUFFIXES[:1]))
    raise UsageError(
        f"{path}: not an update file by its suffix ({suffixes}); for a file of plain triples use --add or --delete"
    )


def plain_change(
    add: Sequence[Source], delete: Sequence[Source], number: int, base: str | None = None
) -> tuple[Change, list[str]]:
    """One transaction from RDF files, and the names of those whose relative IRIs became those of their place, without a
    `base`. Blank nodes to add are new (`number`: of the first file), those to delete are the store's own labels."""
    relative, prefixes = dict[str, None](), list[Prefix]()

    def read(source: Source, first_file: int | None) -> list[Quad]:
        found = quads_of(replace(source, base=base) if base else source, first_file, prefixes)
        resolving = base is None and source.base is None and not source.syntax.by_line
        if resolving and any(term.startswith("<file:") for quad in found for term in quad):
            relative[source.name] = None
        return found

    added = {t: None for i, source in enumerate(add) for t in read(source, number + i)}
    deleted = {t: None for source in delete for t in read(source, None) if t not in added}
    return Change([(False, list(deleted)), (True, list(added))], prefixes), list(relative)
