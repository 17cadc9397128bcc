"""Which algorithm has the closure of a window: by what each has cost, not by how long it takes here."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.seeds import seeds
from tests.support.streams import random_scenario, store_of
from triplestore.streams.choice import Choice


def total(
    costs: list[tuple[float, float]], whole: float, restated: list[int] | None = None, first: float = 0.0
) -> tuple[float, int]:
    """(the cost of slides, of which each algorithm's costs are given, with a choice; how often it moves). whole: the
    cost of the closure of a whole window, which has ten slides of a hundred triples. first: that of reading it into
    memory."""
    choice, spent, moves, new = Choice("a", "b"), 0.0, 0, False
    for number, pair in enumerate(costs):
        cost = pair["ab".index(choice.at_hand)] + first * new
        spent += cost
        new = choice.move(cost, 100, restated[number] if restated else 0, 1_000)
        if new:
            choice.moved(whole)
            spent += whole
            moves += 1
    return spent, moves


@pytest.mark.parametrize("ratio", [0.01, 0.1, 0.5, 0.9, 1.1, 2, 10, 100])
def test_the_better_one_is_found(ratio: float) -> None:
    """After some time the whole takes at most 1.3 times as long as by the better one, moves included."""
    slides = 20_000
    spent, moves = total([(1.0, ratio)] * slides, whole=5.0, first=2.0)
    assert spent <= 1.3 * slides * min(1.0, ratio)
    assert moves > 0
    assert moves % 2 == (ratio < 1)


@pytest.mark.parametrize("ratio", [1.5, 10, 100])
def test_a_trial_does_not_cost_much_more_than_a_window(ratio: float) -> None:
    """It ends once its slides took twice as long as all those that they are compared with."""
    slides = 30
    assert total([(1.0, ratio)] * slides, whole=5.0)[0] <= slides + 2 * 5.0 + 2 * ratio + 2 * 5


def test_trials_that_change_nothing_become_rare() -> None:
    moves = [total([(1.0, 2.0)] * slides, whole=0.0)[1] for slides in (1_000, 10_000, 100_000)]
    assert moves[0] > 0
    assert moves[1] - moves[0] <= 8
    assert moves[2] - moves[1] <= 8


def test_another_kind_of_stream_is_noticed() -> None:
    """Once it restates most of its facts, the other algorithm is tried again soon."""
    after, saved = 300, 0.0
    for before in (500, 1_000, 1_500, 2_000):
        costs = [(1.0, 2.0)] * before + [(1.0, 0.1)] * after
        noticed, _ = total(costs, whole=1.0, restated=[0] * before + [95] * after)
        assert noticed < before * 1.1 + 0.2 * after
        saved += total(costs, whole=1.0)[0] - noticed
    assert saved > after


def test_slides_without_arrivals_are_not_compared() -> None:
    choice = Choice("a", "b")
    assert not any(choice.move(1.0, 0, 0, 10) for _ in range(100))


@pytest.mark.parametrize("seed", seeds(range(300, 330), 4))
def test_moves_change_no_answer(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever one algorithm takes over from the other."""
    rng, moves = random.Random(seed), 0

    def move(choice: Choice, *given: object) -> bool:
        nonlocal moves
        if rng.random() < 0.4:
            choice.at_hand, choice.other = choice.other, choice.at_hand
            moves += 1
            return True
        return False

    monkeypatch.setattr(Choice, "move", move)
    scenario = random_scenario(seed, 20)
    with store_of(scenario, tmp_path / "kg", engine="duckdb") as store:
        run = scenario.follow(store, "auto")
    assert moves or run.stats.switched
