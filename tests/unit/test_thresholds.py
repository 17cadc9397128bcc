"""No size or threshold changes a result: random closures, maintenance, updates and queries, with each at its least
value and at a very large one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.support.answers import check_seed
from tests.support.equality_programs import random_facts
from tests.support.histories import in_a_store
from tests.support.random_programs import ex
from tests.support.random_tangles import tangle
from tests.support.sparql_random import everywhere, random_grouped_query, random_path_query, random_query
from tests.support.stores import as_terms
from tests.support.tangles import check
from tests.support.thresholds import classes, set_fields, values
from triplestore import Store
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.terms import OWL, RDFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

ALSO_ZERO: Final = ("triplestore.model.small", "triplestore.engine.in_driver")
ON_SPARK: Final = ("rows_per_file", "parts", "in_driver", "one_thread", "inline", "share", "rows")

Case = tuple[str, float]


def cases() -> list[Case]:
    """Each field at its least value, which takes the way of large data, and so large that all data are small."""
    found: list[Case] = []
    for name, value in values().items():
        if isinstance(value, float):
            found += [(name, 0.0), (name, 1000 * value)]
        else:
            found += [(name, number) for number in (*([0] if name in ALSO_ZERO else []), 1, 1000 * value)]
    return found


EMBEDDED: Final = [case for case in cases() if not case[0].startswith("triplestore.engine.")]
SPARK: Final = [case for case in cases() if case[0].rpartition(".")[2] in ON_SPARK]


@pytest.fixture
def thresholds(request: pytest.FixtureRequest) -> Iterator[str]:
    """One field at another value."""
    name, value = request.param
    package, _, field = name.rpartition(".")
    with pytest.MonkeyPatch.context() as patch:
        set_fields(patch, classes()[package], **{field: value})
        yield f"{name} = {value}"


@pytest.fixture
def turn(request: pytest.FixtureRequest) -> int:
    """A number that goes round the cases: each takes its turn with one of several data sets."""
    return EMBEDDED.index(request.node.callspec.params["thresholds"])


def each(found: list[Case], half: int | None = None) -> pytest.MarkDecorator:
    """Every case. half: 0 or 1, every second one, so that two tests share them."""
    chosen = found if half is None else found[half::2]
    return pytest.mark.parametrize(
        "thresholds", chosen, indirect=True, ids=[f"{name}={value}" for name, value in chosen]
    )


@pytest.fixture
def fresh() -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(threads=1)
    yield engine
    engine.close()


@each(EMBEDDED, half=0)
def test_closures_and_maintenance(thresholds: str, turn: int, fresh: DuckDBEngine) -> None:
    """By tables and in memory, in both modes, by every algorithm."""
    seed, literals = ((3, False), (8, True), (41, False))[turn % 3]
    check(fresh, tangle(seed, literals))


@each(EMBEDDED, half=1)
def test_queries(thresholds: str, fresh: DuckDBEngine) -> None:
    check_seed(fresh, 7, random_query, 3)
    check_seed(fresh, 2003, random_path_query, 2, everywhere())
    check_seed(fresh, 4007, random_grouped_query, 2)


@each(EMBEDDED, half=1)
def test_histories(thresholds: str, turn: int, tmp_path: Path) -> None:
    if turn % 2:
        in_a_store(tmp_path, "11", ("rewrite", "backward-forward", False), 3)
    else:
        in_a_store(tmp_path, "12", ("axioms", "dred-counting", True), 3)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is read of a store with every threshold as it is."""
    return tour(tmp_path_factory.mktemp("usual"))


@each(EMBEDDED, half=0)
def test_what_is_read(usual: dict[str, Any], thresholds: str, tmp_path: Path) -> None:
    """Answers, look-ups, proofs, differences between versions and counts are as without."""
    found = tour(tmp_path)
    for what, value in usual.items():
        assert found[what] == value, f"{what}, {thresholds}"


QUERIES: Final = (
    "SELECT ?s ?o { ?s <http://e/p0> ?o }",
    "SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s",
    "SELECT ?s ?o { ?s (<http://e/p0>|<http://e/next>)+ ?o FILTER(ISIRI(?o) && STRLEN(STR(?o)) > 2) }",
    "SELECT ?x ?v { ?x a ?c BIND(CONCAT(STR(?c), '-', STR(?x)) AS ?v) }",
    "DESCRIBE <http://e/a>",
    "CONSTRUCT { ?o <http://e/back> ?s } { ?s <http://e/p1> ?o FILTER(!ISLITERAL(?o)) }",
)


def tour(folder: Path, engine: str = "duckdb", spark: SparkSession | None = None) -> dict[str, Any]:
    """A store with a few versions, and what is read of it."""
    rng, found = Random(5), dict[str, Any]()
    chain = [(ex(f"n{i}"), ex("next"), ex(f"n{i + 1}")) for i in range(6)]
    first = [*random_facts(rng), *chain, (ex("next"), f"<{RDFS}domain>", ex("C0"))]
    transitive = (ex("next"), "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", f"<{OWL}TransitiveProperty>")
    steps = [([transitive], []), (random_facts(rng), []), ([(ex("a"), f"<{OWL}sameAs>", ex("n2"))], chain[:2])]
    with Store.create(folder / "kg", ["owl2rl"], "rewrite", engine, spark) as store:
        store.update(add=as_terms(first))
        for add, delete in steps:
            store.update(add=as_terms(add), delete=as_terms(delete))
        found["triples"] = sorted(map(str, store.triples()))
        found["counts"] = store.count("all"), store.count("inferred"), store.violated()
        for text in QUERIES:
            for _ in range(3 if engine == "duckdb" else 1):  # the answers of what is asked often are found otherwise
                found[text] = sorted(map(str, store.query(text)))
            found[f"{text}, streamed"] = sorted(map(str, store.query(text, stream=True)))
        for term in ("a", "n2", "n5"):
            node = as_terms([(ex(term), ex(term), ex(term))])[0][0]
            found[f"match {term}"] = sorted(map(str, store.match(node, None, None)))
            found[f"into {term}"] = sorted(map(str, store.match(None, None, node)))
        inferred = sorted(store.triples("inferred"), key=str)[:6]
        proofs = [store.explain(triple) for triple in inferred]
        found["proofs"] = [proof and proof.depth for proof in proofs]
        found["classes"] = [sorted(map(str, members)) for _, members in store.equality_classes()]
        found["versions"] = len(store.log())
        for version in range(2, store.version + 1):
            with store.log_facts(version) as difference:
                found[f"difference {version}"] = {
                    (kind, sign): sorted(difference.lines(kind, sign))
                    for kind, signs in difference.counts.items()
                    for sign in signs
                }
        store.compact()
        store.vacuum(1)
        found["compacted"] = sorted(map(str, store.triples()))
    with Store.open(folder / "kg", engine=engine, spark=spark, verify=True) as store:
        found["opened"] = sorted(map(str, store.triples()))
    return found


@pytest.mark.spark
@each(SPARK)
def test_what_is_read_on_spark(usual: dict[str, Any], thresholds: str, tmp_path: Path, spark: SparkSession) -> None:
    found = tour(tmp_path, "spark", spark)
    for what, value in usual.items():
        assert found[what] == value, f"{what}, {thresholds}"
