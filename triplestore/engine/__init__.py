"""Runs the SQL that the compilers emit, over named working tables, on DuckDB or Spark. See `protocol`."""

from triplestore.engine.protocol import (
    Columns,
    Components,
    Engine,
    Files,
    Functions,
    Queries,
    Reader,
    Shared,
    StoredFile,
    Workbench,
    WrittenFile,
)

__all__ = [
    "Columns",
    "Components",
    "Engine",
    "Files",
    "Functions",
    "Queries",
    "Reader",
    "Shared",
    "StoredFile",
    "Workbench",
    "WrittenFile",
]
