"""Connected components of edge lists that outgrow one machine: GraphFrames, or joins. Both are verified.

Pointer jumping in SQL: Shiloach and Vishkin 1982, with contraction. A round hooks every node under its smallest
neighbour (or itself), jumps pointers until every tree is a star, replaces the ends of each edge by their roots and
keeps the edges between different roots. On most graphs a round at least halves the roots that still have edges.
"""

from __future__ import annotations

import importlib.util
import logging
from typing import TYPE_CHECKING

import pyarrow as pa

from triplestore.engine.spark_session import is_local
from triplestore.model.errors import EngineError

if TYPE_CHECKING:
    from triplestore.engine.spark import SparkEngine

log = logging.getLogger(__name__)


class GraphFramesMissing(Exception):  # noqa: N818 - not an error: another algorithm takes over
    """GraphFrames cannot be used here; says what is missing."""


def by_graphframes(engine: SparkEngine, edges: str) -> pa.Table:
    """(node, component) by GraphFrames' connectedComponents (two-phase large-star, small-star: Kiveris et al. 2014).

    Raises GraphFramesMissing without its Python package or its jars, EngineError where the result is wrong.
    """
    spark = engine.spark
    if importlib.util.find_spec("graphframes") is None:
        raise GraphFramesMissing("its Python package is not installed (pip install 'triplake[spark]')")
    loader = spark._jvm.Thread.currentThread().getContextClassLoader()
    if loader.getResource("org/graphframes/GraphFrame.class") is None:
        raise GraphFramesMissing("its jars are not on the class path (TRIPLAKE_GRAPHFRAMES_JARS names them)")
    from graphframes import GraphFrame

    local = is_local(spark.sparkContext.master)  # then no executor can be lost, and checkpoints may stay in memory
    spark.sparkContext.setCheckpointDir(engine.scratch)
    log.info("components of %s by GraphFrames", edges)
    ends = spark.sql(f"SELECT a AS src, b AS dst FROM {edges}")
    nodes = spark.sql(f"SELECT a AS id FROM {edges} UNION SELECT b FROM {edges}")
    result = GraphFrame(nodes, ends).connectedComponents(
        algorithm="two_phase", broadcastThreshold=-1, useLabelsAsComponents=True, use_local_checkpoints=local
    )
    try:
        result.createOrReplaceTempView("_graphframes")
        engine.create("_label", "SELECT id AS node, component FROM _graphframes")
    finally:
        spark.catalog.dropTempView("_graphframes")
        result.unpersist()
    return _verified(engine, edges)


def by_pointer_jumping(engine: SparkEngine, edges: str) -> pa.Table:
    """(node, component) by joins alone. Raises EngineError where the result is wrong."""
    engine.create("_label", f"SELECT a AS node, a AS component FROM {edges} UNION SELECT b, b FROM {edges}")
    remaining = engine.create("_open", f"SELECT DISTINCT a, b FROM {edges} WHERE a <> b")
    rounds = 0
    while remaining:
        rounds += 1
        engine.create(
            "_parent",
            "SELECT a AS node, LEAST(a, MIN(b)) AS parent FROM "
            "(SELECT a, b FROM _open UNION ALL SELECT b, a FROM _open) both_ways GROUP BY a",
        )
        while engine.query(
            "SELECT 1 FROM _parent c JOIN _parent p ON c.parent = p.node AND c.parent <> p.parent LIMIT 1"
        ).num_rows:
            engine.create("_parent", "SELECT c.node, p.parent FROM _parent c JOIN _parent p ON c.parent = p.node")
        engine.create(
            "_label",
            "SELECT l.node, COALESCE(p.parent, l.component) AS component "
            "FROM _label l LEFT JOIN _parent p ON l.component = p.node",
        )
        remaining = engine.create(
            "_open",
            "SELECT DISTINCT a.parent AS a, b.parent AS b FROM _open e "
            "JOIN _parent a ON e.a = a.node JOIN _parent b ON e.b = b.node WHERE a.parent <> b.parent",
        )
        log.info("pointer jumping, round %d: %d edges between different roots remain", rounds, remaining)
    engine.drop("_parent", "_open")
    return _verified(engine, edges)


def _verified(engine: SparkEngine, edges: str) -> pa.Table:
    """Table `_label` as the result, dropped, once it has passed: every node once, both ends of every edge alike, and
    each component named by its smallest node."""
    faults = {
        "two ends of one edge differ, or have no component": (
            f"SELECT 1 FROM {edges} e LEFT JOIN _label a ON e.a = a.node LEFT JOIN _label b ON e.b = b.node "
            "WHERE a.component IS NULL OR b.component IS NULL OR a.component <> b.component LIMIT 1"
        ),
        "a node occurs twice": "SELECT 1 FROM _label GROUP BY node HAVING COUNT(*) > 1 LIMIT 1",
        "a component is not its smallest node": (
            "SELECT 1 FROM _label GROUP BY component HAVING MIN(node) <> component LIMIT 1"
        ),
    }
    try:
        for fault, sql in faults.items():
            if engine.query(sql).num_rows:
                raise EngineError(f"connected components are wrong: {fault}", sql)
        return engine.query("SELECT node, component FROM _label")
    finally:
        engine.drop("_label")
