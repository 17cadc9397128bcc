"""Triples of Spark DataFrames, as files that a load reads."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from triplestore.model.errors import UsageError
from triplestore.storage.place import DATA, Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT: Final = "nq"
"""The format of the files."""


@contextmanager
def as_files(frame: DataFrame, place: Place) -> Iterator[list[str]]:
    """Files with the rows of a DataFrame (s, p, o, and g if it has one), there while this is entered: in the store's
    folder of data, which the executors see. What may have a blank node is in one file, in which a label is one node.
    Raises UsageError for other columns."""
    columns = {name.lower(): name for name in frame.columns}
    if set(columns) not in ({"s", "p", "o"}, {"s", "p", "o", "g"}):
        raise UsageError(f"the DataFrame has the columns {', '.join(frame.columns)}: give s, p and o, and g for graphs")
    name = f".frame-{uuid.uuid4().hex}"
    shared = place.shared() if _elsewhere(frame) else None
    folder = f"{shared or place.data.absolute()}/{name}"  # Java's working folder may be another
    parts = ", ".join(f"`{columns[c]}`" for c in "spog" if c in columns)
    whole = " AND ".join(f"`{columns[c]}` IS NOT NULL" for c in "spo")
    try:
        # concat_ws leaves out what is NULL: a row without g is a triple.
        lines = frame.where(whole).selectExpr(f"concat_ws(' ', {parts}, '.') AS line")
        lines.where("instr(line, '_:') = 0").write.text(f"{folder}/names")
        lines.where("instr(line, '_:') > 0").coalesce(1).write.text(f"{folder}/blank")
        if shared is None:
            yield sorted(str(path) for path in Path(folder).glob("*/part-*") if path.stat().st_size)
        else:
            written = place.listed(f"{DATA}/{name}")
            yield sorted(f"{folder}/{entry.name}" for entry in written if entry.bytes and "/part-" in entry.name)
    finally:
        if shared is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            for entry in place.listed(f"{DATA}/{name}"):
                place.remove(f"{DATA}/{name}/{entry.name}")
            place.remove(f"{DATA}/{name}")


def _elsewhere(frame: DataFrame) -> bool:
    """Whether other machines make a DataFrame: a session of Spark Connect does not say which."""
    from triplestore.engine.spark.session import is_local  # with PySpark, which not everybody has

    context = None if "connect" in type(frame).__module__ else frame.sparkSession.sparkContext
    return context is None or not is_local(context.master)
