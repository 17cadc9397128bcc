"""The W3C SPARQL 1.1 Update suites: what needs the default graph only does what they say, the rest is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from tests.support.sparql import ox_term
from tests.w3c.manifest import MISSING
from tests.w3c.sparql import SPARQL, Case, cases, shaped, triples_of
from triplake.sparql.update import parse_update
from triplestore import Store
from triplestore.model.errors import TriplakeError, UnsupportedError
from triplestore.model.terms import from_rdflib

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(not SPARQL.exists(), reason=MISSING)

SIZES = {"UpdateEvaluation": 94, "PositiveUpdateSyntax": 42, "NegativeUpdateSyntax": 13}

NAMED = 65
"""Evaluation tests whose request speaks of a named graph: each is refused, with the place."""


def found(kind: str) -> list[Case]:
    """The cases of a kind, in the manifests' order."""
    return [case for case in cases("sparql11") if case.kind.startswith(kind)] if SPARQL.exists() else []


def parameters(kind: str) -> list[object]:
    return [pytest.param(case, id=f"{case.suite}-{case.name}") for case in found(kind)]


def names_graphs(case: Case) -> bool:
    """Whether a request speaks of a named graph: in a clause, or as an end of ADD, MOVE and COPY."""
    text = re.sub(r"#[^\n]*", "", re.sub(r"<[^ >]*>", "<>", case.query.read_text(encoding="utf-8")))
    clause = re.search(r"\b(GRAPH|WITH|USING|INTO|CREATE)\b", text, re.IGNORECASE)
    end = re.search(r"\b(?:ADD|MOVE|COPY)\s+(?:SILENT\s+)?(?!DEFAULT\s+TO\s+DEFAULT\b)", text, re.IGNORECASE)
    return (clause or end) is not None


def graph_of(triples: list[tuple[str, str, str]]) -> pyoxigraph.Dataset:
    return shaped([pyoxigraph.Quad(*(ox_term(t) for t in triple)) for triple in triples])  # type: ignore[arg-type]


def evaluate(store: Store, case: Case) -> None:
    """Carry out the request on its data and compare the default graph."""
    store.replace(*[case.data] if case.data else [])
    text, version = case.query.read_text(encoding="utf-8"), store.version
    if names_graphs(case):
        with pytest.raises(UnsupportedError, match=r"line \d+, column \d+: .*named graphs"):
            store.sparql_update(text)
        assert store.version == version
        return
    store.sparql_update(text)
    assert store.version <= version + 1
    now = [(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in store.triples("asserted")]
    assert graph_of(now) == graph_of(triples_of(case.result))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store without rules for all cases."""
    with Store.create(tmp_path_factory.mktemp("w3c") / "kg", ["none"], engine="duckdb") as made:
        yield made


@pytest.mark.parametrize("case", parameters("UpdateEvaluation"))
def test_evaluation(store: Store, case: Case) -> None:
    evaluate(store, case)


@pytest.mark.spark
@pytest.mark.long
def test_evaluation_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], spark=spark) as made:
        for case in found("UpdateEvaluation"):
            if not names_graphs(case):
                evaluate(made, case)


@pytest.mark.parametrize("case", parameters("PositiveUpdateSyntax"))
def test_what_is_right_is_accepted(case: Case) -> None:
    text = case.query.read_text(encoding="utf-8")
    named = pytest.raises(UnsupportedError, match="named graphs") if names_graphs(case) else nullcontext()
    with named:
        parse_update(text, base=case.query.as_uri())


@pytest.mark.parametrize("case", parameters("NegativeUpdateSyntax"))
def test_what_is_wrong_is_refused(case: Case) -> None:
    with pytest.raises(TriplakeError):
        parse_update(case.query.read_text(encoding="utf-8"), base=case.query.as_uri())


def test_whole_suite_is_run() -> None:
    assert {kind: len(found(kind)) for kind in SIZES} == SIZES
    assert sum(map(names_graphs, found("UpdateEvaluation"))) == NAMED
