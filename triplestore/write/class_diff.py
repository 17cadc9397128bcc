"""Which classes of equal terms a change merges, and which it splits."""

from __future__ import annotations

from typing import Final

from triplestore.dictionary import encoding
from triplestore.engine import Queries, Workbench
from triplestore.model.report import ClassDiff, ClassPart, ClassSplit
from triplestore.model.terms import to_ntriples

SHOWN: Final = 50
"""Merges and splits of classes that a report lists, at most."""

_Part = tuple[int, int]
"""A class: the id that represents it, and the number of its members."""


def class_diff(engine: Workbench, before: str, after: str) -> ClassDiff:
    """What becomes of the classes between two tables (term, representative). `term` can be read, with all terms of
    both."""
    with engine.scratch() as scratch:
        moved = scratch.create(
            "moved",
            "SELECT x.old, x.new, count(*) AS n FROM (SELECT t.term, coalesce(b.representative, t.term) AS old, "
            "coalesce(a.representative, t.term) AS new FROM "
            f"(SELECT term FROM {before} UNION SELECT term FROM {after}) t "
            f"LEFT JOIN {before} b ON b.term = t.term LEFT JOIN {after} a ON a.term = t.term) x GROUP BY x.old, x.new",
        )
        merged_count, merged = _groups(engine, moved, "new", "old")
        split_count, split = _groups(engine, moved, "old", "new")
    ids = [number for whole, parts in (*merged, *split) for number, _ in (whole, *parts)]
    tokens = encoding.decode(engine, ids)

    def shown(part: _Part) -> ClassPart:
        return ClassPart(to_ntriples(tokens[part[0]]), part[1])

    return ClassDiff(
        merged_count,
        tuple(tuple(shown(part) for part in parts) for _, parts in merged),
        split_count,
        tuple(ClassSplit(shown(whole), tuple(shown(part) for part in parts)) for whole, parts in split),
    )


def _groups(engine: Queries, moved: str, whole: str, part: str) -> tuple[int, list[tuple[_Part, list[_Part]]]]:
    """The classes of one side that are several of the other: how many, and the largest with their parts."""
    several = f"SELECT {whole} AS id, sum(n) AS size FROM {moved} GROUP BY {whole} HAVING count(*) > 1"
    number = int(engine.query(f"SELECT count(*) AS n FROM ({several}) s").column(0)[0].as_py())
    largest = f"SELECT id, size FROM ({several}) s ORDER BY size DESC, id LIMIT {SHOWN}"
    sizes = f"SELECT {part} AS id, sum(n) AS size FROM {moved} GROUP BY {part}"
    rows = engine.query(
        f"SELECT w.id, w.size, r.{part} AS part, p.size AS part_size FROM ({largest}) w "
        f"JOIN {moved} r ON r.{whole} = w.id JOIN ({sizes}) p ON p.id = r.{part} "
        f"ORDER BY w.size DESC, w.id, part_size DESC, part"
    ).to_pylist()
    found: dict[_Part, list[_Part]] = {}
    for row in rows:
        found.setdefault((row["id"], int(row["size"])), []).append((row["part"], int(row["part_size"])))
    return number, list(found.items())
