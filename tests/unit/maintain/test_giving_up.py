"""What `auto` begins and gives up, or leaves to another algorithm on the way, comes out as it must, on each engine."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from rdflib.namespace import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from triplestore import Store
from triplestore.maintain import choose
from triplestore.maintain import dred_or_fixpoint_update as either
from triplestore.maintain.foretell import Foretelling
from triplestore.maintain.join import Rules
from triplestore.maintain.keys import Ids, Mask
from triplestore.maintain.run import Run

E = Namespace("http://e/")
EDGES = [(E[f"n{i}"], E.p, E[f"n{i + 1}"]) for i in range(700) if i % 4 < 3]
DELETED = EDGES[::2]
"""Enough of the data to be overdeleted in portions, not too much to be maintained at all."""


@pytest.fixture
def begun(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with short transitive chains, whose closure is in memory; DRed is the faster algorithm."""
    monkeypatch.setattr(choose, "_compared", lambda *_: {"checking_us": 0})
    store = make_store(equality="axioms")
    axioms = [(E.p, RDF.type, OWL.TransitiveProperty), (E.p, RDFS.domain, E.Node)]
    store.update(add=[*axioms, *EDGES])
    store.update(delete=EDGES[1:3])
    store.update(add=EDGES[1:3])
    return store


def knowing(store: Store, **stats: int) -> None:
    """Put figures among those of the store."""
    manifest = store._session.manifest
    store._session.workspace.manifest = replace(manifest, stats={**manifest.stats, **stats})


def deleted_as_it_must(store: Store) -> dict[str, Any]:
    """The figures of deleting half of the edges, what is left being what materialising makes of it."""
    figures = store.update(delete=DELETED)
    now = set(store.triples())
    assert not now & set(DELETED)
    store.materialise()
    assert set(store.triples()) == now
    return figures


def test_the_cheaper_one_is_finished(begun: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Foretelling, "dear", lambda *_: False)
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(Foretelling, "dear_rest", lambda _, done, size, *__: bool(asked.append((done, size))))
    figures = deleted_as_it_must(begun)
    assert figures["algorithm"] == "dred"
    assert [size for _, size in asked] == [len(DELETED)] * len(asked)
    assert len(asked) >= 1
    assert "tried" not in figures["phases"]


@pytest.mark.long_on_spark
@pytest.mark.parametrize("plain", [None, True], ids=["by a sample", "at once"])
def test_fixpoint_update_finishes_it(begun: Store, monkeypatch: pytest.MonkeyPatch, plain: bool | None) -> None:
    monkeypatch.setattr(either, "FEW", 10)
    for name in ("dear", "dear_rest"):
        monkeypatch.setattr(Foretelling, name, lambda *_: False)
    answer = {1: plain, 2: True}
    monkeypatch.setattr(Foretelling, "by_fixpoint_update", lambda _, *given: answer[len(given)])
    figures = deleted_as_it_must(begun)
    assert figures["algorithm"] == "fixpoint-update"
    assert set(figures["sets"]) == {"overdeleted", "kept", "rederived", "supported"}


@pytest.mark.long_on_spark
def test_what_asking_takes_however_few_facts_there_are_is_none_of_the_forecast(
    begun: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes a millisecond each time, and two microseconds for each fact."""
    told: list[tuple[int, float]] = []
    asked: list[int] = []
    derivable = Run.derivable

    def ask(run: Run, rules: Rules, facts: Ids, *others: Any) -> Mask:
        asked.append(len(facts))
        return derivable(run, rules, facts, *others)

    monkeypatch.setattr(Run, "derivable", ask)
    monkeypatch.setattr(Run, "taken", property(lambda _: 1e-3 * len(asked) + 2e-6 * sum(asked)))
    monkeypatch.setattr(either, "FEW", 10)
    monkeypatch.setattr(Foretelling, "portions", lambda _, gone: iter([gone]))
    monkeypatch.setattr(Foretelling, "dear", lambda *_: False)
    monkeypatch.setattr(Foretelling, "by_fixpoint_update", lambda _, *given: told.append(given) if given[1:] else None)
    assert deleted_as_it_must(begun)["algorithm"] == "dred"
    *sample, rest = asked
    assert 1 < sum(sample) < rest
    assert told == [(pytest.approx(sum(asked), rel=0.5), pytest.approx(2e-6 * rest))]


@pytest.mark.parametrize("name", [pytest.param("dear", marks=pytest.mark.long_on_spark), "dear_rest"])
def test_what_is_given_up_leaves_no_trace(begun: Store, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Before a round, or after a portion."""
    monkeypatch.setattr(Foretelling, "dear", lambda *_: name == "dear")
    monkeypatch.setattr(Foretelling, "dear_rest", lambda *_: True)
    before = set(begun.triples())
    dry = begun.update(delete=DELETED, dry_run=True)
    assert set(begun.triples()) == before
    figures = deleted_as_it_must(begun)
    for one in (dry, figures):
        assert one["algorithm"] == "rematerialise"
        assert "dearer than computing the closure anew" in one["reason"]
        assert one["phases"]["tried"] > 0
    assert (dry["added"], dry["deleted"]) == (figures["added"], figures["deleted"])


@pytest.mark.long_on_spark
def test_checking_that_was_given_up_is_remembered(begun: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    knowing(begun, checking_us=500, anew_ms=10_000)
    monkeypatch.setattr(Run, "taken", 1e9)
    figures = deleted_as_it_must(begun)
    assert figures["algorithm"] == "rematerialise"
    assert "backward-forward was dearer" in figures["reason"]
    assert begun._session.manifest.stats["checking_us"] > 600


@pytest.mark.long_on_spark
def test_what_was_given_up_is_no_cost_of_computing_anew(begun: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def dear(*_: Any) -> bool:
        time.sleep(0.3)
        return True

    monkeypatch.setattr(Foretelling, "dear", dear)
    knowing(begun, anew_ms=0)
    figures = begun.update(delete=DELETED)
    assert figures["phases"]["tried"] >= 0.3
    besides = sum(figures["phases"].get(name, 0.0) for name in ("read", "net", "tried"))
    assert 0 < begun._session.manifest.stats["anew_ms"] / 1000 <= figures["seconds"] - besides


@pytest.mark.long_on_spark
def test_what_computing_anew_takes_is_a_mean(begun: Store) -> None:
    """And no more than a quarter more than what was known."""
    for known, least, most in ((100_000, 50_000, 60_000), (10, 10, 11)):
        knowing(begun, anew_ms=known)
        begun.update(delete=DELETED, maintain="rematerialise")
        assert least <= begun._session.manifest.stats["anew_ms"] <= most
        begun.update(add=DELETED)
