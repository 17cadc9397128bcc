"""Long histories: twenty updates of facts, axioms and rules, small and large, by every algorithm and in every mode;
after each the store equals the oracle, and now and then one that is materialised anew, derivation counts included."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.histories import between_engines, in_a_store
from tests.support.ways import WAYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FEW: Final = (
    ("rewrite", "backward-forward", False),
    ("axioms", "dred-counting", True),
    ("off", "backward-forward-counting", True),
)
"""Ways for every run of the tests."""


@pytest.mark.parametrize(("equality", "algorithm", "counting"), FEW)
@pytest.mark.sampled(each=3)
def test_a_history(tmp_path: Path, equality: str, algorithm: str, counting: bool) -> None:
    assert in_a_store(tmp_path, "6", (equality, algorithm, counting), 8) > 1


@pytest.mark.long
@pytest.mark.parametrize(("equality", "algorithm", "counting"), WAYS)
def test_many_histories(tmp_path: Path, equality: str, algorithm: str, counting: bool) -> None:
    done = [in_a_store(tmp_path, str(seed), (equality, algorithm, counting), 20) for seed in range(2, 3)]
    assert sum(done) > 2


@pytest.mark.spark
@pytest.mark.long_on_spark(each=2)
@pytest.mark.parametrize(("equality", "algorithm", "counting"), WAYS)
def test_a_history_on_spark(spark: SparkSession, tmp_path: Path, equality: str, algorithm: str, counting: bool) -> None:
    in_a_store(tmp_path, "3", (equality, algorithm, counting), 6, spark)


@pytest.mark.spark
@pytest.mark.long_on_spark(each=2, but=1)
@pytest.mark.parametrize(("equality", "algorithm", "counting"), WAYS)
def test_engines_take_turns(spark: SparkSession, tmp_path: Path, equality: str, algorithm: str, counting: bool) -> None:
    assert between_engines(tmp_path, "5", (equality, algorithm, counting), 8, spark) == {"duckdb", "spark"}
