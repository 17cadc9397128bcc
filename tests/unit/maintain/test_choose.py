"""What `auto` chooses from a store's figures: the choice alone, with what an algorithm takes made up."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from triplestore.maintain import choose
from triplestore.maintain.choose import COUNTED, TRIED, Tried, given_up, learnt, plan
from triplestore.maintain.foretell import OVERDELETING, USUAL
from triplestore.materialise.figures import Figures, Phases

ASSERTED, FACTS, ANEW = 100_000, 200_000, 2.0
KNOWN = {"asserted": ASSERTED, "facts": FACTS, "anew_ms": int(1000 * ANEW)}


class Samples:
    """In place of trying algorithms out: seconds for each fact, by algorithm, and the facts that each makes doubted;
    what was asked is kept."""

    def __init__(self, seconds: Mapping[str, float] | None = None, doubted: int = 0) -> None:
        self.seconds, self.doubted, self.asked = seconds or {}, doubted, list[tuple[str, int]]()

    def __call__(self, name: str, size: int, seconds: float) -> Tried | None:
        self.asked.append((name, size))
        taken = size * self.seconds[name]
        return Tried(taken, size * self.doubted) if taken <= seconds else None

    def sizes(self, name: str) -> list[int]:
        """What was asked of an algorithm."""
        return [size for asked, size in self.asked if asked == name]


@pytest.mark.parametrize("counting", [False, True])
@pytest.mark.parametrize(
    ("checking", "overdeleting", "faster"),
    [(0.0005, 0.001, 1), (0.01, 0.02, 0), (0.019, 0.02, 1), (0.02, 0.02, 1), (1, 1, 1), (0.01, 1, 0)],
)
def test_the_algorithms_are_compared_once(checking: float, overdeleting: float, faster: int, counting: bool) -> None:
    """B/F where DRed takes much longer, unless neither takes long."""
    tried = COUNTED if counting else TRIED
    samples = Samples(dict(zip(tried, (checking, overdeleting), strict=True)))
    chosen = plan("auto", 0, 5, KNOWN, samples, counting)
    assert chosen.name == tried[faster]
    assert samples.sizes(tried[0]) == [1, choose.COMPARED]
    assert samples.sizes(tried[1])[:2] == [1, choose.COMPARED]
    again = Samples()
    assert (
        plan("auto", 0, 5, {**KNOWN, **learnt(chosen, 5, "", figures(0.01, 0), KNOWN)}, again, counting).name
        == tried[faster]
    )
    assert again.asked == []


@pytest.mark.parametrize(
    ("doubted", "seconds", "sizes", "doubt"),
    [
        (100, 0.001, (16, 32, 64, 64, 64), 9_375),
        (1_000, 0.003, (8, 8), 1_500),
        (100, 0.02, (16,), None),
        (100, 0.005, (16, 32, 64, 64, 64), 46_875),
        (1, 0.0001, (16, 32, 64, 128, 256, 512, 1_024), None),
        (3, 0.0001, (16, 32, 64, 128, 256, 512, 1_024, 1_024, 1_024), 33_203),
    ],
    ids=["enough", "at once", "dear", "rather dear", "nothing follows", "little follows"],
)
def test_what_overdeleting_a_fact_takes_is_tried_out(
    doubted: int, seconds: float, sizes: tuple[int, ...], doubt: int | None
) -> None:
    """By deletions that grow until they tell enough, or take too long, without half of what the first one takes; and
    then it is remembered, with how many are overdeleted."""
    name = TRIED[1]
    samples = Samples({TRIED[0]: 1.0, name: seconds}, doubted)
    chosen = plan("auto", 0, 100, KNOWN, samples)
    assert samples.sizes(name) == [1, choose.COMPARED, *sizes]
    assert chosen.found.get("doubt_ns") == doubt
    assert chosen.costs is not None
    assert chosen.costs.doubt == (doubt or choose.DOUBT) / 1e9
    remembered = learnt(chosen, 100, "dred", figures(0.1, 0), KNOWN)
    assert remembered.get("doubt_ns") == doubt
    again = plan("auto", 0, 100, {**KNOWN, **remembered}, Samples())
    assert again.costs is not None
    assert again.costs == chosen.costs
    assert "doubt_ns" not in again.found
    largest = max(choose.COMPARED, *sizes)
    assert again.costs.usually(largest) == pytest.approx(doubted * largest, rel=0.01)


def figures(seconds: float, doubted: int, rederiving: float = 0.0) -> Figures:
    return Figures(seconds=seconds, doubted=doubted, phases=Phases(overdelete=seconds / 4, rederive=rederiving))


def test_what_dred_takes_is_learnt() -> None:
    sizes = {**KNOWN, "checking_us": 0, "doubt_ns": 10_000}
    chosen = plan("auto", 0, 5_000, sizes, Samples())
    assert chosen.name == TRIED[1]
    assert chosen.costs is not None
    assert chosen.costs.doubt == 1e-5
    slower = learnt(chosen, 5_000, "dred", figures(1.0, 50_000, 0.4), sizes)
    reach = slower.pop("reach_milli")
    assert (slower.pop("overdelete_ns"), slower.pop("asking_ns")) == (5_000, 8_000)
    assert slower == {"checking_us": 0, "doubt_ns": 15_000}, "the mean of what was known and of 20 microseconds a fact"
    again = plan("auto", 0, 5_000, {**sizes, **slower, "reach_milli": reach}, Samples()).costs
    assert again is not None
    assert again.doubt == 1.5e-5
    assert again.usually(5_000) == pytest.approx(50_000, rel=0.01)


def test_how_many_facts_are_overdeleted_is_learnt() -> None:
    """As the mean of what was known and what was seen, whatever algorithm finished it."""
    sizes = {**KNOWN, "checking_us": 0, "reach_milli": 10_000}
    chosen = plan("auto", 0, 5_000, sizes, Samples())
    assert chosen.costs is not None
    assert chosen.costs.reach == 10
    for name in ("dred", "fixpoint-update"):
        told = learnt(chosen, 5_000, name, figures(1.0, 50_000), sizes)["reach_milli"] / 1000
        seen = chosen.costs.met(50_000) / 5_000**USUAL
        assert told == pytest.approx((10 + seen) / 2, rel=0.001)


def test_what_its_parts_take_is_learnt() -> None:
    """And the next time as the mean with that."""
    sizes = {**KNOWN, "checking_us": 0, "reach_milli": 10_000}
    chosen = plan("auto", 0, 5_000, sizes, Samples())
    assert chosen.costs is not None
    assert chosen.costs.for_each() == OVERDELETING * choose.DOUBT / 1e9
    assert chosen.costs.asking == 0
    found = learnt(chosen, 5_000, "dred", figures(1.0, 50_000, 0.4), sizes)
    sizes = {**sizes, **found}
    again = plan("auto", 0, 5_000, sizes, Samples())
    assert again.costs is not None
    assert (again.costs.for_each(), again.costs.asking) == (pytest.approx(0.25 / 50_000), pytest.approx(0.4 / 50_000))
    told = learnt(again, 5_000, "dred", figures(2.0, 50_000, 0.6), sizes)
    assert (told["overdelete_ns"], told["asking_ns"]) == (7_500, 10_000)


def test_what_fixpoint_update_takes_is_learnt() -> None:
    """Running the rules over half of the facts took a second, 0.1 s of it for looking up the others."""
    sizes = {**KNOWN, "checking_us": 0, "materialise_derived": 1_000_000, "doubt_ns": 10_000}
    chosen = plan("auto", 0, 5_000, sizes, Samples())
    assert chosen.costs is not None
    assert chosen.costs.naive == choose.NAIVE * 1_000_000
    told = learnt(chosen, 5_000, "fixpoint-update", figures(2.0, FACTS // 2, 1.0), sizes)
    del told["reach_milli"], told["overdelete_ns"]
    assert told == {"checking_us": 0, "naive_ms": round((250 + 900 / 0.5**1.5) / 2)}
    again = plan("auto", 0, 5_000, {**sizes, **told}, Samples()).costs
    assert again is not None
    assert again.naive == told["naive_ms"] / 1000


def test_nearly_nothing_left_tells_nothing_of_the_whole() -> None:
    sizes = {**KNOWN, "checking_us": 0, "materialise_derived": 1_000_000}
    chosen = plan("auto", 0, 5_000, sizes, Samples())
    told = learnt(chosen, 5_000, "fixpoint-update", figures(2.0, FACTS - 100, 0.01), sizes)
    del told["reach_milli"], told["overdelete_ns"]
    assert told == {"checking_us": 0}


def test_few_doubted_facts_tell_nothing() -> None:
    chosen = plan("auto", 0, 10, {**KNOWN, "checking_us": 0}, Samples())
    assert learnt(chosen, 10, "dred", figures(1.0, choose.TELLING - 1), KNOWN) == {"checking_us": 0}


def test_an_algorithm_that_was_asked_for_tells_nothing() -> None:
    assert learnt(plan("dred", 0, 100, KNOWN, Samples()), 100, "dred", figures(1.0, 100_000), KNOWN) == {}


@pytest.mark.parametrize(("minus", "name"), [(1, TRIED[0]), (300, TRIED[0]), (1_000, None)])
def test_what_few_facts_took_foretells_what_checking_takes(minus: int, name: str | None) -> None:
    """Ten times as many facts take nine times as long."""
    chosen = plan("auto", 0, minus, {**KNOWN, "checking_us": 50_000}, Samples())
    assert chosen.name == name
    if chosen.name:
        doubled = learnt(chosen, choose.COMPARED, TRIED[0], figures(0.1, 0), KNOWN)
        assert doubled == {"checking_us": 75_000}, "the mean of what was known and what it took"


def test_what_was_given_up_is_foretold_to_take_longer() -> None:
    """It may take twice as long as is foretold: half as long again in the mean with that is foretold the next time. So
    it is not begun again and again."""
    sizes, begun = {**KNOWN, "checking_us": 20_000}, 0
    while (chosen := plan("auto", 0, 300, sizes, Samples())).name == TRIED[0]:
        assert chosen.seconds is not None
        assert chosen.seconds == pytest.approx(max(ANEW / 2, 2 * 0.02 * (300 / 8) ** 0.95), rel=0.01) or begun
        before, sizes = sizes["checking_us"], {**sizes, **given_up(chosen, 300)}
        assert sizes["checking_us"] >= 1.49 * before
        begun += 1
    assert 0 < begun < 4
    assert chosen.name is None
    assert given_up(plan("auto", 0, 300, {**KNOWN, "checking_us": 0}, Samples()), 300) == {}


def test_most_of_the_data_going_is_computed_anew() -> None:
    sizes = {**KNOWN, "checking_us": 0}
    assert plan("auto", 0, int(choose.MANY_DELETED * ASSERTED) + 1, sizes, Samples()).name is None


def test_less_data_takes_less_to_compute_anew() -> None:
    sizes = {**KNOWN, "checking_us": 0}
    few, many = (plan("auto", 0, minus, sizes, Samples()).costs for minus in (ASSERTED // 100, 4 * ASSERTED // 10))
    assert few is not None
    assert many is not None
    assert (few.anew, many.anew) == (pytest.approx(0.998 * ANEW), pytest.approx(0.92 * ANEW))


def test_counting_anew_takes_longer() -> None:
    """Where no update has told how long; and FP-update keeps no counts."""
    sizes = {"asserted": ASSERTED, "facts": FACTS, "materialise_ms": 2_000, "checking_us": 0, "materialise_derived": 1}
    plain, counted = (plan("auto", 0, 1_000, sizes, Samples(), counting).costs for counting in (False, True))
    assert plain is not None
    assert counted is not None
    assert counted.anew == pytest.approx(plain.anew + 0.998 * choose.COUNTING * FACTS)
    assert counted.naive is None is not plain.naive


def test_with_rewriting_fixpoint_update_is_not_considered() -> None:
    sizes = {**KNOWN, "checking_us": 0, "materialise_derived": 1_000_000}
    for rewriting in (False, True):
        costs = plan("auto", 0, 5_000, sizes, Samples(), rewriting=rewriting).costs
        assert costs is not None
        assert (costs.naive is None) == rewriting
