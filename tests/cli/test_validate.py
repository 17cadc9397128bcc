"""`triplake validate`: its formats, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rdflib
from rdflib.namespace import SH

from tests.support.cli import run

DATA = "@prefix : <http://e/> . :a a :P ; :name 'A' . :b a :P ; :age 3 ."
SHAPES = """@prefix : <http://e/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
:s sh:targetClass :P ; sh:property [ sh:path :name ; sh:minCount 1 ; sh:message 'nameless' ] ."""


@pytest.fixture
def kg(tmp_path: Path) -> str:
    (tmp_path / "data.ttl").write_text(DATA, encoding="utf-8")
    (tmp_path / "shapes.ttl").write_text(SHAPES, encoding="utf-8")
    assert run("load", "-q", str(tmp_path / "kg"), str(tmp_path / "data.ttl")).code == 0
    return str(tmp_path / "kg")


def test_formats(kg: str, tmp_path: Path) -> None:
    shapes = str(tmp_path / "shapes.ttl")
    table = run("validate", kg, shapes)
    assert table.code == 1
    assert table.out.splitlines()[1].split() == ["Violation", ":b", ":name", "nameless"]
    assert table.out.splitlines()[2] == "does not conform: 1 result (Violation 1)"
    found = json.loads(run("validate", kg, shapes, "--format", "json").out)
    assert (found["conforms"], [r["focus"] for r in found["results"]]) == (False, ["<http://e/b>"])
    graph = rdflib.Graph().parse(data=run("validate", kg, shapes, "--format", "ntriples").out, format="nt")
    assert list(graph.objects(None, SH.focusNode)) == [rdflib.URIRef("http://e/b")]


def test_what_conforms_and_what_is_wrong(kg: str, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(SHAPES.replace(":name", ":age").replace("minCount", "maxCount"), encoding="utf-8")
    held = run("validate", kg, str(shapes))
    assert (held.code, held.out) == (0, "conforms\n")
    untargeted = tmp_path / "untargeted.ttl"
    untargeted.write_text(SHAPES.replace("sh:targetClass :P ;", ""), encoding="utf-8")
    assert "no shape has a target" in run("validate", kg, str(untargeted)).err
    shapes.write_text(SHAPES.replace("sh:path :name ;", ""), encoding="utf-8")
    failed = run("validate", kg, str(shapes))
    assert failed.code == 3
    assert "http://e/s" in failed.err
    assert "sh:path" in failed.err
