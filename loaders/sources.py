"""Where triples come from: files, folders, globs and stdin, resolved to `Source`s, and opened, packed or not."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from triplake.loaders.compression import COMPRESSIONS, compression
from triplake.loaders.pipes import is_regular, spooled, spooled_pipe
from triplake.loaders.seeming import other_xml
from triplestore.model.errors import InputError, UsageError


class Syntax(Enum):
    """The syntaxes read, in the order in which `sources` lists files of each."""

    NTRIPLES = "N-Triples"
    NQUADS = "N-Quads"
    TURTLE = "Turtle"
    TRIG = "TriG"
    RDFXML = "RDF/XML"
    JSONLD = "JSON-LD"

    @property
    def by_line(self) -> bool:
        """Whether each line stands alone."""
        return self in (Syntax.NTRIPLES, Syntax.NQUADS)

    @property
    def of_datasets(self) -> bool:
        """Whether it has named graphs."""
        return self in (Syntax.NQUADS, Syntax.TRIG, Syntax.JSONLD)


FORMATS: Final = {
    "ntriples": Syntax.NTRIPLES,
    "nt": Syntax.NTRIPLES,
    "nquads": Syntax.NQUADS,
    "nq": Syntax.NQUADS,
    "turtle": Syntax.TURTLE,
    "ttl": Syntax.TURTLE,
    "trig": Syntax.TRIG,
    "rdfxml": Syntax.RDFXML,
    "rdf": Syntax.RDFXML,
    "owl": Syntax.RDFXML,
    "jsonld": Syntax.JSONLD,
}
"""The names that `--format` takes."""

SUFFIXES: Final = {
    ".nt": Syntax.NTRIPLES,
    ".nq": Syntax.NQUADS,
    ".ttl": Syntax.TURTLE,
    ".n3": Syntax.TURTLE,  # only the part of Notation3 that is Turtle: anything else is a syntax error
    ".trig": Syntax.TRIG,
    ".rdf": Syntax.RDFXML,
    ".owl": Syntax.RDFXML,
    ".xml": Syntax.RDFXML,
    ".jsonld": Syntax.JSONLD,
}

PassedOver = Callable[[str, str], None]
"""Told of a file that is not read, and why."""

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_SUFFIX_HELP: Final = f"{' '.join(SUFFIXES)}, with {' '.join(COMPRESSIONS)} on top"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read: its path, its syntax, the name that messages call it by, its base IRI (None: its `file://` URI;
    empty: none, so that relative IRIs are errors), and the name (token) of the graph that what it has outside of named
    graphs goes into (empty: into the unnamed one)."""

    path: str
    syntax: Syntax
    name: str
    base: str | None = None
    graph: str = ""

    @property
    def base_iri(self) -> str | None:
        """What relative IRIs of the document are resolved against; None where they are errors."""
        return Path(self.path).absolute().as_uri() if self.base is None else self.base or None

    @property
    def compression(self) -> str | None:
        """The suffix of the compression it is in, None for a plain file."""
        return compression(self.path)


def syntax_of_format(name: str) -> Syntax:
    """The syntax that a `--format` name means. Raises UsageError for an unknown name."""
    try:
        return FORMATS[name.lower()]
    except KeyError:
        raise UsageError(f"unknown format {name!r}: use one of {', '.join(FORMATS)}") from None


def syntax_of_path(path: str) -> Syntax | None:
    """The syntax that a file's name tells, or None."""
    return SUFFIXES.get(_suffix(path))


def _suffix(path: str) -> str:
    """The suffix of a file, without that of its compression."""
    stem = path[: -len(packed)] if (packed := compression(path)) else path
    return os.path.splitext(stem)[1].lower()


def _spooled(syntax: Syntax | None) -> Source:
    """Standard input, copied to a temporary file that goes when the process ends."""
    if syntax is None:
        raise UsageError(
            f"'-' (standard input) has no suffix to tell its syntax: add --format, one of {', '.join(FORMATS)}"
        )
    return Source(spooled(sys.stdin.buffer), syntax, "<stdin>", base="")


def _file(path: str, syntax: Syntax | None) -> Source:
    found = syntax or syntax_of_path(path)
    if found is None:
        raise UsageError(f"{path}: the suffix tells no RDF syntax; use {_SUFFIX_HELP}, or say --format")
    if not is_regular(path):
        return Source(spooled_pipe(path), found, path, base="")
    return Source(path, found, path)


def _folder(path: str, syntax: Syntax | None, passed_over: PassedOver) -> list[Source]:
    """The files with known suffixes in a folder and the folders under it, sorted; hidden ones are left out, and XML
    that is no RDF/XML by its first element."""
    found = []
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                continue
            kind, file = syntax_of_path(name), os.path.join(folder, name)
            if kind is None:
                passed_over(file, "its suffix tells no RDF syntax")
            elif syntax is not None and kind is not syntax:
                passed_over(file, f"it is no {syntax.value}")
            elif _suffix(file) == ".xml" and (root := other_xml(file)):
                passed_over(file, f"it is no RDF/XML: its first element is <{root}>")
            else:
                found.append(_file(file, kind))
    if not found:
        wanted = f"{syntax.value} file" if syntax else "file with a known suffix"
        raise InputError(f"the folder holds no {wanted} ({_SUFFIX_HELP})", path)
    return found


def _local(path: str) -> str:
    """The path that a file URL means; any other text as it is. Raises UsageError for a URL of another kind."""
    if not _URL.match(path) or os.path.exists(path):
        return path
    url = urlsplit(path)
    if url.scheme.lower() != "file" or url.netloc not in ("", "localhost"):
        raise UsageError(f"{path}: only local files are read; download it first")
    from urllib.request import url2pathname  # slow to import, and rarely needed

    return url2pathname(url.path)


def sources(
    paths: Sequence[str | Path], format: str | None = None, passed_over: PassedOver = lambda file, why: None
) -> list[Source]:
    """Resolve what the user named to files: folders (recursively), globs, `file:` URLs, named pipes, `-` for standard
    input.

    format: a `--format` name; None takes the suffix. passed_over: called for each file in a folder that is not read.
    Files come syntax by syntax (see `Syntax`), in the order named.
    Raises UsageError for an unknown format or suffix and for what is no path, InputError for what does not exist or
    holds nothing to read.
    """
    syntax = None if format is None else syntax_of_format(format)
    found: list[Source] = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise UsageError(f"{path!r} is no path: give each file as an argument of its own, load(*files)")
    for path in map(_local, map(str, paths)):
        if path == "-":
            found.append(_spooled(syntax))
        elif os.path.isdir(path):
            found += _folder(path, syntax, passed_over)
        elif os.path.exists(path):
            found.append(_file(path, syntax))
        elif glob.has_magic(path):
            matches = sorted(glob.glob(path, recursive=True))
            if not matches:
                raise InputError("no file matches the pattern", path)
            for match in matches:
                found += _folder(match, syntax, passed_over) if os.path.isdir(match) else [_file(match, syntax)]
        else:
            raise InputError("there is no such file or folder: check the path", path)
    order = list(Syntax)
    return sorted(found, key=lambda source: order.index(source.syntax))
