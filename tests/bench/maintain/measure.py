"""One data set: every algorithm on deletions of every size, each from the same state of the same store.

A cell of the table is one update of a copy of the store, in this process, which has just made two small updates by
`auto`: the closure is in memory, as it is in a server. Seconds are those of the transaction, its commit included.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from datasets.university.dice import Dice
from tests.bench.maintain.data import DATA_SETS, DataSet
from triplestore import Store
from triplestore.maintain import rematerialise
from triplestore.maintain.memory import COUNTING, DELETING

AUTO, REMATERIALISE = "auto", rematerialise.NAME
ALGORITHMS = (REMATERIALISE, *(name for name in DELETING if name not in COUNTING), AUTO)
FIXED = (1, 100, 5_000)
"""Deletions of these sizes are measured on every data set, as in the paper."""
SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of the break-even point: the size at which rematerialising is as fast as the best algorithm."""
SMALL = 100
"""Sizes up to which the runs of a cell are made one after the other in one store."""
WARM = 3
"""Facts of each of the two updates before a cell."""


@dataclass(frozen=True)
class Cell:
    """An algorithm at a size: medians of the runs. ran: what did it in the end; reason: why."""

    size: int
    algorithm: str
    seconds: float
    runs: int
    derived: int
    doubted: int
    checked: int
    deleted: int
    added: int
    ran: str
    reason: str

    @property
    def declined(self) -> bool:
        """Whether the algorithm could not do it, so that the closure was computed anew."""
        return self.algorithm not in (AUTO, REMATERIALISE) and self.ran == REMATERIALISE


class Subject:
    """A data set in a store, and facts to delete from it."""

    def __init__(self, data: DataSet, folder: Path) -> None:
        self.folder, self.base = folder, folder / "base"
        files = folder / "files"
        files.mkdir()
        data.make(files)
        with Store.create(self.base, data.rulesets(files), data.equality, engine="duckdb") as store:
            store.load(*data.files(files), materialise=False)
            store.materialise()
            store.materialise()
            self.stats = store.stats()
        self.counting = folder / "counting" if data.equality == "off" else None
        if self.counting:
            shutil.copytree(self.base, self.counting, copy_function=os.link)
            with Store.open(self.counting, engine="duckdb") as store:
                store.materialise(counting=True)
        lines = list(dict.fromkeys(data.data(files).read_text(encoding="utf-8").splitlines()))
        order = Dice(0, 20).sample(len(lines), len(lines) // 2 + WARM).tolist()
        self.warm = self._file("warm", [lines[i] for i in order[:WARM]])
        self.lines = [lines[i] for i in order[WARM:]]

    def _file(self, name: str, lines: Sequence[str]) -> Path:
        file = self.folder / f"{name}.nt"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    @contextmanager
    def store(self, algorithm: str) -> Iterator[Store]:
        """A copy of the store that has been changed and changed back; for algorithms that count, of one with counts."""
        where = self.folder / "copy"
        base = self.counting if algorithm in COUNTING and self.counting else self.base
        shutil.copytree(base, where, copy_function=os.link)
        try:
            with Store.open(where, engine="duckdb") as store:
                store.update_files(delete=[self.warm])
                store.update_files(add=[self.warm])
                yield store
        finally:
            shutil.rmtree(where)

    def cell(self, size: int, algorithm: str, repeat: int) -> Cell:
        """Measure one: small deletions several times after each other, large ones in a copy each."""
        found: list[dict[str, Any]] = []
        if size <= SMALL:
            with self.store(algorithm) as store:
                for number in range(repeat):
                    draw = self._file("draw", self.lines[number * size : (number + 1) * size])
                    found += store.update_files(delete=[draw], maintain=algorithm)
                    store.update_files(add=[draw])
        else:
            draw = self._file("draw", self.lines[:size])
            for _ in range(repeat):
                with self.store(algorithm) as store:
                    found += store.update_files(delete=[draw], maintain=algorithm)
        middle = {k: int(statistics.median(f[k] for f in found)) for k in ("derived", "doubted", "checked")}
        seconds = statistics.median(f["seconds"] for f in found)
        last = {k: found[-1][k] for k in ("deleted", "added", "reason")}
        return Cell(size, algorithm, seconds, repeat, **middle, **last, ran=found[-1]["algorithm"])


def measure(name: str, folder: Path, seconds: float, algorithms: Sequence[str] = ALGORITHMS) -> dict[str, Any]:
    """The cells of a data set, as many as fit into so many seconds."""
    end = time.perf_counter() + seconds
    subject = Subject(next(d for d in DATA_SETS if d.name == name), folder)
    cells: list[Cell] = []

    def row(size: int, left: Sequence[str]) -> list[Cell]:
        found = []
        for algorithm in left:
            if time.perf_counter() < end:
                found.append(subject.cell(size, algorithm, 5 if size <= SMALL else 2))
        cells.extend(found)
        return found

    able = [a for a in algorithms if a not in COUNTING or subject.counting]
    for size in FIXED:
        if size < len(subject.lines):
            able = [c.algorithm for c in row(size, able) if not c.declined]
    point = break_even(subject, [a for a in able if a not in (AUTO, REMATERIALISE)], cells)
    for share in SHARES if point else ():
        size = round(share * point) or 1
        if all(size != cell.size for cell in cells):
            row(size, able)
    stats = subject.stats
    return {
        "asserted": stats["asserted"],
        "facts": stats["facts"],
        "expanded": stats["expanded"],
        "largest_class": stats["largest_class"],
        "seconds": stats["last"]["seconds"],
        "derived": stats["last"]["derived"],
        "break_even": point,
        "cells": [asdict(cell) for cell in cells],
    }


def break_even(subject: Subject, algorithms: Sequence[str], cells: Sequence[Cell]) -> int:
    """The size at which the best of the algorithms takes as long as rematerialising, by lines between measured sizes;
    half of the data if it is never so slow. 0 without an algorithm."""
    times: dict[int, tuple[float, float]] = {}
    for size in sorted({cell.size for cell in cells}):
        row = {cell.algorithm: cell for cell in cells if cell.size == size}
        able = [row[a].seconds for a in algorithms if a in row]
        if able and REMATERIALISE in row:
            times[size] = min(able), row[REMATERIALISE].seconds
    if not times:
        return 0
    size = max(times)
    while times[size][0] < times[size][1] and size < len(subject.lines):
        size = min(4 * size, len(subject.lines))
        best = min(subject.cell(size, a, 1).seconds for a in algorithms)
        times[size] = best, subject.cell(size, REMATERIALISE, 1).seconds
    known = sorted(times)
    for low, high in pairwise(known):
        before, after = (times[n][0] - times[n][1] for n in (low, high))
        if before < 0 <= after:
            return round(low + (high - low) * before / (before - after))
    return known[-1] if times[known[-1]][0] < times[known[-1]][1] else known[0]
