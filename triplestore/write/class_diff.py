"""Which classes of equal terms a change merges, and which it splits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from triplestore.dictionary import encoding
from triplestore.engine import Queries, Workbench
from triplestore.model.report import ClassDiff, ClassPart, ClassSplit
from triplestore.model.terms import to_ntriples
from triplestore.model.thresholds import SIZES

SHOWN: Final = 50
"""Merges and splits of classes that a report lists, at most."""

_NAMED: Final = 10
"""Members of a class that a report names, at most."""

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
    old = class_parts(engine, before, [part for _, parts in merged for part in parts] + [whole for whole, _ in split])
    new = class_parts(engine, after, [part for _, parts in split for part in parts])
    return ClassDiff(
        merged_count,
        tuple(tuple(old[number] for number, _ in parts) for _, parts in merged),
        split_count,
        tuple(ClassSplit(old[whole], tuple(new[number] for number, _ in parts)) for (whole, _), parts in split),
    )


def class_parts(engine: Queries, classes: str, parts: Iterable[_Part]) -> dict[int, ClassPart]:
    """Classes of a table (term, representative), by the ids that represent them. `term` can be read."""
    sizes = dict(parts)
    several = sorted(number for number, size in sizes.items() if size > 1)
    members: dict[int, list[int]] = {number: [number] for number in sizes}
    for some in at_once(several):
        ranked = (
            "SELECT representative, term, row_number() OVER (PARTITION BY representative ORDER BY term) AS place "
            f"FROM {classes} WHERE representative IN ({some}) AND term <> representative"
        )
        chosen = f"SELECT representative, term FROM ({ranked}) r WHERE place < {_NAMED} ORDER BY representative, place"
        for representative, term in engine.rows(chosen):
            members[representative].append(term)
    tokens = encoding.decode(engine, {i for found in members.values() for i in found})

    def shown(number: int, size: int) -> ClassPart:
        names = tuple(to_ntriples(tokens[i]) for i in members[number])
        return ClassPart(names[0], size, names if size > 1 else ())

    return {number: shown(number, size) for number, size in sizes.items()}


def class_sizes(engine: Queries, classes: str, ids: Iterable[int]) -> dict[int, int]:
    """The numbers of members of those classes of a table (term, representative) that some of ids represent."""
    found: dict[int, int] = {}
    for some in at_once(ids):
        counted = f"SELECT representative, count(*) AS n FROM {classes} WHERE representative IN ({some})"
        found.update(engine.rows(f"{counted} GROUP BY representative"))
    return found


def at_once(ids: Iterable[int]) -> list[str]:
    """Ids as the lists of several statements."""
    ordered = sorted(ids)
    return [
        ", ".join(map(str, ordered[start : start + SIZES.objects])) for start in range(0, len(ordered), SIZES.objects)
    ]


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
