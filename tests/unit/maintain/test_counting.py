"""Derivation counts in stores: kept on disk, exact after every update by any algorithm, and refused where they cannot
be."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rdflib import Namespace
from rdflib.namespace import RDF, RDFS

from tests.support.cli import contents, done, run
from tests.support.counting import stored
from triplestore import Store
from triplestore.maintain import counts as counts_kept
from triplestore.maintain.counts import NONRECURSIVE, RECURSIVE
from triplestore.maintain.policy import COUNTING, DELETING
from triplestore.model.errors import UsageError
from triplestore.storage.versions import Versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = Namespace("http://e/")
SAID = """
@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Cat rdfs:subClassOf :Animal . :Dog rdfs:subClassOf :Animal . :Animal rdfs:subClassOf :Thing .
:in a owl:TransitiveProperty . :in rdfs:domain :Thing .
:tom a :Cat, :Dog . :tom :in :flat . :flat :in :house . :house :in :town . :flat :in :town .
"""

Counts = dict[tuple[str, ...], tuple[int, int]]


def counts(path: Path) -> Counts:
    """The derivation counts of the newest version, of facts by the ends of their IRIs."""
    names = {row[0]: str(row[1]).removeprefix(E).split("#")[-1] for row in stored(path, "term")}
    return {tuple(names[term] for term in row[:3]): (row[3], row[4]) for row in stored(path, "count")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that counts."""
    folder = tmp_path_factory.mktemp("counting")
    (folder / "said.ttl").write_text(SAID)
    options = ("--rules", "rdfs-plus", "--equality", "off", "--counting")
    done("load", folder / "kg", folder / "said.ttl", *options, "-q")
    return folder / "kg"


@pytest.fixture
def kg(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "kg"))


def anew(path: Path, folder: Path) -> Counts:
    """The counts of a store, counted anew in a copy."""
    done("copy", path, folder, "-q")
    done("materialise", folder, "-q")
    found = counts(folder)
    shutil.rmtree(folder)
    return found


def test_a_load_counts(kg: Path) -> None:
    found = counts(kg)
    assert found["tom", "type", "Cat"] == (1, 0)
    assert found["tom", "type", "Animal"] == (2, 0), "as a cat, and as a dog"
    assert found["tom", "type", "Thing"] == (6, 0), "by three classes, and three places"
    assert found["flat", "in", "town"] == (1, 1), "asserted, and by way of the house"
    assert found["tom", "in", "house"] == (0, 1)
    assert found["tom", "in", "town"] == (0, 2)
    with Store.open(kg, engine="duckdb") as store:
        assert store.stats()["counting"] is True


@pytest.mark.parametrize("algorithm", [*DELETING, "rematerialise", "auto"])
@pytest.mark.sampled(each=2)
def test_every_algorithm_keeps_them(kg: Path, tmp_path: Path, algorithm: str) -> None:
    """Each update opens the store anew, so what one leaves on disk is what the next one finds."""
    updates = [
        {"delete": [(E.tom, RDF.type, E.Cat)]},
        {"delete": [(E.flat, E["in"], E.town)], "add": [(E.town, E["in"], E.tom)]},
        {"delete": [(E.Dog, RDFS.subClassOf, E.Animal)], "add": [(E.Thing, RDFS.subClassOf, E.Animal)]},
        {"delete": [(E.house, E["in"], E.town)]},
        {"add": [(E.tom, RDF.type, E.Cat), (E.Thing, RDFS.subClassOf, E.Cat), (E.flat, E["in"], E.town)]},
    ]
    for update in updates:
        with Store.open(kg, engine="duckdb") as store:
            figures = store.update(**update, maintain=algorithm)  # type: ignore[arg-type]
            if algorithm in COUNTING and "delete" in update:
                assert figures["algorithm"].startswith(algorithm)
            if algorithm == "auto" and "delete" in update and figures["algorithm"] != "rematerialise":
                assert figures["algorithm"].startswith(COUNTING)
    assert counts(kg) == anew(kg, tmp_path / "copy")


def test_a_second_load_keeps_them(kg: Path, tmp_path: Path) -> None:
    (tmp_path / "more.ttl").write_text("@prefix : <http://e/> . :town :in :land . :Thing a :Cat .")
    done("load", kg, tmp_path / "more.ttl", "-q")
    assert counts(kg)["tom", "in", "land"] == (0, 3)
    assert counts(kg) == anew(kg, tmp_path / "copy")


def test_a_request_keeps_them(kg: Path, tmp_path: Path) -> None:
    """It works by drafts of a version."""
    (tmp_path / "x.ru").write_text("PREFIX : <http://e/> DELETE { ?x :in ?y } INSERT { ?y :in ?x } WHERE { ?x :in ?y }")
    done("update", kg, tmp_path / "x.ru", "--maintain", "dred-counting")
    assert counts(kg) == anew(kg, tmp_path / "copy")


