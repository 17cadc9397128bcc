"""Every command as a new user would run it, in an empty folder, with right and with wrong input."""

from __future__ import annotations

import bz2
import gzip
import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import click
import pyoxigraph
import pytest

from tests.conftest import ENGINES
from tests.support.cli import Outcome, contents, done, run, spawn
from triplake import rulesets
from triplestore import Store
from triplestore.cli.commands import cli
from triplestore.model.errors import UsageError
from triplestore.model.terms import OWL, RDF, XSD

PETS = """\
@prefix : <http://ex/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .
:email a owl:InverseFunctionalProperty .
:rex a :Dog ; :email "rex@ex" .
:fido :email "rex@ex" .
"""
"""Five triples; two names for one dog."""

CLOSURE = """\
<http://ex/Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://ex/Animal> .
<http://ex/email> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#InverseFunctionalProperty> .
<http://ex/fido> <http://ex/email> "rex@ex" .
<http://ex/fido> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Animal> .
<http://ex/fido> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Dog> .
<http://ex/fido> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/fido> .
<http://ex/fido> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/rex> .
<http://ex/rex> <http://ex/email> "rex@ex" .
<http://ex/rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Animal> .
<http://ex/rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Dog> .
<http://ex/rex> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/fido> .
<http://ex/rex> <http://www.w3.org/2002/07/owl#sameAs> <http://ex/rex> .
"""  # noqa: E501 - triples are as long as they are
"""What follows from PETS by OWL 2 RL, without the rules' own axioms (which say nothing of http://ex/)."""

FILES = {
    "pets.ttl": PETS,
    "more.nt": '<http://ex/tom> <http://ex/email> "tom@ex" .\n',
    "cat.ttl": "@prefix : <http://ex/> . :Cat <http://www.w3.org/2002/07/owl#disjointWith> :Dog . :rex a :Cat .",
    "bad.nt": "<http://ex/a> <http://ex/p> <http://ex/b> .\n<http://ex/a> <http://ex/p> oops .\n",
    "bad.ttl": "@prefix : <http://ex/> .\n:a :p :b .\n:a :p ;; oops .\n",
    "named.nq": "<http://ex/a> <http://ex/p> <http://ex/b> <http://ex/g> .\n",
    "plain": "<http://ex/a> <http://ex/p> <http://ex/b> .\n",
    "barks.dlog": "@prefix : <http://ex/> .\n@rule barks\n[?x, :says, :woof] :- [?x, a, :Dog] .\n",
    "bad.dlog": "@prefix : <http://ex/> .\n@rule unsafe\n[?x, :says, ?y] :- [?x, a, :Dog] .\n",
    "change.rdfp": 'TX .\nD <http://ex/fido> <http://ex/email> "rex@ex" .\n'
    'A <http://ex/fido> <http://ex/email> "fido@ex" .\nTC .\n',
    "bad.rdfp": "TX .\nA <http://ex/a> <http://ex/p> oops .\nTC .\n",
    "add.ru": "PREFIX : <http://ex/> INSERT DATA { :bello a :Dog } ;\n",
    "bad.ru": "PREFIX : <http://ex/>\nINSERT DATA { :bello a oops }\n",
    "named.ru": "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
    "load.ru": "LOAD <more.nt>",
    "where.ru": "PREFIX : <http://ex/> DELETE { ?x a ?c } WHERE { ?x a :Dog , ?c }",
    "dogs.rq": "SELECT ?x WHERE { ?x a <http://ex/Animal> } ORDER BY ?x",
}

DOGS = FILES["dogs.rq"]

