"""The counts of `stats` are those of what is exported and answered, whatever the rules and the equality mode."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.support.literal_programs import random_facts
from tests.support.stores import as_terms
from triplestore import Store

RULES: Final = (
    ("none",),
    ("rdf",),
    ("rdf", "rdf-axiomatic"),
    ("rdf", "datatypes"),
    ("rdfs",),
    ("rdfs-plus",),
    ("owl2rl",),
    ("owl2rl", "rdfs", "rdfs-axiomatic"),
)


@pytest.mark.parametrize(
    "equality", ["rewrite", *(pytest.param(mode, marks=pytest.mark.long) for mode in ("axioms", "off"))]
)
@pytest.mark.parametrize("rules", RULES, ids="+".join)
@pytest.mark.sampled(each=3)
def test_counts_are_those_of_exports(tmp_path: Path, rules: tuple[str, ...], equality: str) -> None:
    with Store.create(tmp_path / "kg", rules, equality, engine="duckdb") as store:
        for seed in range(2):
            store.update(add=as_terms(random_facts(Random(seed))))
            stats = store.stats()
            exported = {what: set(store.triples(what)) for what in ("all", "asserted", "inferred")}
            lines = {what: sum(map(len, store.lines(what))) for what in exported}
            assert lines == {what: len(found) for what, found in exported.items()}
            assert lines == {"all": stats.expanded, "asserted": stats.asserted, "inferred": stats.inferred}
            assert lines == {what: store.count(what) for what in lines}
            assert exported["inferred"] == exported["all"] - exported["asserted"]
            assert exported["asserted"] <= exported["all"]
            assert stats.facts - stats.generalised <= stats.expanded
            assert len(list(store.query("SELECT * { ?s ?p ?o }"))) == stats.expanded
