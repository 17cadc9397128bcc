"""Stores with something in every kind of file, ways to damage a file, and commands that must notice."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.support.buckets import KG, Objects
from tests.support.cli import Outcome, run
from tests.support.pages import small_pages
from triplestore import Store
from triplestore.storage.manifest import Manifest
from triplestore.storage.versions import Versions

PREFIXES: Final = "PREFIX : <http://ex/> PREFIX owl: <http://www.w3.org/2002/07/owl#>\n"

SHARED: Final = f"""{PREFIXES}
INSERT DATA {{ :p a owl:TransitiveProperty . :a :p :b . :b :p :c . :c :p :d . :A owl:disjointWith :B . :x a :A , :B .
  GRAPH :g {{ :a :q "1.50"^^<http://www.w3.org/2001/XMLSchema#decimal> , "long text of a label"@en . :e :p :f }}
  GRAPH :h {{ :a :q 1 , 2 , 3 . << :a :p :b >> :since 2020 }} }}"""

MANY: Final = " ".join(f":n{i} :p :n{i + 1} ; :label 'node {i}' ." for i in range(40))

UPDATES: Final = (
    SHARED,
    f"{PREFIXES} INSERT DATA {{ {MANY} }}",
    f"{PREFIXES} INSERT DATA {{ :a owl:sameAs :a2 . :n1 owl:sameAs :m1 . :a owl:differentFrom :a2 }}",
    f"{PREFIXES} DELETE DATA {{ :n3 :p :n4 . :c :p :d . GRAPH :h {{ :a :q 2 }} }}",
    f"{PREFIXES} INSERT DATA {{ :k :p :l . GRAPH :h {{ :k :q :l }} }}",
)
"""What the versions of a store are made by."""

CHANGE: Final = f"{PREFIXES} DELETE DATA {{ :n7 :p :n8 }} ; INSERT DATA {{ :d :p :n0 . :new :label 'new' }}"
"""An update of the newest version."""

ALL: Final = "SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o"

COMMANDS: Final[tuple[tuple[str, ...], ...]] = (
    ("export", "--sorted"),
    ("export", "--sorted", "--at", "3"),
    ("export", "--what", "asserted", "-o", "-", "--sorted"),
    ("export", "--what", "inferred", "--sorted"),
    ("query", ALL),
    ("query", f"{PREFIXES} SELECT ?x {{ :n5 :p ?x }} ORDER BY ?x"),
    ("query", f"{PREFIXES} SELECT ?x {{ ?x :label 'node 7' }} ORDER BY ?x"),
    ("query", "SELECT * { GRAPH ?g { ?s ?p ?o } } ORDER BY ?g ?s ?p ?o"),
    ("explain", "<http://ex/a>", "<http://ex/p>", "<http://ex/c>"),
    ("stats", "--json"),
    ("check",),
    ("graphs",),
    ("log", "--json"),
    ("search", "label"),
    ("why-same", "<http://ex/a>", "<http://ex/a2>"),
    ("update",),
)
"""Their arguments, without the store and the engine. `update` makes `CHANGE`."""


@dataclass(frozen=True)
class Layout:
    """How the files of a store are. block: bytes of each block that has a checksum (None: files are compared whole);
    page: rows of a page (None: as ever); ruleset: of the store; counting: whether it keeps derivation counts."""

    block: int | None
    page: int | None
    ruleset: str = "owl2rl"
    counting: bool = False

    @contextmanager
    def used(self) -> Iterator[None]:
        """Stores are made so, and files count as large."""
        with small_pages(self.page), pytest.MonkeyPatch.context() as patch:
            patch.setattr("triplestore.model.thresholds.Sizes.small", 0)
            if self.block is not None:
                patch.setattr("triplestore.engine.verification.BLOCK", self.block)
                patch.setattr("triplestore.model.thresholds.Sizes.block", 64)
                patch.setattr("triplestore.engine.thresholds.Thresholds.whole", 0)
            yield

    def make(self, path: Path) -> None:
        """Make a store of several versions."""
        with self.used(), Store.create(path, [self.ruleset], engine="duckdb", counting=self.counting) as store:
            for text in UPDATES:
                store.sparql_update(text)


LAYOUTS: Final = {
    "pages": Layout(None, 8),
    "blocks": Layout(128, 8),
    "counting": Layout(None, 8, "rdfs", counting=True),
    "whole": Layout(None, None),
}


def kinds(store: Path) -> dict[str, list[Path]]:
    """The files of a store by what they hold."""
    versions, found = Versions(store), dict[str, set[Path]]()
    for number in versions.numbers():
        for kind, name in named(versions.read(number)):
            found.setdefault(kind, set()).add(versions.data / name)
    found["manifest"] = {Path(store, versions.file(number)) for number in versions.numbers()}
    found["mark"] = {store / "triplake.json"}
    return {kind: sorted(files) for kind, files in sorted(found.items())}


def named(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The files of a version, each with what it holds."""
    for name, table in manifest.tables.items():
        yield from ((name, file.path) for file in table.files)
        yield from ((f"{name}, second order", file.turned.path) for file in table.files if file.turned)
        yield from ((f"{name}, tombstones", file.path) for file in table.tombstones)


Damage = Callable[[bytes, bytes, random.Random], bytes]
"""What a file is after it was damaged. It gets another file's bytes too."""


def one_bit(data: bytes, other: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def bits(data: bytes, other: bytes, dice: random.Random) -> bytes:
    for _ in range(dice.randint(2, 30)):
        data = one_bit(data, other, dice)
    return data


def cut(data: bytes, other: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))]


def longer(data: bytes, other: bytes, dice: random.Random) -> bytes:
    return data + dice.randbytes(dice.randint(1, 100))


def zeros(data: bytes, other: bytes, dice: random.Random) -> bytes:
    size = dice.choice((8, 64, 512))
    at = dice.randrange(len(data)) // size * size
    return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]


