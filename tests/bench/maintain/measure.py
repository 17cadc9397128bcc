"""One data set: every algorithm on deletions of every size, each from the same state of the same store.

A cell of the table is one update of a copy of a store. This process has just made two small updates of the copy: the
closure is in memory, as it is in a server. Seconds are those of the transaction, its commit included; `cpu` is the
processor time of the process, all threads, by which ways are compared: other work on the machine hardly changes it.
The ways to maintain are measured in turn, on the same deletions; a way that cannot be the best is run once or twice.
Every deletion is made twice, and the faster one counts.
"""

from __future__ import annotations

import gc
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final

from datasets.university.dice import Dice
from tests.bench.maintain.data import DATA_SETS, FRESH, DataSet
from triplestore import Store
from triplestore.maintain import rematerialise
from triplestore.maintain.policy import COUNTING, DELETING

AUTO, REMATERIALISE = "auto", rematerialise.NAME
PLAIN: Final = (REMATERIALISE, *(name for name in DELETING if name not in COUNTING), AUTO)
COUNTED: Final = (f"{REMATERIALISE}, counted", *COUNTING, f"{AUTO}, counted")
"""Ways to maintain a store without and with derivation counts: what can be chosen, and last what chooses."""
FIXED = (1, 100, 5_000)
"""Deletions of these sizes are measured on every data set, as in the paper."""
SHARES = (0.25, 0.5, 0.75, 1.0)
"""Of the break-even point: the size at which rematerialising is as fast as the best algorithm."""
SMALL = 100
"""Sizes up to which the runs of a cell are made one after the other in one store."""
RUNS: Final = 5
"""Of a cell, with other facts each."""
HOPELESS: Final = 3.0, 1.6
"""Times what the best way took, beyond which one is not run again: in the first run, and in each of the first two."""
MOST, BRIEF = 15, 10.0
"""Runs of a small size, while those before have taken less than so many seconds together."""
WARM = 3
"""Facts of each of the two updates before a cell."""


@dataclass(frozen=True)
class Cell:
    """A way to maintain (one of `PLAIN` or `COUNTED`) at a size: medians of the runs. ran: what did it in the end;
    reason: why."""

    size: int
    way: str
    seconds: float
    cpu: float
    runs: int
    derived: int
    doubted: int
    checked: int
    deleted: int
    added: int
    ran: str
    reason: str
    phases: Mapping[str, float]

    @property
    def declined(self) -> bool:
        """Whether the algorithm could not do it, so that the closure was computed anew."""
        return self.ran == REMATERIALISE and _algorithm(self.way) not in (AUTO, REMATERIALISE)


def _algorithm(way: str) -> str:
    return way.partition(",")[0]


