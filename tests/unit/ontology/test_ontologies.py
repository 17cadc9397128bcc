"""Ontologies in the manner of Brick and of FIBO: they close, to what is worked out without rules; and owl:imports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyoxigraph
import pytest

from datasets.building import generate as building
from datasets.building import ontology
from datasets.building.ontology import Vocabulary
from datasets.finance import generate as finance
from tests.support import oracle
from tests.support.cli import run
from tests.support.rule_cases import ntriples
from triplake import rulesets
from triplestore import Store
from triplestore.model.terms import from_rdflib, literal_token

Triple = tuple[str, str, str]
B, F = building.SCHEMA, finance.BASE


def building_files(data: building.Buildings) -> dict[str, str]:
    made = {"data": data.triples(), "schema": ontology.schema(data.vocabulary)}
    return {name: "".join(text) for name, text in {**made, "tag": ontology.tags(), "unit": ontology.units()}.items()}


def finance_files(data: finance.Finance) -> dict[str, str]:
    return {f"m{number}": "".join(finance.module(data, number)) for number in range(data.modules)}


def written(files: dict[str, str], folder: Path) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.ttl").write_text(text, encoding="utf-8")
    return folder


def number(store: Store, query: str) -> int:
    ((found,),) = store.query(query)
    return int(found)


def test_buildings_close_to_what_their_tags_and_parts_say(tmp_path: Path) -> None:
    data = building.Buildings(Vocabulary(2, 2, 2, 1), 2)
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.load(written(building_files(data), tmp_path / "files"))
        assert store.check() == []
        points = f"?c <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{B}Point> . ?x a ?c ; <{B}isPointOf> ?box"
        named = f"FILTER(STRSTARTS(STR(?c), '{B}'))"
        assert number(store, f"SELECT (COUNT(*) AS ?n) {{ {points} {named} }}") == building.types(data)
        assert number(store, f"SELECT (COUNT(*) AS ?n) {{ ?x <{B}hasLocation> ?y }}") == building.locations(data)
        assert store.missing_imports() == {f"{ontology.BASE}dimension": [f"{ontology.BASE}unit"]}


def test_modules_close_to_what_their_classes_and_links_say(tmp_path: Path) -> None:
    data = finance.Finance(12, 12, 20)
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.load(written(finance_files(data), tmp_path / "files"))
        assert store.check() == []
        individuals = f"?i a <http://www.w3.org/2002/07/owl#NamedIndividual>, ?c FILTER(STRSTARTS(STR(?c), '{F}'))"
        assert number(store, f"SELECT (COUNT(*) AS ?n) {{ {individuals} }}") == finance.types(data)
        outside = {finding.what for finding in store.outside_profile()}
        assert {"owl:someValuesFrom on the right", "owl:unionOf on the right", "owl:minCardinality"} <= outside
        assert store.missing_imports() == {finance.UPPER: [f"{F}m0/"]}


def facts_of(texts: Iterable[str]) -> set[Triple]:
    """The triples of Turtle texts, blank nodes made IRIs so that closures can be compared as sets."""

    def token(term: object, text: int) -> str:
        if isinstance(term, pyoxigraph.BlankNode):
            return f"<http://blank.example/{text}/{term.value}>"
        if isinstance(term, pyoxigraph.Literal):
            return literal_token(term.value, term.datatype.value, term.language)
        return str(term)

    return {
        (token(q.subject, n), token(q.predicate, n), token(q.object, n))
        for n, text in enumerate(texts)
        for q in pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.TURTLE)
    }


SMALL = {
    "building": building_files(building.Buildings(Vocabulary(1, 1, 1, 0), 1, 1, 1, 2)),
    "finance": finance_files(finance.Finance(2, 6, 3)),
}


@pytest.mark.parametrize("name", SMALL)
def test_the_oracle_agrees_on_small_cuts(name: str, tmp_path: Path) -> None:
    facts = facts_of(SMALL[name].values())
    (tmp_path / "facts.nt").write_text(ntriples(facts), encoding="utf-8")
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.load(tmp_path / "facts.nt")
        expected = oracle.closure_by_value(facts, rulesets.named("owl2rl").rules)
        found = {(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in store.triples()}
        assert found == oracle.rdf_only(expected.triples)
        assert expected.violated == set(store.violated())


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ("<x:a> a owl:Ontology ; owl:imports <x:b>", ["x:a imports x:b,"]),
        ("<x:a> owl:imports <x:b> . <x:b> a owl:Ontology", []),
        ("<x:a> owl:imports <x:b#> . <x:b> a owl:Ontology", []),
        ("<x:a> owl:imports <x:b> . <x:b#> a owl:Ontology", []),
        ("<x:a> owl:imports <x:1/b> . <x:b> a owl:Ontology ; owl:versionIRI <x:1/b>", []),
        ("<x:a> owl:imports <x:b> . <x:c> owl:imports <x:b>", ["x:a and 1 more import x:b,"]),
        ("<x:a> owl:imports 'x:b', []", []),
        ("<x:a> owl:imports <x:b> . <x:b> owl:versionIRI 'x:b'", ["x:a imports x:b,"]),
        ("_:a a owl:Ontology ; owl:imports <x:b>", ["_:f1_a imports x:b,"]),
        ("<x:a> owl:imports <x:b>, <x:c>", ["x:a imports x:b,", "x:a imports x:c,"]),
    ],
)
@pytest.mark.sampled(each=3)
def test_loading_warns_of_imports_that_were_not_given(given: str, missing: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(f"@prefix owl: <http://www.w3.org/2002/07/owl#> . {given} .", encoding="utf-8")
    told = run("load", tmp_path / "kg", tmp_path / "a.ttl", "--quiet").err.splitlines()
    assert len(told) == len(missing)
    for line, start in zip(told, missing, strict=True):
        assert line.startswith(f"warning: {start} which is not loaded")
        assert "load its file, too" in line


def test_no_more_than_five_missing_imports_are_named(tmp_path: Path) -> None:
    many = ", ".join(f"<x:{n}>" for n in range(8))
    (tmp_path / "a.ttl").write_text(f"<x:a> <http://www.w3.org/2002/07/owl#imports> {many} .", encoding="utf-8")
    told = run("load", tmp_path / "kg", tmp_path / "a.ttl", "--quiet").err.splitlines()
    assert len(told) == 6
    assert told[-1] == "warning: 3 more imports are not loaded"
