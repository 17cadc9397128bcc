"""Where triples come from: files, folders, globs and stdin, resolved to `Source`s, and opened, packed or not."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pyoxigraph import NamedNode

from triplake.loaders.compression import COMPRESSIONS, compression, is_object
from triplake.loaders.pipes import is_regular, remove, spooled, spooled_pipe
from triplake.loaders.seeming import head, option, or_say, other_xml, seeming
from triplestore.model.arguments import shortened
from triplestore.model.errors import FaultyFilesError, InputError, UsageError
from triplestore.model.prefixes import Prefix
from triplestore.objects import is_remote, matching, normal, split


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

MEDIA: Final = {
    "application/n-triples": Syntax.NTRIPLES,
    "application/n-quads": Syntax.NQUADS,
    "text/turtle": Syntax.TURTLE,
    "application/x-turtle": Syntax.TURTLE,
    "application/trig": Syntax.TRIG,
    "application/rdf+xml": Syntax.RDFXML,
    "application/ld+json": Syntax.JSONLD,
}
"""Media types that tell a syntax."""

_ALSO: Final = {"xml": Syntax.RDFXML, "json-ld": Syntax.JSONLD, **MEDIA}
"""Further names of formats: RDFLib's, and media types."""

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

TABLES: Final = (".csv", ".tsv", ".parquet")
"""Of tables, which `loaders.tables` reads."""

PassedOver = Callable[[str, str], None]
"""Told of a file that is not read, and why."""

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_TEXT: Final = re.compile(r"\n|^\s*(@?prefix|@?base|<)\s*\S", re.IGNORECASE)
"""What is in a text of RDF and hardly ever in a path."""
_SUFFIX_HELP: Final = f"{' '.join(SUFFIXES)}, with {' '.join(COMPRESSIONS)} on top"


MANIFEST: Final = "triplake.json"
"""The file that makes a folder a store, which holds nothing to load."""


class UnknownSuffixError(UsageError):
    """A file's name does not tell its syntax; `fault` says so for where such a file is left out."""

    def __init__(self, path: str) -> None:
        seems = seeming(head(path, path), "") if os.path.isfile(path) else None
        advice = f"{seems}; " if seems else f"use {_SUFFIX_HELP}{or_say('')}"
        self.fault = InputError(f"its suffix does not tell the RDF syntax; {advice.removesuffix('; ')}", path)
        super().__init__(str(self.fault))


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read: its path, its syntax, the name that messages call it by, its base IRI (None: its `file://` URI;
    empty: none, so that relative IRIs are errors), and the name (token) of the graph that what it has outside of named
    graphs goes into (empty: into the unnamed one). passing: its file is a scratch file, which goes once it is read.
    prefixes: those that come with it and that its file does not declare."""

    path: str
    syntax: Syntax
    name: str
    base: str | None = None
    graph: str = ""
    passing: bool = False
    prefixes: tuple[Prefix, ...] = ()

    @property
    def base_iri(self) -> str | None:
        """What relative IRIs of the document are resolved against; None where they are errors. Raises UsageError for a
        base that is not an absolute IRI."""
        if self.base is None:
            return self.place
        try:
            return NamedNode(self.base).value if self.base else None
        except ValueError as error:
            raise UsageError(f"the base {self.base} is not an absolute IRI ({error}): give one") from error

    @property
    def place(self) -> str:
        """The `file:` IRI of the file, one and the same from whatever folder it is named."""
        path = Path(self.path).absolute()
        return (Path(place_of(self.path)) if ".." in path.parts else path).as_uri()

    @property
    def compression(self) -> str | None:
        """The suffix of the compression it is in, None for a plain file."""
        return compression(self.path)


def syntax_of_format(name: object) -> Syntax:
    """The syntax that the name of a format means, or one of pyoxigraph's formats. Raises UsageError for another."""
    called = str(getattr(name, "media_type", name)).lower()
    try:
        return FORMATS.get(called) or _ALSO[called]
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
        advice = f"add {option.get()}, one of {', '.join(FORMATS)}" if option.get() else "name a file"
        raise UsageError(f"'-' (standard input) has no suffix to tell its syntax: {advice}")
    return Source(spooled(sys.stdin.buffer), syntax, "<stdin>", base="", passing=True)


def _file(path: str, syntax: Syntax | None) -> Source:
    found = syntax or syntax_of_path(path)
    if found is None and _suffix(path) in TABLES:
        raise UsageError(
            f"{path}: a table has rows, no triples: say with --template (load_table) what triples they give"
        )
    if found is None:
        raise UnknownSuffixError(path)
    if is_object(path):
        return Source(path, found, path, base=quote(path, safe="/:"))  # as of a local file
    if not is_regular(path):
        return Source(spooled_pipe(path), found, path, base="", passing=True)
    return Source(path, found, path)


def _folder(path: str, syntax: Syntax | None, passed_over: PassedOver) -> list[Source]:
    """The files with known suffixes in a folder and the folders under it, sorted; hidden ones are left out, and XML
    that is not RDF/XML by its first element."""
    within = []
    for folder, folders, files in os.walk(path):
        if MANIFEST in files:
            passed_over(folder, "it is a store")
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        within += [os.path.join(folder, name) for name in sorted(files) if not name.startswith(".")]
    return _known(path, within, syntax, passed_over)


