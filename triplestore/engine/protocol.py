"""What an engine can do, as three protocols: `Queries` reads tables, `Workbench` makes them, `Files` is files.

An engine knows nothing of RDF. One text of SQL serves every engine: bigint ids, ANSI joins, NOT EXISTS for anti-joins,
UNION ALL, DISTINCT, VALUES, window functions; loops are in Python. Where strings, arrays or types differ, the statement
asks the engine's `dialect`; a statement of which an engine can do more than run its text is data (`Statement`). Every
method raises `EngineError`, with the SQL, where a statement fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import Scratch, Statement

if TYPE_CHECKING:
    import pyarrow as pa


Columns = Sequence[tuple[str, str]]
"""(name, SQL type) pairs, types as in `triplestore.model.tables`."""

OverLines = Callable[[Dialect, str], str]
"""A SELECT over lines: its text in a dialect, `lines(file, line)` being the view of that name."""

TURNED: Final = "-turned"
"""How the name of a file in the second order ends, before `.parquet`."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Checksums of the blocks of a file. size: bytes of each block, but for the last; crc32: the CRC-32 of each as four
    bytes, little-endian, in base64."""

    size: int
    crc32: str


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file that an engine wrote: path relative to the folder that was given, rows, bytes, and the SHA-256 of
    its bytes ("": it was written without). turned: the file of the same rows in the table's second order, if there is
    one. blocks: checksums of its parts, if it is large. Two are the same file whether or not the rest is known."""

    path: str
    rows: int
    bytes: int
    sha256: str = field(default="", compare=False)
    turned: WrittenFile | None = field(default=None, compare=False)
    blocks: Blocks | None = field(default=None, compare=False)


class StoredFile(NamedTuple):
    """A Parquet file for an engine to read: where the engine finds it, and what was written there."""

    path: str
    written: WrittenFile


class Functions(Protocol):
    """The functions of SQL that are written in Python. ready: whether all of `triplestore.expressions` are known."""

    ready: bool

    def add(self, name: str, arity: int, columns: Callable[..., pa.Array]) -> None:
        """Make `columns`, which takes that many Arrow columns of text and returns one, a scalar function of SQL. A name
        that is known already stays as it is."""


class Components(Protocol):
    """Connected components."""

    def __call__(self, sql: str) -> pa.Table:
        """Connected components of the edges (a, b) that the SELECT yields: (node, component), component the smallest
        node of each; every node of an edge occurs once. Verified before it is returned."""


class Shared(Protocol):
    """Tables in memory that an engine and its readers share. A reader reads them as they were at its `begin`."""

    def index(self, name: str, column: str) -> None:
        """Make rows of a working table quick to find by single values of a column, until the table is made again. An
        index that exists already stays as it is."""

    def transaction(self) -> AbstractContextManager[None]:
        """Changes to working tables inside become visible to the readers of this engine all at once, at its end; after
        an exception, not at all."""


class Queries(Protocol):
    """Reads tables."""

    @property
    def name(self) -> str:
        """ "duckdb" or "spark"."""

    @property
    def dialect(self) -> Dialect:
        """How this engine writes the SQL that differs."""

    @property
    def resident(self) -> bool:
        """Whether working tables are in memory, and so faster to read than files."""

    @property
    def functions(self) -> Functions:
        """The functions that statements may call."""

    def query(self, sql: Statement) -> pa.Table:
        """The rows of a SELECT, as Arrow."""

    def rows(self, sql: Statement) -> list[tuple[Any, ...]]:
        """The rows of a SELECT that has few, as Python values: sooner than as Arrow."""

    def batches(self, sql: Statement) -> Iterator[pa.RecordBatch]:
        """The rows of a SELECT as a stream of Arrow batches, in its order; memory does not grow with the rows. The
        caller reads the stream to its end, or closes it, before the next call."""

    def plan(self, sql: str) -> PlanStep:
        """Run a SELECT and return the plan by which it ran, with the rows that its operators counted."""

    def interrupt(self) -> None:
        """From another thread: stop the statement that runs, if the engine can; it raises `EngineError`."""

    def share(self) -> float | None:
        """From another thread: how much of the statement that runs is done, about, from 0 to 1; None where none runs,
        or the engine cannot say."""


