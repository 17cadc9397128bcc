"""Stores of literals, and their closures as sets of triples."""

from __future__ import annotations

from pathlib import Path

import pytest
import rdflib

from tests.conftest import MakeStore
from triplestore import Store
from triplestore.model.terms import RDF, XSD, from_rdflib

Triple = tuple[str, str, str]


E = "http://e/"


PREFIXES = f"""@prefix : <{E}> . @prefix xsd: <{XSD}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix rdf: <{RDF}> .
"""


def loaded(
    make_store: MakeStore, folder: Path, turtle: str, equality: str | None = "rewrite", rules: str = "owl2rl"
) -> Store:
    store = make_store([rules], equality)
    file = folder / "data.ttl"
    file.write_text(PREFIXES + turtle, encoding="utf-8")
    store.load(str(file))
    return store


def triples(turtle: str) -> set[Triple]:
    graph = rdflib.Graph()
    rdflib.NORMALIZE_LITERALS, before = False, rdflib.NORMALIZE_LITERALS
    try:
        graph.parse(data=PREFIXES + turtle, format="turtle")
    finally:
        rdflib.NORMALIZE_LITERALS = before
    return {(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in graph}


def closure(store: Store, what: str = "all") -> set[Triple]:
    return {(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in store.triples(what)}


def of_data(found: set[Triple]) -> set[Triple]:
    """The triples of the data's own predicates."""
    return {triple for triple in found if triple[1].startswith(f"<{E}")}


each_mode = pytest.mark.parametrize(
    ("make_store", "equality"),
    [
        *(("duckdb", mode) for mode in ("rewrite", "axioms", "off")),
        pytest.param("spark", "rewrite", marks=pytest.mark.spark),
        *(pytest.param("spark", mode, marks=[pytest.mark.spark, pytest.mark.long]) for mode in ("axioms", "off")),
    ],
    indirect=["make_store"],
)
