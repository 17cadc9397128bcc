"""Classes made of many links: those that are committed are those of an independent union-find.

Bounds are on the processor's time, all cores together, so that a busy machine does not break them.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
import pytest

from datasets.links.generate import EX, Ints, Links, chain, links, triples
from datasets.output import write
from triplestore.engine.arrow import as_numpy
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.tables import SAME_AS, TERM
from triplestore.storage import segments
from triplestore.storage.versions import Versions
from triplestore.store import Store


def union_find(data: Links) -> Ints:
    """The least number of the class of each resource, by number: union by lesser root, paths halved."""
    parent = list(range(len(data.members)))
    for a, b in zip(data.a.tolist(), data.b.tolist(), strict=True):
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    for x, above in enumerate(parent):  # whoever is above x is less, and has its root by now
        parent[x] = parent[above]
    return np.array(parent, dtype=np.int64)


def committed(path: Path, size: int) -> Ints:
    """The number of the representative of each resource, by number, as the newest version's files say."""
    engine = DuckDBEngine()
    versions = Versions(path)
    manifest = versions.read()
    for table in (SAME_AS, TERM):
        segments.attach(engine, versions, manifest, table)
    number = f"CAST(substr({{}}.lexical, {len(EX) + 2}) AS BIGINT)"
    found = engine.query(
        f"SELECT {number.format('m')} AS member, {number.format('r')} AS representative FROM same_as s "
        "JOIN term m ON m.id = s.term JOIN term r ON r.id = s.representative"
    )
    engine.close()
    labels = np.arange(size)
    labels[as_numpy(found.column(0))] = as_numpy(found.column(1))
    return labels


def same_classes(a: Ints, b: Ints) -> bool:
    """Whether two labellings say the same: one label of one for each label of the other."""
    pairs = np.unique(np.stack([a, b], axis=1), axis=0)
    return len(pairs) == len(np.unique(a)) == len(np.unique(b))


def loaded(tmp_path: Path, data: Links, engine: str = "duckdb", session: object = None) -> float:
    """Load the links into a new store and check its classes; the processor's seconds of the load."""
    write(triples(data), str(tmp_path / "links.nt"))
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    with Store.create(tmp_path / "kg", engine=engine, spark=session) as store:  # type: ignore[arg-type]
        store.load(tmp_path / "links.nt")
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{len(data.a):,} links: {wall:.1f} s, {seconds:.1f} s of processor time")
    assert same_classes(committed(tmp_path / "kg", len(data.members)), union_find(data))
    return seconds


def test_classes(tmp_path: Path) -> None:
    loaded(tmp_path, links(20_000, 3_000, seed=1))


@pytest.mark.long
@pytest.mark.spark
def test_classes_on_spark(tmp_path: Path, spark: object) -> None:
    loaded(tmp_path, links(3_000, 500, seed=1), "spark", spark)


def test_chain(tmp_path: Path) -> None:
    loaded(tmp_path, chain(20_000, seed=1))


@pytest.mark.long
def test_a_chain_of_a_million_links(tmp_path: Path) -> None:
    assert loaded(tmp_path, chain(1_000_000)) < 30


@pytest.mark.long
def test_three_million_links(tmp_path: Path) -> None:
    assert loaded(tmp_path, links(3_000_000)) < 30
