"""Mappings of tables: RML, R2RML and YARRRML, which morph-kgc carries out in another Python."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import venv
from pathlib import Path
from threading import Timer

import pytest

from tests.conftest import MakeStore
from tests.support.cli import run
from triplestore import Store
from triplestore.model.errors import InputError, StoppedError, UsageError
from triplestore.model.stopping import Stop, heeding

PREFIXES = """
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix : <http://e/> .
"""
RML = f"""{PREFIXES}
<#P> rml:logicalSource [ rml:source "people.csv" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://e/{{id}}" ; rr:class :P ; rr:graph :g ] ;
  rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rml:reference "name" ; rr:language "en" ] ] ;
  rr:predicateObjectMap [ rr:predicate :boss ; rr:objectMap [ rr:template "http://e/{{boss}}" ] ] .
"""
R2RML = f"""{PREFIXES}
<#P> rr:logicalTable [ rr:tableName "person" ] ; rr:subjectMap [ rr:template "http://e/{{id}}" ] ;
  rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rr:column "name" ] ] .
"""
YARRRML = """
prefixes: {e: "http://e/"}
mappings:
  person: {sources: [['people.csv~csv']], s: "e:$(id)", po: [[e:name, $(name)]]}
"""
STAND_IN = """
import configparser, pathlib, sys, time
parser = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
parser.read(sys.argv[1])
mapping = pathlib.Path(parser["mapping"]["mappings"]).read_text()
if "slow" in mapping:
    time.sleep(60)
if "faulty" in mapping:
    sys.exit("Traceback\\nKeyError: no column 'faulty'\\n")
if "nothing" not in mapping:
    url = parser["mapping"].get("db_url", "")
    pathlib.Path(parser["CONFIGURATION"]["output_file"]).write_text(f'<http://e/a> <http://e/p> "{url}"  .\\n')
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python with a module of morph-kgc's name, which makes a triple of each mapping; a folder to work in."""
    package = tmp_path / "packages" / "morph_kgc"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("TRIPLAKE_MORPH_KGC", sys.executable)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "a, mapping.ttl"
    path.write_text("# a mapping")
    return path


def left(folder: Path) -> list[Path]:
    return [*folder.glob("triplake-rml-*")]


class TestWithAStandIn:
    def test_a_store_gets_what_it_makes(self, stand_in: Path, mapping: Path, make_store: MakeStore) -> None:
        store = make_store("none")
        store.load_rml(mapping, database="mysql://a:$b%c@d/e", graph="http://e/g")
        rows = store.query("SELECT ?g ?o { GRAPH ?g { ?s ?p ?o } }").tokens()
        assert [*rows] == [("<http://e/g>", '"mysql://a:$b%c@d/e"')]
        assert left(stand_in) == []

    def test_a_mapping_may_make_nothing(self, stand_in: Path, mapping: Path) -> None:
        mapping.write_text("nothing")
        assert run("load", stand_in / "kg", mapping, "--rml").code == 0
        assert left(stand_in) == []

    def test_its_last_line_is_the_reason(self, stand_in: Path, mapping: Path) -> None:
        mapping.write_text("faulty")
        outcome = run("load", stand_in / "kg", mapping, "--rml")
        assert outcome.code == 3
        assert f"{mapping}: morph-kgc cannot carry it out: KeyError: no column 'faulty'" in outcome.err
        assert left(stand_in) == []
        assert not (stand_in / "kg").exists()

    def test_it_stops_when_asked(self, stand_in: Path, mapping: Path) -> None:
        mapping.write_text("slow")
        stop = Stop()
        with Store.create(stand_in / "kg", "none") as store:
            timer = Timer(1, stop.stop, ["enough"])
            timer.start()
            with pytest.raises(StoppedError), heeding(stop):
                store.load_rml(mapping)
            timer.join()
        assert left(stand_in) == []

    def test_no_file(self, stand_in: Path) -> None:
        assert "none.ttl: there is no such file" in run("load", stand_in / "kg", "none.ttl", "--rml").err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--template", "x"], "--rml is without --template and --format"),
            (["--format", "ttl"], "--rml is without --template and --format"),
            (["--on-error", "skip"], "are for RDF files, not for tables"),
            (["--database", "a\nb"], "has no line breaks"),
        ],
    )
    def test_options(self, stand_in: Path, mapping: Path, options: list[str], message: str) -> None:
        outcome = run("load", stand_in / "kg", mapping, "--rml", *options)
        assert outcome.code == 2
        assert message in outcome.err

    def test_a_database_without_a_mapping(self, stand_in: Path, mapping: Path) -> None:
        assert "--database is for --rml" in run("load", stand_in / "kg", mapping, "--database", "x").err


