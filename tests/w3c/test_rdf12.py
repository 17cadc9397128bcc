"""The W3C suites of RDF 1.2: what is right is read, what is wrong is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.w3c.manifest import MISSING, RDF12, Case, cases
from tests.w3c.test_syntax import EXCLUDED as EXCLUDED11
from tests.w3c.test_syntax import canonical, read
from triplake.loaders import Syntax
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.errors import InputError

SUITES = {
    "rdf-n-triples/syntax": Syntax.NTRIPLES,
    "rdf-n-quads/syntax": Syntax.NQUADS,
    "rdf-turtle/syntax": Syntax.TURTLE,
    "rdf-turtle/eval": Syntax.TURTLE,
    "rdf-trig/syntax": Syntax.TRIG,
    "rdf-trig/eval": Syntax.TRIG,
    "rdf-xml/eval": Syntax.RDFXML,
}
RESULTS = {".nt": Syntax.NTRIPLES, ".nq": Syntax.NQUADS}
EXCLUDED = dict.fromkeys(("rdf12-xml-an-13", "rdf12-xml-an-14"), EXCLUDED11["xml-canon-test001"])

pytestmark = pytest.mark.skipif(not RDF12.exists(), reason=MISSING)


@pytest.fixture(scope="module")
def duckdb() -> Iterator[Engine]:
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


def parameters() -> list[object]:
    """The cases of all suites as parameters."""
    return [
        pytest.param(
            case,
            id=f"{suite[4:]}-{case.name}",
            marks=[pytest.mark.skip(reason=EXCLUDED[case.name])] if case.name in EXCLUDED else [],
        )
        for suite in SUITES
        for case in cases(suite, RDF12)
    ]


def check(engine: Engine, case: Case) -> None:
    """Do what the manifest says."""
    syntax = SUITES[case.suite]
    if "Negative" in case.kind:
        with pytest.raises(InputError):
            read(engine, case.action, syntax, case.base)
        return
    found = read(engine, case.action, syntax, case.base)
    if case.result is None:
        assert case.kind.endswith("PositiveSyntax")
        return
    assert canonical(found) == canonical(read(engine, case.result, RESULTS[case.result.suffix], case.base))


@pytest.mark.parametrize("case", parameters())
def test_case(duckdb: Engine, case: Case) -> None:
    check(duckdb, case)
