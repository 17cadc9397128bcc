"""All that can be loaded: besides what `sources` resolves, graphs of rdflib, files that are open, texts, mappings of
tables, and documents of the web. Each becomes a scratch file, which goes once it has been read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from mmap import ACCESS_READ, mmap
from typing import Any, Final
from urllib.parse import urlsplit

from triplake.loaders.pipes import remove, spooled
from triplake.loaders.seeming import head, seeming
from triplake.loaders.sources import (
    FORMATS,
    MEDIA,
    PassedOver,
    Source,
    Syntax,
    discard,
    ordered,
    sources,
    syntax_of_format,
    syntax_of_path,
)
from triplestore.engine import temporary
from triplestore.engine.disk import naming
from triplestore.model.errors import InputError, UsageError
from triplestore.model.legal_terms import check_characters
from triplestore.model.prefixes import Prefix
from triplestore.model.terms import from_rdflib_quads, to_ntriples
from triplestore.model.thresholds import SIZES

MOST: Final = 1 << 30
"""Bytes of a document that is fetched, if nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """An RML, R2RML or YARRRML document, and the URL of the database that its tables are in ("": it names files)."""

    path: str
    database: str = ""


def given_sources(
    given: Sequence[object],
    format: str | None,
    most: int,
    passed_over: PassedOver = lambda file, why: None,
    refused: list[InputError] | None = None,
    data: str | bytes | None = None,
) -> list[Source]:
    """As `sources`, of these things. most: bytes of a document that is fetched. data: a text, in the syntax that
    `format` names. Raises what `sources` raises, and InputError for what cannot be fetched."""
    syntax = None if format is None else syntax_of_format(format)
    found: list[Source] = []
    paths: list[Any] = []
    try:
        if data is not None:
            if syntax is None:
                raise UsageError(f"a text has no suffix to tell its syntax: add format, one of {', '.join(FORMATS)}")
            found.append(Source(spooled(BytesIO(_encoded(data))), syntax, "<data>", base="", passing=True))
        for one in given:
            if _is_graph(one):
                found.append(_graph(one))
            elif isinstance(one, Mapping):
                found.append(_mapped(one))
            elif callable(getattr(one, "read", None)):
                found.append(_stream(one, syntax))
            elif isinstance(one, str) and _on_the_web(one):
                found.append(_fetched(one, syntax, most))
            else:
                paths.append(one)
        if paths or not found:
            found += sources(paths, format, passed_over, refused)
    except BaseException:
        discard(found)
        raise
    return ordered(found)


def _is_graph(given: object) -> bool:
    """Whether this is a graph or a dataset of rdflib."""
    return callable(getattr(given, "triples", None)) and hasattr(given, "namespace_manager")


def _bindings(graph: Any, uses: Callable[[str], bool]) -> list[Prefix]:
    """The prefixes that a graph of rdflib binds; of anything else none. Of those that rdflib binds in every graph only
    the ones whose namespaces the graph `uses`."""
    if not _is_graph(graph):
        return []
    from rdflib import Graph  # slow to import, and imported already by whoever has a graph

    everywhere = dict(Graph().namespaces())
    bound = graph.namespaces()
    return [Prefix(name, str(iri), "<graph>") for name, iri in bound if everywhere.get(name) != iri or uses(str(iri))]


def _graph(graph: Any) -> Source:
    path = _graph_file(graph)
    with open(path, "rb") as file:
        text = mmap(file.fileno(), 0, access=ACCESS_READ) if os.path.getsize(path) else b""
        found = _bindings(graph, lambda iri: text.find(f"<{iri}".encode()) >= 0)
    return Source(path, Syntax.NQUADS, "<graph>", base="", passing=True, prefixes=tuple(found))


def _graph_file(graph: Any) -> str:
    """A scratch file of N-Quads with what a graph or a dataset has."""
    quads: Iterable[Any] = graph.quads((None, None, None, None)) if callable(getattr(graph, "quads", None)) else graph
    rest = iter(quads)
    handle, path = tempfile.mkstemp(prefix=temporary.prefix("graph"), suffix=".nq")
    try:
        with naming(path), os.fdopen(handle, "w", encoding="utf-8") as file:
            while some := list(islice(rest, SIZES.objects)):
                file.writelines(_lines(some))
    except BaseException:
        os.unlink(path)
        raise
    return path


def _lines(quads: Iterable[Any]) -> Iterator[str]:
    for quad in from_rdflib_quads(quads):
        yield f"{' '.join(map(to_ntriples, quad))} .\n"


def _encoded(text: str | bytes) -> bytes:
    """A text in UTF-8. Raises UsageError for one that holds half of a surrogate pair."""
    if isinstance(text, bytes):
        return text
    check_characters(text)
    return text.encode()


def _stream(stream: Any, syntax: Syntax | None) -> Source:
    """What is left of an open file, of text or bytes."""
    name = str(getattr(stream, "name", "<file>"))
    found = syntax or syntax_of_path(name)
    if found is None:
        raise UsageError(f"{name} has no suffix to tell its syntax: add format, one of {', '.join(FORMATS)}")
    first = stream.read(0)
    if isinstance(first, str):
        stream = BytesIO(_encoded(stream.read()))
    elif not isinstance(first, bytes):
        raise UsageError(f"{name} gives neither text nor bytes: open the file by open(path, 'rb')")
    return Source(spooled(stream), found, name, base="", passing=True)


def _on_the_web(path: str) -> bool:
    return path[:8].lower().startswith(("http://", "https://")) and not os.path.exists(path)


def _fetched(url: str, syntax: Syntax | None, most: int) -> Source:
    """A document of the web: its syntax is the one that is given, else of its media type, else of its suffix."""
    from triplake.loaders.fetching import fetch  # HTTP is slow to import, and rarely needed

    document = fetch(url, most)
    found = syntax or MEDIA.get(document.media)
    found = found or syntax_of_path(urlsplit(document.iri).path) or syntax_of_path(urlsplit(url).path)
    if found is None:
        seems = seeming(head(document.path, document.path), "")
        remove(document.path)
        called = f"its media type is {document.media}" if document.media else "it has no media type"
        raise InputError(f"{called}, and its suffix does not tell the RDF syntax; {seems or 'say --format'}", url)
    return Source(document.path, found, url, base=document.iri, passing=True)


def _mapped(mapping: Mapping) -> Source:
    from triplake.loaders.rml import mapped  # a process of its own: rarely needed

    return Source(mapped(mapping.path, mapping.database), Syntax.NQUADS, mapping.path, base="", passing=True)