STATS_KEYS = ["version", "engine_written", "ruleset", "equality", "terms", "asserted", "facts", "inferred", "expanded"]
STATS_KEYS += ["classes", "largest_class", "violations", "bytes", "last", "generalised"]
LAST_KEYS = ["operation", "algorithm", "seconds", "rounds", "derived", "added", "deleted", "merged", "split"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of PETS at version 2; tests work on copies."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "pets.ttl").write_text(PETS)
    done("load", folder / "kg", folder / "pets.ttl", "--quiet")
    return folder / "kg"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty but for the files to work with."""
    monkeypatch.chdir(tmp_path)
    for variable in ("SPARK_MASTER", "TRIPLAKE_ENGINE"):
        monkeypatch.delenv(variable, raising=False)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def kg(loaded: Path, here: Path) -> Path:
    """A store of PETS, `kg` in the current folder."""
    shutil.copytree(loaded, here / "kg")
    return here / "kg"


def refused(code: int, *arguments: str | Path, says: str, stdin: bytes = b"") -> Outcome:
    """Run a command that must fail with `code` and a message that matches `says`; nothing on disk may change."""
    before = contents(Path.cwd())
    outcome = run(*arguments, stdin=stdin)
    assert outcome.code == code, outcome
    assert re.search(says, outcome.err), outcome.err
    assert outcome.err.splitlines()[-1].strip(), "the message ends the output"
    assert contents(Path.cwd()) == before
    return outcome


def stats(store: str | Path = "kg", *more: str) -> dict[str, object]:
    found = json.loads(done("stats", store, "--json", *more))
    assert isinstance(found, dict)
    return found


def said(*options: str, store: str = "kg") -> str:
    """The sorted export's lines about http://ex/."""
    lines = done("export", store, "--sorted", "-q", *options).splitlines(keepends=True)
    return "".join(line for line in lines if "<http://ex/" in line)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_core_path(engine: str, request: pytest.FixtureRequest) -> None:
    """init, load, query, update, export: on each engine, to the same answers."""
    if engine == "spark":
        request.getfixturevalue("spark")
    on = ("--engine", engine)
    done("init", "kg", *on)
    done("load", "kg", "pets.ttl", *on)
    assert stats("kg", *on)["engine_written"] == engine
    assert done("query", "kg", DOGS, "--format", "csv", *on).split() == ["x", "http://ex/fido", "http://ex/rex"]
    assert said(*on) == CLOSURE
    done("update", "kg", "change.rdfp", *on)
    assert done("query", "kg", DOGS, "--format", "csv", *on).split() == ["x", "http://ex/rex"]
    assert done("check", "kg", *on) == "consistent\n"
    other = "duckdb" if engine == "spark" else engine
    assert done("export", "kg", "--sorted", "--engine", other) == done("export", "kg", "--sorted", *on)


class TestEverywhere:
    def test_no_command_shows_the_commands(self) -> None:
        assert all(name in refused(2, says="^Usage:").err for name in cli.commands)

    @pytest.mark.parametrize("name", sorted(cli.commands))
    def test_help(self, name: str) -> None:
        text = done(name, "--help")
        assert text.startswith(f"Usage: triplake {name}")
        for parameter in cli.commands[name].params:
            if isinstance(parameter, click.Option):
                assert all(option in text for option in parameter.opts)
                assert parameter.help, f"{name} {parameter.name} has no help"

    def test_version(self) -> None:
        assert re.fullmatch(r"triplake, version \d+\.\d+\.\d+\n", done("--version"))

    def test_wrong_usage(self) -> None:
        refused(2, "frobnicate", says="No such command 'frobnicate'")
        refused(2, "load", says=r"Missing argument 'STORE'\.\nTry `triplake load --help`")
        refused(2, "load", "kg", says="Missing argument 'FILES...'")
        refused(2, "stats", "kg", "--frob", says="No such option")
        refused(2, "init", "kg", "--engine", "flink", says="'flink' is not one of 'auto', 'duckdb', 'spark'")

    @pytest.mark.parametrize("name", sorted(set(cli.commands) - {"init", "load", "demo"}))
    def test_no_store(self, name: str) -> None:
        rest = {
            "rules": ["list"],
            "query": [DOGS],
            "update": ["add.ru"],
            "copy": ["other"],
            "restore": ["--to", "1"],
        }.get(name, [])
        rest = ["rdf:nil", "a", "rdf:List"] if name == "explain" else rest
        rest = ["rdf:nil", "rdf:List"] if name == "why-same" else rest
        rest = ["pets.ttl"] if name == "entails" else rest
        refused(2, name, "kg", *rest, says="kg is not a Triplake store; make one with `triplake init kg`")

    def test_an_engine_by_the_environment(self, kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRIPLAKE_ENGINE", "flink")
        refused(2, "stats", kg, says="TRIPLAKE_ENGINE is 'flink'; give one of auto, duckdb, spark")

    def test_quiet_and_verbose(self) -> None:
        assert run("load", "a", "pets.ttl", "--quiet") == Outcome(0, "", "")
        plain = run("load", "b", "pets.ttl").err
        assert re.fullmatch(
            r"(?:parse .*\n)*read 5 triples from 1 file\(s\) .*\n"
            r"encoded 5 new triples, 6 new terms .*\nb: version 2, 5 asserted,.*\n",
            plain,
        )
        loud = run("load", "c", "pets.ttl", "--verbose").err
        assert "round: " in loud
        assert "maintained by " in loud

    def test_a_fault_of_ours(self, kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> None:
            raise ZeroDivisionError("by zero")

        monkeypatch.setattr("triplestore.store.Store.stats", broken)
        outcome = run("stats", kg)
        assert outcome.code == 70
        assert outcome.err.startswith("triplake: ZeroDivisionError: by zero\nThis is a fault of Triplake's, not yours.")

    def test_as_a_process(self) -> None:
        """The entry point itself: exit codes, streams, a traceback never."""
        bad = spawn("load", "kg", "bad.nt")
        assert (bad.code, bad.out) == (3, "")
        assert re.fullmatch(r"(parse .*\n)*triplake: bad\.nt:2:29: .*\n", bad.err)
        assert not Path("kg").exists()
        assert spawn("load", "kg", "-", "--format", "ttl", stdin=PETS.encode()).code == 0
        answer = spawn("query", "kg", "ASK { <http://ex/fido> a <http://ex/Dog> }", "--exit-code")
        assert (answer.code, answer.out, answer.err) == (0, "yes\n", "")


class TestInit:
    def test_rules_and_equality(self) -> None:
        for name, options, rules, equality in (
            ("a", (), ["owl2rl"], "rewrite"),
            ("b", ("--rules", "rdfs"), ["rdfs"], "off"),
            ("c", ("--rules", "rdfs-plus", "--equality", "axioms"), ["rdfs-plus"], "axioms"),
            ("d", ("--rules", "none", "--rules", "barks.dlog"), ["none", "barks.dlog"], "off"),
        ):
            done("init", name, *options)
            found = stats(name)
            assert (found["ruleset"], found["equality"], found["version"]) == (rules, equality, 1)

    def test_without_pyspark_nothing_is_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        find = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *more: None if name == "pyspark" else find(name, *more)
        )
        for options in (("--engine", "spark"), ("--master", "local[2]")):
            refused(2, "init", "new", *options, says="the Spark engine needs PySpark")
            refused(2, "load", "new", "pets.ttl", *options, says="the Spark engine needs PySpark")
        with pytest.raises(UsageError, match="needs PySpark"):
            Store.create("new", engine="spark")
        assert not Path("new").exists()

    def test_refusals(self, kg: Path) -> None:
        refused(2, "init", "kg", says="kg is a Triplake store already")
        refused(2, "init", ".", says=r"\. is not an empty folder")
        refused(2, "init", "pets.ttl", says="pets.ttl is not an empty folder")
        refused(2, "init", "pets.ttl/kg", says="a store cannot be made at pets.ttl/kg: Not a directory")
        refused(2, "init", "new", "--rules", "owl3", says="no ruleset 'owl3': give one of owl2rl, rdfs-plus, rdfs")
        refused(3, "init", "new", "--rules", "bad.dlog", says=r"bad\.dlog:3:\d+: .*\?y")

    def test_an_empty_folder_will_do(self) -> None:
        Path("new").mkdir()
        done("init", "new")
        assert stats("new")["asserted"] == 0

    def test_after_a_creation_cut_short(self) -> None:
        """What a killed `init` can leave is no obstacle to the next one, and no store."""
        for left in (["_versions"], ["_versions", "data"], ["_versions", "data", "triplake.json"]):
            store = Path(f"kg{len(left)}")
            for name in left:
                if name != "triplake.json":
                    (store / name).mkdir(parents=True)
            (store / "_versions/.draft").write_text("half")
            if "triplake.json" in left:
                (store / "triplake.json").write_text('{"format": 2}')
                (store / "data/term-1.parquet").write_text("half")
                (store / "_versions/.making").write_text("{}")  # the lease of whoever died
                os.utime(store / "_versions/.making", (0, 0))
            assert run("stats", store).code in (2, 5)
            done("load", store, "pets.ttl")
            assert stats(store)["asserted"] == 5


class TestLoad:
    def test_makes_the_store_and_materialises(self) -> None:
        done("load", "kg", "pets.ttl")
        found = stats()
        assert (found["version"], found["asserted"], found["classes"], found["expanded"]) == (2, 5, 1, 60)
        assert said() == CLOSURE

    def test_more_of_it(self, kg: Path) -> None:
        done("load", kg, "more.nt", "pets.ttl")
        found = stats()
        assert (found["version"], found["asserted"]) == (3, 6)

    def test_folders_globs_and_packed_files(self) -> None:
        Path("in/deeper").mkdir(parents=True)
        lines = [f"<http://ex/s{i}> <http://ex/p> <http://ex/o> .\n".encode() for i in range(5)]
        Path("in/0.nt").write_bytes(lines[0])
        Path("in/deeper/1.nt.gz").write_bytes(gzip.compress(lines[1]))
        Path("in/2.ttl.bz2").write_bytes(bz2.compress(lines[2]))
        Path("x3.nt").write_bytes(lines[3])
        Path("x4.nt").write_bytes(lines[4])
        done("load", "kg", "in", "x*.nt", "--rules", "none")
        assert said() == "".join(sorted(line.decode() for line in lines))

    def test_stdin(self) -> None:
        done("load", "kg", "-", "--format", "ttl", stdin=PETS.encode())
        done("load", "packed", "-", "--format", "turtle", stdin=gzip.compress(PETS.encode()))
        assert said() == said(store="packed") == CLOSURE
        refused(2, "load", "kg", "-", says=r"'-' \(standard input\) has no suffix .* add --format", stdin=b"")
        refused(3, "load", "kg", "-", "--format", "nt", says="<stdin>:2:29: ", stdin=FILES["bad.nt"].encode())

    def test_format(self) -> None:
        refused(2, "load", "kg", "plain", says="plain: the suffix tells no RDF syntax; use .nt .*--format")
        refused(2, "load", "kg", "plain", "--format", "frob", says="unknown format 'frob': use one of ntriples, nt")
        done("load", "kg", "plain", "--format", "nt")
        assert stats()["asserted"] == 1

    def test_graph_names_are_dropped_with_one_warning(self) -> None:
        outcome = run("load", "kg", "named.nq", "--quiet")
        assert (outcome.code, outcome.err.count("\n")) == (0, 1)
        assert outcome.err.startswith("warning: 1 quads had a graph name")
        assert said("--what", "asserted") == FILES["plain"]

    @pytest.mark.parametrize(("file", "place"), [("bad.nt", "2:29"), ("bad.ttl", "3:7")])
    def test_bad_input(self, kg: Path, file: str, place: str) -> None:
        refused(3, "load", "new", "pets.ttl", file, says=f"^triplake: {file}:{place}: .*literal|object")
        assert not Path("new").exists()
        assert f"{file}:{place}: " in refused(3, "load", kg, "more.nt", file, says=place).err
        assert stats()["version"] == 2
        assert said() == CLOSURE

    def test_what_is_not_there(self, kg: Path) -> None:
        for store in ("kg", "new"):
            refused(3, "load", store, "nowhere.nt", says="nowhere.nt: there is no such file or folder")
            refused(3, "load", store, "*.zzz", says=r"\*\.zzz: no file matches the pattern")
        assert not Path("new").exists()

    def test_on_error_skip(self, kg: Path) -> None:
        outcome = run("load", kg, "bad.nt", "more.nt", "--on-error", "skip")
        assert outcome.code == 3
        assert "1 faulty entry was left out: see " in outcome.err
        assert stats()["asserted"] == 7
        rejects = Path("kg.rejects").read_text()
        assert "bad.nt:2" in rejects
        assert "<http://ex/a> <http://ex/p> oops .\n" in rejects
        done("load", "new", "bad.nt", "--on-error", "skip", "--rejects", "left-out.txt", "--max-errors", "1")
        assert Path("left-out.txt").exists()
        assert not Path("new.rejects").exists()
        done("load", "clean", "more.nt", "--on-error", "skip")
        assert not Path("clean.rejects").exists()

    def test_the_settings_of_a_store_stay(self, kg: Path) -> None:
        done("load", kg, "more.nt", "--rules", "owl2rl", "--equality", "rewrite")
        refused(
            2,
            "load",
            kg,
            "more.nt",
            "--rules",
            "rdfs",
            says="kg has the rules owl2rl; change them with `triplake rules",
        )
        refused(2, "load", kg, "more.nt", "--equality", "off", says="made with equality rewrite")
        done("load", "new", "pets.ttl", "--rules", "rdfs")
        assert stats("new")["ruleset"] == ["rdfs"]

    def test_no_materialise(self) -> None:
        done("load", "kg", "pets.ttl", "--no-materialise")
        assert stats()["materialised"] is False
        assert len(said("--what", "asserted").splitlines()) == 5
        for command in (
            ["query", "kg", DOGS],
            ["export", "kg"],
            ["check", "kg"],
            ["export", "kg", "--what", "inferred"],
        ):
            refused(2, *command, says="not up to date .*run `triplake materialise kg` first")
        done("materialise", "kg")
        assert stats()["materialised"] is True
        assert said() == CLOSURE

    def test_an_update_brings_the_closure_up_to_date_too(self) -> None:
        done("load", "kg", "pets.ttl", "--no-materialise")
        done("update", "kg", "--add", "more.nt")
        assert stats()["materialised"] is True
        assert CLOSURE.splitlines() == [line for line in said().splitlines() if "tom" not in line]


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
            2, "update", kg, says=r"nothing to apply: give update files \(.rdfp, .ru\), --add FILE or --delete FILE"
        )
        refused(2, "update", kg, "pets.ttl", says="pets.ttl: not an update file by its suffix .*--add or --delete")
        refused(2, "update", kg, "nowhere.ru", says="nowhere.ru: no such file; check the path")
        refused(
            2, "update", kg, "CLEAR {", says="CLEAR {: no such file; an update is read from a file: write it to one"
        )
        refused(2, "update", kg, "named.ru", says=r"named\.ru:1:16: GRAPH: named graphs are not supported")
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


class TestQuery:
    def test_explain(self, kg: Path) -> None:
        text = done("query", kg, DOGS, "--explain")
        assert text.startswith("-- algebra (select)\n")
        assert re.search(r"\n-- SQL\nWITH .*\n-- plan\n\w.*\(2 rows", text, re.DOTALL)
        found = json.loads(done("query", kg, DOGS, "--explain", "--format", "json"))
        assert (found["kind"], found["plan"]["rows"]) == ("select", 2)
        refused(2, "query", kg, DOGS, "--explain", "--format", "csv", says="as text or as json, not as csv")

    def test_table(self, kg: Path) -> None:
        assert done("query", kg, DOGS).splitlines() == [
            "?x",
            "----------------",
            "<http://ex/fido>",
            "<http://ex/rex>",
            "(2 rows)",
        ]

    def test_formats_of_rows(self, kg: Path) -> None:
        def answer(form: str) -> str:
            return done("query", kg, "-f", "dogs.rq", "--format", form)

        assert answer("csv").splitlines() == ["x", "http://ex/fido", "http://ex/rex"]
        assert answer("tsv").splitlines() == ["?x", "<http://ex/fido>", "<http://ex/rex>"]
        found = json.loads(answer("json"))
        assert found["head"]["vars"] == ["x"]
        assert [row["x"] for row in found["results"]["bindings"]] == [
            {"type": "uri", "value": "http://ex/fido"},
            {"type": "uri", "value": "http://ex/rex"},
        ]
        uris = ElementTree.fromstring(answer("xml")).iter("{http://www.w3.org/2005/sparql-results#}uri")
        assert [uri.text for uri in uris] == ["http://ex/fido", "http://ex/rex"]

    def test_triples(self, kg: Path) -> None:
        ask = "CONSTRUCT { ?x <http://ex/is> ?c } WHERE { ?x a ?c FILTER (?c = <http://ex/Dog>) }"
        lines = {f"<http://ex/{x}> <http://ex/is> <http://ex/Dog> ." for x in ("fido", "rex")}
        assert set(done("query", kg, ask, "--format", "nt").splitlines()) == lines
        for text in (done("query", kg, ask), done("query", kg, ask, "--format", "ttl")):
            turtle = pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.TURTLE)
            assert {f"{quad.triple} ." for quad in turtle} == lines
        described = done("query", kg, "DESCRIBE <http://ex/Dog>", "--format", "nt")
        assert described == CLOSURE.splitlines(keepends=True)[0]
        refused(2, "query", kg, DOGS, "--format", "nt", says="nt holds triples: use it with CONSTRUCT or DESCRIBE")

    def test_ask_and_exit_code(self, kg: Path) -> None:
        yes, no = "ASK { <http://ex/fido> a <http://ex/Dog> }", "ASK { <http://ex/tom> a <http://ex/Dog> }"
        assert run("query", kg, yes, "--exit-code") == Outcome(0, "yes\n", "")
        assert run("query", kg, no) == Outcome(0, "no\n", "")
        assert run("query", kg, no, "--exit-code") == Outcome(1, "no\n", "")

    def test_same_as(self, kg: Path) -> None:
        rows = {
            form: done("query", kg, DOGS, "--format", "csv", "--same-as", form).split()
            for form in ("expand", "canonical")
        }
        assert rows["expand"] == ["x", "http://ex/fido", "http://ex/rex"]
        assert len(rows["canonical"]) == 2
        assert set(rows["canonical"]) < set(rows["expand"])

    def test_from_a_file_or_stdin(self, kg: Path) -> None:
        assert (
            done("query", kg, "-f", "-", stdin=DOGS.encode())
            == done("query", kg, "-f", "dogs.rq")
            == done("query", kg, DOGS)
        )
        refused(2, "query", kg, says="give the query as an argument, or a file of it with -f")
        refused(2, "query", kg, DOGS, "-f", "dogs.rq", says="and not both")
        refused(2, "query", kg, "-f", "nowhere.rq", says="nowhere.rq: No such file")

    def test_the_past(self, kg: Path) -> None:
        done("update", kg, "--delete", "pets.ttl")
        assert done("query", kg, DOGS, "--format", "csv").split() == ["x"]
        assert len(done("query", kg, DOGS, "--format", "csv", "--at", "2").split()) == 3
        assert stats("kg", "--at", "2")["asserted"] == 5
        assert said("--at", "2") == CLOSURE
        refused(2, "query", kg, DOGS, "--at", "9", says="kg has no version 9; it has 1 to 3")

    def test_bad_queries(self, kg: Path) -> None:
        refused(2, "query", kg, "SELEC ?x", says="not legal SPARQL: line 1, column")
        refused(2, "query", kg, "SELECT * { SERVICE <http://ex/> { ?s ?p ?o } }", says="SERVICE")
        refused(2, "query", kg, "INSERT DATA { <http://ex/a> <http://ex/b> 1 }", says="SPARQL")


