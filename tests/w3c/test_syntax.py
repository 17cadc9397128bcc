"""The W3C suites of N-Triples, N-Quads, Turtle, TriG and RDF/XML: what is right is read, what is wrong is refused."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest

from tests.w3c.manifest import MISSING, RDF11, Case, cases
from triplake.loaders import Source, Syntax, Triple, quads_of, read_into
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.errors import InputError
from triplestore.model.terms import to_ntriples

SUITES = {
    "rdf-n-triples": Syntax.NTRIPLES,
    "rdf-n-quads": Syntax.NQUADS,
    "rdf-turtle": Syntax.TURTLE,
    "rdf-trig": Syntax.TRIG,
    "rdf-xml": Syntax.RDFXML,
}
RESULTS = {".nt": Syntax.NTRIPLES, ".nq": Syntax.NQUADS}
SIZES = {"rdf-n-triples": 70, "rdf-n-quads": 87, "rdf-turtle": 313, "rdf-trig": 356, "rdf-xml": 166}
_CANONICAL = "the parser keeps the namespaces in scope in an XML literal: another lexical form of the same value"
EXCLUDED = {
    # Both expect exclusive canonical XML (`<br></br>`); pyoxigraph writes `<br xmlns:rdf=... xmlns:eg=...></br>`.
    "xml-canon-test001": _CANONICAL,
    "xml-canon-test002": _CANONICAL,
}

pytestmark = pytest.mark.skipif(not RDF11.exists(), reason=MISSING)


def parameters(*suites: str) -> list[object]:
    """The cases of some suites as parameters."""
    return [
        pytest.param(
            case,
            id=f"{suite[4:]}-{case.name}",
            marks=[pytest.mark.skip(reason=EXCLUDED[case.name])] if case.name in EXCLUDED else [],
        )
        for suite in suites
        for case in cases(suite)
    ]


@pytest.fixture(scope="module")
def duckdb() -> object:
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


def read(engine: Engine, path: Path, syntax: Syntax, base: str) -> set[Triple]:
    """The triples of one file."""
    read_into(engine, "token", [Source(str(path), syntax, path.name, base)], first_file=1)
    rows = engine.query("SELECT s, p, o FROM token").to_pylist()
    engine.drop("token")
    return {(row["s"], row["p"], row["o"]) for row in rows}


def canonical(triples: set[Triple]) -> pyoxigraph.Dataset:
    """The graph with blank nodes named by its shape: equal for isomorphic graphs."""
    text = "".join(f"{' '.join(map(to_ntriples, triple))} .\n" for triple in triples)
    graph = pyoxigraph.Dataset(pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES))
    graph.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return graph


def check(engine: Engine, case: Case) -> None:
    """Do what the manifest says."""
    syntax = SUITES[case.suite]
    if "Negative" in case.kind:
        with pytest.raises(InputError) as caught:
            read(engine, case.action, syntax, case.base)
        assert caught.value.file == case.action.name
        assert caught.value.reason
        return
    found = read(engine, case.action, syntax, case.base)
    if case.result is None:
        assert case.kind.endswith("PositiveSyntax")
        return
    assert case.kind.endswith("Eval")
    expected = read(engine, case.result, RESULTS[case.result.suffix], case.base)
    assert canonical(found) == canonical(expected)


@pytest.mark.parametrize("case", parameters(*SUITES))
def test_case(duckdb: Engine, case: Case) -> None:
    check(duckdb, case)


@pytest.mark.parametrize("suite", ["rdf-n-triples", "rdf-n-quads"])
@pytest.mark.long_on_spark
def test_lines_on_each_engine(engine: Engine, tmp_path: Path, suite: str) -> None:
    """Each engine reads the files of a suite in one go as the strict parser reads them, and refuses the same ones."""
    found = {
        negative: [
            Source(str(case.action), SUITES[suite], case.name)
            for case in cases(suite)
            if ("Negative" in case.kind) == negative
        ]
        for negative in (False, True)
    }
    read_into(engine, "token", found[False], first_file=5)
    found_rows = engine.query("SELECT * FROM token").to_pylist()
    rows = [(row["s"], row["p"], row["o"], *filter(None, [row.get("g")])) for row in found_rows]
    expected = [quad for number, source in enumerate(found[False], 5) for quad in quads_of(source, number)]
    assert Counter(rows) == Counter(expected)
    rejects = tmp_path / "rejects"
    report = read_into(engine, "token", found[True], first_file=0, on_error="skip", rejects=rejects)
    engine.drop("token")
    listed = re.findall(r"^# ([\w-]+):\d+: .", rejects.read_text(errors="replace"), re.MULTILINE)
    assert set(listed) == {source.name for source in found[True]}
    assert report.skipped == len(listed)


@pytest.mark.parametrize(("suite", "size"), SIZES.items())
def test_whole_suite_is_run(suite: str, size: int) -> None:
    assert len(cases(suite)) == size