def _known(path: str, files: Iterable[str], syntax: Syntax | None, passed_over: PassedOver) -> list[Source]:
    """Of the files in a folder, those that are read. Raises InputError where there are none."""
    found = []
    for file in files:
        kind = syntax_of_path(file)
        if kind is None:
            passed_over(file, "its suffix does not tell the RDF syntax")
        elif syntax is not None and kind is not syntax:
            passed_over(file, f"it is no {syntax.value}")
        elif _suffix(file) == ".xml" and (root := other_xml(file)):
            passed_over(file, f"it is not RDF/XML: its first element is <{root}>")
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
    if is_remote(path):
        return normal(path)
    url = split(path)
    if url.scheme.lower() != "file" or url.netloc not in ("", "localhost"):
        raise UsageError(
            f"{path}: what is read are local files, s3:, gs:, az: and hdfs:, and by load http: and https:; download it"
        )
    from urllib.request import url2pathname  # slow to import, and rarely needed

    return url2pathname(url.path)


def sources(
    paths: Sequence[str | Path],
    format: str | None = None,
    passed_over: PassedOver = lambda file, why: None,
    refused: list[InputError] | None = None,
) -> list[Source]:
    """Resolve what the user named to files: folders (recursively), globs, `file:` URLs, named pipes, `-` for standard
    input.

    format: a `--format` name; None takes the suffix. passed_over: called for each file in a folder that is not read.
    refused: takes what is wrong with files of unknown suffixes, which are left out then.
    Files come syntax by syntax (see `Syntax`), in the order named, each once, as often as it is named.
    Raises UsageError for an unknown format or suffix and for what is no path, InputError for what does not exist or
    holds nothing to read; for several of these at once FaultyFilesError, or UsageError where all are of that kind.
    """
    syntax = None if format is None else syntax_of_format(format)
    found: list[Source] = []
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise UsageError(_no_path(path))
    wrong: list[UsageError | InputError] = []
    for path in map(str, paths):
        try:
            for one in _named(path):
                try:
                    found += _of(one, syntax, passed_over)
                except UnknownSuffixError as error:
                    if refused is None:
                        wrong.append(error)
                    else:
                        refused.append(error.fault)
        except (UsageError, InputError) as error:
            wrong.append(error)
    if wrong:
        discard(found)
        raise _together(wrong)
    once: dict[str, Source] = {}
    for source in found:
        once.setdefault(place_of(source.path), source)
    return ordered(once.values())


def _no_path(given: object) -> str:
    """What to say of something to load that is neither a path nor anything else that is read."""
    if isinstance(given, bytes | bytearray | memoryview):
        return "bytes are not a path: to load a document, give data=BYTES and format"
    if isinstance(given, Iterable) and not isinstance(given, Mapping):
        listed = isinstance(given, Sequence) and all(type(one) is str or isinstance(one, os.PathLike) for one in given)
        advice = (
            "give each file as an argument of its own, load(*files)"
            if listed
            else (
                "triples are added by store.update(add=[(s, p, o)]), and files are given as arguments of their own, "
                "load(*files)"
            )
        )
    else:
        advice = "give the path of a file, an open file, or an rdflib Graph"
    return f"{shortened(repr(given))} is not a path: {advice}"


def discard(read: Iterable[Source]) -> None:
    """Remove the scratch files of sources."""
    for source in read:
        if source.passing:
            remove(source.path)


def place_of(path: str) -> str:
    """Where a file is, by whatever path it is named; a link to a file is a file of its own, whose base it is."""
    return path if is_object(path) else os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def ordered(found: Iterable[Source]) -> list[Source]:
    """Sources syntax by syntax (see `Syntax`), else as they are."""
    order = list(Syntax)
    return sorted(found, key=lambda source: order.index(source.syntax))


def _named(path: str) -> list[str]:
    """The paths that an argument names: itself, or what matches it. Raises InputError where there is none, UsageError
    for a URL that is not of a file."""
    path = _local(path)
    if path == "-" or os.path.exists(path):
        return [path]
    if is_remote(path):
        return _matching(path) if glob.has_magic(path) else [path]
    advice = "to load a text, give data=TEXT and format" if _TEXT.search(path) else "check the path"
    if not glob.has_magic(path):
        raise InputError(f"there is no such file or folder: {advice}", shortened(path))
    if matches := sorted(glob.glob(path, recursive=True)):
        return matches
    raise InputError(f"no file matches the pattern: {advice}", shortened(path))


def _matching(url: str) -> list[str]:
    """The objects that a URL means. Raises InputError where there is none."""
    if found := matching(url):
        return found
    raise InputError("there is no such object or folder: check the URL", url)


def _of(path: str, syntax: Syntax | None, passed_over: PassedOver) -> list[Source]:
    """The sources of standard input (-), a folder, or a file."""
    if path == "-":
        return [_spooled(syntax)]
    if is_object(path):
        found = _matching(path)
        return [_file(path, syntax)] if found == [path] else _known(path, found, syntax, passed_over)
    return _folder(path, syntax, passed_over) if os.path.isdir(path) else [_file(path, syntax)]


def _together(wrong: Sequence[UsageError | InputError]) -> UsageError | InputError:
    """One error for all that is wrong with what was named."""
    if len(wrong) == 1:
        return wrong[0]
    faults = [error for error in wrong if isinstance(error, InputError)]
    if not faults:
        return UsageError("\n  ".join((f"{len(wrong):,} files cannot be read:", *map(str, wrong))))
    usage = [
        error.fault if isinstance(error, UnknownSuffixError) else InputError(str(error))
        for error in wrong
        if not isinstance(error, InputError)
    ]
    return FaultyFilesError([*faults, *usage])
