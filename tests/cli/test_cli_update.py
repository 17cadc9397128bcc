"""`triplake update` and `triplake rules`, with right and with wrong input."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.cli import contents, done, refused, run
from tests.support.pets import CLOSURE, DOGS, said, stats
from triplake import rulesets

pytestmark = pytest.mark.usefixtures("here")


class TestUpdate:
    def test_each_kind_of_file(self, kg: Path) -> None:
        done("update", kg, "change.rdfp", "add.ru", "--add", "more.nt", "--delete", "pets.ttl")
        found = stats()
        assert (found["version"], found["asserted"], found["classes"]) == (5, 3, 0)
        assert said("--what", "asserted") == (
            "<http://ex/bello> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Dog> .\n"
            '<http://ex/fido> <http://ex/email> "fido@ex" .\n'
            '<http://ex/tom> <http://ex/email> "tom@ex" .\n'
        )

    def test_what_it_says(self, kg: Path) -> None:
        outcome = run("update", kg, "change.rdfp")
        assert re.fullmatch(
            r"added \d+ and deleted \d+ stored facts, merged 0, split 1 term, \d\S+ s by \S+\n", outcome.err
        )

    def test_dry_run(self, kg: Path) -> None:
        before = contents(kg)
        outcome = run("update", kg, "change.rdfp", "--dry-run")
        assert outcome.code == 0
        assert re.match(r"would add \d+ and delete \d+ stored facts, merge 0, split 1 term", outcome.err)
        assert contents(kg) == before

    def test_no_change_is_no_version(self, kg: Path) -> None:
        done("update", kg, "--add", "pets.ttl")
        assert stats()["version"] == 2

    def test_bad_input(self, kg: Path) -> None:
        refused(
            3, "update", kg, "change.rdfp", "bad.rdfp", says=r"^triplake: bad\.rdfp:2:31: expected a term, found 'oops'"
        )
        refused(3, "update", kg, "add.ru", "bad.ru", says=r"^triplake: bad\.ru:2:\d+: ")
        refused(3, "update", kg, "--add", "bad.nt", says=r"^triplake: bad\.nt:2:29: ")
        refused(3, "update", kg, "--delete", "bad.ttl", says=r"^triplake: bad\.ttl:3:7: ")
        refused(3, "update", kg, "--add", "nowhere.nt", says="nowhere.nt: there is no such file")

    def test_wrong_usage(self, kg: Path) -> None:
        refused(
            2, "update", kg, says=r"nothing to apply: give update files \(.rdfp, .ru\), --add FILE, --delete FILE or"
        )
        refused(2, "update", kg, "pets.ttl", says="pets.ttl: not an update file by its suffix .*--add or --delete")
        refused(2, "update", kg, "nowhere.ru", says="nowhere.ru: there is no such file: check the path")
        refused(
            2,
            "update",
            kg,
            "CLEAR {",
            says="CLEAR {: there is no such file: an update is read from a file: write it to one",
        )
        refused(2, "update", kg, "load.ru", says=r"load\.ru:1:1: LOAD is refused: no folder .*--load-folder")
        refused(2, "update", kg, "load.ru", "--load-folder", "nowhere", says="'nowhere' does not exist")
        refused(
            2, "update", kg, "add.ru", "--maintain", "magic", says="no maintenance algorithm 'magic'; give one of auto"
        )

    def test_sparql_update(self, kg: Path) -> None:
        done("update", kg, "load.ru", "--load-folder", ".")
        outcome = run("update", kg, "where.ru")
        assert outcome.code == 0
        assert re.search(r"\d+ triples? to delete w\w+ not asserted: only asserted ones can go", outcome.err)
        assert done("query", kg, DOGS, "--format", "csv").splitlines()[1:] == []

    def test_maintain(self, kg: Path) -> None:
        done("update", kg, "add.ru", "--maintain", "rematerialise")
        last = stats()["last"]
        assert isinstance(last, dict)
        assert last["algorithm"] == "rematerialise"


class TestRules:
    def test_add_list_remove(self, kg: Path) -> None:
        woof = "SELECT ?x WHERE { ?x <http://ex/says> <http://ex/woof> } ORDER BY ?x"
        count = len(rulesets.named("owl2rl").rules)
        assert done("rules", kg, "list") == f"owl2rl: {count} rules, built in\n"
        done("rules", kg, "add", "barks.dlog")
        own = "barks.dlog: 1 rule, rule language\n"
        assert done("rules", kg, "list") == f"owl2rl: {count} rules, built in\n{own}"
        listed = done("rules", kg, "list", "--verbose").splitlines()
        assert listed[1].startswith("  ")
        assert listed[-1] == "  barks (barks.dlog:3)"
        Path("barks.dlog").unlink()  # the store keeps its own copy
        assert done("query", kg, woof, "--format", "csv").split() == ["x", "http://ex/fido", "http://ex/rex"]
        done("rules", kg, "remove", "barks.dlog")
        assert done("rules", kg, "list") == f"owl2rl: {count} rules, built in\n"
        assert said() == CLOSURE

    def test_another_ruleset(self, kg: Path) -> None:
        done("rules", kg, "remove", "owl2rl")
        assert said() == said("--what", "asserted")
        done("rules", kg, "add", "owl2rl")
        assert said() == CLOSURE

    def test_refusals(self, kg: Path) -> None:
        refused(3, "rules", kg, "add", "bad.dlog", says=r"bad\.dlog:3:\d+: .*\?y")
        refused(2, "rules", kg, "add", says="rules add needs the name of a ruleset or a file of rules")
        refused(2, "rules", kg, "add", "owl3", says="no ruleset 'owl3'")
        refused(2, "rules", kg, "add", "owl2rl", says="has ruleset 'owl2rl' already")
        refused(2, "rules", kg, "remove", "rdfs", says="the store has no ruleset 'rdfs'; it has owl2rl")
        refused(2, "rules", kg, "frob", says="'frob' is not one of 'list', 'add', 'remove'")
