"""The budget of a run, from made-up courses of it."""

from __future__ import annotations

import numpy as np
import pytest

from triplestore.maintain.budget import Budget, BudgetExceededError, split
from triplestore.maintain.keys import Ids

Frontier = tuple[Ids, Ids, Ids]


def frontier(size: int) -> Frontier:
    every = np.arange(size, dtype=np.int64)
    return every, every % 3, every // 7


def exceeded(budget: Budget, derived: int, facts: int = 0) -> bool:
    try:
        budget.check(derived, facts)
    except BudgetExceededError:
        return True
    return False


def test_without_a_limit() -> None:
    budget = Budget()
    budget.check(10**15, 10**15)
    assert budget.first(frontier(1_000), 10**15, 10**15) is None


def test_derivations_and_facts_count() -> None:
    budget = Budget(limit=100, fact=10)
    assert not exceeded(budget, 100)
    assert exceeded(budget, 101)
    assert not exceeded(budget, 50, 5)
    assert exceeded(budget, 51, 5)


def test_insertion_may_cost_the_limit_again() -> None:
    budget = Budget(limit=100, fact=10)
    budget.begin(80)
    assert not exceeded(budget, 180)
    assert exceeded(budget, 181)


class TestSample:
    def test_none_while_little_is_overdeleted(self) -> None:
        assert Budget(limit=16_000, fact=1).first(frontier(1_000), 0, 0) is None

    def test_a_sixteenth_of_what_is_next(self) -> None:
        budget = Budget(limit=16_000, fact=1)
        chosen = budget.first(frontier(1_600), 0, 0)
        assert chosen is not None
        assert len(set(chosen.tolist())) == len(chosen) == 100
        assert chosen.min() < 160
        assert chosen.max() > 1_440, "spread over all"

    def test_there_is_one(self) -> None:
        budget = Budget(limit=16_000, fact=1)
        assert budget.first(frontier(1_600), 0, 0) is not None
        assert budget.first(frontier(1_600), 0, 0) is None

    def test_the_same_facts_in_any_order(self) -> None:
        s, p, o = frontier(1_600)
        order = np.random.default_rng(1).permutation(len(s))
        chosen = Budget(limit=16_000, fact=1).first((s, p, o), 0, 0)
        others = Budget(limit=16_000, fact=1).first((s[order], p[order], o[order]), 0, 0)
        assert chosen is not None
        assert others is not None
        assert sorted(s[order][others].tolist()) == sorted(s[chosen].tolist())

    @pytest.mark.parametrize(("unforeseen", "most"), [(False, 4_500), (True, 2_500)])
    def test_it_may_cost_what_says_that_all_costs_the_limit(self, unforeseen: bool, most: int) -> None:
        budget = Budget(limit=16_000, fact=1)
        budget.first(frontier(1_600), 500, 0, unforeseen)
        assert not exceeded(budget, most)
        assert exceeded(budget, most + 1)
        budget.rest()
        assert not exceeded(budget, 16_000)
        assert exceeded(budget, 16_001)

    def test_at_once_where_the_work_is_unforeseen(self) -> None:
        assert Budget(limit=10**9).first(frontier(16), 0, 0) is None
        assert Budget(limit=10**9).first(frontier(16), 0, 0, unforeseen=True) is not None
        assert Budget(limit=10**9).first(frontier(15), 0, 0, unforeseen=True) is None

    @pytest.mark.parametrize("size", [0, 1, 5, 100])
    def test_it_and_the_rest_are_all(self, size: int) -> None:
        every = np.arange(size, dtype=np.int64)
        first, rest = split(every, every[: size // 4])
        assert first.tolist() + rest.tolist() == every.tolist()
        assert split(every, None)[0].tolist() == every.tolist()


def test_the_rules_are_run_where_most_is_overdeleted() -> None:
    assert not Budget(limit=1).prefers_rules(1_000)
    budget = Budget(limit=1, fact=8, rules=1, facts=1_500)
    assert [budget.prefers_rules(overdeleted) for overdeleted in (0, 500, 501)] == [False, False, True]


def test_the_work_is_that_of_the_better_way() -> None:
    budget = Budget(limit=1, fact=8, rules=1, facts=1_500)
    assert [budget.work(7, facts) for facts in (0, 100, 500, 900, 1_500)] == [7, 807, 4_007, 6 * 900 + 600 + 7, 9_007]
    assert Budget(limit=1, fact=8).work(7, 900) == 7_207


def test_what_cannot_exceed_the_limit_is_not_watched() -> None:
    budget = Budget(limit=100, fact=10, most=100)
    assert budget.first(frontier(1_000), 0, 0) is None
    assert not exceeded(budget, 10**6)  # there are fewer
    budget.begin(50)  # what follows is not foreseen
    assert not exceeded(budget, 150)
    assert exceeded(budget, 151)
    assert exceeded(Budget(limit=100, fact=10, most=101), 101)
