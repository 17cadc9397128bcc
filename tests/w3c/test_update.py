"""The W3C SPARQL 1.1 Update suites: requests do what they say, or are refused as they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from tests.support.sparql import ox_term
from tests.w3c.manifest import MISSING
from tests.w3c.sparql import SPARQL, Case, cases, dataset_of, shaped
from triplake.sparql.update import parse_update
from triplestore import Store
from triplestore.model.errors import TriplakeError
from triplestore.model.terms import to_ntriples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(not SPARQL.exists(), reason=MISSING)

SIZES = {"UpdateEvaluation": 94, "PositiveUpdateSyntax": 42, "NegativeUpdateSyntax": 13}


def found(kind: str) -> list[Case]:
    """The cases of a kind, in the manifests' order."""
    return [case for case in cases("sparql11") if case.kind.startswith(kind)] if SPARQL.exists() else []


def parameters(kind: str) -> list[object]:
    return [pytest.param(case, id=f"{case.suite}-{case.name}") for case in found(kind)]


def dataset(quads: Iterable[tuple[str, ...]]) -> pyoxigraph.Dataset:
    return shaped([pyoxigraph.Quad(*(ox_term(t) for t in quad)) for quad in quads])  # type: ignore[arg-type]


def evaluate(store: Store, case: Case, folder: Path) -> None:
    """Carry out the request on its data and compare all graphs."""
    data = folder / "data.nq"
    data.write_text("".join(f"{' '.join(map(to_ntriples, quad))} .\n" for quad in dataset_of(case.data, case.named)))
    store.replace(data)
    text, version = case.query.read_text(encoding="utf-8"), store.version
    store.sparql_update(text)
    assert store.version <= version + 1
    now = [quad for batch in store.quad_batches() for quad in batch]
    expected = [case.result] if case.result else []
    assert dataset(now) == dataset(dataset_of(expected, case.result_named))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store without rules for all cases."""
    with Store.create(
        tmp_path_factory.mktemp("w3c") / "kg", ["none"], engine="duckdb", default_graph="separate"
    ) as made:
        yield made


@pytest.mark.parametrize("case", parameters("UpdateEvaluation"))
def test_evaluation(store: Store, case: Case, tmp_path: Path) -> None:
    evaluate(store, case, tmp_path)


@pytest.mark.spark
@pytest.mark.long
def test_evaluation_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], spark=spark, default_graph="separate") as made:
        for case in found("UpdateEvaluation")[::9]:  # a suite has several of a kind
            evaluate(made, case, tmp_path)


@pytest.mark.parametrize("case", parameters("PositiveUpdateSyntax"))
def test_what_is_right_is_accepted(case: Case) -> None:
    parse_update(case.query.read_text(encoding="utf-8"), base=case.query.as_uri())


@pytest.mark.parametrize("case", parameters("NegativeUpdateSyntax"))
def test_what_is_wrong_is_refused(case: Case) -> None:
    with pytest.raises(TriplakeError):
        parse_update(case.query.read_text(encoding="utf-8"), base=case.query.as_uri())


def test_whole_suite_is_run() -> None:
    assert {kind: len(found(kind)) for kind in SIZES} == SIZES
