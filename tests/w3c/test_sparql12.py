"""The W3C suites of SPARQL 1.2 that are of triple terms and base directions: syntax, and answers of queries."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.w3c.manifest import MISSING, RDF12, Case, cases
from tests.w3c.sparql import Case as QueryCase
from tests.w3c.sparql import cases as of_version
from triplake import Store
from triplake.sparql.parser import parse_query
from triplake.sparql.update import parse_update
from triplestore.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARQL12 = RDF12.parent.parent / "sparql" / "sparql12"
EXCLUDED = {
    "basic-anonreifier-13": "UnsupportedError: a blank node within a triple term of CONSTRUCT WHERE",
    "order-2": "ORDER BY puts triple terms in the order of their text: numbers within them are not compared",
    "not-not": "strings with a language tag have an effective boolean value here, as RDF Concepts 2004 has it",
}

pytestmark = pytest.mark.skipif(not SPARQL12.exists(), reason=MISSING)


def parameters(found: Iterable[Case | QueryCase]) -> list[object]:
    """Cases as parameters."""
    return [
        pytest.param(
            case,
            id=f"{case.suite}-{case.name}",
            marks=[pytest.mark.skip(reason=EXCLUDED[case.name])] if case.name in EXCLUDED else [],
        )
        for case in found
    ]


def syntaxes() -> list[Case]:
    """The tests of the syntax of triple terms."""
    return [case for kind in ("positive", "negative") for case in cases(f"syntax-triple-terms-{kind}", SPARQL12)]


def check(case: Case) -> None:
    """Parse a request, or see it refused."""
    text = case.action.read_text(encoding="utf-8")

    def parse() -> None:
        if case.action.suffix == ".ru":
            parse_update(text, base=case.base)
        else:
            parse_query(text, base=case.base)

    if "Negative" not in case.kind:
        parse()
        return
    with pytest.raises((UsageError, InputError)):
        parse()


@pytest.mark.parametrize("case", parameters(syntaxes()))
def test_syntax(case: Case) -> None:
    check(case)


def evaluations() -> list[QueryCase]:
    """The tests of queries' answers, over data in one graph."""
    return [
        case
        for case in of_version("sparql12")
        if case.kind == "QueryEvaluationTest" and case.suite in ("eval-triple-terms", "expression", "lang-basedir")
    ]


def solutions(text: bytes, format: ox.QueryResultsFormat) -> ox.Dataset | bool:
    """The solutions as a graph, with blank nodes named by its shape: equal for bags that differ in labels only."""
    found = ox.parse_query_results(text, format)
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    quads = []
    for row in found:
        node = ox.BlankNode()
        quads.append(ox.Quad(node, ox.NamedNode("x:is"), ox.NamedNode("x:row")))
        for variable in found.variables:
            if (term := row[variable]) is not None:
                quads.append(ox.Quad(node, ox.NamedNode(f"x:{variable.value}"), term))
    shaped = ox.Dataset(quads)
    shaped.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return shaped


def evaluate(store: Store, case: QueryCase) -> None:
    """Answer the query over its data, which replace those of the store, and compare."""
    store.replace(*case.data)
    found = store.query(case.query.read_text(encoding="utf-8"))
    out = io.StringIO()
    assert case.result is not None
    if found.kind == "construct":
        found.write(out, "nt")
        graphs = [
            ox.Dataset(ox.parse(text, syntax))
            for text, syntax in (
                (out.getvalue().encode(), ox.RdfFormat.N_TRIPLES),
                (case.result.read_bytes(), ox.RdfFormat.TURTLE),
            )
        ]
        for graph in graphs:
            graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
        assert graphs[0] == graphs[1]
        return
    found.write(out, "json")
    format = ox.QueryResultsFormat.from_extension(case.result.suffix[1:])
    assert format is not None
    told = solutions(case.result.read_bytes(), format)
    assert solutions(out.getvalue().encode(), ox.QueryResultsFormat.JSON) == told


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store without rules for all cases."""
    with Store.create(tmp_path_factory.mktemp("sparql12") / "kg", ["none"], engine="duckdb") as made:
        yield made


@pytest.mark.parametrize("case", parameters(evaluations()))
def test_answers(store: Store, case: QueryCase) -> None:
    evaluate(store, case)


@pytest.mark.spark
def test_answers_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """`=` of triple terms, which is a function of the engine; `python -m tests.w3c --engine spark` runs them all."""
    with Store.create(tmp_path / "kg", ["none"], spark=spark) as made:
        for case in evaluations():
            if case.name in ("op-2", "op-3"):
                evaluate(made, case)
