"""Reading sources of any syntax into one working table of tokens."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TextIO

import pyarrow as pa

from loaders.compression import opened, unpack
from loaders.documents import document
from loaders.lines import batches_of_lines, parse_lines
from loaders.ntriples import cut
from loaders.sources import Source, Syntax
from loaders.tokens import Scope, Triple
from triplestore.engine import Engine
from triplestore.engine.arrow import strings
from triplestore.errors import EngineError, InputError

OnError = Literal["stop", "skip"]

BATCH: Final = 100_000
"""Triples handed to the engine at a time; lines fetched from it at a time."""

_SCHEMA: Final = pa.schema([("s", pa.string()), ("p", pa.string()), ("o", pa.string())])
_BUCKETS: Final = 4096


@dataclass(frozen=True, slots=True)
class Progress:
    """Where reading stands: what is being done, to which file (or how many), triples so far, seconds so far."""

    stage: str
    file: str
    done_triples: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What was read.

    triples: rows of the table. skipped: lines (and whole documents) left out. rejects_path: where they are listed, None
    if nothing was left out. graphs_dropped: statements whose graph name was dropped. files: how many were read.
    """

    triples: int
    skipped: int
    rejects_path: Path | None
    graphs_dropped: int
    files: int


def read_into(
    engine: Engine,
    name: str,
    sources: Sequence[Source],
    *,
    first_file: int,
    on_error: OnError = "stop",
    rejects: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> LoadReport:
    """Make working table `name(s, p, o)` of tokens (see `triplestore.terms`) from all sources; duplicates stay.

    Blank nodes are scoped: file number N is first_file + index in `sources`; label L becomes `_:fN_L`, an anonymous
    node `_:fNg1`, `_:fNg2` ... in order of appearance. Graph names are dropped and counted.
    on_error: "stop" raises InputError for the first bad line of the first bad file and leaves no table; "skip" leaves
        bad lines out (of Turtle, TriG, RDF/XML and JSON-LD the whole file) and lists them in `rejects`.
    """
    reading = _Reading(engine, name, on_error, rejects, progress)
    try:
        for syntax, start, run in _runs(sources):
            if syntax.by_line:
                reading.lines(syntax, run, first_file + start)
            else:
                for index, source in enumerate(run):
                    reading.document(source, first_file + start + index)
        reading.flush()
    except BaseException:
        engine.drop(name)
        raise
    finally:
        reading.close()
    return LoadReport(
        reading.triples, reading.skipped, rejects if reading.skipped else None, reading.named_graphs, len(sources)
    )


def _runs(sources: Sequence[Source]) -> Iterator[tuple[Syntax, int, list[Source]]]:
    """Neighbours of one syntax: (syntax, index of the first, sources)."""
    start = 0
    for index in range(1, len(sources) + 1):
        if index == len(sources) or sources[index].syntax is not sources[start].syntax:
            yield sources[start].syntax, start, list(sources[start:index])
            start = index


def _is_no_text(error: EngineError) -> bool:
    """Whether the engine could not cut a file into lines: bytes that are not UTF-8; on DuckDB, whose reader is one of
    CSV, also a NUL, mixed line ends or a huge line."""
    return any(word in str(error) for word in ("CSV", "INVALID_UTF8"))


@dataclass
class _Reading:
    """One run of `read_into`. Invariant: `triples` rows are in the table or in `_rows`, which hold fewer than BATCH."""

    engine: Engine
    name: str
    on_error: OnError
    rejects: Path | None
    progress: Callable[[Progress], None] | None
    triples: int = 0
    skipped: int = 0
    named_graphs: int = 0
    _made: bool = False
    _rows: list[Triple] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _folder: str | None = None
    _rejects: TextIO | None = None

    # Batches from Python

    def add(self, triples: Iterable[Triple]) -> None:
        for triple in triples:
            self._rows.append(triple)
            self.triples += 1
            if len(self._rows) == BATCH:
                self._hand_over()

    def flush(self) -> None:
        """Hand over what is left; the table exists afterwards, even if nothing was read."""
        if self._rows or not self._made:
            self._hand_over()

    def _hand_over(self) -> None:
        rows, self._rows = self._rows, []
        columns = [strings(row[place] for row in rows) for place in range(3)]
        table = pa.table(columns, schema=_SCHEMA)
        if not self._made:
            self.engine.load(self.name, table)
            self._made = True
            return
        self.engine.load(f"{self.name}_batch", table)
        self._append(f"SELECT s, p, o FROM {self.name}_batch")
        self.engine.drop(f"{self.name}_batch")

    def _append(self, select: str) -> int:
        if self._made:
            return self.engine.append(self.name, [select])[0]
        rows = self.engine.create(self.name, select)
        self._made = True
        return rows

    # Documents: Turtle, TriG, RDF/XML, JSON-LD

    def document(self, source: Source, number: int) -> None:
        self._tell("parse", source.name)
        if self.on_error == "skip":
            try:  # Once for nothing: part of a document must not be loaded.
                for _ in document(source, Scope(number, anonymous=True)):
                    pass
            except InputError as error:
                self._reject(source, error.line, f"{error.reason} (the whole file was left out)", None)
                return
        scope = Scope(number, anonymous=True)
        self.add(document(source, scope))
        self.named_graphs += scope.named_graphs
        self._tell("parsed", source.name)

    # Lines: N-Triples, N-Quads

    def lines(self, syntax: Syntax, sources: list[Source], first_file: int) -> None:
        """Read files of one by-line syntax, numbered from first_file on."""
        label = sources[0].name if len(sources) == 1 else f"{len(sources)} files"
        self._tell("parse", label)
        bad: set[int] = set()
        paths = [self._engine_path(source) for source in sources]
        try:
            self._cut(syntax, paths, first_file, bad)
        except EngineError as error:
            self._check_packed(sources)
            if not _is_no_text(error):
                raise
            bad = {
                index
                for index, path in enumerate(paths)
                if self._line_file(sources[index], path, syntax, first_file + index)
            }
        for index in sorted(bad):
            self._report_bad_lines(sources[index], syntax)
        self._tell("parsed", label)

    def _line_file(self, source: Source, path: str, syntax: Syntax, number: int) -> bool:
        """Read one file in SQL, or in Python if the engine cannot; whether it has wrong lines."""
        bad: set[int] = set()
        try:
            self._cut(syntax, [path], number, bad)
        except EngineError as error:
            if not _is_no_text(error):
                raise
            self._read_strictly(source, number, bad)
        return bool(bad)

    def _cut(self, syntax: Syntax, paths: Sequence[str], first_file: int, bad: set[int]) -> None:
        """Read files in SQL, and the lines it leaves in Python; indexes of files with wrong lines go into `bad`."""
        view, rest, quads = f"{self.name}_lines", f"{self.name}_rest", f"{self.name}_quads"
        engine = self.engine
        engine.lines(view, paths)
        try:
            select = cut(engine.dialect, syntax, view, first_file)
            if syntax is Syntax.NTRIPLES:
                rows, table = self._append(select), self.name
            else:
                rows, table = engine.create(quads, select), quads
            left = f"SELECT CAST(p AS INT) AS file, o AS line, substr(md5(o), 1, 3) AS bucket FROM {table} WHERE s = ''"
            count = engine.create(rest, left)
            if syntax is Syntax.NQUADS:
                self._append(f"SELECT s, p, o FROM {quads} WHERE s <> ''")
                named = engine.query(f"SELECT count(*) AS n FROM {quads} WHERE named = 1")
                self.named_graphs += int(named.column(0)[0].as_py())
            elif count:
                engine.remove(self.name, f"SELECT DISTINCT s, p, o FROM {self.name} WHERE s = ''")
            self.triples += rows - count
            if count:
                self._parse_rest(rest, count, syntax, first_file, bad)
        finally:
            engine.drop(view, rest, quads)

    def _parse_rest(self, rest: str, count: int, syntax: Syntax, first_file: int, bad: set[int]) -> None:
        """Parse the lines in working table `rest(file, line, bucket)`, a bounded number at a time."""
        scopes: dict[int, Scope] = {}
        step = max(1, _BUCKETS * BATCH // count)
        for low in range(0, _BUCKETS, step):
            high = f" AND bucket < '{low + step:03x}'" if low + step < _BUCKETS else ""
            rows = self.engine.query(f"SELECT file, line FROM {rest} WHERE bucket >= '{low:03x}'{high}")
            by_file: dict[int, list[bytes]] = {}
            # As bytes: an engine may hand on what is not UTF-8, for the parser to find.
            text = rows.column("line").cast(pa.binary()).to_pylist()
            for file, line in zip(rows.column("file").to_pylist(), text, strict=True):
                by_file.setdefault(file, []).append(line)
            for file, lines in by_file.items():
                scope = scopes.setdefault(file, Scope(first_file + file, anonymous=False))
                parsed = parse_lines(lines, syntax, scope)
                self.add(parsed.triples)
                if parsed.bad:
                    bad.add(file)
        self.named_graphs += sum(scope.named_graphs for scope in scopes.values())

    def _read_strictly(self, source: Source, number: int, bad: set[int]) -> None:
        """Read a whole file in Python."""
        scope = Scope(number, anonymous=False)
        for _, lines in batches_of_lines(source):
            parsed = parse_lines(lines, source.syntax, scope)
            self.add(parsed.triples)
            if parsed.bad:
                bad.add(0)
            self._tell("parse", source.name)
        self.named_graphs += scope.named_graphs

    def _report_bad_lines(self, source: Source, syntax: Syntax) -> None:
        """Find the wrong lines of a file by reading it again: raise for the first, or reject them all."""
        scope, found = Scope(0, anonymous=False), False
        for first, lines in batches_of_lines(source):
            for bad in parse_lines(lines, syntax, scope).bad:
                if self.on_error == "stop":
                    raise InputError(bad.reason, source.name, first + bad.index, bad.column)
                self._reject(source, first + bad.index, bad.reason, lines[bad.index])
                found = True
        if not found:
            raise InputError("the file changed while it was being read: load it again", source.name)

    def _engine_path(self, source: Source) -> str:
        """A path that engines can read as lines: bzip2 and zstd are unpacked first (DuckDB reads no bzip2)."""
        if source.compression is None or source.path.endswith(".gz"):
            with opened(source.path, source.name):
                return source.path
        self._folder = self._folder or tempfile.mkdtemp(prefix="triplake-load-")
        self._tell("unpack", source.name)
        return unpack(source.path, source.name, self._folder)

    @staticmethod
    def _check_packed(sources: Sequence[Source]) -> None:
        """Raise InputError if a compressed file is damaged."""
        for source in sources:
            if source.compression is not None:
                with opened(source.path, source.name) as file:
                    while file.read(1 << 20):
                        pass

    # Rejects and progress

    def _reject(self, source: Source, line: int | None, reason: str, text: bytes | None) -> None:
        self.skipped += 1
        if self.rejects is None:
            return
        if self._rejects is None:
            self._rejects = self.rejects.open("w", encoding="utf-8", errors="surrogateescape", newline="\n")
        place = source.name if line is None else f"{source.name}:{line}"
        self._rejects.write(f"# {place}: {' '.join(reason.split())}\n")
        if text is not None:
            self._rejects.write(text.decode("utf-8", "surrogateescape") + "\n")

    def _tell(self, stage: str, file: str) -> None:
        if self.progress is not None:
            self.progress(Progress(stage, file, self.triples, time.monotonic() - self._began))

    def close(self) -> None:
        if self._rejects is not None:
            self._rejects.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
