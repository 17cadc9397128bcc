"""Attempts of `auto` that are aborted, or finished by another algorithm, come out right on each engine; and the choice
depends on the store and the change alone."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rdflib.namespace import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from tests.support.thresholds import set_fields
from triplestore import Store
from triplestore.maintain.budget import Budget
from triplestore.maintain.thresholds import Thresholds

E = Namespace("http://e/")
EDGES = [(E[f"n{i}"], E.p, E[f"n{i + 1}"]) for i in range(700) if i % 4 < 3]
DELETED = EDGES[::2]
LOW = {"fact": 1, "scratch": len(DELETED) + 1, "schema": 0, "share": 10**9}
"""The facts to delete are within the budget, not what they lead to."""


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    """A store with short transitive chains, whose closure is in memory."""
    made = make_store(
        equality="axioms", add=[(E.p, RDF.type, OWL.TransitiveProperty), (E.p, RDFS.domain, E.Node), *EDGES]
    )
    made.update(delete=EDGES[1:3])
    made.update(add=EDGES[1:3])
    return made


def deleted_as_materialised(store: Store) -> dict[str, Any]:
    """The figures of deleting half of the edges; what is left is what materialising makes of it."""
    figures = store.update(delete=DELETED)
    now = set(store.triples())
    assert not now & set(DELETED)
    store.materialise()
    assert set(store.triples()) == now
    return figures


@pytest.mark.parametrize(
    ("rules", "name", "sets"),
    [
        (False, "dred", {"overdeleted", "rederived"}),
        pytest.param(
            True,
            "fixpoint-update",
            {"overdeleted", "kept", "rederived", "supported"},
            marks=pytest.mark.long_on_spark,
        ),
    ],
)
def test_what_is_within_the_budget_is_finished(
    store: Store, monkeypatch: pytest.MonkeyPatch, rules: bool, name: str, sets: set[str]
) -> None:
    """By FP-update where running the rules is less work than checking the overdeleted facts."""
    monkeypatch.setattr(Budget, "prefers_rules", lambda *_: rules)
    figures = deleted_as_materialised(store)
    assert figures["algorithm"] == name
    assert set(figures["sets"]) == sets
    assert "tried" not in figures["phases"]


@pytest.mark.long_on_spark
def test_an_aborted_attempt_leaves_no_trace(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    set_fields(monkeypatch, Thresholds, **LOW)
    before = set(store.triples())
    dry = store.update(delete=DELETED, dry_run=True)
    assert set(store.triples()) == before
    figures = deleted_as_materialised(store)
    for one in (dry, figures):
        assert one["algorithm"] == "rematerialise"
        assert "more work than computing the closure from scratch" in one["reason"]
        assert one["phases"]["tried"] > 0
    assert (dry["added"], dry["deleted"]) == (figures["added"], figures["deleted"])


@pytest.mark.long_on_spark
def test_a_named_algorithm_is_never_aborted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    set_fields(monkeypatch, Thresholds, **LOW)
    assert store.update(delete=DELETED, maintain="dred")["algorithm"] == "dred"


@pytest.mark.long_on_spark
@pytest.mark.parametrize("constants", [{}, LOW], ids=["finished", "aborted"])
def test_time_does_not_matter(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constants: dict[str, int]
) -> None:
    """The same change of two copies, one of them on a machine whose clocks leap: the same choice and the same work."""
    set_fields(monkeypatch, Thresholds, **constants)
    path, engine = store.path, store.engine_name
    seen = []
    for name, leaps in (("steady", False), ("leaping", True)):
        shutil.copytree(path, tmp_path / name)  # as it is now
        with monkeypatch.context() as patch, Store.open(tmp_path / name, engine=engine) as copy:
            if leaps:
                for clock in ("thread_time", "process_time", "perf_counter", "monotonic"):
                    patch.setattr(time, clock, _leaping(getattr(time, clock)))
            for change in ({"delete": EDGES[:7]}, {"add": EDGES[:7]}, {"delete": DELETED}):
                copy.update(**change)
                figures = copy.stats()["last"]
                seen.append({key: value for key, value in figures.items() if key not in ("seconds", "phases")})
    assert seen[:3] == seen[3:]


def _leaping(clock: Callable[[], float]) -> Callable[[], float]:
    """The clock, ahead by seconds more each time it is looked at."""
    ahead, choice = 0.0, random.Random(0)

    def leaping() -> float:
        nonlocal ahead
        ahead += choice.random() * 10
        return clock() + ahead

    return leaping


@pytest.mark.long_on_spark
def test_a_store_with_figures_of_an_earlier_version_opens(store: Store) -> None:
    """What such stores have learnt of algorithms is ignored."""
    workspace = store._session.workspace
    manifest = workspace.manifest
    learnt = {"checking_us": 1, "doubt_ns": 10**9, "anew_ms": 1, "reach_milli": 10**9, "naive_ms": 1}
    workspace.manifest = replace(manifest, stats={**manifest.stats, **learnt})
    assert deleted_as_materialised(store)["algorithm"] in ("dred", "fixpoint-update")