class TestExport:
    @pytest.mark.parametrize("suffix", ["nt", "ttl", "rdf", "owl", "jsonld", "nt.gz", "ttl.bz2", "rdf.zst"])
    def test_there_and_back(self, kg: Path, suffix: str) -> None:
        done("export", kg, "--what", "asserted", "-o", f"out.{suffix}")
        done("load", "again", f"out.{suffix}", "--rules", "none")
        assert said(store="again") == said("--what", "asserted")

    def test_what(self, kg: Path) -> None:
        asserted, inferred = said("--what", "asserted").splitlines(), said("--what", "inferred").splitlines()
        assert len(asserted) == 5
        assert not set(asserted) & set(inferred)
        assert sorted(asserted + inferred) == CLOSURE.splitlines()

    def test_canonical(self, kg: Path) -> None:
        lines = said("--same-as", "canonical").splitlines()
        (name,) = {line.split()[0] for line in lines} & {"<http://ex/rex>", "<http://ex/fido>"}
        assert lines == [
            line
            for line in CLOSURE.splitlines()
            if line.split()[0] in ("<http://ex/Dog>", "<http://ex/email>", name) and "sameAs" not in line
        ]

    def test_sorted_by_bytes(self, kg: Path) -> None:
        lines = done("export", kg, "--sorted").encode().splitlines()
        assert lines == sorted(lines)
        assert sorted(done("export", kg).encode().splitlines()) == lines
        done("export", kg, "--sorted", "-o", "out.nt")
        assert Path("out.nt").read_bytes().splitlines() == lines

    def test_refusals(self, kg: Path) -> None:
        refused(2, "export", kg, "-o", "out.xyz", says="out.xyz: the suffix gives the format: use one of .nt, .ttl")
        refused(2, "export", kg, "-o", "out.ttl", "--sorted", says="--sorted orders N-Triples lines; give a .nt file")
        refused(2, "export", kg, "-o", "no/where.nt", says="no/where.nt: cannot be written")
        refused(2, "export", kg, "--what", "derived", says="'derived' is not one of 'asserted', 'inferred', 'all'")


