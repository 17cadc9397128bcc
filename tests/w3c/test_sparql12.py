"""The W3C suites of SPARQL 1.2: what is right is accepted, what is wrong is refused, and answers are as they say."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.w3c.manifest import MISSING
from tests.w3c.sparql import SPARQL, Case, cases
from triplake import Store
from triplake.sparql.parser import parse_query
from triplake.sparql.update import parse_update
from triplestore.model.errors import InputError, UsageError
from triplestore.model.terms import to_ntriples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARQL12 = SPARQL / "sparql12"
EXCLUDED = {
    "basic-anonreifier-13": "UnsupportedError: a blank node within a triple term of CONSTRUCT WHERE",
    "order-2": "ORDER BY puts triple terms in the order of their text: numbers within them are not compared",
    "not-not": "strings with a language tag have an effective boolean value here, as RDF Concepts 2004 has it",
}

pytestmark = pytest.mark.skipif(not SPARQL12.exists(), reason=MISSING)


def parameters(found: Iterable[Case]) -> list[object]:
    """Cases as parameters."""
    return [
        pytest.param(
            case,
            id=f"{case.suite}-{case.name}",
            marks=[pytest.mark.skip(reason=EXCLUDED[case.name])] if case.name in EXCLUDED else [],
        )
        for case in found
    ]


def check(case: Case) -> None:
    """Parse a request, or see it refused."""
    parse = parse_update if "Update" in case.kind else parse_query
    text = case.query.read_text(encoding="utf-8")
    if "Negative" not in case.kind:
        parse(text, base=case.query.as_uri())
        return
    with pytest.raises((UsageError, InputError)):
        parse(text, base=case.query.as_uri())


def syntaxes() -> list[Case]:
    """The tests of syntax."""
    return [case for case in cases("sparql12") if "Syntax" in case.kind]


@pytest.mark.parametrize("case", parameters(syntaxes()))
def test_syntax(case: Case) -> None:
    check(case)


def evaluations() -> list[Case]:
    """The tests of queries' answers, over data in one graph."""
    return [case for case in cases("sparql12") if case.kind == "QueryEvaluationTest"]


def updates() -> list[Case]:
    """The tests of updates."""
    return [case for case in cases("sparql12") if case.kind == "UpdateEvaluationTest"]


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


def evaluate(store: Store, case: Case) -> None:
    """Answer the query over its data, which replace those of the store, and compare."""
    store.replace(*case.data)
    found = store.query(case.query.read_text(encoding="utf-8"))
    out = io.StringIO()
    assert case.result is not None
    if found.kind == "construct":
        found.write(out, "nt")
        expected = shaped(case.result.read_bytes(), ox.RdfFormat.TURTLE)
        assert shaped(out.getvalue().encode(), ox.RdfFormat.N_TRIPLES) == expected
        return
    found.write(out, "json")
    format = ox.QueryResultsFormat.from_extension(case.result.suffix[1:])
    assert format is not None
    told = solutions(case.result.read_bytes(), format)
    assert solutions(out.getvalue().encode(), ox.QueryResultsFormat.JSON) == told


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store without rules for all cases."""
    path = tmp_path_factory.mktemp("sparql12") / "kg"
    with Store.create(path, ["none"], engine="duckdb", default_graph="separate") as made:
        yield made


def shaped(text: bytes, syntax: ox.RdfFormat) -> ox.Dataset:
    """Triples or quads, with blank nodes named by their shape."""
    found = ox.Dataset(ox.parse(text, syntax))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def update(store: Store, case: Case) -> None:
    """Carry out the request on its data and compare all graphs."""
    assert case.result is not None
    store.replace(*case.data)
    store.sparql_update(case.query.read_text(encoding="utf-8"))
    quads = [quad for batch in store.quad_batches() for quad in batch]
    lines = "".join(f"{' '.join(map(to_ntriples, quad))} .\n" for quad in quads)
    expected = shaped(case.result.read_bytes(), ox.RdfFormat.TRIG)
    assert shaped(lines.encode(), ox.RdfFormat.N_QUADS) == expected


def run(case: Case, store: Store) -> None:
    """Do what a test says."""
    if "Syntax" in case.kind:
        check(case)
    elif case.kind == "UpdateEvaluationTest":
        update(store, case)
    else:
        evaluate(store, case)


@pytest.mark.parametrize("case", parameters(updates()))
def test_updates(store: Store, case: Case) -> None:
    update(store, case)


def test_whole_suite_is_run() -> None:
    assert [len(found) for found in (syntaxes(), evaluations(), updates())] == [203, 63, 3]


@pytest.mark.parametrize("case", parameters(evaluations()))
def test_answers(store: Store, case: Case) -> None:
    evaluate(store, case)


@pytest.mark.spark
def test_answers_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """`=` of triple terms, which is a function of the engine; `python -m tests.w3c --engine spark` runs them all."""
    with Store.create(tmp_path / "kg", ["none"], spark=spark) as made:
        for case in evaluations():
            if case.name in ("op-2", "op-3"):
                evaluate(made, case)
