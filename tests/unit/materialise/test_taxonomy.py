"""Ontologies that are large themselves: the closure is exact, and statements do not multiply with axioms."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from datasets.taxonomy.generate import EX, Taxonomy, superclasses, taxonomy, triples, types
from tests.support.random_programs import Triple
from triplake import rulesets
from triplestore.compile.schema import Constants
from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.materialise.tables import Tables
from triplestore.model.terms import RDFS, TYPE, builtin
from triplestore.model.thresholds import SIZES
from triplestore.storage.manifest import Counters


def tokens(data: Taxonomy) -> list[Triple]:
    lines = "".join(triples(data)).splitlines()
    return [(s, p, o) for s, p, o, _ in (line.split(" ") for line in lines)]


def close(engine: Engine, data: Taxonomy, many: int) -> Tables:
    encoding.builtin_terms(engine, "term")
    engine.load("raw", pa.table({c: [t[i] for t in tokens(data)] for i, c in enumerate("spo")}))
    encoding.encode(engine, "raw", Counters())
    engine.append("term", ["SELECT * FROM new_term"])
    engine.create("given", "SELECT s, p, o FROM encoded")
    run = Tables(engine, rulesets.named("owl2rl").rules, "rewrite", Constants({}), many=many)
    run.materialise()
    return run


def counted(engine: Engine) -> tuple[int, int]:
    """(types of the instances, rdfs:subClassOf), in the closure."""
    instances = f"SELECT id FROM term WHERE lexical LIKE '{EX}i%'"
    return (
        engine.query(f"SELECT count(*) AS n FROM fact WHERE p = {TYPE} AND s IN ({instances})").column(0)[0].as_py(),
        engine.query(f"SELECT count(*) AS n FROM fact WHERE p = {builtin(RDFS + 'subClassOf')}").column(0)[0].as_py(),
    )


@pytest.mark.parametrize("many", [0, 200, SIZES.small])
def test_the_closure_is_what_the_tree_says(embedded: Engine, many: int) -> None:
    """All joined, grown too large while it was closed (the tree has 313 links), and all in memory."""
    data = taxonomy(300, 6, 0.05, 60, 300, seed=4)
    close(embedded, data, many)
    assert counted(embedded) == (types(data), superclasses(data))


@pytest.mark.long
@pytest.mark.spark
def test_the_closure_is_what_the_tree_says_on_spark(spark_engine: Engine) -> None:
    data = taxonomy(300, 6, 0.05, 60, 300, seed=4)
    close(spark_engine, data, 200)
    assert counted(spark_engine) == (types(data), superclasses(data))


class Counting(DuckDBEngine):
    """Counts the statements that derive."""

    statements = 0

    def append(self, name: str, selects: Sequence[str]) -> list[int]:
        self.statements += len(selects)
        return super().append(name, selects)


def test_statements_do_not_multiply_with_axioms() -> None:
    """Ten times the classes, intersections and instances: as many statements, give or take those that find nothing."""
    counts = []
    for size in (400, 4_000):
        engine = Counting(threads=1)
        run = close(engine, taxonomy(size, 5, 0.05, size // 10, size, seed=1), 100)
        counts.append(engine.statements)
        assert len(run.program.instances) < 20
        engine.close()
    assert counts[1] <= counts[0] + 5


def test_the_generator_keeps_its_word() -> None:
    data = taxonomy(5_000, 12, 0.05, 500, 1_000, seed=2)
    number = {"classes": len(data.parent), "parts": len(data.parts), "instances": len(data.types)}
    assert number == {"classes": 5_000, "parts": 500, "instances": 1_000}
    depth = [0] * 5_000
    for child in range(1, 5_000):
        depth[child] = depth[data.parent[child]] + 1
        assert data.parent[child] < child
        assert data.second[child] < child
    assert max(depth) == 12
    assert 0.03 < sum(data.second >= 0) / 5_000 < 0.06
    lines = "".join(triples(data)).splitlines()
    assert len(lines) == len(set(lines))
