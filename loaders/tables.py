"""Tables of rows and columns, of any make, opened for the SQL of `loaders.mapping` on a DuckDB of their own.

Files are CSV and Parquet, read by DuckDB; all else gives Arrow. DuckDB does it on every engine, so that a table gives
the same terms on each.
"""

from __future__ import annotations

import csv
import glob
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import duckdb
import pyarrow as pa

from triplake.loaders.bounds import LONGEST
from triplake.loaders.compression import COMPRESSIONS, compression, unpack
from triplake.loaders.compression import opened as opened_bytes
from triplake.loaders.pipes import is_regular, remove, spooled, spooled_pipe
from triplake.loaders.sources import place_of
from triplestore.engine.dialect import string
from triplestore.model.errors import EngineError, InputError, UsageError

FORMATS: Final = {"csv": "csv", "tsv": "tsv", "parquet": "parquet"}
"""The names of formats of tables, and what they are."""

_SUFFIXES: Final = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_SUFFIX_HELP: Final = f"{' '.join(_SUFFIXES)}, CSV with {' '.join(COMPRESSIONS)} on top too"

_DELIMITERS: Final = ",;\t|"
"""What may stand between the values of CSV, the likelier first."""

_INTEGER: Final = "-?(0|[1-9][0-9]*)"
_CSV_TYPES: Final = {
    "INTEGER": "regexp_full_match({0}, " + string(_INTEGER) + ")",
    "DECIMAL": "regexp_full_match({0}, " + string(rf"{_INTEGER}(\.[0-9]+)?") + ")",
    "DOUBLE": "regexp_full_match({0}, " + string(rf"{_INTEGER}(\.[0-9]+)?([eE][+-]?[0-9]+)?") + ")",
    "BOOLEAN": "lower({0}) IN ('true', 'false')",
    "DATE": r"(regexp_full_match({0}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND TRY_CAST({0} AS DATE) IS NOT NULL)",
    "TIMESTAMP": (
        r"(regexp_full_match({0}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]+)?"
        r"(Z|[+-][0-9]{{2}}:[0-9]{{2}})?') AND TRY_CAST({0} AS TIMESTAMPTZ) IS NOT NULL)"
    ),
}
"""Of each type that the texts of a CSV file may have, whether one is of it; the first that all are of is the column's.
A leading zero or plus makes no number: it is a code, and would be lost."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is open: the connection, the name of its view there, its columns (name -> type, as DuckDB writes
    it), what messages call it. texts: the columns are texts, as a file has them, whatever their types."""

    connection: duckdb.DuckDBPyConnection
    view: str
    columns: dict[str, str]
    name: str
    texts: bool = False

    def typed(self, names: Collection[str]) -> Table:
        """The same, where some of the columns are texts with types that fit all of them."""
        chosen = [name for name in self.columns if name in names]
        if not self.texts or not chosen:
            return self
        tests = [
            f"bool_and({test.format(identifier(name))}) FILTER ({identifier(name)} IS NOT NULL)"
            for name in chosen
            for test in _CSV_TYPES.values()
        ]
        with self.reading():
            (row,) = self.connection.execute(f"SELECT {', '.join(tests)} FROM {self.view}").fetchall()
        types = list(_CSV_TYPES)
        found = {
            name: next((t for t, fits in zip(types, row[place * len(types) :], strict=False) if fits), "VARCHAR")
            for place, name in enumerate(chosen)
        }
        return replace(self, columns=self.columns | found)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Faults of the table, where it is read, as errors that name it."""
        try:
            yield
        except duckdb.InterruptException:
            raise
        except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
            raise EngineError(str(error)) from error
        except UnicodeEncodeError as error:
            raise UsageError(f"half of a surrogate pair is not a character, in {self.name}: decode it again") from error
        except (duckdb.Error, pa.ArrowException) as error:
            raise InputError(_reason(error), self.name, *_line(error)) from error


def identifier(name: str) -> str:
    """A column's name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def tables(given: Sequence[object], format: str | None) -> list[object]:
    """What was named, with files one by one: folders are refused, globs are resolved, `-` is standard input. Raises
    UsageError for what is no table by its name or type, InputError for what does not exist. Each file is read once,
    however often it is named."""
    if format is not None and format.lower() not in FORMATS:
        raise UsageError(f"unknown format {format!r} of a table: use one of {', '.join(FORMATS)}")
    found: list[object] = []
    once: set[str] = set()
    for one in given:
        if not isinstance(one, str | os.PathLike):
            found.append(one)
            continue
        path = str(one)
        if path == "-" or os.path.exists(path):
            matches = [path]
        elif not glob.has_magic(path):
            raise InputError("there is no such file: check the path", path)
        elif not (matches := sorted(glob.glob(path, recursive=True))):
            raise InputError("no file matches the pattern", path)
        new = {place_of(match): match for match in matches if place_of(match) not in once}
        once |= new.keys()
        found += [_file(match, format) for match in new.values()]
    return found


