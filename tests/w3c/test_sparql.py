"""The W3C SPARQL 1.0 and 1.1 suites: queries are answered as they say, or refused as they say."""

from __future__ import annotations

import io
import re
from contextlib import nullcontext, suppress
from pathlib import Path

import pyoxigraph
import pytest

from tests.support.sparql import make_graph, ox_term
from tests.w3c.manifest import MISSING
from tests.w3c.sparql import SPARQL, Case, as_graph, cases, dataset_of, expected_rows, rows_of, shaped, triples_of
from triplake.sparql import query
from triplake.sparql.parser import parse_query
from triplestore.engine import Engine
from triplestore.model.errors import TriplakeError, UnsupportedError

VERSIONS = ("sparql10", "sparql11")
EVALUATION = ("QueryEvaluationTest", "CSVResultFormatTest")
EXCLUDED = {
    f"service{n}": "SERVICE is refused: a query reads this store only" for n in ["1", "2", "3", "4a", "5", "6", "7"]
}

pytestmark = pytest.mark.skipif(not SPARQL.exists(), reason=MISSING)


def parameters(*kinds: str) -> list[object]:
    """The cases of some kinds as parameters."""
    return [
        pytest.param(
            case,
            id=f"{version[6:]}-{case.suite}-{case.name}",
            marks=[pytest.mark.skip(reason=EXCLUDED[case.name])] if case.name in EXCLUDED else _marks(case),
        )
        for version in VERSIONS
        for case in cases(version)
        if case.kind.startswith(kinds)
    ]


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    """What is long: six casts a query, some seconds of planning each."""
    return [pytest.mark.long] if case.suite == "type-promotion" else []


def graph_of(triples: list[tuple[str, str, str]]) -> pyoxigraph.Dataset:
    return shaped([pyoxigraph.Quad(*(ox_term(t) for t in triple)) for triple in triples])  # type: ignore[arg-type]


def graphs_of(case: Case, text: str) -> tuple[tuple[str, Path], ...]:
    """The named graphs of a case: those that it gives, and the files that its query chooses."""
    chosen = parse_query(text, case.query.as_uri()).dataset
    names = () if chosen is None else (*chosen.default, *(chosen.named or ()))
    files = {token[1:-1]: Path(token[1:-1].removeprefix("file://")) for token in names}
    return tuple({**files, **dict(case.named)}.items())


def evaluate(engine: Engine, case: Case) -> None:
    """Answer the query and compare, as bags, blank nodes by their places."""
    text = case.query.read_text(encoding="utf-8")
    quads = dataset_of(case.data, graphs_of(case, text))
    data, named = ([quad for quad in quads if len(quad) == size] for size in (3, 4))
    graph = make_graph(engine, data, asserted=data, equality="off", quads=named)  # type: ignore[arg-type]
    result = query(graph, text, base=case.query.as_uri())
    assert case.result is not None
    if result.kind == "construct":
        assert graph_of(list(result.tokens())) == graph_of(triples_of(case.result))  # type: ignore[misc]
        return
    if case.result.suffix == ".csv":
        out = io.StringIO()
        result.write(out, "csv")
        given, wanted = (re.sub(r"_:\w+", "_:b", t) for t in (out.getvalue(), case.result.read_text()))
        assert sorted(given.splitlines()) == sorted(wanted.splitlines())
        return
    expected = expected_rows(case.result)
    if isinstance(expected, bool):
        assert result.boolean is expected
        return
    assert as_graph(rows_of(result.variables, result.tokens())) == as_graph(expected)


@pytest.mark.parametrize("case", parameters(*EVALUATION))
def test_evaluation(embedded: Engine, case: Case) -> None:
    evaluate(embedded, case)


def answerable() -> list[Case]:
    """The cases of evaluation that are answered, not refused."""
    return [
        case for version in VERSIONS for case in cases(version) if case.kind in EVALUATION and case.name not in EXCLUDED
    ]


@pytest.mark.spark
def test_a_sample_of_the_suites_on_spark(spark_engine: Engine) -> None:
    """A case of every fifth suite; the long tests have them all."""
    last = {case.suite: case for case in answerable()}
    for case in list(last.values())[::5]:
        evaluate(spark_engine, case)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("case", parameters(*EVALUATION)[::2])
def test_evaluation_on_spark(spark_engine: Engine, case: Case) -> None:
    """Every other case: a suite has several of a kind."""
    evaluate(spark_engine, case)


@pytest.mark.parametrize("case", parameters("PositiveSyntax"))
def test_what_is_right_is_accepted(case: Case) -> None:
    text = case.query.read_text(encoding="utf-8")
    with suppress(UnsupportedError) if "SERVICE" in text.upper() else nullcontext():
        parse_query(text, case.query.as_uri())


@pytest.mark.parametrize("case", parameters("NegativeSyntax"))
def test_what_is_wrong_is_refused(case: Case) -> None:
    text = case.query.read_text(encoding="utf-8")
    with pytest.raises(TriplakeError):
        parse_query(text, case.query.as_uri())
