"""What `auto` chooses, from made-up sizes of a store: the choice alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triplestore.maintain.extend import INSERTION
from triplestore.maintain.policy import COUNTING, DELETING, NAMES, OVERDELETION, Sizes, plan, plan_rules
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.model.errors import UsageError

STORE = Sizes(asserted=100_000, facts=200_000, schema=100, materialise_derived=500_000, derivations_per_fact=2.5)
DENSE = replace(STORE, derivations_per_fact=THRESHOLDS.fact)
COUNTED = replace(STORE, counting=True)


@pytest.mark.parametrize(
    ("store", "name"),
    [
        (STORE, OVERDELETION),
        (DENSE, "backward-forward"),
        (replace(DENSE, axioms=True), OVERDELETION),
        (COUNTED, "dred-counting"),
        (replace(DENSE, counting=True), "backward-forward-counting"),
    ],
    ids=["few derivations", "many", "many by axioms", "few, counted", "many, counted"],
)
@pytest.mark.parametrize("minus", [1, 100, 5_000])
def test_what_deletes(store: Sizes, name: str, minus: int) -> None:
    chosen = plan("auto", 3, minus, store)
    assert chosen.name == name
    assert chosen.budget.limit is not None
    assert plan_rules("auto", True, store).name == name


def test_an_insertion_has_a_budget() -> None:
    for chosen in (plan("auto", 10, 0, STORE), plan_rules("auto", False, STORE)):
        assert chosen.name == INSERTION
        assert chosen.budget.limit is not None


def test_the_budget_is_the_work_of_computing_from_scratch() -> None:
    """What the last materialisation derived, and what it takes besides."""
    small, large = (plan("auto", 0, 1, replace(STORE, materialise_derived=n)).budget.limit for n in (0, 10**6))
    assert small is not None
    assert large == small + 10**6 // THRESHOLDS.share
    taxonomy = plan("auto", 0, 1, replace(STORE, materialise_derived=0, schema=10_000)).budget.limit
    assert taxonomy is not None
    assert taxonomy > small


@pytest.mark.parametrize("side", ["plus", "minus"])
def test_a_change_that_is_over_the_budget_by_itself(side: str) -> None:
    least = {"plus": 0, "minus": 0}
    assert plan("auto", **{**least, side: 1_000}, sizes=STORE).name is not None
    chosen = plan("auto", **{**least, side: 900_000}, sizes=STORE)
    assert chosen.name is None
    assert "900,000" in chosen.reason


def test_new_facts_are_expected_to_lead_to_as_many_as_the_others() -> None:
    wide = replace(STORE, facts=20 * STORE.asserted)
    assert plan("auto", 10_000, 0, STORE).name == INSERTION
    assert plan("auto", 10_000, 0, wide).name is None


@pytest.mark.parametrize("algorithm", DELETING)
def test_a_named_algorithm_has_no_limit(algorithm: str) -> None:
    chosen = plan(algorithm, 0, 99_999, STORE)
    assert (chosen.name, chosen.reason, chosen.budget.limit) == (algorithm, "asked for", None)
    assert plan(algorithm, 5, 0, STORE).name == INSERTION
    assert plan_rules(algorithm, True, STORE).name == algorithm
    assert plan_rules(algorithm, False, STORE).name == INSERTION


def test_rematerialise_by_name() -> None:
    assert plan("rematerialise", 0, 1, STORE).name is None
    assert plan_rules("rematerialise", True, STORE).name is None


def test_unknown_names() -> None:
    assert set(COUNTING) < set(NAMES)
    for choose in (lambda: plan("best", 0, 1, STORE), lambda: plan_rules("best", True, STORE)):
        with pytest.raises(UsageError, match="no maintenance algorithm 'best'; give one of auto"):
            choose()