@dataclass(frozen=True, slots=True)
class _File:
    """A file, by what it is called; what comes from a pipe has another path, of a scratch file."""

    path: str
    kind: str
    name: str


def _file(path: str, format: str | None) -> _File:
    if path == "-":
        if format is None:
            raise UsageError(f"'-' (standard input) has no suffix to tell its format: add one of {', '.join(FORMATS)}")
        return _File(spooled(sys.stdin.buffer), FORMATS[format.lower()], "<stdin>")
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder: name the tables in it, as in '{path.rstrip('/')}/*.parquet'")
    packed = compression(path)
    suffix = os.path.splitext(path[: -len(packed)] if packed else path)[1].lower()
    kind = FORMATS[format.lower()] if format else _SUFFIXES.get(suffix)
    if kind is None:
        raise UsageError(f"{path}: the suffix does not tell the table's format; use {_SUFFIX_HELP}, or give the format")
    return _File(path if is_regular(path) else spooled_pipe(path), kind, path)


@contextmanager
def opened(given: object, number: int, folder: str, memory: int | None = None) -> Iterator[Table]:
    """Open one of what `tables` gives. number: its place, for messages. folder: for what has to be unpacked, or is
    spilled. memory: bytes that reading it may take. Raises InputError for what cannot be read, UsageError for what is
    no table."""
    connection = duckdb.connect(":memory:")
    try:
        connection.execute(f"SET temp_directory = {string(folder)}")
        if memory is not None:
            connection.execute(f"SET memory_limit = '{memory} B'")
        connection.execute("SET TimeZone = 'UTC'")
        if isinstance(given, _File):
            yield _of_file(connection, given, folder)
        else:
            name = f"table {number}"
            closed = Table(connection, "given", {}, name)
            with closed.reading():
                connection.register("given", _arrow(given))
                yield replace(closed, columns=_columns(connection, name))
    finally:
        connection.close()
        if isinstance(given, _File) and given.path != given.name:
            remove(given.path)


def _of_file(connection: duckdb.DuckDBPyConnection, file: _File, folder: str) -> Table:
    from triplestore.engine.duckdb.workbench import MAX_LINE, of_path, parquet

    closed = Table(connection, "given", {}, file.name, texts=file.kind != "parquet")
    packed = compression(file.path)
    path = unpack(file.path, file.name, folder) if packed else file.path
    if not os.path.getsize(path):
        raise InputError("the file is empty: a table begins with the names of its columns", file.name)
    if file.kind == "parquet":
        read = parquet([path])
    else:
        # Nothing is sampled: the first line has the names and the delimiter, and the rest is as RFC 4180 has it.
        delimiter, names = _header(path, file.name, "\t" if file.kind == "tsv" else "")
        columns = ", ".join(f"{string(name)}: 'VARCHAR'" for name in names)
        read = (
            f"read_csv({of_path(path)}, auto_detect = false, header = true, delim = {string(delimiter)}, quote = '\"', "
            f"escape = '\"', nullstr = '', columns = {{{columns}}}, hive_partitioning = false, "
            f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})"
        )
    with closed.reading():
        connection.execute(f"CREATE VIEW given AS SELECT * FROM {read}")
        return replace(closed, columns=_columns(connection, file.name))