def test_no_counting_and_counting_again(kg: Path) -> None:
    before = counts(kg)
    done("materialise", kg, "--no-counting")
    assert Versions(kg).read().files_of("count").files == ()
    (kg.parent / "x.nt").write_text(f"<{E.tom}> <{RDF.type}> <{E.Cat}> .\n")
    refused = run("update", kg, "--delete", kg.parent / "x.nt", "--maintain", "dred-counting")
    assert refused.code == 2
    assert "needs derivation counts" in refused.err
    done("materialise", kg, "--counting")
    assert counts(kg) == before


def test_copies_and_compact_stores_have_them(kg: Path, tmp_path: Path) -> None:
    with Store.open(kg, engine="duckdb") as store:
        for name in "abc":
            store.update(add=[(E[name], E["in"], E.tom)], delete=[(E.tom, RDF.type, E.Cat)])
    before = counts(kg)
    done("compact", kg)
    assert counts(kg) == before
    assert Versions(kg).read().files_of("count").tombstones == ()
    done("copy", kg, tmp_path / "copy")
    assert counts(tmp_path / "copy") == before
    with Store.open(tmp_path / "copy", engine="duckdb") as store:
        store.update(delete=[(E.a, E["in"], E.tom)], maintain="dred-counting")
    assert counts(tmp_path / "copy") == anew(tmp_path / "copy", tmp_path / "again")


def test_a_dry_run_leaves_them(kg: Path) -> None:
    before = contents(kg)
    with Store.open(kg, engine="duckdb") as store:
        store.update(delete=[(E.tom, RDF.type, E.Cat)], maintain="dred-counting", dry_run=True)
        again = store.update(delete=[(E.tom, RDF.type, E.Cat)], maintain="backward-forward-counting", dry_run=True)
    assert again["deleted"] == 1
    assert contents(kg) == before


class TestRefused:
    def test_in_stores_without(self, tmp_path: Path) -> None:
        with Store.create(tmp_path / "kg", ["rdfs"], engine="duckdb") as store:
            store.update(add=[(E.a, E.b, E.c)])
            for algorithm in COUNTING:
                with pytest.raises(UsageError, match=r"needs derivation counts.*materialise STORE --counting"):
                    store.update(delete=[(E.a, E.b, E.c)], maintain=algorithm)
        assert run("load", tmp_path / "kg", "x.nt", "--counting").code == 2

    @pytest.mark.parametrize("command", ["init", "materialise"])
    def test_with_rewriting(self, tmp_path: Path, command: str) -> None:
        if command == "materialise":
            done("init", tmp_path / "kg", "-q")
        outcome = run(command, tmp_path / "kg", "--counting")
        assert outcome.code == 2
        assert "not kept with equality rewrite" in outcome.err
        assert "--equality axioms or --equality off" in outcome.err

    def test_with_rules_that_are_no_joins(self, tmp_path: Path) -> None:
        (tmp_path / "own.dlog").write_text(
            "PREFIX : <http://e/>\n@rule lonely [?x, a, :Lonely] :- [?x, a, :P], NOT([?x, :knows, ?y]) .\n"
        )
        outcome = run("init", tmp_path / "kg", "--rules", tmp_path / "own.dlog", "--counting")
        assert outcome.code == 2
        assert "rule lonely" in outcome.err
        assert "own.dlog:2" in outcome.err
        assert not (tmp_path / "kg").exists()
        done("init", tmp_path / "kg", "--rules", "none", "--counting", "-q")
        assert run("rules", tmp_path / "kg", "add", tmp_path / "own.dlog").code == 2


@pytest.mark.spark
@pytest.mark.long_on_spark
def test_on_spark(spark: SparkSession, kg: Path, tmp_path: Path) -> None:
    with Store.open(kg, spark=spark) as store:
        store.update(delete=[(E.tom, RDF.type, E.Cat)], maintain="dred-counting")
        store.update(delete=[(E.flat, E["in"], E.town)], maintain="backward-forward-counting")
        store.update(add=[(E.tom, RDF.type, E.Cat)], maintain="rematerialise")
    assert counts(kg) == anew(kg, tmp_path / "copy")


@pytest.mark.parametrize("patch", [0, 1_000])
def test_what_is_undone_leaves_the_counts_as_they_were(patch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is kept beside the large arrays; and then they go on."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.loose", patch)
    keys = np.arange(0, 40, 2)
    kept = counts_kept.Counts(keys, np.ones((2, len(keys)), dtype=np.int64))
    kept.add(np.array([0, 1, 1]), NONRECURSIVE, 1)
    kept.begin()
    before = kept.rows()
    for _ in range(2):
        kept.add(np.array([0, 2, 4, 7, 41]), RECURSIVE, 1)
        kept.add(np.array([2, 4]), NONRECURSIVE, -1)
        assert kept.change()[0].tolist() == [0, 2, 4]
        assert kept.change()[2].tolist() == [0, 2, 4, 7, 41]
        kept.revert()
        assert all((was == is_).all() for was, is_ in zip(before, kept.rows(), strict=True))
    kept.add(np.array([7]), RECURSIVE, 1)
    assert kept.change()[2].tolist() == [7]
