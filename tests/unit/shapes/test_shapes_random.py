"""Random shapes over random data: the results are those that pySHACL finds in the closure."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
import rdflib

from tests.support import shapes_random
from triplestore import Store

if TYPE_CHECKING:
    from tests.conftest import MakeStore

QUICK, LONG = 2, 30


def compare(store: Store, seed: int, equal: bool, folder: Path) -> None:
    random = Random(seed)
    file = folder / "data.ttl"
    file.write_text(shapes_random.data(random, equal), encoding="utf-8")
    store.load(file)
    closure = rdflib.Graph()
    for triple in store.triples():
        closure.add(triple)
    for _ in range(3):
        text = shapes_random.shapes(random)
        found = store.validate(rdflib.Graph().parse(data=text, format="turtle"))
        assert shapes_random.rows(found) == shapes_random.by_pyshacl(closure, text), text


@pytest.mark.parametrize("equal", [False, True], ids=["asserted", "closure"])
@pytest.mark.parametrize(
    "seeds", [range(QUICK), pytest.param(range(QUICK, LONG), marks=pytest.mark.long)], ids=["few", "many"]
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.sampled(each=2)
def test_results_are_those_of_pyshacl(seeds: range, equal: bool, tmp_path: Path) -> None:
    for seed in seeds:
        with Store.create(tmp_path / str(seed), "owl2rl" if equal else "none", engine="duckdb") as store:
            compare(store, seed, equal, tmp_path)


@pytest.mark.long_on_spark
@pytest.mark.filterwarnings("ignore")
def test_on_each_engine(make_store: MakeStore, tmp_path: Path) -> None:
    compare(make_store(), 1000, True, tmp_path)
