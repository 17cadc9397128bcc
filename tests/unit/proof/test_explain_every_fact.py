"""Every fact of 5,000 random stores has a proof, and each proof is right (`tests.support.explained`)."""

from __future__ import annotations

import pytest

from tests.support.explained import KINDS, example, explain_all

STORES = 5_000
BATCH = 50
USUAL = [("listed", 0), ("equality", 1), ("literals", 1), ("ontology", 2), ("custom", 3)]
"""A store of some kinds for every run."""

FAILED = [
    *(("tangle", seed) for seed in (12, 25, 50, 62)),
    *(("literal-tangle", 25), ("literal-tangle", 151), ("compared", 62)),
    *(("custom", 33), ("custom", 39), ("custom", 114)),
]
"""Stores of which a fact had no proof once, or a wrong one."""


@pytest.mark.parametrize(("kind", "seed"), [*USUAL, *FAILED])
def test_every_fact_of_a_store(kind: str, seed: int) -> None:
    assert explain_all(KINDS[kind](seed))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(0, STORES, BATCH))
def test_every_fact_of_many_stores(first: int) -> None:
    explained = [explain_all(example(seed)[1]) for seed in range(first, first + BATCH)]
    assert sum(1 for facts in explained if facts) > BATCH // 2, "most programs are not refused"


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("kind", ["tangle", "equality", "literals", "ontology", "custom", "graphs"])
def test_every_fact_of_a_store_on_spark(kind: str) -> None:
    assert explain_all(KINDS[kind](3), "spark")
