"""Reading and writing files by DuckDB."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from triplestore.engine.dialect import string
from triplestore.engine.duckdb.checked import CheckedFiles
from triplestore.engine.duckdb.workbench import DuckDBWorkbench
from triplestore.engine.protocol import TURNED, Columns, OverLines, StoredFile, WrittenFile
from triplestore.engine.sql import Statement
from triplestore.engine.verification import AlteredError, compare, is_large
from triplestore.engine.written import finished
from triplestore.model.errors import EngineError

MAX_LINE: Final = 16 << 20
"""Bytes of the longest line of text that `lines` reads."""


class DuckDBFiles(DuckDBWorkbench):
    """`Workbench` and `Files` over one connection. checked: the large files of its database."""

    checked: CheckedFiles

    @property
    def elsewhere(self) -> bool:
        return False

    def attach(self, name: str, files: Sequence[StoredFile], columns: Columns) -> None:
        if files:
            names = ", ".join(column for column, _ in columns)
            self.view(name, f"SELECT {names} FROM {parquet(list(map(self._readable, files)))}")
        else:
            nulls = ", ".join(f"CAST(NULL AS {self.dialect.type(kind)}) AS {column}" for column, kind in columns)
            self.view(name, f"SELECT {nulls} WHERE FALSE")

    def _readable(self, file: StoredFile) -> str:
        """The path by which DuckDB reads a file: its own, once it was compared with its checksums, or for a large one a
        path by which each block is compared when it is read."""
        if is_large(file.written):
            return self.checked.path(file)
        try:
            compare(file.path, file.written)
        except FileNotFoundError:
            pass  # DuckDB says so
        except AlteredError as error:
            raise EngineError(str(error), f"(attach of {file.path})") from error
        return file.path

    def keep_footers(self) -> None:
        self._connection.execute("SET GLOBAL parquet_metadata_cache = true")

    def lines(self, name: str, files: Sequence[str]) -> None:
        # One column, no quoting, no delimiter (DuckDB takes none for NUL): each line is one value, read in parallel.
        # Strict: a NUL, a stray CR, bytes that are not UTF-8 or a line over the limit are errors, never altered text.
        if not files:
            self.view(name, "SELECT CAST(NULL AS INTEGER) AS file, '' AS line WHERE FALSE")
            return
        listed = ", ".join(map(of_path, files))
        self.view(
            name,
            f"SELECT CAST(file_index AS INTEGER) AS file, coalesce(line, '') AS line FROM read_csv([{listed}], "
            "columns = {'line': 'VARCHAR'}, delim = '', quote = '', escape = '', header = false, auto_detect = false, "
            "null_padding = false, hive_partitioning = false, "
            f"max_line_size = {MAX_LINE}, buffer_size = {2 * MAX_LINE})",
        )

    def cut_lines(
        self, name: str, files: Sequence[str], columns: Sequence[str], sql: OverLines, add: bool = False
    ) -> int:
        with self.scratch() as scratch:
            view = scratch.table("lines")
            self.lines(view, files)
            select = f"SELECT {', '.join(columns)} FROM ({sql(self.dialect, view)}) cut"
            return self.append(name, [select])[0] if add else self.create(name, select)

    def write(
        self, sql: Statement, folder: str, stem: str, order: Sequence[str], group: int, turned: Sequence[str] = ()
    ) -> list[WrittenFile]:
        path = Path(folder, f"{stem}.parquet")
        rows = self._copied(f"({sql})", path, order, group)
        if rows == 0:
            path.unlink()
            return []
        second = None
        if turned and rows > group:
            other = Path(folder, f"{stem}{TURNED}.parquet")
            self._copied(parquet([str(path)]), other, turned, group)
            second = finished(other, rows)
        return [replace(finished(path, rows), turned=second)]

    def _copied(self, source: str, path: Path, order: Sequence[str], group: int) -> int:
        """Write the rows of what stands after FROM; rows."""
        sorting = f" ORDER BY {', '.join(order)}" if order else ""
        return self._connection.changed(
            f"COPY (SELECT * FROM {source} t{sorting}) TO {string(_homeless(str(path)))} "
            f"(FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {group})"
        )


def parquet(files: Sequence[str], by_name: bool = False) -> str:
    """Parquet files as what stands after FROM: these alone, with their own columns, whatever their paths are like.
    by_name: the columns of one may be in another order."""
    listed = ", ".join(map(of_path, files))
    return f"read_parquet([{listed}], union_by_name = {by_name}, hive_partitioning = false)"


def of_path(path: str) -> str:
    """A path to be read as an SQL literal: as a pattern that matches only itself."""
    return string("".join(f"[{character}]" if character in "*?[" else character for character in _homeless(path)))


def _homeless(path: str) -> str:
    """A path that begins with no ~, which DuckDB takes for the user's home folder."""
    return os.path.abspath(path) if path.startswith("~") else path
