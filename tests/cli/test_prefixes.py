"""Prefixes that a store keeps, as users see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import done, refused, run
from triplestore import Store

TURTLE = '@prefix ex: <http://e/> . @prefix v: <http://e/v#> . ex:a a v:C ; v:knows ex:b ; v:when "x"^^v:day .'
OTHER = "@prefix ex: <http://other/> . @prefix o: <http://other/> . ex:a a o:C ."
RDFXML = """<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x "http://xml/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="&x;" xmlns="http://none/">
  <rdf:Description rdf:about="http://xml/a"><x:b xmlns:inside="http://inside/">1</x:b></rdf:Description>
</rdf:RDF>"""
JSONLD = """{"@context": {"j": "http://json/", "name": "http://json/name"}, "@id": "j:a", "name": "n"}"""
PATCH = "TX .\nPA p: <http://patch/> .\nA <http://patch/a> p:b p:c .\nTC .\nTX .\nPD j: .\nA p:d p:b p:c .\nTC .\n"


@pytest.fixture
def kg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # where `refused` looks for what a refused command has left
    (tmp_path / "first.ttl").write_text(TURTLE)
    (tmp_path / "second.ttl").write_text(OTHER)
    done("load", tmp_path / "kg", tmp_path / "first.ttl", tmp_path / "second.ttl", "--rules", "none")
    return tmp_path / "kg"


def listed(kg: Path) -> list[tuple[str, str, str, bool]]:
    return [tuple(row.values()) for row in json.loads(done("prefixes", kg, "list", "--json"))]  # type: ignore[misc]


def test_the_first_of_a_name_stays(tmp_path: Path, kg: Path) -> None:
    assert listed(kg) == [
        ("ex", "http://e/", "first.ttl", True),
        ("v", "http://e/v#", "first.ttl", True),
        ("ex", "http://other/", "second.ttl", False),
        ("o", "http://other/", "second.ttl", True),
    ]
    assert done("prefixes", kg, "list").splitlines() == [
        "ex:  <http://e/>   first.ttl",
        "v:   <http://e/v#>   first.ttl",
        "ex:  <http://other/>   second.ttl   (not used: the name stands for another IRI)",
        "o:   <http://other/>   second.ttl",
    ]
    loaded = run("load", tmp_path / "again", tmp_path / "first.ttl", tmp_path / "second.ttl")
    assert "the prefix ex: stays <http://e/>; second.ttl has <http://other/>\n" in loaded.err


def test_they_are_read_and_written(tmp_path: Path, kg: Path) -> None:
    assert done("query", kg, "SELECT ?y { ex:a v:knows ?y }").splitlines() == ["?y", "----", "ex:b", "(1 row)"]
    own = "PREFIX ex: <http://other/> PREFIX w: <http://e/v#> SELECT ?c { ex:a a o:C . ?x a ?c } ORDER BY ?c"
    assert done("query", kg, own).splitlines()[2:] == ["w:C", "ex:C", "(2 rows)"]
    assert done("explain", kg, "o:a", "a", "o:C") == "o:a a o:C   [asserted]\n"
    (tmp_path / "more.ru").write_text("INSERT DATA { ex:a v:knows o:c } ; DELETE WHERE { ex:a v:when ?x }")
    done("update", kg, tmp_path / "more.ru")
    done("export", kg, "-o", tmp_path / "all.ttl")
    assert (tmp_path / "all.ttl").read_text().splitlines() == [
        "@prefix ex: <http://e/> .",
        "@prefix v: <http://e/v#> .",
        "@prefix o: <http://other/> .",
        "ex:a a v:C ;",
        "    v:knows ex:b, o:c .",
        "o:a a o:C .",
    ]
    refused(2, "query", kg, "SELECT * { ?x ?y no:z }", says="the prefix 'no:' is not declared")


def test_yours_are_first(kg: Path) -> None:
    done("prefixes", kg, "add", "mine=http://e/", "o:=<http://o/>")
    assert listed(kg)[:3] == [
        ("mine", "http://e/", "you", True),
        ("o", "http://o/", "you", True),
        ("ex", "http://e/", "first.ttl", True),
    ]
    assert listed(kg)[-1] == ("o", "http://other/", "second.ttl", False)
    assert done("query", kg, "SELECT ?y { ex:a v:knows ?y }").splitlines()[2] == "mine:b"
    done("prefixes", kg, "add", "mine=http://m/")
    done("prefixes", kg, "remove", "o", "ex:")
    assert listed(kg) == [("mine", "http://m/", "you", True), ("v", "http://e/v#", "first.ttl", True)]
    with Store.open(kg) as store:
        assert store.prefixes.declared == {"mine": "http://m/", "v": "http://e/v#"}
        store.compact()
        assert store.version == 6
    assert len(listed(kg)) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add",), "prefixes add needs NAME=IRI, as in ex=http://example.org/"),
        (("add", "x"), "'x' declares no prefix: write NAME=IRI"),
        (("add", "a b=http://e/"), "'a b' is not a prefix: use letters, digits"),
        (("add", "x=e>"), "'e' is not an IRI that a prefix can stand for"),
        (("remove",), "prefixes remove needs the names of prefixes"),
        (("remove", "q"), "the store has no prefix 'q:'"),
        (("list", "q"), "prefixes list takes no names"),
        (("add", "x=http://e/", "--json"), "--json is for prefixes list"),
    ],
)
@pytest.mark.sampled(each=3)
def test_wrong_usage(kg: Path, arguments: tuple[str, ...], said: str) -> None:
    refused(2, "prefixes", kg, *arguments, says=said)
    assert len(listed(kg)) == 4


def test_where_they_are_declared(tmp_path: Path) -> None:
    for name, text in (("a.rdf", RDFXML), ("b.jsonld", JSONLD), ("c.rdfp", PATCH)):
        (tmp_path / name).write_text(text)
    kg = tmp_path / "kg"
    done("load", kg, tmp_path / "a.rdf", tmp_path / "b.jsonld", "--rules", "none")
    assert listed(kg) == [
        ("x", "http://xml/", "a.rdf", True),
        ("", "http://none/", "a.rdf", True),
        ("j", "http://json/", "b.jsonld", True),
    ]
    done("update", kg, tmp_path / "c.rdfp")
    with Store.open(kg) as store:
        store.sparql_update("PREFIX u: <http://update/> INSERT DATA { u:a u:b u:c }")
        store.sparql_update("PREFIX n: <http://nothing/> DELETE DATA { n:a n:b n:c }")
    assert [row[0] for row in listed(kg)] == ["x", "", "p", "u"]
    before = done("query", kg, "SELECT (COUNT(*) AS ?n) { ?x ?p ?o }")
    (tmp_path / "d.ttl").write_text("@prefix late: <http://late/> .")
    done("load", kg, tmp_path / "d.ttl")
    assert listed(kg)[-1] == ("late", "http://late/", "d.ttl", True)
    assert done("query", kg, "SELECT (COUNT(*) AS ?n) { ?x ?p ?o }") == before
    copied = tmp_path / "copied"
    done("copy", kg, copied)
    assert listed(copied) == listed(kg)


def test_those_of_files_that_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `update --add`, and by LOAD of SPARQL Update."""
    monkeypatch.chdir(tmp_path)
    Path("a.ttl").write_text("@prefix a: <http://a/> . a:x a:y a:z .")
    Path("b.ttl").write_text("@prefix b: <http://b/> . b:x b:y b:z .")
    Path("load.ru").write_text("LOAD <b.ttl>")
    done("init", "kg", "--rules", "none")
    done("update", "kg", "--add", "a.ttl")
    done("update", "kg", "load.ru", "--load-folder", ".")
    assert [row[:3] for row in listed(Path("kg"))] == [("a", "http://a/", "a.ttl"), ("b", "http://b/", "b.ttl")]
