"""What DuckDB's errors are to Triplake: a limit of memory or disk is reported as such, all else with the statement."""

from __future__ import annotations

import re
import tempfile

import duckdb

from triplestore.engine.dialect import beyond
from triplestore.engine.disk import disk_failure
from triplestore.model.errors import EngineError, LimitError, MemoryLimitError

_MEMORY = "Out of Memory Error: "


def failure(error: duckdb.Error | OSError | RuntimeError, sql: str) -> BaseException:
    """The error to raise for one of DuckDB's (or of Arrow's, which reports what DuckDB raised between two batches).
    What a signal's handler raises within a statement, Ctrl-C above all, comes out of it as a RuntimeError."""
    message = str(error)
    if isinstance(error, RuntimeError):
        return KeyboardInterrupt() if message == "Query interrupted" else error
    if (full := disk_failure(message)) is not None:
        return full
    if (limit := beyond(message)) is not None:
        return LimitError(limit)
    if "maximum total string size" in message:  # Arrow's, of 2,048 rows
        return LimitError("an answer goes beyond a limit: its rows are of a megabyte each: ask for shorter texts")
    if "Max expression depth limit" in message:
        return LimitError("an expression goes beyond a limit: it is too long for one statement: say it in fewer parts")
    if altered := re.search(r"AlteredError: (.+)", message):  # raised while DuckDB read a file; before it a traceback
        return EngineError(altered[1], sql)
    if not isinstance(error, duckdb.OutOfMemoryException) and _MEMORY not in message:
        return EngineError(message, sql)
    reason = message.split(_MEMORY, 1)[-1].splitlines()[0].rstrip(".")
    if "max_temp_directory_size" in message:
        return MemoryLimitError(
            f"too much would be spilled to disk, half of what was free there is the limit ({reason}): ask for less "
            f"(LIMIT, a closer pattern), give more with --memory-limit, or make room in {tempfile.gettempdir()}, "
            "the folder that TMPDIR names"
        )
    size = re.search(r"data of size ([\d.]+ \w+) \(([\d.]+ \w+)/([\d.]+ \w+) used\)", reason)
    if size:
        reason = f"{size[1]} more was needed, {size[2]} of {size[3]} was in use"
    return MemoryLimitError(
        f"out of memory ({reason}): give more with --memory-limit, or ask for less (LIMIT, a closer pattern)"
    )