def moved(data: bytes, other: bytes, dice: random.Random) -> bytes:
    """Two parts of one size are exchanged."""
    size = dice.randint(1, max(1, len(data) // 4))
    one, two = sorted(dice.randrange(len(data) - size + 1) for _ in range(2))
    two = max(two, one + size)
    if two + size > len(data):
        return data[::-1]
    return data[:one] + data[two : two + size] + data[one + size : two] + data[one : one + size] + data[two + size :]


def swapped(data: bytes, other: bytes, dice: random.Random) -> bytes:
    """The other file, of the same size."""
    return (other + bytes(len(data)))[: len(data)]


def taken_for(data: bytes, other: bytes, dice: random.Random) -> bytes:
    """The other file, as it is."""
    return other


DAMAGES: Final[tuple[Damage, ...]] = (*[one_bit] * 8, bits, cut, longer, zeros, moved, swapped, taken_for)
"""Half of them are single bits: those are what engines read as other data most often."""


class Case:
    """A store that is damaged again and again, and what commands say of it whole. path: of the whole store; engine: of
    the commands."""

    def __init__(self, whole: Path, folder: Path, layout: Layout, engine: str) -> None:
        self._whole, self._layout, self._engine = whole, layout, engine
        self.store: Path | str = folder / "kg"
        self._newest = {Path(path).name for path in Versions(whole).read().paths}
        self._newest.add(f"{Versions(whole).version:010d}.json")
        self._change = folder / "change.ru"
        self._change.write_text(CHANGE)
        self._expected: dict[tuple[str, ...], tuple[Outcome, Outcome | None]] = {}

    def check(self, kind: str, damage: Damage, command: tuple[str, ...], dice: random.Random) -> str:
        """Damage a file of a kind and run a command: "detected" or "harmless". Fails where it is neither."""
        files = kinds(self._whole)[kind]
        newest = [f for f in files if f.name in self._newest]
        file = dice.choice(newest if newest and dice.random() < 0.8 else files)
        same_size = [f for f in files if f != file and f.stat().st_size == file.stat().st_size]
        other = dice.choice(same_size or [f for f in files if f != file] or [file])
        data = file.read_bytes()
        changed = damage(data, other.read_bytes(), dice)
        with self._layout.used():
            expected, then = self._when_whole(command)
            self._copy()
            name = file.relative_to(self._whole).as_posix()
            self._put(name, changed)
            outcome = self._run(command)
            case = f"{kind}, {damage.__name__}, {' '.join(command)}: {outcome}"
            if outcome.code == 5:
                assert changed != data, case
                assert file.name in outcome.err, case
                assert re.search(r"`triplake (verify|restore) |restore it from a copy", outcome.err), case
                if command == ("update",):
                    assert Versions(self.store).numbers() == Versions(self._whole).numbers(), case
                return "detected"
            assert outcome.code == expected.code, case
            if '"operation": "damaged"' in outcome.out:  # `log` goes on
                assert kind == "manifest", case
                return "detected"
            if then is None:
                assert outcome.out == expected.out, case
                return "harmless"
            self._put(name, data)
            assert run("export", self.store, "--sorted", "--verify").out == then.out, case
            return "harmless"

    def _when_whole(self, command: tuple[str, ...]) -> tuple[Outcome, Outcome | None]:
        """What a command says of the whole store; of an update, what is exported then."""
        if command not in self._expected:
            self._copy()
            outcome = self._run(command)
            then = run("export", self.store, "--sorted") if command == ("update",) else None
            self._expected[command] = outcome, then
        return self._expected[command]

    def _copy(self) -> None:
        """Make the store what it is whole."""
        shutil.rmtree(self.store, ignore_errors=True)
        shutil.copytree(self._whole, self.store)

    def _put(self, name: str, data: bytes) -> None:
        """Give a file other bytes, as another file: not within the resolution of the clock of files."""
        file = Path(self.store, name)
        draft = file.with_name(f".{file.name}.damaged")
        draft.write_bytes(data)
        os.replace(draft, file)

    def _run(self, command: tuple[str, ...]) -> Outcome:
        name, *rest = command
        if name == "update":
            rest = [str(self._change)]
        engine = [] if name == "log" else ["--engine", self._engine]
        return run(name, self.store, *rest, *engine)


class BucketCase(Case):
    """A store in an object store in memory. lake: object stores by their URLs; cached: the folder of the cache, which
    is empty before each command."""

    def __init__(self, whole: Path, folder: Path, layout: Layout, lake: dict[str, Objects], cached: Path) -> None:
        super().__init__(whole, folder, layout, "duckdb")
        self._lake, self._cached, self.store = lake, cached, KG

    def _copy(self) -> None:
        self._lake[KG] = Objects()
        for file in self._whole.rglob("*"):
            if file.is_file():
                self._put(file.relative_to(self._whole).as_posix(), file.read_bytes())

    def _put(self, name: str, data: bytes) -> None:
        self._lake[KG].kept.put(name, data)
        shutil.rmtree(self._cached, ignore_errors=True)
