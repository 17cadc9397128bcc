"""A run that leaves the tables early has the closure that it has without: random tangles, by all their ways."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.support.both_routes import RULES
from tests.support.closure import MODES, agree
from tests.support.equality_programs import random_facts
from tests.support.random_tangles import tangle
from tests.support.seeds import seeds
from tests.support.tangles import check
from triplestore.engine import Engine
from triplestore.materialise.late import LeavingTables
from triplestore.materialise.tables import Tables


@pytest.fixture(params=[1, 2])
def early(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Runs leave the tables at their first round, or the second; whether each attempt has led to an end."""
    rounds, left, ended = dict[int, int](), Tables._finish_in_memory, list[bool]()

    def due(self: LeavingTables, delta: int, facts: int) -> bool:
        rounds[id(self)] = rounds.get(id(self), 0) + 1
        return delta > 0 and rounds[id(self)] >= request.param

    def counted(self: Tables) -> None:
        before = len(self.figures.rounds)
        left(self)
        ended.append(len(self.figures.rounds) > before)

    monkeypatch.setattr(LeavingTables, "due", due)
    monkeypatch.setattr(Tables, "_finish_in_memory", counted)
    yield ended
    rounds.clear()


@pytest.mark.parametrize("seed", seeds(range(60), 4))
def test_tangles(embedded: Engine, seed: int, early: list[bool]) -> None:
    check(embedded, tangle(seed, literals=seed % 2 == 1))


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("seed", seeds(range(60), 3))
@pytest.mark.long_on_spark
def test_owl(engine: Engine, seed: int, equality: str, early: list[bool]) -> None:
    agree(engine, sorted(random_facts(Random(seed))), RULES["owl2rl"], equality)
    if equality == "axioms":
        assert not any(early)
    elif seed < 3:  # of other programs none may have a round that could be done in memory
        assert any(early)
