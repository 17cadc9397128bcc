"""Working tables on Spark: immutable parts, shared between the tables that hold them.

A table is a schema and a tuple of parts; a part is a folder of the scratch (or an attached file) with its Parquet rows
counted. Parts never change, so that a copy of a table, a choice of its columns or the addition of one table to another
takes no job at all, and a part's files are deleted when the last table that holds it is gone. A table without rows is
shown to Spark as an empty relation, which makes the optimiser drop the joins it stands in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from triplestore.engine.dialect import OWN
from triplestore.engine.protocol import WrittenFile
from triplestore.engine.spark.filesystem import FileSystem
from triplestore.engine.thresholds import THRESHOLDS
from triplestore.engine.verification import compare
from triplestore.model.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Part:
    """Rows at a path. stored: what was written there, of an attached file, which is compared with its checksums before
    it is read."""

    path: str
    rows: int
    stored: WrittenFile | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A working or attached table: `schema` is Spark's StructType, every column nullable."""

    schema: Any
    parts: tuple[Part, ...]

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.schema]


class Tables:
    """The tables of one engine by name (in any case), each with its view in the session. See the module."""

    def __init__(self, spark: SparkSession, files: FileSystem, scratch: str) -> None:
        self.spark, self._files, self.scratch = spark, files, scratch
        self._tables: dict[str, Table] = {}
        self._views: dict[str, str] = {}
        self._shown: dict[str, Table | str] = {}
        self._compared: set[tuple[str, str]] = set()
        self._folders = (f"{scratch}/{number}" for number in itertools.count())

    def __iter__(self) -> Iterator[str]:
        return iter([*self._views, *self._tables])

    def folder(self) -> str:
        """The path of a new folder in the scratch, not made yet."""
        return next(self._folders)

    def empty(self) -> list[str]:
        """The names of the tables without rows, in lower case."""
        return [name for name, table in self._tables.items() if not table.parts]

    def find(self, name: str) -> Table | None:
        return self._tables.get(name.lower())

    def get(self, name: str) -> Table:
        table = self.find(name)
        if table is None:
            raise EngineError(f"there is no working table {name}")
        return table

    def put(self, name: str, table: Table) -> None:
        """Make `name` this table, in place of whatever it was."""
        if len(table.parts) > THRESHOLDS.parts:
            table = self._merged(table)
        name = name.lower()
        before = self._tables.get(name)
        self._tables[name] = table
        self._views.pop(name, None)
        self._release(before)

    def view(self, name: str, sql: str) -> None:
        """Make `name` a view, in place of whatever it was."""
        self._views[name.lower()] = sql
        self._release(self._tables.pop(name.lower(), None))

    def show(self, name: str, frame: DataFrame) -> None:
        """Make `name` a view of a data frame."""
        self.view(name, f"{OWN}SELECT * FROM {name}")
        frame.createOrReplaceTempView(name)
        self._shown[name.lower()] = self._views[name.lower()]

    def named(self, sql: str) -> tuple[dict[str, Table], dict[str, str]]:
        """The tables and views that a statement names, and those that these views name, which stand before them."""
        tables: dict[str, Table] = {}
        views: dict[str, str] = {}
        seen: set[str] = set()

        def find(text: str) -> None:
            lower = text.lower()
            tables.update((name, table) for name, table in self._tables.items() if _names(lower, name))
            for name, view in self._views.items():
                if name not in seen and _names(lower, name):
                    seen.add(name)
                    find(view)
                    views[name] = view

        find(sql)
        return tables, views

    def select(self, sql: str) -> DataFrame:
        """A statement as a data frame. Spark is shown what it names now: of most tables it need not know."""
        tables, views = self.named(sql)
        for name, table in tables.items():
            if self._shown.get(name) is not table:
                self.frame(table).createOrReplaceTempView(name)
                self._shown[name] = table
        for name, view in views.items():
            if self._shown.get(name) != view:
                self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {view}")
                self._shown[name] = view
        return self.spark.sql(sql)

    def forget(self, name: str) -> None:
        """Drop `name`, table or view, if it is there."""
        name = name.lower()
        if self._shown.pop(name, None) is not None:
            self.spark.catalog.dropTempView(name)
        self._views.pop(name, None)
        self._release(self._tables.pop(name, None))

    def rows(self, table: Table) -> int:
        """The rows of a table."""
        return sum(part.rows for part in table.parts)

    def compare(self, table: Table) -> None:
        """Compare the attached files of a table with their checksums, each once: in the driver where it can read them,
        else in the executors. Raises AlteredError."""
        remote = list[tuple[str, WrittenFile]]()
        for part in table.parts:
            if part.stored is None or not part.stored.sha256:
                continue
            if (local := self._files.local(part.path)) is not None:
                compare(local, part.stored)
            elif (part.path, part.stored.sha256) not in self._compared:
                remote.append((part.path, part.stored))
        if remote:
            self._files.compare(remote)
            self._compared.update((path, file.sha256) for path, file in remote)

    def frame(self, table: Table) -> DataFrame:
        """The table as a data frame. Raises AlteredError where an attached file is not what was written."""
        self.compare(table)
        return self.unread(table)

    def unread(self, table: Table) -> DataFrame:
        """As `frame`, of files that are not to be read yet: Spark looks whether they are there."""
        paths = [self._files.url(part.path) for part in table.parts if part.rows != 0]
        if not paths:
            nulls = ", ".join(f"CAST(NULL AS {f.dataType.simpleString()}) AS `{f.name}`" for f in table.schema)
            return self.spark.sql(f"SELECT {nulls} WHERE FALSE")
        return self.spark.read.schema(table.schema).parquet(*paths)

    def evaluated(self, frame: DataFrame) -> Part:
        """Run a data frame into a new part."""
        folder = self.folder()
        frame.write.parquet(folder)
        part = Part(folder, self.count(folder))
        if part.rows == 0:
            self._files.delete(folder)
        return part

    def count(self, path: str) -> int:
        """The rows of a Parquet file or a folder of them: read from the footers where they are local."""
        if self._files.local(path) is None:
            return int(self.spark.read.parquet(self._files.url(path)).count())
        return sum(int(pq.read_metadata(file).num_rows) for file in self._files.parquet(path))

    def _merged(self, table: Table) -> Table:
        counted = sorted(table.parts, key=lambda part: part.rows)
        small, large = counted[: len(counted) // 2 + 1], counted[len(counted) // 2 + 1 :]
        frame = self.frame(Table(table.schema, tuple(small))).coalesce(self.spark.sparkContext.defaultParallelism)
        return Table(table.schema, (*large, self.evaluated(frame)))

    def _release(self, table: Table | None) -> None:
        """Delete the parts of a table that is gone, those that no other table holds. Attached files are not ours."""
        held = {part.path for other in self._tables.values() for part in other.parts}
        for part in table.parts if table is not None else ():
            if part.path.startswith(f"{self.scratch}/") and part.path not in held:
                self._files.delete(part.path)


def _names(sql: str, name: str) -> bool:
    """Whether a word of a text is this name."""
    place = sql.find(name)
    while place >= 0:
        around = sql[max(place - 1, 0) : place] + sql[place + len(name) : place + len(name) + 1]
        if not any(char.isalnum() or char == "_" for char in around):
            return True
        place = sql.find(name, place + 1)
    return False


def nullable(fields: Sequence[Any]) -> Any:
    """A schema of these fields, every column nullable: how Parquet is read back, whatever a SELECT promised."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType, True) for field in fields])
