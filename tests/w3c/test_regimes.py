"""The W3C suite of SPARQL 1.1 entailment regimes: each query is answered as the suite says, under each regime."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.w3c.entailment import ntriples
from tests.w3c.regimes import FOLDER, MISSING, RULESETS, Case, cases
from tests.w3c.sparql import as_graph, dataset_of, expected_rows, rows_of
from triplestore import Store

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)


def parameters() -> list[object]:
    """The cases as parameters."""
    return [
        pytest.param(case, id=case.name, marks=[pytest.mark.skip(reason=case.excluded)] if case.excluded else [])
        for case in cases()
    ]


def check(case: Case, folder: Path, engine: str = "duckdb") -> None:
    """Load the data and answer the query under each regime of the case that a ruleset stands for."""
    data = folder / "data.nt"
    data.write_text(ntriples(dataset_of(case.data, ())), encoding="utf-8")  # type: ignore[arg-type]
    text, expected = case.query.read_text(encoding="utf-8"), expected_rows(case.result)
    for regime in case.regimes:
        if regime not in RULESETS:
            continue
        with Store.create(folder / regime, RULESETS[regime], engine=engine) as store:
            store.load(data)
            found = store.query(text, base=case.query.as_uri())
            if isinstance(expected, bool):
                assert found.boolean is expected, regime
            else:
                assert as_graph(rows_of(found.variables, found.tokens())) == as_graph(expected), regime


@pytest.mark.parametrize("case", parameters())
@pytest.mark.sampled(each=4)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("case", parameters()[::8])
def test_case_on_spark(case: Case, spark_engine: object, tmp_path: Path) -> None:
    check(case, tmp_path, "spark")


def test_the_whole_suite_is_run() -> None:
    assert len(cases()) == 70
    assert sum(1 for case in cases() if not case.excluded) == 45
