"""Fixtures of the tests of SPARQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine


@pytest.fixture
def fresh() -> Iterator[Engine]:
    """An embedded engine with nothing in it."""
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()
