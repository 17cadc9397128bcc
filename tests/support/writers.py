"""Data for writers that are killed, and what is found afterwards."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from rdflib import RDF

from triplestore import Store
from triplestore.storage.manifest import Manifest
from triplestore.storage.versions import Versions

EX = "http://ex/"


ONTOLOGY = f"""\
@prefix : <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Student rdfs:subClassOf :Person .
:knows a owl:SymmetricProperty ; rdfs:domain :Person ; rdfs:range :Person .
:email a owl:InverseFunctionalProperty .
"""


def people(start: int, count: int) -> str:
    """Four triples for each; every tenth has the e-mail address of the one before."""
    lines = []
    for n in range(start, start + count):
        me = f"<{EX}p{n}>"
        lines.append(f"{me} <{RDF.type}> <{EX}Student> .\n")
        lines.append(f'{me} <{EX}name> "Nr {n}" .\n')
        lines.append(f"{me} <{EX}knows> <{EX}p{start + (n * 7) % count}> .\n")
        lines.append(f'{me} <{EX}email> "{n - (n % 10 == 0)}@ex" .\n')
    return "".join(lines)


def state(store: Path, version: int | None = None) -> str:
    """A digest of everything that a version of a store says: each triple, and the counts."""
    with Store.open(store, at=version, engine="duckdb") as opened:
        digest = hashlib.sha256("\n".join(itertools.chain(*opened.lines(ordered=True))).encode()).hexdigest()
        stats = opened.stats()
    return f"{digest} {[stats[key] for key in ('asserted', 'facts', 'inferred', 'classes', 'materialised')]}"


def hold_before_publishing(monkeypatch: pytest.MonkeyPatch, hold: Callable[[], object]) -> None:
    """Do `hold` in every transaction, when its work is done and only the publishing is left."""
    publish = Versions.publish

    def held(versions: Versions, manifest: Manifest) -> Manifest:
        hold()
        return publish(versions, manifest)

    monkeypatch.setattr(Versions, "publish", held)
