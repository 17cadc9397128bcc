"""What the tests of engines share: tables, files, graphs, and the reference for their components."""

from __future__ import annotations

import random
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from triplestore.engine import Engine, StoredFile, WrittenFile
from triplestore.model.terms import SPELLING, spelling

Edges = list[tuple[int, int]]


def rows(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query, sorted, NULLs first."""
    table = engine.query(sql)
    found = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(found, key=lambda row: [(value is not None, value) for value in row])


def pairs(*given: tuple[int, int]) -> pa.Table:
    return pa.table(
        {"a": pa.array([a for a, _ in given], pa.int64()), "b": pa.array([b for _, b in given], pa.int64())}
    )


def stored(*paths: Path | str) -> list[StoredFile]:
    """Files without checksums, for an engine to attach."""
    found = []
    for path in map(Path, paths):
        rows, size = (pq.read_metadata(path).num_rows, path.stat().st_size) if path.exists() else (1, 0)
        found.append(StoredFile(str(path), WrittenFile(path.name, rows, size)))
    return found


def values() -> pa.Table:
    """One row of every column type of the store, and one of NULLs."""
    return pa.table(
        {
            "i": pa.array([1 << 61, None], pa.int64()),
            "t": pa.array(["é \\ ' \"\n", None], pa.string()),
            "d": pa.array([0.1, None], pa.float64()),
            "e": pa.array([Decimal("-12345678901234567890.123456789012345678"), None], pa.decimal128(38, 18)),
            "f": pa.array([[1, 1 << 62, -3], None], pa.list_(pa.int64())),
        }
    )


PHYSICAL = [("i", "INT64"), ("t", "BYTE_ARRAY"), ("d", "DOUBLE"), ("e", "FIXED_LEN_BYTE_ARRAY"), ("f", "INT64")]


def physical(file: Path) -> list[tuple[str, str]]:
    schema = pq.ParquetFile(file).schema
    columns = [schema.column(number) for number in range(len(schema.names))]
    return [(column.path.split(".")[0], column.physical_type) for column in columns]


def lines(engine: Engine, *files: Path) -> list[tuple[int, str]]:
    engine.lines("l", [str(file) for file in files])
    return rows(engine, "SELECT file, line FROM l")


def union_find(edges: Edges) -> dict[int, int]:
    """node -> smallest node of its component, one edge at a time: the reference of the tests."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            node = parent[node]
        return node

    for a, b in edges:
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    return {node: root(node) for node in parent}


def random_graph(seed: int, nodes: int, edges: int) -> Edges:
    choose = random.Random(seed)
    names = [choose.getrandbits(62) for _ in range(nodes)]
    return [(choose.choice(names), choose.choice(names)) for _ in range(edges)]


def shuffled(edges: Iterable[tuple[int, int]], seed: int = 3) -> Edges:
    mixed = list(edges)
    random.Random(seed).shuffle(mixed)
    return mixed


GRAPHS: dict[str, Edges] = {
    "nothing": [],
    "a loop": [(5, 5)],
    "chain": shuffled((n, n + 1) for n in range(500)),
    "chain, ends far apart": shuffled(((n * 389) % 1009, ((n + 1) * 389) % 1009) for n in range(700)),
    "star, smallest in the middle": shuffled((0, n) for n in range(1, 300)),
    "star, largest in the middle": shuffled((n, 300) for n in range(300)),
    "sparse": random_graph(1, 800, 500),
    "dense": random_graph(2, 100, 2000),
    "both ways and repeated": [(1, 2), (2, 1), (1, 2), (4, 3), (3, 3)],
}


def check_components(engine: Engine, edges: Edges) -> None:
    engine.load("given", pairs(*edges))
    table = engine.components("SELECT a, b FROM given")
    found = list(zip(table["node"].to_pylist(), table["component"].to_pylist(), strict=True))
    assert sorted(found) == sorted(union_find(edges).items())


def check_numbered(engine: Engine, tokens: set[str]) -> None:
    engine.load("given", pa.table({"token": pa.array(sorted(tokens, key=hash), pa.string())}))
    assert engine.number("given", "SELECT token FROM given", SPELLING, len(tokens)) == len(tokens)
    assert rows(engine, "SELECT n, token FROM given") == list(enumerate(sorted(tokens, key=spelling), 1))


TOKENS = {f"<http://e/{chr(code)}{n % 7}>" for n, code in enumerate([*range(33, 500), *range(0x1F600, 0x1F640)])}
TOKENS |= {f"<http://e/{n}>" for n in range(200)}
