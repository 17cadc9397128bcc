"""Notebooks: what is shown there, and the magic that asks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from rdflib import URIRef
from rdflib.namespace import RDF

import triplake
from tests import ROOT
from tests.support.notebooks import Shell
from tests.support.turtle import graph
from triplake.loaders import Progress, progress
from triplake.sparql.results import Result
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.read.session import Session

A, C = URIRef("http://ex/a"), URIRef("http://ex/C")


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    triplake.load_ipython_extension(made)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "kg", engine="duckdb") as made:
        made.update(add=graph(":a a :B ; :name '<b>A & B</b>' ; owl:sameAs :a2 . :B rdfs:subClassOf :C"))
        yield made


def test_results(store: Store) -> None:
    html = store.query("SELECT ?x ?name ?none { ?x <http://ex/name> ?name } ORDER BY ?x")._repr_html_()
    assert html.startswith("<table>")
    assert ">none</th>" in html
    assert "&lt;b&gt;A &amp; B&lt;/b&gt;" in html
    assert "<b>" not in html
    assert '<a href="http://ex/a">&lt;http://ex/a&gt;</a>' in html
    assert store.query("ASK {}")._repr_html_() == "<p>yes</p>"
    many = store.query("SELECT ?n { VALUES ?n { " + " ".join(map(str, range(30))) + " } }")
    assert many._repr_html_().count("<tr>") == 21
    assert "the first 20 of 30 rows" in many._repr_html_()
    streamed = Result("select", ("c0",), iter([pa.record_batch({"c0": ["<http://e/a>"]})]))
    assert "streamed" in streamed._repr_html_()
    assert len(list(streamed)) == 1, "it is not read for that"


def test_stores_and_reports(store: Store) -> None:
    html = store._repr_html_()
    assert "<th>rules</th><td>owl2rl</td>" in html
    assert "<th>asserted</th><td>4</td>" in html
    report = store.update(add=[(A, RDF.type, C)])
    assert "<th>operation</th><td>update</td>" in report._repr_html_()
    assert "<th>asserted</th>" in store.stats()._repr_html_()


def test_proofs(store: Store, shell: Shell) -> None:
    proof, chain = store.explain((A, RDF.type, C)), store.why_same(A, URIRef("http://ex/a2"))
    found = store.equality_class(A)
    shown = [shell.shown[type(one)](one) for one in (proof, chain, found)]
    assert all(html.startswith("<pre>") for html in shown)
    assert "&lt;http://ex/a&gt; a &lt;http://ex/C&gt;   [cax-sco]" in shown[0]
    assert "by 1 link" in shown[1]
    assert "2 terms are one" in shown[2]


def test_the_magic(store: Store, shell: Shell) -> None:
    ask = shell.magic["sparql"]
    shell.user_ns["kg"] = store
    found = ask("kg classes", "PREFIX : <http://ex/>\nSELECT ?x { :a a ?x FILTER(?x = :C) }")
    assert shell.user_ns["classes"] is found
    assert list(found) == [(C,)]
    report = ask("kg", "PREFIX : <http://ex/> INSERT DATA { :a :p :b }")
    assert report.added > 0
    assert ask(str(store.path), "ASK { ?s <http://ex/p> ?o }").boolean, "a path"
    for wrong in ("", "kg a b"):
        with pytest.raises(UsageError, match="%%sparql takes a store"):
            ask(wrong, "ASK {}")


def test_the_tutorial(shell: Shell) -> None:
    """Each cell of the notebook runs, in order."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    notebook = json.loads((ROOT / "examples" / "tutorial.ipynb").read_text(encoding="utf-8"))
    ran = 0
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code" or text == "%load_ext triplake":
            continue
        first, _, rest = text.partition("\n")
        if first.startswith("%%sparql "):
            shell.magic["sparql"](first.removeprefix("%%sparql "), rest)
        else:
            exec(compile(text, "cell", "exec"), shell.user_ns)
        ran += 1
    assert ran > 10
    assert shell.user_ns["worst"].left.startswith("<http://example.org/")
    assert len(shell.user_ns["people"]) == 2
    assert {(str(row.teacher), str(row.pupil)) for row in shell.user_ns["teachers"]} >= {
        ("http://example.org/lastman", "http://example.org/rembrandt")
    }


def test_a_load_shows_how_far_it_is(tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the cell, in a notebook alone; nothing of it stays."""
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)

    def display(html: str, display_id: bool) -> SimpleNamespace:
        assert display_id
        shown.append(html)
        return handle

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    monkeypatch.setattr(Session, "watch", None)
    triplake.load_ipython_extension(shell)
    assert Session.watch is None
    shell.kernel = object()  # type: ignore[attr-defined]
    triplake.load_ipython_extension(shell)
    monkeypatch.setattr(progress, "TICK", 0.001)
    file = tmp_path / "a.ttl"
    file.write_text("".join(f"<http://e/s{i}> <http://e/p> {i} ." for i in range(30_000)))
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        for _ in range(2):
            shown.clear()
            store.load(file)
            assert shown[0].startswith('<progress value="')
            assert f"parse {file}: " in shown[len(shown) // 2]
            assert shown[-1] == ""
            assert shown.count("") == 1
    watch: Any = Session.watch
    watch(Progress("parse", "<b>", 0, 1.0, 1, 2, 1.0))
    assert "&lt;b&gt;" in shown[-1]