class Subject:
    """A data set in a store, and facts to delete from it."""

    def __init__(self, data: DataSet, folder: Path, seed: int) -> None:
        self.folder, self.base, self._copies = folder, folder / "base", count()
        files = folder / "files"
        files.mkdir()
        data.make(files, seed)
        lines = list(dict.fromkeys(data.data(files).read_text(encoding="utf-8").splitlines()))
        lines = [lines[i] for i in Dice(seed, 20).sample(len(lines), len(lines)).tolist()]
        self.change, self.lines = self._file("change", lines[:WARM]), lines[WARM : WARM + len(lines) // 2]
        with Store.create(self.base, data.rulesets(files), data.equality, engine="duckdb") as store:
            store.load(*data.files(files), materialise=False)
            store.materialise()
            store.materialise()
            self.stats = store.stats()
            self._warm(store)
        self.counting = folder / "counting" if data.counted else None
        if self.counting:
            shutil.copytree(self.base, self.counting, copy_function=os.link)
            with Store.open(self.counting, engine="duckdb") as store:
                store.materialise(counting=True)
                self._warm(store)
        self.ways = (*PLAIN, *(COUNTED if self.counting else ()))

    def _warm(self, store: Store) -> None:
        """Change the store and change it back."""
        store.update_files(delete=[self.change])
        store.update_files(add=[self.change])

    def _file(self, name: str, lines: Sequence[str]) -> Path:
        file = self.folder / f"{name}.nt"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return file

    @contextmanager
    def store(self, way: str) -> Iterator[Store]:
        """A copy of the store that has been changed and changed back; of the one with counts, if the way needs it."""
        where = self.folder / f"copy-{next(self._copies)}"
        base = self.counting if way in COUNTED and self.counting else self.base
        shutil.copytree(base, where, copy_function=os.link)
        try:
            with Store.open(where, engine="duckdb") as store:
                self._warm(store)
                gc.collect()  # what this left is none of the measurement
                yield store
        finally:
            shutil.rmtree(where)

    def row(
        self, size: int, ways: Sequence[str], runs: int, brief: float = 0.0, end: float = float("inf")
    ) -> list[Cell]:
        """Measure deletions of a size, of other facts each time: small ones after each other, in a store for each way;
        large ones in a copy each. brief: small ones more often, while that has taken less than so many seconds. end:
        when to stop, by `time.perf_counter`."""
        found: dict[str, list[Mapping[str, Any]]] = {way: [] for way in ways}
        left, small = list(ways), size <= SMALL
        with ExitStack() as stack:
            stores = {way: stack.enter_context(self.store(way)) for way in ways} if small else {}
            most, started = max(runs, min(MOST, len(self.lines) // size)) if small else runs, time.perf_counter()
            for number in range(most):
                if number >= runs and time.perf_counter() - started > brief:
                    break
                draw = self._file("draw", self._drawn(number * size, size))
                store_of = _and_back(stores, draw) if small else self.store
                for way, figures in _turn(left, draw, store_of, end).items():
                    found[way].append(figures)
                left = _promising(found)
        return [self._cell(size, way, measured) for way, measured in found.items()] if all(found.values()) else []

    def _drawn(self, start: int, size: int) -> list[str]:
        """So many facts, from the beginning again after the last one."""
        start %= len(self.lines)
        return [*self.lines[start : start + size], *self.lines[: max(0, start + size - len(self.lines))]]

    def _cell(self, size: int, way: str, found: Sequence[Mapping[str, Any]]) -> Cell:
        middle = {k: int(statistics.median(f[k] for f in found)) for k in ("derived", "doubted", "checked")}
        seconds, cpu = (statistics.median(f[k] for f in found) for k in ("seconds", "cpu"))
        last = {k: found[-1][k] for k in ("deleted", "added", "reason", "phases")}
        return Cell(size, way, seconds, cpu, len(found), **middle, **last, ran=found[-1]["algorithm"])


def _turn(
    ways: Sequence[str], draw: Path, store_of: Callable[[str], AbstractContextManager[Store]], end: float
) -> dict[str, Mapping[str, Any]]:
    """Delete the facts of a file by each of the ways; and, but for what is hopeless, a second time, in the other order.
    The figures of the faster time."""
    taken: dict[str, list[Mapping[str, Any]]] = {}
    for way in (*ways, *reversed(ways)):
        family = next(family for family in (PLAIN, COUNTED) if way in family)
        cpu = {name: figures[0]["cpu"] for name, figures in taken.items() if name in family}
        again = way != family[-1] and way in cpu
        if time.perf_counter() > end or (again and cpu[way] > HOPELESS[1] * min(cpu.values())):
            continue
        with store_of(way) as store:
            before = time.process_time()
            (figures,) = store.update_files(delete=[draw], maintain=_algorithm(way))
            taken.setdefault(way, []).append({**figures, "cpu": time.process_time() - before})
    return {way: min(several, key=lambda one: float(one["cpu"])) for way, several in taken.items()}


def _and_back(stores: Mapping[str, Store], draw: Path) -> Callable[[str], AbstractContextManager[Store]]:
    """The store of a way, to which what is deleted from it is added again."""

    @contextmanager
    def store_of(way: str) -> Iterator[Store]:
        yield stores[way]
        stores[way].update_files(add=[draw])

    return store_of


def _promising(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """The ways that may be the best for their kind of store, and what chooses, in the order in which they are to be
    measured next: each time another one first."""
    kept: list[str] = []
    for family in (PLAIN, COUNTED):
        times = {way: [one["cpu"] for one in found[way]] for way in family if found.get(way)}
        turns = max(map(len, times.values()), default=0)
        best = [min(taken[turn] for taken in times.values() if len(taken) > turn) for turn in range(turns)]
        for way, taken in times.items():
            worse = [cpu / least for cpu, least in zip(taken, best, strict=False)]
            hopeless = worse[0] > HOPELESS[0] or (len(worse) > 1 and min(worse[:2]) > HOPELESS[1])
            if way == family[-1] or not hopeless:
                kept.append(way)
    turn = max(map(len, found.values())) % max(len(kept), 1)
    return kept[turn:] + kept[:turn]


def measure(name: str, folder: Path, seconds: float, seed: int) -> dict[str, Any]:
    """The cells of a data set, as many as fit into so many seconds. seed: of the data and of the deletions."""
    end = time.perf_counter() + seconds
    data = next(d for d in (*DATA_SETS, *FRESH) if d.name == name)
    subject = Subject(data, folder, seed)
    cells: list[Cell] = []
    able: list[str] = list(subject.ways)

    def row(size: int) -> list[Cell]:
        found = subject.row(size, able, RUNS, BRIEF, end) if time.perf_counter() < end else []
        cells.extend(found)
        return found

    for size in FIXED:
        if size < len(subject.lines) and (found := row(size)):
            able = [cell.way for cell in found if not cell.declined]
    choices = [way for way in able if way in PLAIN and way not in (AUTO, REMATERIALISE)]
    point = break_even(subject, choices, cells)
    for share in SHARES if point else ():
        size = round(share * point) or 1
        if all(size != cell.size for cell in cells):
            row(size)
    stats = subject.stats
    return {
        **{key: stats[key] for key in ("asserted", "facts", "expanded", "largest_class", "equality")},
        "seconds": stats["last"]["seconds"],
        "derived": stats["last"]["derived"],
        "break_even": point,
        "cells": [asdict(cell) for cell in cells],
    }


def break_even(subject: Subject, ways: Sequence[str], cells: Sequence[Cell]) -> int:
    """The size at which the best of the ways takes as long as rematerialising, by lines between measured sizes; the
    largest size that is maintained at all, or half of the data, if it is never so slow. 0 without a way."""
    times: dict[int, tuple[float, float]] = {}

    def note(size: int, found: Sequence[Cell]) -> None:
        row = {cell.way: cell.cpu for cell in found if cell.size == size}
        able = [row[way] for way in ways if way in row]
        if able and REMATERIALISE in row:
            times[size] = min(able), row[REMATERIALISE]

    for size in sorted({cell.size for cell in cells}):
        note(size, cells)
    if not times:
        return 0
    size, largest = max(times), len(subject.lines)
    while times[size][0] < times[size][1] and size < largest:
        size = min(4 * size, largest)
        note(size, subject.row(size, (*ways, REMATERIALISE), 1))
    known = sorted(times)
    for low, high in pairwise(known):
        before, after = (times[n][0] - times[n][1] for n in (low, high))
        if before < 0 <= after:
            return round(low + (high - low) * before / (before - after))
    return known[-1] if times[known[-1]][0] < times[known[-1]][1] else known[0]