class TestCheck:
    def test_consistent(self, kg: Path) -> None:
        assert run("check", kg) == Outcome(0, "consistent\n", "")
        assert run("check", kg, "--json") == Outcome(0, "[]\n", "")

    def test_inconsistent(self, kg: Path) -> None:
        loaded = run("load", kg, "cat.ttl")
        assert loaded.code == 0
        assert f"warning: 1 inconsistency (cax-dw 1): `triplake check {kg}` lists them\n" in loaded.err
        outcome = run("check", kg)
        assert outcome.code == 1
        assert outcome.out.splitlines() == [
            "@prefix ns1: <http://ex/> .",
            "",
            "cax-dw: 1 inconsistency",
            "    1. ns1:Cat owl:disjointWith ns1:Dog .",
            "       ns1:fido a ns1:Cat .",
            "       ns1:fido a ns1:Dog .",
            "1 inconsistency",
        ]
        outcome = run("check", kg, "--json")
        assert outcome.code == 1
        (violation,) = json.loads(outcome.out)
        assert violation["rule"] == "cax-dw"
        assert ["<http://ex/Cat>", f"<{OWL}disjointWith>", "<http://ex/Dog>"] in violation["triples"]
        assert stats()["violations"] == 1
        assert run("check", kg, "--at", "2").code == 0

    def test_many_are_counted_and_some_shown(self, kg: Path) -> None:
        lines = [f":x{i} a :Dog , :Cat ." for i in range(12)]
        Path("many.ttl").write_text(f"@prefix : <http://ex/> . {' '.join(lines)}", encoding="utf-8")
        done("load", kg, "cat.ttl", "many.ttl")
        for options, shown in (((), 10), (("--limit", "3"), 3), (("--limit", "0"), 13)):
            text = run("check", kg, *options).out
            assert len(re.findall(r"^ +\d+\. ", text, re.MULTILINE)) == shown
            assert ("more (--limit 0 lists all)" in text) == (shown < 13)
            assert "cax-dw: 13 inconsistencies\n" in text
        assert len(json.loads(run("check", kg, "--json").out)) == 13
        assert len(json.loads(run("check", kg, "--json", "--limit", "2").out)) == 2

    def test_what_makes_literals_equal_is_named(self, kg: Path) -> None:
        Path("two.ttl").write_text(
            f"@prefix : <http://ex/> . @prefix owl: <{OWL}> .\n"
            ":age a owl:FunctionalProperty . :rex :age 3, 4 . :tom :age :old, 5 . :tom owl:sameAs 'Tom' , 'Thomas' .",
            encoding="utf-8",
        )
        done("load", kg, "two.ttl")
        text = run("check", kg).out
        assert '    1. "3"^^xsd:integer owl:sameAs "4"^^xsd:integer .\n       by prp-fp\n' in text
        named = {(v["rule"], *v["by"]) for v in json.loads(run("check", kg, "--json").out)}
        assert named == {("eq-diff1", "prp-fp"), ("eq-diff1", "asserted")}
        assert "prp-fp" in done("explain", kg, "--violation", "eq-diff1:1")
        Path("repair.rdfp").write_text(
            f'TX .\nD <http://ex/rex> <http://ex/age> "4"^^<{XSD}integer> .\nD <http://ex/tom> <http://ex/age> '
            f'<http://ex/old> .\nD <http://ex/tom> <{OWL}sameAs> "Tom" .\nTC .\n'
        )
        done("update", kg, "repair.rdfp")
        assert run("check", kg).code == 0

    def test_they_vanish_when_repaired(self, kg: Path) -> None:
        done("load", kg, "cat.ttl")
        Path("repair.rdfp").write_text("TX .\nD <http://ex/rex> <" + RDF + "type> <http://ex/Cat> .\nTC .\n")
        outcome = run("update", kg, "repair.rdfp")
        assert outcome.code == 0
        assert "warning" not in outcome.err
        assert run("check", kg) == Outcome(0, "consistent\n", "")


