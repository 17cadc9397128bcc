"""The W3C suite of SHACL Core, by its manifests: the very reports, messages aside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import rdflib
from rdflib.compare import graph_diff, isomorphic
from rdflib.namespace import RDF, SH

from tests.w3c.manifest import SUITES
from tests.w3c.shacl import CORE, Case, cases, compared
from triplestore import Store
from triplestore.model.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MISSING = f"the W3C suite of SHACL is not in {SUITES}: set TRIPLAKE_SUITES to the folder that holds w3c-shacl"

pytestmark = pytest.mark.skipif(not CORE.exists(), reason=MISSING)


LONG = ("complex/shacl-shacl",)


def parameters() -> list[object]:
    return [pytest.param(c, id=c.name, marks=[pytest.mark.long] if c.name in LONG else []) for c in cases()]


@pytest.mark.parametrize("case", parameters())
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path / "kg", "duckdb")


@pytest.mark.spark
@pytest.mark.long
def test_a_case_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """The one with most components."""
    case = next(case for case in cases() if case.name == "complex/personexample")
    check(case, tmp_path / "kg", "spark", spark)


def check(case: Case, path: Path, engine: str, spark: SparkSession | None = None) -> None:
    """Compare the report of a case. path: where its store is made."""
    with Store.create(path, "none", engine=engine, spark=spark) as store:
        store.load(case.data)
        if case.report is None:
            with pytest.raises(InputError):
                store.validate(case.shapes)
            return
        report = store.validate(case.shapes)
    found, expected = report.graph(), case.report
    mine = compared(found, next(found.subjects(RDF.type, SH.ValidationReport)))
    assert report.conforms == bool(expected.value(predicate=SH.conforms, object=rdflib.Literal(True)))
    assert isomorphic(mine, expected), [g.serialize(format="nt") for g in graph_diff(mine, expected)[1:]]
