"""What `auto` chooses from a store's figures: the choice alone, with what an algorithm takes made up."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from triplestore.maintain import choose
from triplestore.maintain.choose import COUNTED, TRIED, Plan, learnt, plan

ASSERTED, FACTS, ANEW = 100_000, 200_000, 2.0
KNOWN = {"asserted": ASSERTED, "facts": FACTS, "anew_ms": int(1000 * ANEW)}


class Samples:
    """In place of trying algorithms out: seconds for each fact, by algorithm; what was asked is kept."""

    def __init__(self, seconds: Mapping[str, float] | None = None) -> None:
        self.seconds, self.asked = seconds or {}, list[tuple[str, int]]()

    def __call__(self, name: str, size: int, seconds: float) -> float | None:
        self.asked.append((name, size))
        taken = size * self.seconds[name]
        return taken if taken <= seconds else None


@pytest.mark.parametrize("counting", [False, True])
@pytest.mark.parametrize(
    ("checking", "overdeleting", "faster"),
    [(0.001, 0.002, 1), (0.01, 0.02, 0), (0.019, 0.02, 1), (0.02, 0.02, 1), (1, 1, 1), (0.01, 1, 0)],
)
def test_the_algorithms_are_compared_once(checking: float, overdeleting: float, faster: int, counting: bool) -> None:
    """B/F where DRed takes much longer, unless neither takes long."""
    tried = COUNTED if counting else TRIED
    samples = Samples(dict(zip(tried, (checking, overdeleting), strict=True)))
    chosen = plan("auto", 0, 5, KNOWN, samples, counting)
    assert chosen.name == tried[faster]
    assert sorted(samples.asked) == sorted((name, choose.COMPARED) for name in tried)
    again = Samples()
    assert plan("auto", 0, 5, {**KNOWN, **learnt(chosen, 5, 0, 0.01, KNOWN)}, again, counting).name == tried[faster]
    assert again.asked == []


def test_dred_may_overdelete_what_is_cheaper_than_computing_anew() -> None:
    sizes = {**KNOWN, "checking_us": 0, "doubt_ns": 10_000}
    chosen = plan("auto", 0, 5_000, sizes, Samples())
    assert (chosen.name, chosen.doubted) == (TRIED[1], 200_000)
    slower = learnt(chosen, 5_000, 50_000, 1.0, sizes)
    assert slower == {"checking_us": 0, "doubt_ns": 15_000}, "the mean of what was known and of 20 microseconds a fact"
    assert plan("auto", 0, 5_000, {**sizes, **slower}, Samples()).doubted == 133_333


def test_few_doubted_facts_tell_nothing() -> None:
    assert learnt(Plan("dred", "", 1.0, 100_000, 0), 10, choose.TELLING - 1, 1.0, KNOWN) == {"checking_us": 0}


def test_an_algorithm_that_was_asked_for_tells_nothing() -> None:
    assert learnt(plan("dred", 0, 100, KNOWN, Samples()), 100, 100_000, 1.0, KNOWN) == {}


@pytest.mark.parametrize(("minus", "name"), [(1, TRIED[0]), (400, TRIED[0]), (1_000, None)])
def test_what_few_facts_took_foretells_what_checking_takes(minus: int, name: str | None) -> None:
    """Ten times as many facts take seven times as long."""
    chosen = plan("auto", 0, minus, {**KNOWN, "checking_us": 50_000}, Samples())
    assert chosen.name == name
    if chosen.name:
        doubled = learnt(chosen, choose.COMPARED, 0, 0.1, KNOWN)
        assert doubled == {"checking_us": 75_000}, "the mean of what was known and what it took"


def test_most_of_the_data_going_is_computed_anew() -> None:
    sizes = {**KNOWN, "checking_us": 0}
    assert plan("auto", 0, int(choose.MANY_DELETED * ASSERTED) + 1, sizes, Samples()).name is None


def test_dred_is_not_begun_where_it_would_be_given_up() -> None:
    """What is deleted is overdeleted too."""
    sizes = {**KNOWN, "checking_us": 0, "doubt_ns": 100_000}
    assert plan("auto", 0, 20_000, sizes, Samples()).name == TRIED[1]
    assert plan("auto", 0, 20_001, sizes, Samples()).name is None


def test_counting_anew_takes_longer() -> None:
    """Where no update has told how long."""
    sizes = {"asserted": ASSERTED, "facts": FACTS, "materialise_ms": 2_000, "checking_us": 0}
    plain, counted = (plan("auto", 0, 5_000, sizes, Samples(), counting).doubted for counting in (False, True))
    assert (plain, counted) == (280_000, 320_000)
