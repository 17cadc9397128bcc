"""What `auto` chooses from a store's figures: the choice alone, with an algorithm's sample made up."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from triplestore.maintain import choose
from triplestore.maintain.choose import COUNTED, TRIED, Plan, learnt, plan

ASSERTED, FACTS, ANEW = 100_000, 200_000, 2.0
KNOWN = {"asserted": ASSERTED, "facts": FACTS, "anew_ms": int(1000 * ANEW)}
BOTH = {**KNOWN, "faster": 1}


class Samples:
    """In place of trying algorithms out: seconds for each fact, and derivations; what was asked is kept."""

    def __init__(self, seconds: float, derived: Mapping[str, int] | None = None) -> None:
        self.seconds, self.derived, self.asked = seconds, derived or {}, list[tuple[str, int]]()

    def __call__(self, name: str, size: int, seconds: float) -> tuple[float, int] | None:
        self.asked.append((name, size))
        taken = size * self.seconds
        return (taken, self.derived.get(name, 0)) if taken <= seconds else None


@pytest.mark.parametrize("minus", [1, 10, 1_000])
def test_what_the_last_deletions_make_clear_is_begun_without_a_sample(minus: int) -> None:
    samples = Samples(1.0)
    chosen = plan("auto", 0, minus, {**BOTH, "deleted_facts": 100, "deleted_us": 5_000}, samples)
    assert chosen.name == TRIED[1]
    assert samples.asked == []
    assert chosen.seconds is not None
    assert chosen.seconds <= ANEW / 2


@pytest.mark.parametrize("known", [BOTH, {**BOTH, "deleted_facts": 10, "deleted_us": 50_000}])
def test_what_is_not_clear_is_foretold_by_a_sample(known: dict[str, int]) -> None:
    cheap, dear = Samples(0.0001), Samples(1.0)
    assert plan("auto", 0, 2_400, known, cheap).name == TRIED[1]
    assert plan("auto", 0, 2_400, known, dear).name is None
    assert [size for _, size in cheap.asked + dear.asked] == [100, 100]


@pytest.mark.parametrize(("derived", "faster"), [(1_000, 1), (1_000_000, 0)])
@pytest.mark.parametrize("counting", [False, True])
def test_the_algorithms_are_compared_once(derived: int, faster: int, counting: bool) -> None:
    """B/F where DRed does much more work."""
    tried = COUNTED if counting else TRIED
    samples = Samples(0.0001, {tried[0]: 100, tried[1]: derived})
    chosen = plan("auto", 0, 5, KNOWN, samples, counting)
    assert (chosen.name, chosen.faster) == (tried[faster], faster)
    assert sorted(name for name, _ in samples.asked) == sorted(tried)
    again = Samples(0.0001)
    known = {**KNOWN, **learnt(chosen, 5, 0.01)}
    assert plan("auto", 0, 5, known, again, counting).name == tried[faster]
    assert again.asked == []


def test_what_was_carried_out_is_learnt() -> None:
    assert learnt(Plan("dred", "", 1.0, 1), 7, 0.25) == {"faster": 1, "deleted_facts": 7, "deleted_us": 250_000}
    assert learnt(Plan("dred", "asked for"), 7, 0.25) == {}, "an algorithm that was named says nothing of the choice"


def test_most_of_the_data_going_is_computed_anew() -> None:
    samples = Samples(0.0)
    assert plan("auto", 0, int(choose.MANY_DELETED * ASSERTED) + 1, BOTH, samples).name is None
    assert samples.asked == []
