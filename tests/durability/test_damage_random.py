"""Damaged files of every kind, read by commands with default options: detected or harmless, never silently wrong."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.support.buckets import Objects
from tests.support.damage import COMMANDS, DAMAGES, LAYOUTS, BucketCase, Case, kinds
from tests.support.seeds import seeds

CASES = 10
"""Of each seed."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A store of each layout."""
    folder = tmp_path_factory.mktemp("whole")
    for name, layout in LAYOUTS.items():
        layout.make(folder / name)
    return {name: folder / name for name in LAYOUTS}


def test_every_kind_of_file_is_there(whole: dict[str, Path]) -> None:
    found = {kind for path in whole.values() for kind in kinds(path)}
    tables = {"term", "asserted", "quad", "fact", "same_as", "violation", "statistic", "object_type", "count"}
    dead = {f"{name}, tombstones" for name in ("asserted", "quad", "fact", "count")}
    assert found == tables | dead | {"fact, second order", "manifest", "mark"}


@pytest.mark.long_on_spark(but=1)
@pytest.mark.parametrize("seed", seeds(range(30), 3))
@pytest.mark.parametrize("engine_name", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def test_damage(
    whole: dict[str, Path], tmp_path: Path, engine_name: str, seed: int, request: pytest.FixtureRequest
) -> None:
    if engine_name == "spark":
        request.getfixturevalue("spark")
    dice, told = random.Random(seed), Counter[str]()
    name = [*LAYOUTS][seed % len(LAYOUTS)]
    case = Case(whole[name], tmp_path, LAYOUTS[name], engine_name)
    for _ in range(CASES):
        kind = dice.choice([*kinds(whole[name])])
        told[case.check(kind, dice.choice(DAMAGES), dice.choice(COMMANDS), dice)] += 1
    assert told["detected"], "what nobody notices was not read, or is not compared"


@pytest.mark.parametrize("seed", seeds(range(8), 2))
def test_damaged_objects(
    whole: dict[str, Path],
    tmp_path: Path,
    lake: dict[str, Objects],
    cached: Path,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In an object store, read whole and by ranges of bytes."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.batch", 1)
    dice, told = random.Random(seed), Counter[str]()
    name = ("blocks", "whole")[seed % 2]
    case = BucketCase(whole[name], tmp_path, LAYOUTS[name], lake, cached)
    for _ in range(CASES):
        kind = dice.choice([*kinds(whole[name])])
        told[case.check(kind, dice.choice(DAMAGES), dice.choice(COMMANDS), dice)] += 1
    assert told["detected"]
