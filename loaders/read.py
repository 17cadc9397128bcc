"""Reading sources of any syntax into one working table of tokens."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal

import pyarrow as pa

from triplake.loaders.compression import ChecksumError, is_object, is_utf8, linked, opened, unpack
from triplake.loaders.documents import document
from triplake.loaders.faulty import note_bad_lines
from triplake.loaders.lines import batches_of_lines, parse_lines
from triplake.loaders.ntriples import cut
from triplake.loaders.progress import Meter, Progress, ticking
from triplake.loaders.rejects import Rejects, check_rejects
from triplake.loaders.report import LoadReport
from triplake.loaders.sources import Source, Syntax
from triplake.loaders.tokens import Scope
from triplestore.engine import Engine, temporary
from triplestore.engine.arrow import strings
from triplestore.engine.sql import count
from triplestore.model.dataset import DEFAULT, TRIPLE, Quad
from triplestore.model.errors import EngineError, InputError
from triplestore.model.prefixes import Prefix, Prefixes
from triplestore.model.thresholds import SIZES
from triplestore.objects import of_hadoop

OnError = Literal["stop", "skip"]

_BUCKETS: Final = 4096


def read_into(
    engine: Engine,
    name: str,
    sources: Sequence[Source],
    *,
    first_file: int,
    on_error: OnError = "stop",
    rejects: Path | None = None,
    refused: Sequence[InputError] = (),
    progress: Callable[[Progress], None] | None = None,
    live: Callable[[Progress], None] | None = None,
) -> LoadReport:
    """Make working table `name(s, p, o)` of tokens (see `triplestore.model.terms`) from all sources; duplicates stay.
    Where some may have named graphs, it has a column `g` too, the name of the graph, empty for the unnamed one.

    Blank nodes are scoped: file number N is first_file + index in `sources`; label L becomes `_:fN_L`, an anonymous
    node `_:fNg1`, `_:fNg2` ... in order of appearance.
    on_error: "stop" raises InputError for the first fault of the only faulty file, FaultyFilesError for those of
        several, and leaves no table: all files are read first; "skip" leaves bad lines out (of Turtle, TriG, RDF/XML
        and JSON-LD the whole file; of a compressed file what cannot be unpacked) and lists them in `rejects`.
    refused: what is wrong with files that are no sources: as if they had been read, and were faulty as a whole.
    rejects: UsageError is raised where it cannot be written, or is a source.
    progress: is called where a step begins (its name), and between ("parsed"). live: is called by another thread,
    each half second, and when all is read.
    """
    if rejects is not None:
        check_rejects(rejects, [*(source.path for source in sources), *(error.file or "" for error in refused)])
    columns = "spog" if any(source.syntax.of_datasets or source.graph for source in sources) else "spo"
    meter = Meter(sources, engine.share)
    reading = _Reading(engine, name, on_error, Rejects(rejects), progress, columns, meter)
    reading.prefixes = Prefixes().met(prefix for source in sources for prefix in source.prefixes)
    try:
        for error in refused:
            reading.note(error.file or "", error)
        with ticking(lambda: live(meter.at(reading.triples))) if live else nullcontext():
            for syntax, start, run in _runs(sources):
                if syntax.by_line:
                    reading.lines(syntax, run, first_file + start)
                else:
                    for index, source in enumerate(run):
                        reading.document(source, first_file + start + index)
        if live:
            live(meter.at(reading.triples))
        if reading.doomed:
            raise reading.rejects.error
        reading.flush()
        unnamed = f"('', {engine.dialect.string(DEFAULT)})"
        named = count(engine, f"{name} WHERE g NOT IN {unnamed}") if "g" in columns else 0
    except BaseException:
        engine.drop(name)
        raise
    finally:
        reading.close()
    left = reading.rejects
    listed = rejects if left.entries else None
    counts = reading.triples, left.entries, listed, named, len(sources)
    return LoadReport(*counts, left.files, tuple(reading.relative), reading.prefixes)


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
    """One run of `read_into`. Invariant: `triples` rows are in the table or in `_rows`, which hold fewer than
    `SIZES.rows`, with `_size` characters in subjects and objects."""

    engine: Engine
    name: str
    on_error: OnError
    rejects: Rejects
    progress: Callable[[Progress], None] | None
    columns: str  # of the table
    meter: Meter
    triples: int = 0
    relative: list[str] = field(default_factory=list)
    prefixes: Prefixes = field(default_factory=Prefixes)
    _resolving: str | None = None  # the document that is read, if its relative IRIs would become those of its place
    _looked: int = 0  # how many of _rows have been looked at for that
    _made: bool = False
    _rows: list[Quad] = field(default_factory=list)
    _size: int = 0
    _folder: str | None = None

    @property
    def doomed(self) -> bool:
        """Whether nothing will be loaded: what is left is read to find all faults."""
        return self.on_error == "stop" and self.rejects.entries > 0

    def note(self, file: str, error: InputError) -> None:
        """Take down what is wrong with a file as a whole."""
        ending = "" if self.on_error == "stop" else " (the whole file was left out)"
        self.rejects.add(file, error.line, error.reason + ending, None, error.column)

    # Batches from Python

    def add(self, quads: Iterable[Quad]) -> None:
        if self.doomed:
            deque(quads, maxlen=0)
            return
        for quad in quads:
            self._rows.append(quad)
            self._size += len(quad[0]) + len(quad[2])
            self.triples += 1
            if len(self._rows) == SIZES.rows or self._size > SIZES.batch:
                self._hand_over()

    def flush(self) -> None:
        """Hand over what is left; the table exists afterwards, even if nothing was read."""
        if self._rows or not self._made:
            self._hand_over()

    def _hand_over(self) -> None:
        self._note_relative()
        rows, self._rows, self._looked, self._size = self._rows, [], 0, 0
        columns = {c: strings(row[place] for row in rows) for place, c in enumerate("spo")}
        if "g" in self.columns:
            columns["g"] = strings(row[TRIPLE] if len(row) > TRIPLE else "" for row in rows)
        table = pa.table(columns)
        if not self._made:
            self.engine.load(self.name, table)
            self._made = True
            return
        with self.engine.scratch() as scratch:
            self._append(f"SELECT {self._listed} FROM {scratch.load(f'{self.name}_batch', table)}")

    @property
    def _listed(self) -> str:
        return ", ".join(self.columns)

    def _append(self, select: str) -> int:
        if self._made:
            return self.engine.append(self.name, [select])[0]
        rows = self.engine.create(self.name, select)
        self._made = True
        return rows

    # Documents: Turtle, TriG, RDF/XML, JSON-LD

    def document(self, source: Source, number: int) -> None:
        self._begin("parse", source.name, source)
        try:
            if self.on_error == "skip":  # Once for nothing: part of a document must not be loaded.
                deque(document(source, self._scope(source, number), watch=self.meter.watch), maxlen=0)
            else:
                self._document(source, number)
        except InputError as error:
            self.note(source.name, error)
        else:
            if self.on_error == "skip":
                self._document(source, number)
        self._resolving = None
        self._end()

    def _document(self, source: Source, number: int) -> None:
        self._resolving, self._looked = source.name if source.base is None else None, len(self._rows)
        declared: dict[str, str] = {}
        self.add(document(source, self._scope(source, number), declared, self.meter.watch))
        self.prefixes = self.prefixes.met(Prefix(*found, Path(source.name).name) for found in declared.items())
        self._note_relative()

    def _scope(self, source: Source, number: int) -> Scope:
        return Scope(number, anonymous=not source.syntax.by_line, graph=source.graph)

    def _note_relative(self) -> None:
        """Look for IRIs of files among the rows of a document without a base of its own."""
        if self._resolving is None:
            return
        rows = islice(self._rows, self._looked, None)
        if any(o[:6] == "<file:" or s[:6] == "<file:" or p[:6] == "<file:" for s, p, o, *_ in rows):
            self.relative.append(self._resolving)
            self._resolving = None
        self._looked = len(self._rows)

    # Lines: N-Triples, N-Quads

    def lines(self, syntax: Syntax, sources: list[Source], first_file: int) -> None:
        """Read files of one by-line syntax, numbered from first_file on."""
        bad: set[int] = set()
        label, given = sources[0].name if len(sources) == 1 else f"{len(sources)} files", sources
        sources, paths = self._engine_paths(given)
        self._begin("parse", label, *given)
        whole = [path for path in paths if path is not None]
        if sources and (len(whole) < len(paths) or not self._all_cut(sources, whole, first_file, bad)):
            bad = {
                index for index, path in enumerate(paths) if self._line_file(sources[index], path, first_file + index)
            }
        for index in sorted(bad):
            source = sources[index]
            note_bad_lines(source, self._scope(source, 0), self.rejects, self.on_error == "stop")
        self._end()

    def _all_cut(self, sources: Sequence[Source], paths: Sequence[str], first_file: int, bad: set[int]) -> bool:
        """Read files in SQL, all at once; whether the engine could (if not, nothing was read)."""
        try:
            self._cut(sources, paths, first_file, bad)
        except EngineError as error:
            damaged = [source for source in sources if self._is_damaged(source)]
            if not damaged and not _is_no_text(error):
                raise
            return False
        return True

    def _line_file(self, source: Source, path: str | None, number: int) -> bool:
        """Read one file in SQL, or in Python if the engine cannot (path None: it is known not to); whether it has wrong
        lines, or cannot be read to its end."""
        bad: set[int] = set()
        if path is None or self._is_damaged(source):
            return self.on_error == "stop" or self._read_strictly(source, number)
        try:
            self._cut([source], [path], number, bad)
        except EngineError as error:
            if not _is_no_text(error):
                raise
            return self._read_strictly(source, number)
        return bool(bad)

    def _cut(self, sources: Sequence[Source], paths: Sequence[str], first_file: int, bad: set[int]) -> None:
        """Read files in SQL, and the lines it leaves in Python; indexes of files with wrong lines go into `bad`."""
        engine, syntax = self.engine, sources[0].syntax
        with engine.scratch() as scratch:
            rest, quads = (scratch.table(f"{self.name}_{label}") for label in ("rest", "quads"))
            graphs = [source.graph for source in sources] if "g" in self.columns else None
            table = self.name if graphs is None else quads
            rows = engine.cut_lines(
                table,
                paths,
                self.columns,
                lambda dialect, lines: cut(dialect, syntax, lines, first_file, graphs),
                add=self._made and graphs is None,
            )
            self._made = self._made or graphs is None
            left = f"SELECT CAST(p AS INT) AS file, o AS line, substr(md5(o), 1, 3) AS bucket FROM {table} WHERE s = ''"
            left_out = engine.create(rest, left)
            if graphs is not None:
                self._append(f"SELECT {self._listed} FROM {quads} WHERE s <> ''")
            elif left_out:
                engine.remove(self.name, f"SELECT DISTINCT s, p, o FROM {self.name} WHERE s = ''")
            self.triples += rows - left_out
            if left_out:
                self._parse_rest(rest, left_out, sources, first_file, bad)

    def _parse_rest(self, rest: str, lines: int, sources: Sequence[Source], first_file: int, bad: set[int]) -> None:
        """Parse the lines in working table `rest(file, line, bucket)`, a bounded number at a time."""
        scopes: dict[int, Scope] = {}
        (size,) = self.engine.rows(f"SELECT sum({self.engine.dialect.bytes('line')}) FROM {rest}")[0]
        step = max(1, min(_BUCKETS * SIZES.rows // lines, _BUCKETS * SIZES.batch // (int(size) + 1)))
        for low in range(0, _BUCKETS, step):
            high = f" AND bucket < '{low + step:03x}'" if low + step < _BUCKETS else ""
            rows = self.engine.query(f"SELECT file, line FROM {rest} WHERE bucket >= '{low:03x}'{high}")
            by_file: dict[int, list[bytes]] = {}
            # As bytes: an engine may hand on what is not UTF-8, for the parser to find.
            text = rows.column("line").cast(pa.binary()).to_pylist()
            for file, line in zip(rows.column("file").to_pylist(), text, strict=True):
                by_file.setdefault(file, []).append(line)
            for file, left in by_file.items():
                scope = scopes.setdefault(file, self._scope(sources[file], first_file + file))
                parsed = parse_lines(left, sources[file].syntax, scope)
                self.add(parsed.quads)
                if parsed.bad:
                    bad.add(file)

    def _read_strictly(self, source: Source, number: int) -> bool:
        """Read a whole file in Python, as far as it can be read; whether anything is wrong with it."""
        scope, wrong = self._scope(source, number), False
        try:
            for _, lines in batches_of_lines(source, self.meter.watch):
                parsed = parse_lines(lines, source.syntax, scope)
                self.add(parsed.quads)
                wrong = wrong or bool(parsed.bad)
                self._tell("parsed")
        except InputError:
            wrong = True
        return wrong

    def _engine_paths(self, sources: Sequence[Source]) -> tuple[list[Source], list[str | None]]:
        """Of sources those that are read, with the paths for the engine. The others have a wrong checksum: any of their
        lines may be wrong."""
        found: list[Source] = []
        paths: list[str | None] = []
        for source in sources:
            try:
                paths.append(self._engine_path(source))
                found.append(source)
            except ChecksumError as error:
                self.note(source.name, error)
        return found, paths

    def _engine_path(self, source: Source) -> str | None:
        """A path that engines can read as lines: packed files are unpacked first (DuckDB reads no bzip2, not all of
        gzip, and checks no sum), objects are brought, but where other machines read them; a name that is not UTF-8 is
        linked to. None for a file that cannot be read as a whole, where what cannot be read is left out. Raises
        ChecksumError."""
        try:
            if self._is_read_elsewhere(source):
                return of_hadoop(source.path)
            remote = is_object(source.path)
            if not remote and source.compression is None and is_utf8(source.path):
                with opened(source.path, source.name):
                    return source.path
            self._folder = self._folder or tempfile.mkdtemp(prefix=temporary.prefix("load"))
            if not remote and source.compression is None:
                return linked(source.path, source.name, self._folder)
            self._begin("fetch" if remote else "unpack", source.name, source)
            return unpack(source.path, source.name, self._folder, self.meter.watch)
        except ChecksumError:
            raise
        except InputError:
            return None

    def _is_read_elsewhere(self, source: Source) -> bool:
        """Whether other machines read a source where it is."""
        return self.engine.elsewhere and is_object(source.path)

    def _is_damaged(self, source: Source) -> bool:
        """Whether a compressed file cannot be unpacked to its end (what this machine reads is unpacked already)."""
        if source.compression is None or not self._is_read_elsewhere(source):
            return False
        try:
            with opened(source.path, source.name) as file:
                while file.read(1 << 20):
                    pass
        except InputError:
            return True
        return False

    # Progress

    def _begin(self, stage: str, label: str, *sources: Source) -> None:
        self.meter.begin(stage, label, sources)
        self._tell(stage)

    def _end(self) -> None:
        self.meter.end()
        self._tell("parsed")

    def _tell(self, stage: str) -> None:
        if self.progress is not None:
            self.progress(replace(self.meter.at(self.triples), stage=stage))

    def close(self) -> None:
        self.rejects.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
