"""The W3C SPARQL 1.0 and 1.1 suites: queries are answered as they say, or refused as they say."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pyoxigraph
import pytest

from tests.support.endpoint import answering, dead_address, endpoint
from tests.support.sparql import make_graph, ox_term
from tests.w3c.manifest import MISSING
from tests.w3c.sparql import SPARQL, Case, as_graph, cases, dataset_of, expected_rows, rows_of, shaped, triples_of
from triplake.sparql import query
from triplake.sparql.parser import parse_query
from triplestore.engine import Engine
from triplestore.model.endpoints import normalised_all
from triplestore.model.errors import TriplakeError

VERSIONS = ("sparql10", "sparql11")
EVALUATION = ("QueryEvaluationTest", "CSVResultFormatTest")
ENDPOINT = re.compile(r"<(http://[\w.]+/sparql)>")
"""The address of an endpoint in the tests of SERVICE."""

pytestmark = pytest.mark.skipif(not SPARQL.exists(), reason=MISSING)


def parameters(*kinds: str) -> list[object]:
    """The cases of some kinds as parameters."""
    return [
        pytest.param(
            case,
            id=f"{version[6:]}-{case.suite}-{case.name}",
            marks=_marks(case),
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


@contextmanager
def endpoints(case: Case) -> Iterator[Callable[[str], str]]:
    """Endpoints with the data of a case, and the text with their addresses in place of those of the case. Where nothing
    answers in the case, nothing does."""
    here: dict[str, str] = {}

    def local(text: str) -> str:
        return ENDPOINT.sub(lambda found: f"<{here.setdefault(found[1], dead_address())}>", text)

    with ExitStack() as stack:
        for name, file in case.services:
            store = pyoxigraph.Store()
            store.load(path=file, format=pyoxigraph.RdfFormat.TURTLE)
            here[name] = stack.enter_context(endpoint(answering(store))).address
        yield local


def evaluate(engine: Engine, case: Case) -> None:
    """Answer the query and compare, as bags, blank nodes by their places."""
    with endpoints(case) if case.suite == "service" else nullcontext(str) as local:
        _evaluate(engine, case, local)


def _evaluate(engine: Engine, case: Case, local: Callable[[str], str]) -> None:
    text = local(case.query.read_text(encoding="utf-8"))
    quads = [tuple(map(local, quad)) for quad in dataset_of(case.data, graphs_of(case, text))]
    data, named = ([quad for quad in quads if len(quad) == size] for size in (3, 4))
    graph = make_graph(engine, data, asserted=data, equality="off", quads=named)  # type: ignore[arg-type]
    asked = "\n".join([text, *(quad[2] for quad in data)])
    graph = replace(graph, services=normalised_all(re.findall(r"<(http://127[^>]*)>", asked)))
    result = query(graph, text, base=case.query.as_uri())
    assert case.result is not None
    if result.kind == "construct":
        assert graph_of(list(result.tokens())) == graph_of(triples_of(case.result))  # type: ignore[misc]
        return
    if case.result.suffix == ".csv":
        out = io.StringIO()
        result.write(out, "csv")
        given, told = (re.sub(r"_:\w+", "_:b", t) for t in (out.getvalue(), case.result.read_text()))
        assert sorted(given.splitlines()) == sorted(told.splitlines())
        return
    expected = expected_rows(case.result)
    if isinstance(expected, bool):
        assert result.boolean is expected
        return
    wanted = [{name: local(token) for name, token in row.items()} for row in expected]
    assert as_graph(rows_of(result.variables, result.tokens())) == as_graph(wanted)


@pytest.mark.parametrize("case", parameters(*EVALUATION))
def test_evaluation(embedded: Engine, case: Case) -> None:
    evaluate(embedded, case)


def answerable() -> list[Case]:
    """The cases of evaluation that are answered, not refused."""
    return [case for version in VERSIONS for case in cases(version) if case.kind in EVALUATION]


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
    parse_query(case.query.read_text(encoding="utf-8"), case.query.as_uri())


@pytest.mark.parametrize("case", parameters("NegativeSyntax"))
def test_what_is_wrong_is_refused(case: Case) -> None:
    text = case.query.read_text(encoding="utf-8")
    with pytest.raises(TriplakeError):
        parse_query(text, case.query.as_uri())
