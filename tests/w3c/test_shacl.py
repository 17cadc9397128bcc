"""The W3C suite of SHACL Core, by its manifests: the very reports, messages aside."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib
from rdflib.compare import graph_diff, isomorphic
from rdflib.namespace import RDF, SH

from tests.w3c.manifest import SUITES
from tests.w3c.shacl import CORE, Case, cases, compared
from triplestore import Store
from triplestore.model.errors import InputError

MISSING = f"the W3C suite of SHACL is not in {SUITES}: set TRIPLAKE_SUITES to the folder that holds w3c-shacl"

pytestmark = pytest.mark.skipif(not CORE.exists(), reason=MISSING)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_case(case: Case, tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        store.load(case.data)
        if case.report is None:
            with pytest.raises(InputError):
                store.validate(case.shapes)
            return
        report = store.validate(case.shapes)
    found = report.graph()
    node = next(found.subjects(RDF.type, SH.ValidationReport))
    mine = compared(found, node)
    expected = case.report
    assert report.conforms == bool(expected.value(predicate=SH.conforms, object=rdflib.Literal(True)))
    assert isomorphic(mine, expected), [g.serialize(format="nt") for g in graph_diff(mine, expected)[1:]]