@pytest.mark.parametrize(
    ("python", "message"),
    [
        (None, "TRIPLAKE_MORPH_KGC is not set: make an environment with it"),
        ("no/such", "TRIPLAKE_MORPH_KGC is no/such, which cannot be run"),
        (sys.executable, "which has no morph-kgc: make an environment with it"),
    ],
)
def test_no_morph_kgc(
    tmp_path: Path, mapping: Path, monkeypatch: pytest.MonkeyPatch, python: str | None, message: str
) -> None:
    monkeypatch.delenv("TRIPLAKE_MORPH_KGC", raising=False)
    if python:
        monkeypatch.setenv("TRIPLAKE_MORPH_KGC", python)
    with Store.create(tmp_path / "kg", "none") as store, pytest.raises(UsageError, match=message):
        store.load_rml(mapping)


@pytest.fixture(scope="module")
def morph_kgc(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has the real one."""
    if named := os.environ.get("TRIPLAKE_MORPH_KGC"):
        return named
    folder = tmp_path_factory.mktemp("morph-kgc")
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "morph-kgc[sqlite]"], check=True)
    return python


@pytest.mark.long
class TestReally:
    @pytest.fixture(autouse=True)
    def _folder(self, morph_kgc: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TRIPLAKE_MORPH_KGC", morph_kgc)
        monkeypatch.chdir(tmp_path)
        Path("people.csv").write_text("id,name,boss\n1,Ada,\n2,Grace,1\n")

    def test_rml(self, make_store: MakeStore) -> None:
        Path("m.ttl").write_text(RML)
        store = make_store("none")
        store.load_rml("m.ttl")
        rows = store.query("SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }").tokens()
        a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
        assert {*rows} == {
            ("<http://e/g>", "<http://e/1>", a, "<http://e/P>"),
            ("<http://e/g>", "<http://e/2>", a, "<http://e/P>"),
            ("<http://e/g>", "<http://e/1>", "<http://e/name>", '"Ada"@en'),
            ("<http://e/g>", "<http://e/2>", "<http://e/name>", '"Grace"@en'),
            ("<http://e/g>", "<http://e/2>", "<http://e/boss>", "<http://e/1>"),
        }

    def test_r2rml(self, make_store: MakeStore) -> None:
        Path("m.ttl").write_text(R2RML)
        with sqlite3.connect("p.db") as database:
            database.execute("CREATE TABLE person (id INTEGER, name TEXT)")
            database.executemany("INSERT INTO person VALUES (?, ?)", [(1, "Ada"), (2, None)])
        database.close()
        store = make_store("none")
        store.load_rml("m.ttl", database="sqlite:///p.db")
        assert [*store.query("SELECT * { ?s ?p ?o }").tokens()] == [("<http://e/1>", "<http://e/name>", '"Ada"')]

    def test_yarrrml(self, make_store: MakeStore) -> None:
        Path("m.yml").write_text(YARRRML)
        store = make_store("none")
        store.load_rml("m.yml")
        rows = store.query("SELECT ?s ?o { ?s <http://e/name> ?o } ORDER BY ?s").tokens()
        assert [*rows] == [("<http://e/1>", '"Ada"'), ("<http://e/2>", '"Grace"')]

    def test_a_source_that_is_not_there(self, tmp_path: Path) -> None:
        Path("m.ttl").write_text(RML.replace("people.csv", "none.csv"))
        with Store.create(tmp_path / "kg", "none") as store, pytest.raises(InputError, match=r"none\.csv"):
            store.load_rml("m.ttl")
