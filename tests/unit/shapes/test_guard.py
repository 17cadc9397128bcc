"""Shapes that guard a store: a change whose result does not conform is refused, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import rdflib
from rdflib.namespace import OWL, RDF

from tests.support.cli import run
from triplestore import Store
from triplestore.model.errors import NonConformingError

if TYPE_CHECKING:
    from tests.conftest import MakeStore

E = rdflib.Namespace("http://e/")
SHAPES = """@prefix : <http://e/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
:s sh:targetClass :P ; sh:property [ sh:path :name ; sh:minCount 1 ; sh:maxCount 1 ; sh:message 'one name' ] ."""


def triples(store: Store) -> set[object]:
    return set(store.triples())


@pytest.mark.long_on_spark
def test_a_change_is_refused_or_carried_out_whole(make_store: MakeStore) -> None:
    store = make_store()
    store.shapes = rdflib.Graph().parse(data=SHAPES, format="turtle")
    assert store.shapes == ("<http://e/s>",)
    store.update(add=[(E.a, RDF.type, E.P), (E.a, E.name, rdflib.Literal("A")), (E.b, E.name, rdflib.Literal("B"))])
    before, version, files = triples(store), store.version, len(list((Path(store.path) / "data").iterdir()))
    with pytest.raises(NonConformingError, match=r"<http://e/b2>.*one name") as refused:
        store.update(add=[(E.b2, RDF.type, E.P)])
    assert [r.focus for r in refused.value.report.results] == [E.b2]
    with pytest.raises(NonConformingError):  # what follows counts: two names of one thing
        store.update(add=[(E.a, OWL.sameAs, E.b)])
    with pytest.raises(NonConformingError):
        store.sparql_update("DELETE WHERE { ?s a <http://e/Q> } ; DELETE WHERE { <http://e/a> <http://e/name> ?n }")
    with pytest.raises(NonConformingError, match="one name"):
        store.update(add=[(E.b2, RDF.type, E.P)], dry_run=True)
    names = "DELETE WHERE { ?s <http://e/name> 'B' } ; DELETE WHERE { <http://e/a> <http://e/name> ?n }"
    with pytest.raises(NonConformingError, match="one name"):
        store.sparql_update(names, dry_run=True)
    assert store.update(add=[(E.b, E.name, rdflib.Literal("C"))], dry_run=True).added == 1
    assert (store.version, triples(store)) == (version, before)
    assert len(list((Path(store.path) / "data").iterdir())) == files
    store.update(add=[(E.c, RDF.type, E.P), (E.c, E.name, rdflib.Literal("C")), (E.c, OWL.sameAs, E.d)])
    assert (E.d, E.name, rdflib.Literal("C")) in triples(store)
    store.shapes = ()
    store.update(add=[(E.b2, RDF.type, E.P)])
    assert not store.validate(rdflib.Graph().parse(data=SHAPES, format="turtle")).conforms


def test_commands(tmp_path: Path) -> None:
    kg, shapes, data = str(tmp_path / "kg"), tmp_path / "shapes.ttl", tmp_path / "data.ttl"
    shapes.write_text(SHAPES, encoding="utf-8")
    data.write_text("<http://e/a> a <http://e/P> .", encoding="utf-8")
    refused = run("load", "-q", kg, data, "--shapes", shapes)
    assert refused.code == 1
    assert "the change is refused, and was not committed: its result" in refused.err
    assert "<http://e/a> <http://e/name>: one name" in refused.err
    assert not (tmp_path / "kg").exists()
    good = tmp_path / "good.ttl"
    good.write_text("<http://e/a> a <http://e/P> ; <http://e/name> 'A' .", encoding="utf-8")
    assert run("load", "-q", kg, good, "--shapes", shapes).code == 0
    assert run("update", "-q", kg, "--delete", good, "--add", data, "--shapes", shapes).code == 1
    files = sorted((tmp_path / "kg").rglob("*.parquet"))
    assert run("update", "-q", kg, "--delete", good, "--add", data, "--dry-run", "--shapes", shapes).code == 1
    assert run("update", "-q", kg, "--add", good, "--dry-run", "--shapes", shapes).code == 0
    assert run("load", "-q", kg, data, "--dry-run", "--shapes", shapes).code == 0  # it is the same <http://e/a>
    good.write_text("<http://e/b> <http://e/p> 1 .", encoding="utf-8")
    assert "leave out --no-materialise" in run("load", "-q", kg, good, "--no-materialise", "--shapes", shapes).err
    assert sorted((tmp_path / "kg").rglob("*.parquet")) == files


def test_messages_name_the_option_for_the_format_of_shapes(tmp_path: Path) -> None:
    """Where there is one: of `--shapes` there is none."""
    kg, data, shapes, xml = str(tmp_path / "kg"), tmp_path / "d.ttl", tmp_path / "s.foo", tmp_path / "s.ttl"
    data.write_text("<http://e/a> a <http://e/P> .", encoding="utf-8")
    shapes.write_text(SHAPES, encoding="utf-8")
    xml.write_text('<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', encoding="utf-8")
    assert run("load", "-q", kg, data).code == 0
    for file, suffix, format in ((shapes, ".ttl", "ttl"), (xml, ".rdf", "rdfxml")):
        assert f"name it {suffix}, or say --shapes-format {format}\n" in run("validate", kg, file).err
        assert f"name it {suffix}\n" in run("update", kg, "--add", data, "--shapes", file).err
        assert f"name it {suffix}, or say --format {format}\n" in run("load", kg, file).err
    assert "add --shapes-format, one of" in run("validate", kg, "-").err
    assert "its syntax: name a file\n" in run("update", kg, "--add", data, "--shapes", "-").err


def test_a_batch_that_is_refused_says_what_was_committed(tmp_path: Path) -> None:
    kg, shapes, patch = str(tmp_path / "kg"), tmp_path / "shapes.ttl", tmp_path / "p.rdfp"
    shapes.write_text(SHAPES, encoding="utf-8")
    other = "<http://e/a> <http://e/p> <http://e/q>"
    rows = (f"{other} .", f"<http://e/b> {RDF.type.n3()} <http://e/P> .", "<http://e/c> <http://e/p> <http://e/q> .")
    patch.write_text("".join(f"TX .\nA {row}\nTC .\n" for row in rows), encoding="utf-8")
    Store.create(kg, engine="duckdb").close()
    refused = run("update", kg, patch, "--batch", "1", "--shapes", shapes)
    assert (refused.code, "nothing was committed" in refused.err) == (1, False)
    assert "1 of 3 transactions were committed before this" in refused.err


def test_messages_keep_to_their_line(tmp_path: Path) -> None:
    kg, shapes, data = str(tmp_path / "kg"), tmp_path / "shapes.ttl", tmp_path / "d.ttl"
    shapes.write_text(SHAPES.replace("one name", r"one\nname\u001B[2J\u0085é"), encoding="utf-8")
    data.write_text("<http://e/a> a <http://e/P> .", encoding="utf-8")
    told = r"one\nname\x1b[2J\x85é"
    assert told in run("load", "-q", kg, data, "--shapes", shapes).err
    assert run("load", "-q", kg, data).code == 0
    assert told in run("validate", kg, shapes).out