def _header(path: str, name: str, delimiter: str) -> tuple[str, list[str]]:
    """The delimiter (where none is given, that of , ; | and tabs that the first line has most of) and the names of the
    columns of a CSV file. Raises InputError for a name that is there twice, in whatever case."""
    with opened_bytes(path, name) as packed:
        file = io.TextIOWrapper(packed, "utf-8-sig", errors="replace", newline="")  # DuckDB finds what is no UTF-8
        lines = iter(lambda: file.readline(LONGEST), "")  # of any file: it may have no end of a line
        first = next(lines, "")
        if not delimiter:
            plain = re.sub('"[^"]*"', "", first)
            delimiter = max(_DELIMITERS, key=plain.count)
        try:
            record = next(csv.reader(chain([first], lines), delimiter=delimiter), [])
        except csv.Error as error:  # one name is longer than anything that is one
            raise InputError(f"this is not a line of column names ({error}): is a quote closed?", name, 1) from error
    if not record:
        raise InputError("the first line is empty: a table begins with the names of its columns", name, 1)
    columns = [column or f"column{place}" for place, column in enumerate(record, 1)]
    # DuckDB takes a name in any case for the same.
    if twice := [column for column, times in Counter(map(str.lower, columns)).items() if times > 1]:
        raise InputError(f"more than one column is called {twice[0]!r}: give each a name of its own", name, 1)
    return delimiter, columns


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, str]:
    found = connection.execute("DESCRIBE given").fetchall()
    return {str(column): str(kind) for column, kind, *_ in found}


@contextmanager
def _of_one_type(given: str) -> Iterator[None]:
    """Raise UsageError for values that are not of one type of Arrow's in each column."""
    try:
        yield
    except OverflowError as error:
        raise UsageError(
            f"a column of the {given} has whole numbers of more than 64 bits: make texts of them"
        ) from error
    except (pa.ArrowException, TypeError) as error:
        reason = " ".join(str(part) for part in reversed(error.args))
        raise UsageError(f"a column of the {given} has values of several types: make it one ({reason})") from error


def _arrow(given: Any) -> object:
    """A table of Python's as Arrow: a table, or a stream of batches. Raises UsageError for what is none."""
    module = type(given).__module__.partition(".")[0]
    if module == "pandas" and hasattr(given, "columns"):
        if not given.columns.is_unique:
            twice = given.columns[given.columns.duplicated()][0]
            raise UsageError(f"more than one column of the DataFrame is called {twice!r}: give each a name of its own")
        with _of_one_type("DataFrame"):
            return pa.Table.from_pandas(given, preserve_index=False)
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if module == "polars" and hasattr(given, "collect"):
        given = given.collect()
    if hasattr(given, "toArrow"):  # Spark's
        return given.toArrow()
    if isinstance(given, pa.Table | pa.RecordBatchReader):
        return given
    if hasattr(given, "scanner"):  # a dataset of Arrow's
        return given.scanner().to_reader()
    if hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns"):
        return pa.RecordBatchReader.from_stream(given)
    if isinstance(given, list) and given and all(isinstance(row, dict) for row in given):
        with _of_one_type("rows"):
            return pa.table({name: [row.get(name) for row in given] for name in dict.fromkeys(chain(*given))})
    raise UsageError(
        f"{type(given).__name__} is not a table: give a DataFrame (pandas, polars, Spark), an Arrow table, a DuckDB "
        "relation, a list of dicts, or the path of a CSV or Parquet file"
    )


def _reason(error: Exception) -> str:
    text = str(error)
    if "Invalid unicode" in text or "not utf-8 encoded" in text.lower():
        return "the file is not UTF-8: convert it, or give duckdb.read_csv(FILE, encoding='latin-1') in Python"
    if "state machine reached an invalid state" in text:
        return "its lines end in several ways (LF, CR LF, CR): make them end in one"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "CSV Error on Line" in text:
        end = next((place for place, line in enumerate(lines) if line.startswith("Possible")), len(lines))
        return f"{lines[end - 1]}: correct the line; a value with a delimiter, a quote or a line end stands in quotes"
    return lines[0] if lines else type(error).__name__


def _line(error: Exception) -> tuple[int, ...]:
    found = re.search(r"CSV Error on Line: (\d+)", str(error))
    return (int(found[1]),) if found else ()
