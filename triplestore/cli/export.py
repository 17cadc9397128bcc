"""Writing a store's triples to a file or stdout: N-Triples by lines, other formats by subjects."""

from __future__ import annotations

import bz2
import gzip
import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from triplestore.engine.disk import DISK, told
from triplestore.model.dataset import DEFAULT, Quad
from triplestore.model.errors import StorageError, UsageError
from triplestore.model.prefixes import Names

if TYPE_CHECKING:
    from triplestore.store import Store

TokenTriple = tuple[str, str, str]

FORMATS: Final = {".nt": "nt", ".ttl": "ttl", ".rdf": "rdf", ".owl": "rdf", ".jsonld": "jsonld"}
"""File suffix -> name in `sparql.graph_formats.GRAPH_FORMATS`."""

DATASETS: Final = {".nq": "nq", ".trig": "trig"}
"""The same of formats that have named graphs, in `sparql.dataset_formats.DATASET_FORMATS`."""


def leaves_out_graphs(store: Store, output: str | None, what: str, graph: str | None) -> bool:
    """Whether the triples of named graphs are not among those that `write_export` writes."""
    asked = graph is None and what != "inferred" and store.default_graph == "separate" and store.has_named_graphs
    return asked and _suffix(output or "") not in DATASETS


def write_export(
    store: Store,
    output: str | None,
    what: str,
    same_as: str,
    ordered: bool = False,
    virtual: bool = False,
    prefer: Sequence[str] = (),
    graph: str | None = None,
) -> int:
    """Write triples to a file (format and compression by its suffixes) or, with None, to stdout; their number.

    N-Quads and TriG have what is asserted in its graphs, and what is inferred in the unnamed one. graph: write the
    asserted triples of this graph (a token) and nothing else. A file appears whole or not at all. Raises UsageError for
    an unknown suffix, an order that a format cannot keep, or where the file cannot be written; StorageError for a disk
    that is full or fails.
    """
    if graph is not None and (what == "inferred" or same_as == "canonical" or prefer or virtual or ordered):
        raise UsageError(
            "a graph has what was asserted in it, as it was, in no order: "
            "leave out --what inferred, --same-as, --prefer, --virtual and --sorted, or --graph"
        )
    if output is None and graph is not None:
        return _write_format(sys.stdout.buffer, "nt", store.graph_batches(graph), store.prefixes.names)
    if output is None:
        return _write_lines(sys.stdout.buffer, store.lines(what, same_as, ordered, virtual, prefer))
    suffix = _suffix(output)
    if suffix not in FORMATS and suffix not in DATASETS:
        known = ", ".join((*FORMATS, *DATASETS))
        raise UsageError(f"{output}: the suffix gives the format: use one of {known} (.gz, .bz2, .zst on top)")
    if suffix in DATASETS and (same_as == "canonical" or virtual):
        raise UsageError(f"{output}: graphs have what was asserted, as it was: leave --same-as and --virtual out")
    if ordered and suffix != ".nt":
        raise UsageError(f"{output}: --sorted orders N-Triples lines; give a .nt file")
    try:
        with _replacing(output) as plain, _compressed(plain, Path(output).suffix.lower()) as file:
            if suffix in DATASETS:
                count = _write_dataset(file, DATASETS[suffix], _quads(store, what, graph), store.prefixes.names)
            elif graph is not None:
                count = _write_format(file, FORMATS[suffix], store.graph_batches(graph, True), store.prefixes.names)
            elif suffix == ".nt":
                count = _write_lines(file, store.lines(what, same_as, ordered, virtual, prefer))
            else:
                batches = store.token_batches(what, same_as, virtual, prefer, grouped=True)
                count = _write_format(file, FORMATS[suffix], batches, store.prefixes.names)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in DISK:
            raise StorageError(told(error.strerror, output)) from error
        raise UsageError(f"{output}: cannot be written ({error.strerror or error})") from error
    return count


def _suffix(output: str) -> str:
    """The suffix that tells a file's format, in small letters."""
    suffixes = [s for s in map(str.lower, Path(output).suffixes) if s not in (".gz", ".bz2", ".zst")]
    return suffixes[-1] if suffixes else ""


def _write_lines(file: IO[bytes], batches: Iterable[list[str]]) -> int:
    count = 0
    for lines in batches:
        if lines:
            file.write(("\n".join(lines) + "\n").encode())
            count += len(lines)
    file.flush()
    return count


def _quads(store: Store, what: str, graph: str | None) -> Iterator[list[Quad]]:
    """The quads of a part of a store, or of a graph."""
    if graph is not None:
        name = () if graph == DEFAULT else (graph,)
        yield from ([(*triple, *name) for triple in rows] for rows in store.graph_batches(graph, True))
        return
    if what != "inferred":
        yield from store.quad_batches(ordered=True)
    if what != "asserted":
        yield from map(list, store.token_batches("inferred", grouped=True))


def _write_dataset(file: IO[bytes], name: str, batches: Iterable[list[Quad]], names: Names) -> int:
    from triplake.sparql.dataset_formats import DATASET_FORMATS

    count = 0

    def counted() -> Iterator[list[Quad]]:
        nonlocal count
        for quads in batches:
            count += len(quads)
            yield quads

    for piece in DATASET_FORMATS[name](counted(), names):
        file.write(piece.encode())
    return count


def _write_format(file: IO[bytes], name: str, batches: Iterable[list[TokenTriple]], names: Names) -> int:
    from triplake.sparql.graph_formats import GRAPH_FORMATS

    count = 0

    def counted() -> Iterator[list[TokenTriple]]:
        nonlocal count
        for triples in batches:
            count += len(triples)
            yield triples

    for piece in GRAPH_FORMATS[name](counted(), names):
        file.write(piece.encode())
    return count


@contextmanager
def _replacing(output: str) -> Iterator[IO[bytes]]:
    """A file beside the one that is named, or that a link of that name leads to, which takes its place and its mode
    when it is whole. What is no regular file, as a pipe or a device, is written to as it is."""
    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    draft = target.with_name(f".triplake-{secrets.token_hex(8)}.part")
    try:
        with draft.open("xb") as file:
            if target.exists():
                draft.chmod(target.stat().st_mode & 0o7777)
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _compressed(plain: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """What packs what is written to it into a file, by the file's suffix."""
    if suffix == ".gz":
        with gzip.GzipFile("", "wb", 6, plain) as file:
            yield file  # type: ignore[misc]
    elif suffix == ".bz2":
        with bz2.open(plain, "wb") as file:
            yield file
    elif suffix == ".zst":
        import zstandard

        with zstandard.ZstdCompressor().stream_writer(plain, closefd=False) as file:
            yield file
    else:
        yield plain
