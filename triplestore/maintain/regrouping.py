"""Which classes of equal terms a change merges, and which it splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from triplestore.engine import Engine

BEFORE: Final = "classes_before"
"""A working table: `same_as` as it was."""

Part = tuple[int, int]
"""A class: the id that represents it, and the number of its members."""


@dataclass(frozen=True, slots=True)
class Regrouping:
    """merged: the classes (single terms among them) that became one, for each class that came of some. split: each
    class that fell apart, and what it fell into. Those of the most members first; the numbers count all there are."""

    merged_count: int
    merged: tuple[tuple[Part, ...], ...]
    split_count: int
    split: tuple[tuple[Part, tuple[Part, ...]], ...]


def remember(engine: Engine) -> None:
    """Keep `same_as` as it is, for `regrouping`."""
    engine.create(BEFORE, "SELECT term, representative FROM same_as")


def regrouping(engine: Engine, most: int) -> Regrouping:
    """What became of the classes since `remember`: up to `most` merges and splits, and their numbers."""
    engine.create(
        "regrouped",
        "SELECT x.old, x.new, count(*) AS n FROM (SELECT t.term, coalesce(b.representative, t.term) AS old, "
        "coalesce(a.representative, t.term) AS new FROM "
        f"(SELECT term FROM {BEFORE} UNION SELECT term FROM same_as) t "
        f"LEFT JOIN {BEFORE} b ON b.term = t.term LEFT JOIN same_as a ON a.term = t.term) x GROUP BY x.old, x.new",
    )
    merged_count, merged = _groups(engine, "new", "old", most)
    split_count, split = _groups(engine, "old", "new", most)
    engine.drop(BEFORE, "regrouped")
    return Regrouping(merged_count, tuple(parts for _, parts in merged), split_count, split)


def _groups(engine: Engine, whole: str, part: str, most: int) -> tuple[int, tuple[tuple[Part, tuple[Part, ...]], ...]]:
    """The classes of one side that are several of the other: how many, and the largest with their parts."""
    several = f"SELECT {whole} AS id, sum(n) AS size FROM regrouped GROUP BY {whole} HAVING count(*) > 1"
    number = int(engine.query(f"SELECT count(*) AS n FROM ({several}) s").column(0)[0].as_py())
    largest = f"SELECT id, size FROM ({several}) s ORDER BY size DESC, id LIMIT {most}"
    sizes = f"SELECT {part} AS id, sum(n) AS size FROM regrouped GROUP BY {part}"
    rows = engine.query(
        f"SELECT w.id, w.size, r.{part} AS part, p.size AS part_size FROM ({largest}) w "
        f"JOIN regrouped r ON r.{whole} = w.id JOIN ({sizes}) p ON p.id = r.{part} "
        f"ORDER BY w.size DESC, w.id, part_size DESC, part"
    ).to_pylist()
    found: dict[Part, list[Part]] = {}
    for row in rows:
        found.setdefault((row["id"], int(row["size"])), []).append((row["part"], int(row["part_size"])))
    return number, tuple((class_, tuple(parts)) for class_, parts in found.items())