class TestHousekeeping:
    def test_stats(self, kg: Path) -> None:
        found = stats()
        assert [key for key in STATS_KEYS if key not in found] == []
        assert isinstance(found["last"], dict)
        assert [key for key in LAST_KEYS if key not in found["last"]] == []
        numbers = {
            key: found[key] for key in ("version", "terms", "asserted", "facts", "expanded", "classes", "largest_class")
        }
        assert numbers == {
            "version": 2,
            "terms": 6,
            "asserted": 5,
            "facts": 53,
            "expanded": 60,
            "classes": 1,
            "largest_class": 2,
        }
        assert found["bytes"] == sum(len(v) for k, v in contents(kg).items() if k.startswith("data/")) - _unused(kg)
        text = done("stats", kg)
        assert all(re.search(rf"^{key.replace('_', ' ')}\s", text, re.MULTILINE) for key in found)

    def test_log(self, kg: Path) -> None:
        lines = done("log", kg).splitlines()
        assert lines[0].split() == ["version", "created", "operation", "asserted", "facts", "seconds", "algorithm"]
        assert [(line.split()[0], *line.split()[2:4]) for line in lines[1:]] == [("1", "init", "0"), ("2", "load", "5")]
        entries = json.loads(done("log", kg, "--json"))
        assert [(e["version"], e["operation"], e["asserted"], e["facts"]) for e in entries] == [
            (1, "init", 0, 48),
            (2, "load", 5, 53),
        ]

    def test_compact(self, kg: Path) -> None:
        done("update", kg, "add.ru", "change.rdfp")
        before, files = done("export", kg, "--sorted"), len(_named(kg))
        assert "version 5 is compact" in run("compact", kg).err
        assert done("export", kg, "--sorted") == before
        assert len(_named(kg)) < files
        assert "nothing to compact" in run("compact", kg).err
        assert stats()["version"] == 5

    def test_vacuum(self, kg: Path) -> None:
        done("update", kg, "change.rdfp")
        done("update", kg, "add.ru")
        before = done("export", kg, "--sorted")
        assert "forgot 2 versions" in run("vacuum", kg, "--keep", "2").err
        assert len(done("query", kg, DOGS, "--at", "3", "--format", "csv").split()) == 2
        assert "kept all 2 versions; --keep 1 would forget 1, and free" in run("vacuum", kg).err
        assert "forgot 1 versions" in run("vacuum", kg, "--keep", "1").err
        assert done("export", kg, "--sorted") == before
        assert {Path(k).name for k in contents(kg) if k.startswith("data/")} == _named(kg)
        refused(2, "query", kg, DOGS, "--at", "3", says="kg has no version 3; it has 4")
        refused(2, "vacuum", kg, "--keep", "0", says="0 is not in the range")

    def test_vacuum_clears_up_after_dead_writers(self, kg: Path) -> None:
        dead = [kg / "data/fact-0.parquet", kg / "data/_fact-0.draft", kg / "_versions/.0000000003.json.0"]
        living = kg / "data/fact-1.parquet"
        for path in (dead[0], dead[2], living):
            path.write_text("half")
        dead[1].mkdir()
        for path in dead:
            os.utime(path, (0, 0))
        assert "forgot 0 versions, deleted 3 files" in run("vacuum", kg).err
        assert living.exists()
        assert not any(path.exists() for path in dead)
        assert said() == CLOSURE

    def test_copy(self, kg: Path) -> None:
        done("update", kg, "change.rdfp")
        done("copy", kg, "other")
        done("copy", kg, "earlier", "--at", "2")
        assert stats("other")["version"] == 1
        assert done("export", "other", "--sorted") == done("export", kg, "--sorted")
        assert said(store="earlier") == CLOSURE
        done("update", "earlier", "change.rdfp")
        assert done("export", "earlier", "--sorted") == done("export", kg, "--sorted")
        refused(2, "copy", kg, "other", says="other is a Triplake store already")
        refused(2, "copy", kg, "pets.ttl", says="pets.ttl is not an empty folder")


