"""Constraints on any two members of a list: joined as a table they find what the pairs find, in each state."""

from __future__ import annotations

import pytest

from tests.support.closure import unreadable
from tests.support.listed_programs import listed
from tests.support.maintain import Bench
from tests.support.seeds import seeds
from tests.support.tangles import Different, check
from triplestore.compile.pairs import Pair
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.errors import InputError, LimitError


@pytest.mark.long_on_spark(each=3)
@pytest.mark.parametrize("start", seeds(range(0, 60, 20), 1))
def test_lists_in_tangles(engine: Engine, start: int, request: pytest.FixtureRequest) -> None:
    """Closures and violations by every way to compute and to maintain them agree with the oracle."""
    many = isinstance(engine, DuckDBEngine) and request.node.get_closest_marker("long")
    some = range(start, start + (20 if many else 1))
    assert {seed: told for seed in some if (told := _fault(engine, seed))} == {}


def _fault(engine: Engine, seed: int) -> str:
    try:
        check(engine, listed(seed))
    except Different as different:
        return str(different)
    except InputError as refused:
        return "" if unreadable(refused) else str(refused)
    except LimitError as refused:
        return "" if "ways lead along rdf:rest" in str(refused) else str(refused)
    return ""


@pytest.mark.long
@pytest.mark.parametrize("equality", ["rewrite", "axioms", "off"])
def test_a_table_of_lists_finds_what_their_pairs_do(
    engine: Engine, equality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which members, not only whether there are any."""
    found, seeds = [], 110 if equality == "off" else 40  # fewer violations follow without equality
    for table in (True, False):
        if not table:
            monkeypatch.setattr(Pair, "of", lambda rule, schema: None)
        for seed in range(seeds if isinstance(engine, DuckDBEngine) else 2):
            one = listed(seed)
            bench = Bench(engine, set(one.start), one.rules, equality, False)
            try:
                found.append((seed, *bench.materialise(set(bench.facts(one.start)))))
            except (InputError, LimitError):  # equal nodes may give more ways than are counted
                found.append((seed, set(), set(), set()))
    half = len(found) // 2
    assert found[:half] == found[half:]
    assert sum(bool(violations) for *_, violations in found) > 10 or not isinstance(engine, DuckDBEngine)
