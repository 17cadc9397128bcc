"""Fixtures that every test may use: one Spark session for the whole run, engines made afresh for each test."""

from __future__ import annotations

import gc
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from rdflib.term import Node

from triplake import rulesets
from triplestore import Store
from triplestore.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Triple = tuple[Node, Node, Node]
TOGETHER = 8
"""Cases of a long test that one process runs one after the other: fixtures of a module are made few times."""

ENGINES = ["duckdb", pytest.param("spark", marks=pytest.mark.spark)]


def pytest_configure() -> None:
    """Children heed Ctrl-C and SIGHUP, also where the tests are a background job, for which shells and nohup ignore
    them. What is imported is no garbage, and looking through it took a ninth of the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spark-alone", action="store_true", help="on Spark, run no statement in the driver")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what is `sampled` some cases run always, the others are long. What takes long on Spark is long there, or run
    with some of its cases. Where several processes run the tests, one of them runs those on Spark, so that there is one
    Java; the others go by file, long ones by function, a few cases at a time. First come those on Spark, then long
    ones, as they take longest."""
    met, long_ones, cases = Counter[str](), Counter[str](), Counter[tuple[str, bool]]()
    left_out: dict[pytest.Item, None] = {}
    for item in items:
        if {"spark", "spark_engine"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("spark")
        on_spark, long = item.get_closest_marker("spark"), item.get_closest_marker("long_on_spark")
        if on_spark and long:
            name = item.nodeid.partition("[")[0]
            if met[name] >= long.kwargs.get("but", 0):
                item.add_marker(pytest.mark.long)
            if met[name] % long.kwargs.get("each", 1):
                left_out[item] = None
            met[name] += 1
        if (sampled := item.get_closest_marker("sampled")) and not item.get_closest_marker("long"):
            family = (item.nodeid.partition("[")[0], bool(on_spark))
            if cases[family] % sampled.kwargs["each"]:
                item.add_marker(pytest.mark.long)
            cases[family] += 1
        if item.get_closest_marker("xdist_group"):
            continue
        function = f"{item.path.name}:{item.name.partition('[')[0]}"
        by = f"{function}:{long_ones[function] // TOGETHER}" if item.get_closest_marker("long") else item.path.name
        long_ones[function] += 1
        item.add_marker(pytest.mark.xdist_group("spark" if on_spark else by))
    if hasattr(config, "workerinput"):
        sizes = Counter(_group(item) for item in items)
        items.sort(key=lambda item: (_group(item) != "spark", _short(item), -sizes[_group(item)]))
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _group(item: pytest.Item) -> str:
    marker = item.get_closest_marker("xdist_group")
    assert marker is not None
    return str(marker.args[0])


def _short(item: pytest.Item) -> bool:
    return not item.get_closest_marker("long")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run, on two cores."""
    from triplestore.engine.spark.session import start_session

    session = start_session("local[2]", "3GB")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def in_driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Spark is tested alone, all statements over small tables are its own too."""
    alone = request.config.getoption("--spark-alone") or request.node.get_closest_marker("spark_alone")
    if alone and request.node.get_closest_marker("spark") and not request.node.get_closest_marker("by_driver"):
        monkeypatch.setattr("triplestore.engine.thresholds.Thresholds.in_driver", 0)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn, with nothing in it."""
    if request.param == "spark":
        from triplestore.engine.spark import SparkEngine

        made: Engine = SparkEngine(request.getfixturevalue("spark"))
    else:
        from triplestore.engine.duckdb import DuckDBEngine

        made = DuckDBEngine()
    yield made
    made.close()


@pytest.fixture(scope="session")
def embedded() -> Iterator[Engine]:
    """One DuckDB engine for tests that make all their tables anew."""
    from triplestore.engine.duckdb import DuckDBEngine

    made = DuckDBEngine(threads=1)
    yield made
    made.close()


@pytest.fixture
def spark_engine(spark: SparkSession) -> Iterator[Engine]:
    """A Spark engine."""
    from triplestore.engine.spark import SparkEngine

    made = SparkEngine(spark)
    yield made
    made.close()


class MakeStore(Protocol):
    """Makes a store on the engine at hand, empty or with triples that DuckDB adds; the test closes nothing."""

    def __call__(
        self, rules: Sequence[str] = ("owl2rl",), equality: str | None = None, add: Collection[Triple] = ()
    ) -> Store: ...


@pytest.fixture(scope="session")
def empty_stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Sequence[str], str | None], Path]:
    """Finds an empty store of built-in rulesets and a mode, to be copied; DuckDB makes each once."""
    folder = tmp_path_factory.mktemp("empty")

    @cache
    def found(rules: tuple[str, ...], equality: str | None) -> Path:
        path = folder / f"{'-'.join(rules)}-{equality}"
        Store.create(path, rules, equality, engine="duckdb").close()
        return path

    return lambda rules, equality: found(tuple(rules), equality)


@pytest.fixture(params=ENGINES)
def make_store(
    request: pytest.FixtureRequest, tmp_path: Path, empty_stores: Callable[[Sequence[str], str | None], Path]
) -> Iterator[MakeStore]:
    """Stores on each engine in turn, opened: `Store.create` on Spark is for tests of it."""
    made: list[Store] = []
    session = request.getfixturevalue("spark") if request.param == "spark" else None

    def make(rules: Sequence[str] = ("owl2rl",), equality: str | None = None, add: Collection[Triple] = ()) -> Store:
        path = tmp_path / f"store{len(made)}"
        if {*rules} <= {*rulesets.NAMES, "none"}:
            shutil.copytree(empty_stores(rules, equality), path)
        else:
            Store.create(path, rules, equality, engine="duckdb").close()
        if add:
            with Store.open(path, engine="duckdb") as store:
                store.update(add=add)
        made.append(Store.open(path, engine=request.param, spark=session))
        return made[-1]

    yield make
    for store in made:
        store.close()
