"""Loads and replacements that are tried: what they tell is what they do, and they change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rdflib.namespace import OWL, RDF, Namespace

from tests.conftest import MakeStore
from tests.support.cli import run
from tests.support.seeds import seeds
from triplestore import Store
from triplestore.model.terms import from_rdflib, to_ntriples

E = Namespace("http://e/")
SAID = [
    (E.a, OWL.sameAs, E.b),
    (E.b, OWL.sameAs, E.c),
    (E.c, OWL.sameAs, E.d),
    (E.a, OWL.differentFrom, E.d),
    (E.a, RDF.type, E.C),
    (E.d, RDF.type, E.D),
    (E.C, OWL.disjointWith, E.D),
    (E.C, OWL.equivalentClass, E.F),
    (E.p, RDF.type, OWL.FunctionalProperty),
    (E.a, E.p, E.x),
    (E.d, E.p, E.y),
    (E.x, OWL.differentFrom, E.y),
]


def lines(triples: list[Any]) -> str:
    return "".join(f"{' '.join(to_ntriples(from_rdflib(term)) for term in triple)} .\n" for triple in triples)


def state(store: Store) -> tuple[Any, ...]:
    return (
        store.version,
        sorted(store.triples("all")),
        len(store.check()),
        sorted(len(members) for _, members in store.equality_classes(100, 100)),
        [graph.name for graph in store.graphs()],
    )


@pytest.mark.long_on_spark
@pytest.mark.parametrize("seed", seeds(range(15), 2))
def test_it_tells_what_would_be(make_store: MakeStore, tmp_path: Path, seed: int) -> None:
    dice = Random(seed)
    store = make_store(add=dice.sample(SAID, dice.randrange(9)))
    file = tmp_path / "some.nt"
    file.write_text(lines(dice.sample(SAID, dice.randrange(6))))
    graph = dice.choice(["", "", "http://e/g"])
    change: Any = store.replace if dice.random() < 0.4 else store.load
    before = state(store)
    tried = change(file, graph=graph, dry_run=True)
    assert state(store) == before
    assert list(tmp_path.glob("**/*.tmp")) == []
    done = change(file, graph=graph)
    after = state(store)
    assert (tried.triples, done.effect) == (done.triples, None)
    effect = tried.effect
    made, mended = (0, 0) if effect.violations is None else (effect.violations.made, effect.violations.mended)
    assert after[2] - before[2] == made - mended
    if after[0] == before[0]:
        assert (effect.added, effect.deleted, made, mended) == (0, 0, 0, 0)
    else:
        entry = store.log()[-1]
        assert (effect.added, effect.deleted) == (entry.last.added, entry.last.deleted)
        if not effect.algorithm.startswith("rematerialise"):
            assert (effect.merged, effect.split) == (entry.last.merged, entry.last.split)


def test_of_a_store_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "some.nt"
    file.write_text(lines(SAID))
    outcome = run("load", tmp_path / "kg", file, "--dry-run")
    assert outcome.code == 0
    assert "would add " in outcome.err + outcome.out
    assert "would make an inconsistency: " in outcome.out
    assert not (tmp_path / "kg").exists()


def test_as_json(tmp_path: Path) -> None:
    file = tmp_path / "some.nt"
    file.write_text(lines(SAID))
    figures = json.loads(run("load", tmp_path / "kg", file, "--dry-run", "--report", "json").out)
    assert figures["dry_run"]
    assert figures["triples"] == len(SAID)
    assert figures["effect"]["classes_merged"] == 2  # a to d, and x with y
    assert "version" not in figures
