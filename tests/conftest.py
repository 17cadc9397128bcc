"""Fixtures that every test may use: one Spark session for the whole run, engines made afresh for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from triplestore.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES = ["duckdb", pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run, on two cores."""
    from triplestore.engine.spark_session import start_session

    session = start_session("local[2]", "3GB")
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn, with nothing in it."""
    if request.param == "spark":
        from triplestore.engine.spark import SparkEngine

        made: Engine = SparkEngine(request.getfixturevalue("spark"))
    else:
        from triplestore.engine.duckdb import DuckDBEngine

        made = DuckDBEngine()
    yield made
    made.close()
