"""The closure equals the oracle's: random programs and data with equality, all modes, both engines."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.closure import MODES, PHASES, agree
from tests.support.random_programs import Triple, facts, programs, rules_of
from triplestore.engine import Engine

pytestmark = pytest.mark.spark_alone


@pytest.mark.parametrize("equality", MODES)
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=PHASES,
)
@given(triples=facts(), program=programs)
def test_equals_the_oracle(embedded: Engine, triples: list[Triple], program: tuple[str, ...], equality: str) -> None:
    agree(embedded, triples, rules_of(program), equality)


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("many", [0, 3])
@settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=PHASES,
)
@given(triples=facts(), program=programs)
@pytest.mark.sampled(each=3)
def test_a_large_schema_is_joined_to_the_same_end(
    embedded: Engine, triples: list[Triple], program: tuple[str, ...], equality: str, many: int
) -> None:
    """As if a few facts of a kind were many already: rules join their schema atoms in the engine."""
    agree(embedded, triples, rules_of(program), equality, many)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("many", [0, 3])
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(triples=facts(), program=programs)
def test_a_large_schema_is_joined_to_the_same_end_often(
    embedded: Engine, triples: list[Triple], program: tuple[str, ...], equality: str, many: int
) -> None:
    agree(embedded, triples, rules_of(program), equality, many)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(triples=facts(), program=programs)
def test_equals_the_oracle_often(
    embedded: Engine, triples: list[Triple], program: tuple[str, ...], equality: str
) -> None:
    agree(embedded, triples, rules_of(program), equality)


@pytest.mark.spark
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(triples=facts(), program=programs, equality=st.sampled_from(MODES))
def test_equals_the_oracle_on_spark(
    spark_engine: Engine, triples: list[Triple], program: tuple[str, ...], equality: str
) -> None:
    agree(spark_engine, triples, rules_of(program), equality)
