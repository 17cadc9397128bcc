"""The table of the built-in rulesets: every row says what its rules do."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, Literal, Namespace
from rdflib.namespace import XSD

from tests.conftest import MakeStore
from tests.support.cli import done, run
from triplake import rulesets
from triplake.rulesets import BUILT_IN
from triplestore.closure.view import ClosureView

E = Namespace("http://e/")
FOLDER = Path(rulesets.__file__).parent
ROWS = pytest.mark.parametrize("name", BUILT_IN)


def test_every_file_of_rules_is_in_a_row() -> None:
    assert {file.name for file in FOLDER.glob("*.dlog")} == {file for row in BUILT_IN.values() for file in row.files}


@ROWS
def test_a_row_has_the_rules_of_its_parent(name: str) -> None:
    """And the parent is the largest ruleset of which it has all files."""
    row = BUILT_IN[name]
    within = [other for other, its in BUILT_IN.items() if its.files and set(its.files) < set(row.files)]
    assert max(within, key=lambda other: len(BUILT_IN[other].files), default="") == row.parent
    if row.parent:
        assert set(rulesets.named(row.parent).rules) < set(rulesets.named(name).rules)


@ROWS
def test_a_row_does_what_it_says(name: str, make_store: MakeStore) -> None:
    """Each property of the row is seen in what a store with the ruleset answers, and only there."""
    row = BUILT_IN[name]
    wrong = Literal("many", datatype=XSD.integer)
    store = make_store([name], add=[(E.a, RDF.type, E.A), (E.A, RDFS.subClassOf, E.B), (E.a, E.p, wrong)])
    assert ((E.a, RDF.type, E.B) in store) == row.inherits
    asked = "ASK { <http://e/a> a <http://www.w3.org/2000/01/rdf-schema#Resource> }"
    assert store.query(asked).boolean == row.resources
    assert [*store.violated()] == ["dt-not-type"] * row.datatypes
    assert ((RDFS.subClassOf, RDFS.domain, RDFS.Class) in store) == row.vocabulary
    assert (RDF.type, RDF.type, RDF.Property) in store or not row.vocabulary


@ROWS
def test_only_the_rules_of_the_profile_derive_axioms_of_it(name: str, make_store: MakeStore) -> None:
    store = make_store([name], add=[(E.A, RDF.type, OWL.Class)])
    assert ((E.A, RDFS.subClassOf, OWL.Thing) in store) == BUILT_IN[name].profile


@ROWS
def test_a_view_has_what_the_row_says(name: str, make_store: MakeStore) -> None:
    """Beside another ruleset too, and not of a file that is called as a built-in ruleset is."""
    store = make_store([name])
    view = ClosureView.of(store._session.manifest)
    assert (view.by_value, view.resources) == (BUILT_IN[name].datatypes, BUILT_IN[name].resources)


@ROWS
def test_axiomatic_triples(name: str, tmp_path: Path) -> None:
    """Those of RDF beside RDF's rules alone, else those of RDFS."""
    done("init", tmp_path / "kg", "--rules", name, "--axiomatic")
    listed = [line.partition(":")[0] for line in done("rules", tmp_path / "kg", "list").splitlines()]
    added = "rdf-axiomatic" if name == "rdf" else "rdfs-axiomatic"
    assert listed == list(dict.fromkeys([name, added]))


@ROWS
def test_regimes(name: str) -> None:
    """A regime is named where the rules have it, by its W3C name."""
    row = BUILT_IN[name]
    kind = {"owl2rl": "OWL-RDF-Based", "none": "Simple"}.get(name, "RDFS" if row.inherits else "")
    assert row.regime == (f"http://www.w3.org/ns/entailment/{kind}" if kind else "")


def test_commands_list_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = done("rules", "list").splitlines()
    assert [line.partition(":")[0] for line in lines] == list(BUILT_IN)
    for line, (name, row) in zip(lines, BUILT_IN.items(), strict=True):
        assert (
            line
            == f"{name}: {len(rulesets.named(name).rules):,} rule{'s' * (len(rulesets.named(name).rules) != 1)}, "
            + (row.description)
        )
    text = " ".join(done("init", "--help").split())
    assert f"{', '.join(BUILT_IN)} (default: owl2rl; see `triplake rules list`), or a file" in text
    wrong = run("init", "kg", "--rules", "owl3")
    assert f"give one of {', '.join(BUILT_IN)}, or the path of a file" in wrong.err
    assert run("rules", "kg").code == 2
    assert "rules check needs files of rules" in run("rules", "check").err
    assert "give 'list', 'add' or 'remove' after the store" in run("rules", "kg").err
