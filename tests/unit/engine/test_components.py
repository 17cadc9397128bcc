"""Connected components of graphs and numbers of rows, one body for both engines."""

from __future__ import annotations

import pytest

from tests.support.engines import GRAPHS, TOKENS, check_components, check_numbered
from triplestore.engine import Engine

pytestmark = pytest.mark.spark_alone


@pytest.mark.parametrize("graph", GRAPHS)
def test_components(engine: Engine, graph: str) -> None:
    check_components(engine, GRAPHS[graph])


@pytest.mark.parametrize("tokens", [set(), {"<a>"}, TOKENS], ids=["none", "one", "many"])
def test_rows_are_numbered_in_order(engine: Engine, tokens: set[str]) -> None:
    check_numbered(engine, tokens)