class Workbench(Queries, Protocol):
    """Makes working tables. A working table lives until it is dropped or the engine is closed."""

    @property
    def joint(self) -> bool:
        """Whether the SELECTs of one `append` run as one job, so that it pays to give them together."""

    @property
    def components(self) -> Components:
        """The connected components of graphs."""

    def scratch(self) -> Scratch:
        """Working tables with names of their own, dropped where the context ends."""

    def load(self, name: str, table: pa.Table) -> int:
        """Make (or replace) working table `name` from Arrow; rows."""

    def create(self, name: str, sql: Statement) -> int:
        """Make (or replace) working table `name` from a SELECT, evaluated now; rows. It may read `name` itself."""

    def number(self, name: str, sql: str, by: str, most: int, select: str = "*") -> int:
        """Make (or replace) working table `name` of the rows of a SELECT, at most so many, and a column `n`: their
        places from 1, in the order of `by`, an expression of its columns (text by its bytes, every row another);
        rows. select: what the table has of these columns, as a select list."""

    def append(self, name: str, selects: Sequence[Statement]) -> list[int]:
        """Add the rows of each SELECT to working table `name`; rows added by each, in order."""

    def remove(self, name: str, sql: str) -> int:
        """Remove the rows that the SELECT yields (all columns, none NULL) from working table `name`; rows removed."""

    def keep(self, name: str, condition: str) -> int:
        """Leave in working table `name` only the rows for which a condition on its columns holds; rows removed."""

    def settle(self) -> None:
        """Let working tables in memory take less of it, where the engine can: what was added since the last time is
        compressed, and the room of what was removed is free."""

    def view(self, name: str, sql: str) -> None:
        """Make (or replace) a view."""

    def drop(self, *names: str) -> None:
        """Drop working tables or views; unknown names are fine."""


class Files(Protocol):
    """Reads and writes files: Parquet, and lines of text."""

    @property
    def elsewhere(self) -> bool:
        """Whether other machines do the work, which may not see the files of this one."""

    def attach(self, name: str, files: Sequence[StoredFile], columns: Columns) -> None:
        """Make view `name` over Parquet files (an empty one where there are none); they are read in place. What is
        read first is compared with its checksums (`triplestore.engine.verification`): a statement that reads bytes that
        were not written raises EngineError."""

    def keep_footers(self) -> None:
        """From now on keep the footers of Parquet files that are read in place, within the limit of memory, where the
        engine reads them for each statement otherwise."""

    def lines(self, name: str, files: Sequence[str]) -> None:
        """Make view `name(file INT, line STRING)` over text files (plain, gzip or bzip2 or zstd where the engine can;
        `file` is the index in `files`); one row per line, without its newline, in no order, NULL never."""

    def cut_lines(
        self, name: str, files: Sequence[str], columns: Sequence[str], sql: OverLines, add: bool = False
    ) -> int:
        """Make (or replace) working table `name` of these columns, all text, from a SELECT over the lines of text
        files, which are read as by `lines`; with `add`, add the rows to the table; how many."""

    def write(
        self, sql: Statement, folder: str, stem: str, order: Sequence[str], group: int, turned: Sequence[str] = ()
    ) -> list[WrittenFile]:
        """Write the rows of a SELECT, sorted by `order`, as Parquet files whose names start with `stem`, of groups of
        so many rows. turned: the columns of a second order; at least every file of more than one group gets a second
        file of its rows, so sorted (`WrittenFile.turned`). Durable on return (fsync)."""


class Engine(Workbench, Files, Protocol):
    """One thread's engine: it reads, makes tables, reads and writes files."""

    @property
    def shared(self) -> Shared | None:
        """The tables that this engine shares with its readers; None where each reader attaches files for itself."""

    def memory(self) -> int:
        """Bytes of memory that this process may take for the engine, and for what is kept beside it."""

    def reader(self) -> Reader:
        """An engine for one more thread, beside this one; see `Reader`."""

    def close(self) -> None:
        """Free what the engine holds (working tables, files of its scratch folder)."""


class Reader(Engine, Protocol):
    """An engine that works for one thread at a time while others work, between `begin` and `end`.

    Where the engine that it comes from has `shared` tables, it reads them as they were at `begin`; else it attaches
    files for itself. What it makes (tables, views) is its own and is dropped at `end`, or at `close`.
    """

    def begin(self) -> None:
        """Start reading: forget an earlier `interrupt`, and hold on to the tables as they are."""

    def again(self) -> bool:
        """Start reading once more what `begin` held on to, where that is possible: there was no `end`, nothing has been
        made, stopped or failed since. Whether it is."""

    def end(self) -> None:
        """Stop reading."""

    def interrupt(self) -> None:
        """From another thread: stop the statement that runs, and refuse any further one until the next `begin`. They
        raise `StoppedError`."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One operator of a plan. detail: what it does, as the engine puts it. rows: how many it gave; estimated:
    how many the engine had reckoned with; None where it does not say. inputs: where its rows come from."""

    operation: str
    detail: str
    rows: int | None
    estimated: int | None
    inputs: tuple[PlanStep, ...]

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The plan as text, inputs indented below what reads them."""
        counted = [f"{self.rows:,} rows"] if self.rows is not None else []
        counted += [f"{self.estimated:,} expected"] if self.estimated is not None else []
        numbers = f"  ({', '.join(counted)})" if counted else ""
        yield f"{'  ' * depth}{self.operation}{numbers}{f'  {self.detail}' if self.detail else ''}"
        for step in self.inputs:
            yield from step.lines(depth + 1)
