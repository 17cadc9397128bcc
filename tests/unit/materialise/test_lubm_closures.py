"""The closure of LUBM(1) against the sizes that other reasoners agree on; see `tests.bench.lubm_closures`."""

from __future__ import annotations

import pytest

from tests import ROOT
from tests.bench.lubm_closures import LUBM, SIZES, steps, table
from tests.w3c.manifest import MISSING

BENCHMARKS = ROOT / "docs" / "benchmarks.md"


@pytest.mark.long
@pytest.mark.skipif(not LUBM.exists(), reason=MISSING)
@pytest.mark.parametrize("ruleset", SIZES)
def test_each_difference_to_the_reference_closure_has_a_rule(ruleset: str) -> None:
    """Their rules give their size, every further step is one rule, and the document shows these very numbers."""
    found = list(steps(ruleset))
    assert found[0].size == SIZES[ruleset]
    shown = " ".join(BENCHMARKS.read_text(encoding="utf-8").split())
    assert " ".join(table(ruleset, found).split()) in shown
