"""What is foretold of a deletion, from made-up courses of it; and that overdeletion in portions is overdeletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from triplestore.maintain.foretell import (
    ALWAYS,
    FIRST,
    LARGE,
    LOOK,
    LOOKED_UP,
    NEXT,
    PART,
    REST,
    USUAL,
    WORTH,
    Costs,
    Foretelling,
)

COSTS = Costs(anew=1.0, facts=1_000_000, doubt=1e-5, naive=None)
"""DRed may overdelete 100,000 facts."""
KNOWN = replace(COSTS, reach=50.0)
"""One deleted fact overdeletes fifty, 10,000 overdelete 76,000, 40,000 overdelete 214,000."""


@pytest.mark.parametrize("size", [0, 1, FIRST, 4 * FIRST - 1, 4 * FIRST, 5_000, 50_000])
def test_portions_are_all_of_it(size: int) -> None:
    portions = list(Foretelling(COSTS).portions(np.arange(size, dtype=np.int64)))
    assert sorted(np.concatenate(portions).tolist()) == list(range(size))
    assert len(portions) < 8
    assert len(portions[0]) in (size, FIRST, size // PART)
    assert all(len(portion) >= FIRST for portion in portions[1:])


def test_a_portion_is_spread_over_all() -> None:
    first = next(iter(Foretelling(COSTS).portions(np.arange(10_000, dtype=np.int64))))
    assert first.min() < 1_000
    assert first.max() > 9_000


def given_up(costs: Costs, size: int, course: Callable[[int], tuple[int, float]]) -> int | None:
    """How many of `size` facts were dealt with when it was given up, if so many overdelete so many, in so many
    seconds."""
    foretelling, done = Foretelling(costs), 0
    for portion in foretelling.portions(np.arange(size, dtype=np.int64)):
        done += len(portion)
        doubted, seconds = course(done)
        if foretelling.dear(doubted, seconds) or (done < size and foretelling.dear_rest(done, size, doubted, seconds)):
            return done
    return None


@pytest.mark.parametrize(("size", "first"), [(20, 20), (6_000, 6_000), (10_000, 625), (40_000, 752)])
def test_what_the_store_knows_says_how_many_to_begin_with(size: int, first: int) -> None:
    """All where they are foretold to be cheap; else those for which DRed takes a tenth of computing anew, but at most a
    sixteenth."""
    portions = [len(portion) for portion in Foretelling(KNOWN).portions(np.arange(size, dtype=np.int64))]
    assert sum(portions) == size
    assert portions[0] == first
    assert KNOWN.doubt * KNOWN.usually(752) == pytest.approx(LOOK * KNOWN.anew, rel=0.01)
    assert 10_000 // LARGE == 625


def test_what_the_store_knows_is_believed_with_the_first_portion() -> None:
    """DRed would take eight times as long as computing anew; the first portion says so, too, or does not."""
    dear, course = replace(KNOWN, reach=400.0), lambda n: (int(COSTS.overdeleted(400 * n**USUAL)), 0.01)
    first = given_up(dear, 40_000, course)
    assert first == len(next(iter(Foretelling(dear).portions(np.arange(40_000, dtype=np.int64)))))
    assert first * 20 > ALWAYS, "which is enough to tell"
    assert given_up(dear, 5_000, lambda n: (20 * n, 0.01 + 1e-6 * n)) is None
    without = given_up(replace(COSTS, anew=4.0), 40_000, course)
    assert without is not None
    assert without > 40_000 // PART


def test_what_large_deletions_took_is_as_good_as_a_portion() -> None:
    """DRed would take 1.3 times as long as computing anew; the first portion says so, too."""
    costs = replace(KNOWN, reach=30.0)
    first = len(next(iter(Foretelling(costs).portions(np.arange(40_000, dtype=np.int64)))))

    def course(deleted: int) -> tuple[int, float]:
        return int(COSTS.overdeleted(30 * deleted**USUAL)), 0.07

    assert given_up(replace(costs, overdeleting=2e-6), 40_000, course) == first
    later = given_up(costs, 40_000, course)
    assert later is not None
    assert later > first


def test_a_portion_alone_does_not_end_the_doubt() -> None:
    """The store knows that DRed will be dear; the first portion says that it is cheap; what is next will tell."""
    costs = replace(KNOWN, reach=400.0)
    first = len(next(iter(Foretelling(costs).portions(np.arange(40_000, dtype=np.int64)))))

    def course(deleted: int) -> tuple[int, float]:
        return int(COSTS.overdeleted(400 * max(0, deleted - first) ** USUAL)) + deleted, 0.01

    assert given_up(costs, 40_000, course) == 2 * first
    assert given_up(costs, 40_000, lambda n: (n, 0.01)) is None


@pytest.mark.parametrize("shrinking", [0.0, 0.5])
def test_what_is_lost_is_not_computed_anew(shrinking: float) -> None:
    """Where 900,000 facts are overdeleted, computing anew takes a second, or 0.6 s; the rest of DRed 0.8 s."""
    costs = replace(COSTS, doubt=9e-7, shrinking=shrinking)
    assert costs.anew_after(900_000) == pytest.approx(1 - 0.81 * shrinking)
    assert costs.anew_after(1_000) == pytest.approx(1)
    assert Foretelling(costs).dear(900_000, 0.01) is (0.8 / (1 - 0.81 * shrinking) > NEXT)
    course = given_up(costs, 40_000, lambda n: (int(COSTS.overdeleted(480 * n**USUAL)), 0.07))
    assert (course is not None) == (shrinking > 0)


def test_what_the_store_knows_may_be_wrong_either_way() -> None:
    """It says that all is cheap, which is found out before a round."""
    assert Foretelling(KNOWN).dear(200_000, 0.1)
    cheap = replace(KNOWN, reach=1.0)
    assert len(list(Foretelling(cheap).portions(np.arange(40_000, dtype=np.int64)))) == 1


def test_seconds_of_a_portion_tell_only_until_the_store_has_told() -> None:
    """The first 20,000 of 112,000 facts take 40 microseconds each, the others nothing; as a rule they take two in this
    store."""
    costs = replace(COSTS, facts=300_000)

    def course(deleted: int) -> tuple[int, float]:
        doubted = int(costs.overdeleted(140_000 * (deleted / 40_000) ** USUAL))
        return doubted, 0.02 + 4e-5 * min(20_000, doubted)

    assert given_up(costs, 40_000, course) == 8 * (40_000 // PART)
    assert given_up(replace(costs, overdeleting=2e-6), 40_000, course) is None


def test_what_is_met_and_what_is_overdeleted_are_the_same_told_twice() -> None:
    for doubted in (1, 1_000, 600_000):
        assert COSTS.overdeleted(COSTS.met(doubted)) == pytest.approx(doubted)
    assert COSTS.met(1) == pytest.approx(1, rel=1e-3)
    assert COSTS.met(900_000) > 2_000_000
    assert KNOWN.usually(1) == pytest.approx(50, rel=1e-3)
    assert KNOWN.usually(10**9) == KNOWN.facts


def test_what_is_cheap_is_never_given_up() -> None:
    for size in (1, 100, 1_000, 9_000):
        assert given_up(COSTS, size, lambda n: (10 * n, 0.01 + 1e-6 * n)) is None


def test_what_will_be_dear_is_given_up_as_soon_as_two_portions_say_so() -> None:
    assert given_up(COSTS, 40_000, lambda n: (40 * n, 0.01 + 4e-5 * n)) == 2 * (40_000 // PART)


def test_what_grows_more_slowly_than_it_began_is_not_given_up() -> None:
    """By the first portion alone it would be four times as many, were they to go on as they began."""
    assert given_up(COSTS, 40_000, lambda n: (int(80 * n**0.65), 0.01 + 1e-6 * n)) is None


@pytest.mark.parametrize("found", [10, 50, 100])
def test_single_facts_that_support_a_great_deal_do_not_mislead(found: int) -> None:
    """One supports 4,000, the others one each, of 6,000 facts; it is among the first 46, or the first 92, or later."""
    assert given_up(COSTS, 6_000, lambda n: (n + 4_000 * (n > found), 0.01 + 1e-6 * n)) is None


def test_what_grows_faster_later_is_found_out_then() -> None:
    found = given_up(COSTS, 10_000, lambda n: (18 * n, 0.01 + 5e-5 * n))
    assert found is not None
    assert 10_000 // PART < found < 2_000


@pytest.mark.parametrize(("seconds", "given"), [(0.07, 8), (0.04, 32)])
def test_what_is_hardly_dearer_is_looked_at_until_that_costs_something(seconds: float, given: int) -> None:
    """It will take one and a half times as long as computing anew, as all portions but the first one say: of which two
    take 0.07 s, or 0.04 s, which is little."""
    beginning = 40_000 // PART
    found = given_up(COSTS, 40_000, lambda n: (4 * n, seconds + 1e-5 * max(0, n - 4 * beginning)))
    assert found == given * beginning


def test_what_is_hardly_dearer_is_not_begun_for_lack_of_more_portions() -> None:
    """Of 300 facts 32 and 64 are looked at, and then all."""
    costs = Costs(anew=0.5, facts=1_000_000, doubt=1e-5, reach=1_000.0)
    assert costs.doubt * costs.usually(300) == pytest.approx(0.91, rel=0.01)

    def course(deleted: int) -> tuple[int, float]:
        return int(costs.overdeleted(620 * deleted**USUAL)), 0.01

    assert given_up(costs, 300, course) == 64
    assert given_up(costs, 3_000, course) == 32
    assert given_up(replace(costs, anew=2.0), 300, course) is None


@pytest.mark.parametrize(("facts", "given"), [(1_000_000, 8), (50_000, 2)])
def test_one_portion_is_believed_where_much_is_overdeleted(facts: int, given: int) -> None:
    """The second one says that it will be dear, and then has overdeleted 2,496 facts."""
    costs, beginning = Costs(anew=0.2, facts=facts, doubt=1e-5), 40_000 // PART
    assert given_up(costs, 40_000, lambda n: (4 * n if n > beginning else n, 0.03)) == given * beginning


def test_once_there_is_no_doubt_the_rest_is_dealt_with_together() -> None:
    foretelling, sizes = Foretelling(COSTS), []
    for portion in foretelling.portions(np.arange(40_000, dtype=np.int64)):
        sizes.append(len(portion))
        foretelling.dear_rest(sum(sizes), 40_000, sum(sizes), 0.01)
    assert sizes == [40_000 // PART, 40_000 - 40_000 // PART]


def test_what_is_nearly_done_is_finished() -> None:
    """Half as dear again as computing anew: of which less, or more, than a sixth is done."""
    foretelling = Foretelling(COSTS)
    assert foretelling.dear(150_000, 0.2)
    assert not foretelling.dear(150_000, 0.3)


def test_a_round_that_will_take_long_is_not_begun() -> None:
    """2,000 facts have been joined, in a tenth of a second; 60,000 are next."""
    foretelling = Foretelling(COSTS)
    assert not foretelling.dear(62_000, 0.1)
    assert foretelling.dear(62_000, 0.1, 60_000)
    assert not foretelling.dear(12_000, 0.1, 10_000)


def test_what_an_axiom_derived_says_nothing_of_the_first_round() -> None:
    """2,000 facts have lost a derivation with an axiom; none of them has been joined."""
    assert not Foretelling(COSTS).dear(2_000, 0.1, 2_000, 10_000)


def test_few_facts_are_never_too_many() -> None:
    dear = Costs(anew=1e-3, facts=1_000_000, doubt=1.0)
    assert given_up(dear, 500, lambda n: (n, 1e-3)) is None


def test_fixpoint_update_goes_on_where_little_is_left() -> None:
    """Asking of each of 900,000 facts takes 4 s; the rules half a second over all facts, over a tenth a thirtieth."""
    costs = Costs(anew=3.0, facts=1_000_000, doubt=1e-5, naive=0.5)
    assert costs.dred(900_000, 0.2) == pytest.approx(9)
    assert costs.naive_rest(900_000) == pytest.approx(LOOKED_UP * 9 + 0.5 * 0.1**1.5)
    assert costs.fixpoint_update(900_000, 0.2) == pytest.approx(REST[1] * 0.2 + costs.naive_rest(900_000))
    foretelling = Foretelling(costs)
    assert not foretelling.dear(900_000, 0.2)
    assert foretelling.by_fixpoint_update(900_000, 4.0)
    assert foretelling.by_fixpoint_update(900_000, 0.5), "to look asserted facts up takes both the same"
    running = 0.5 * 0.1**1.5
    assert foretelling.by_fixpoint_update(900_000, 1.01 * WORTH * running)
    assert not foretelling.by_fixpoint_update(900_000, 1.01 * running), "it is hardly cheaper"
    assert not Foretelling(COSTS).by_fixpoint_update(900_000, 4.0), "it is not to be considered"


@pytest.mark.parametrize(("doubted", "plain"), [(20_000, False), (100_000, None), (500_000, True)])
def test_where_it_is_plain_no_sample_is_asked(doubted: int, plain: bool | None) -> None:
    """Asking takes 3 microseconds a fact, as a rule; the rules half a second over all facts."""
    costs = Costs(anew=3.0, facts=1_000_000, doubt=1e-5, naive=0.5)
    assert Foretelling(costs).by_fixpoint_update(doubted) is plain
    assert Foretelling(COSTS).by_fixpoint_update(doubted) is False


@pytest.mark.parametrize(("asking", "goes_on"), [(5e-6, False), (6e-6, True)])
def test_where_the_store_knows_what_asking_takes_no_sample_is_asked(asking: float, goes_on: bool) -> None:
    """Of 100,000 facts 0.5 or 0.6 s; running the rules over what is left, and looking up what is asserted, 0.53 s. What
    DRed takes besides, both do."""
    costs = Costs(anew=3.0, facts=1_000_000, doubt=1e-5, naive=0.5, asking=asking)
    assert costs.naive_rest(100_000) == pytest.approx(0.527, rel=0.01)
    assert Foretelling(costs).by_fixpoint_update(100_000) is goes_on
    more = costs.fixpoint_update(100_000, 0.1) - costs.dred(100_000, 0.1)
    assert more == pytest.approx(0.527 - asking * 100_000, abs=0.001)


def test_without_facts_there_is_nothing_to_divide_by() -> None:
    empty = Costs(anew=0.05, facts=0, doubt=1e-5, naive=0.1)
    assert not Foretelling(empty).dear(0, 0.0)