def _named(store: Path) -> set[str]:
    """The data files that the newest version names."""
    manifest = json.loads(sorted((store / "_versions").glob("*.json"))[-1].read_text())
    parts = (table[part] for table in manifest["tables"].values() for part in ("files", "tombstones"))
    return {file["path"] for part in parts for file in part}


def _unused(store: Path) -> int:
    """Bytes of data files that only older versions name."""
    return sum(f.stat().st_size for f in (store / "data").iterdir() if f.name not in _named(store))


READS = [["stats"], ["query", DOGS], ["export"], ["check"], ["copy", "other"]]
WRITES = [
    ["load", "more.nt"],
    ["update", "add.ru"],
    ["materialise"],
    ["compact"],
    ["vacuum"],
    ["rules", "add", "barks.dlog"],
]


def _newest(store: Path) -> Path:
    return sorted((store / "_versions").glob("*.json"))[-1]


def _delete(store: Path) -> None:
    (store / "data" / sorted(_named(store))[0]).unlink()


def _truncate(store: Path) -> None:
    os.truncate(store / "data" / sorted(_named(store))[0], 20)


def _scribble(store: Path) -> None:
    """Other bytes, as many as before: seen only when a file is read."""
    for name in _named(store):
        file = store / "data" / name
        file.write_bytes(b"x" * file.stat().st_size)


