"""Connected components of edge lists that outgrow one machine: GraphFrames, or joins. Both are verified.

Pointer jumping in SQL: Shiloach and Vishkin 1982, with contraction. A round hooks every node under its smallest
neighbour (or itself), jumps pointers until every tree is a star, replaces the ends of each edge by their roots and
keeps the edges between different roots. On most graphs a round at least halves the roots that still have edges.
"""

from __future__ import annotations

import importlib.util
import logging

import pyarrow as pa

from triplestore.engine.components import connected_components
from triplestore.engine.protocol import Workbench
from triplestore.engine.spark.jobs import Jobs
from triplestore.engine.spark.session import is_local
from triplestore.engine.spark.tables import Tables
from triplestore.model.errors import EngineError, how_to_install
from triplestore.model.thresholds import SIZES

log = logging.getLogger(__name__)


class GraphFramesMissing(Exception):  # noqa: N818 - not an error: another algorithm takes over
    """GraphFrames cannot be used here; says what is missing."""


class SparkComponents:
    """`Components` by whichever way suits the number of edges.

    folder: for checkpoints.
    """

    def __init__(self, bench: Workbench, tables: Tables, jobs: Jobs, folder: str) -> None:
        self._bench, self._tables, self._jobs, self._folder = bench, tables, jobs, folder

    def __call__(self, sql: str) -> pa.Table:
        with self._bench.scratch() as scratch:
            edges = scratch.table("_edges")
            columns = "CAST(a AS BIGINT) AS a, CAST(b AS BIGINT) AS b"
            rows = self._bench.create(edges, f"SELECT {columns} FROM ({sql}) AS _rows(a, b)")
            if rows <= SIZES.in_memory:
                log.info("components of %d edges in the driver's memory", rows)
                return connected_components(self._bench.query(f"SELECT a, b FROM {edges}"))
            try:
                return self.by_graphframes(edges)
            except GraphFramesMissing as missing:
                log.info("components of %d edges without GraphFrames: %s", rows, missing)
            log.info("components of %d edges by pointer jumping", rows)
            return by_pointer_jumping(self._bench, edges)

    def by_graphframes(self, edges: str) -> pa.Table:
        """(node, component) by GraphFrames' connectedComponents (two-phase large-star, small-star: Kiveris et al.
        2014). Raises GraphFramesMissing without its Python package or its jars, EngineError for a wrong result."""
        spark = self._tables.spark
        if importlib.util.find_spec("graphframes") is None:
            raise GraphFramesMissing(f"its Python package is not installed ({how_to_install('spark')})")
        loader = spark._jvm.Thread.currentThread().getContextClassLoader()
        if loader.getResource("org/graphframes/GraphFrame.class") is None:
            raise GraphFramesMissing("its jars are not on the class path (TRIPLAKE_GRAPHFRAMES_JARS names them)")
        from graphframes import GraphFrame

        local = is_local(spark.sparkContext.master)  # then no executor can be lost, and checkpoints stay in memory
        spark.sparkContext.setCheckpointDir(self._folder)
        log.info("components of %s by GraphFrames", edges)
        with self._bench.scratch() as scratch, self._jobs.running(f"(GraphFrames, components of {edges})"):
            ends = self._tables.select(f"SELECT a AS src, b AS dst FROM {edges}")
            nodes = self._tables.select(f"SELECT a AS id FROM {edges} UNION SELECT b FROM {edges}")
            result = GraphFrame(nodes, ends).connectedComponents(
                algorithm="two_phase", broadcastThreshold=-1, useLabelsAsComponents=True, use_local_checkpoints=local
            )
            try:
                found = scratch.table("_graphframes")
                result.createOrReplaceTempView(found)
                label = scratch.create("_label", f"SELECT id AS node, component FROM {found}")
            finally:
                result.unpersist()
            return verified(self._bench, edges, label)


def by_pointer_jumping(bench: Workbench, edges: str) -> pa.Table:
    """(node, component) by joins alone. Raises EngineError where the result is wrong."""
    with bench.scratch() as scratch:
        labels = f"SELECT a AS node, a AS component FROM {edges} UNION SELECT b, b FROM {edges}"
        label = scratch.create("_label", labels)
        remaining, parent = scratch.table("_open"), scratch.table("_parent")
        rows, rounds = bench.create(remaining, f"SELECT DISTINCT a, b FROM {edges} WHERE a <> b"), 0
        while rows:
            rounds += 1
            _hook(bench, remaining, parent)
            bench.create(
                label,
                "SELECT l.node, COALESCE(p.parent, l.component) AS component "
                f"FROM {label} l LEFT JOIN {parent} p ON l.component = p.node",
            )
            rows = bench.create(
                remaining,
                f"SELECT DISTINCT a.parent AS a, b.parent AS b FROM {remaining} e "
                f"JOIN {parent} a ON e.a = a.node JOIN {parent} b ON e.b = b.node WHERE a.parent <> b.parent",
            )
            log.info("pointer jumping, round %d: %d edges between different roots remain", rounds, rows)
        return verified(bench, edges, label)


def _hook(bench: Workbench, edges: str, parent: str) -> None:
    """Make `parent`: every node under its smallest neighbour, and then under the root of its tree."""
    bench.create(
        parent,
        "SELECT a AS node, LEAST(a, MIN(b)) AS parent FROM "
        f"(SELECT a, b FROM {edges} UNION ALL SELECT b, a FROM {edges}) both_ways GROUP BY a",
    )
    above = f"FROM {parent} c JOIN {parent} p ON c.parent = p.node"
    while bench.query(f"SELECT 1 {above} AND c.parent <> p.parent LIMIT 1").num_rows:
        bench.create(parent, f"SELECT c.node, p.parent {above}")


def verified(bench: Workbench, edges: str, label: str) -> pa.Table:
    """Table `label` (node, component), once it has passed: every node once, both ends of every edge alike, and each
    component named by its smallest node. Raises EngineError."""
    faults = {
        "two ends of one edge differ, or have no component": (
            f"SELECT 1 FROM {edges} e LEFT JOIN {label} a ON e.a = a.node LEFT JOIN {label} b ON e.b = b.node "
            "WHERE a.component IS NULL OR b.component IS NULL OR a.component <> b.component LIMIT 1"
        ),
        "a node occurs twice": f"SELECT 1 FROM {label} GROUP BY node HAVING COUNT(*) > 1 LIMIT 1",
        "a component is not its smallest node": (
            f"SELECT 1 FROM {label} GROUP BY component HAVING MIN(node) <> component LIMIT 1"
        ),
    }
    for fault, sql in faults.items():
        if bench.query(sql).num_rows:
            raise EngineError(f"connected components are wrong: {fault}", sql)
    return bench.query(f"SELECT node, component FROM {label}")