def _garbage(store: Path) -> None:
    _newest(store).write_text("garbage")


def _newer_version(store: Path) -> None:
    _newest(store).write_text(json.dumps(json.loads(_newest(store).read_text()) | {"format": 99}))


def _newer_store(store: Path) -> None:
    (store / "triplake.json").write_text('{"format": 99}')


def _no_mark(store: Path) -> None:
    (store / "triplake.json").write_text("garbage")


def _no_versions(store: Path) -> None:
    shutil.rmtree(store / "_versions")


TOLD = r"; `triplake verify kg` tells .*`triplake restore kg --to"
"""How a message about a damaged file goes on."""

DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (_delete, rf"kg/data/\S+\.parquet \(table \w+, version 2\) is missing{TOLD}"),
    (_truncate, rf"kg/data/\S+\.parquet \(table \w+, version 2\) has 20 bytes instead of \d+{TOLD}"),
    (_scribble, rf"kg/data/\S+\.parquet \(table \w+, version 2\) .* \(.*\){TOLD}"),
    (_garbage, r"kg/_versions/0000000002\.json cannot be read \(.*\); restore it"),
    (_newer_version, "version 2 was written by a newer Triplake; install that one"),
    (_newer_store, "kg is of store format 99, this program reads up to 4; install a newer Triplake"),
    (_no_mark, r"kg/triplake\.json cannot be read \(.*\); restore it"),
    (_no_versions, "kg holds no version.*restore it from a copy"),
]


class TestDamage:
    @pytest.mark.parametrize(("damage", "says"), DAMAGES)
    def test_reads_tell(self, kg: Path, damage: Callable[[Path], None], says: str) -> None:
        damage(kg)
        for command, *rest in READS:
            refused(5, command, "kg", *rest, says=says)

    @pytest.mark.parametrize(("damage", "says"), DAMAGES)
    def test_writes_refuse(self, kg: Path, damage: Callable[[Path], None], says: str) -> None:
        """Vacuum above all: the older version, which can still be read, stays."""
        damage(kg)
        for command, *rest in WRITES:
            if damage is _scribble and command != "vacuum":
                continue  # a write does not read every file
            refused(5, command, "kg", *rest, says=says)

    def test_an_older_version_can_be_read(self, kg: Path) -> None:
        _garbage(kg)
        assert stats("kg", "--at", "1")["asserted"] == 0
