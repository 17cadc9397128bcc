"""What is not maintained in memory, and what reports say of it then: the closure is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, Literal, Namespace

from tests.support.thresholds import set_fields
from triplestore import Store
from triplestore.engine import Engine
from triplestore.maintain.thresholds import Thresholds
from triplestore.write.change import Reason

E = Namespace("http://e/")
SCHEMA = [(E.C, RDFS.subClassOf, E.D), (E.D, RDFS.subClassOf, E.F)]
FACTS = [(E.x, RDF.type, E.C), (E.x, OWL.sameAs, E.y), (E.z, E.age, Literal(5))]
MORE = [(E.w, RDF.type, E.C), (E.w, OWL.sameAs, E.y)]


def closure(store: Store) -> set[tuple[object, ...]]:
    return set(store.triples())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb")
    made.update(add=[*SCHEMA, *FACTS[:2]])
    made.update(add=FACTS[2:])  # with the closure in memory
    assert made._session.workspace.memory is not None
    return made


def expected(tmp_path: Path, *triples: tuple[object, ...]) -> set[tuple[object, ...]]:
    folder = tmp_path / f"other{len([*tmp_path.iterdir()])}"
    with Store.create(folder, ["owl2rl"], engine="duckdb") as other:
        other.update(add=triples)
        other.materialise()
        return closure(other)


def test_derivation_counts_of_a_large_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They alone are read whole."""
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb", equality="axioms", counting=True) as store:
        store.update(add=[*SCHEMA, *FACTS])
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.resident", 0)
        store._session.workspace.memory = None
        report = store.update(add=MORE, delete=FACTS[:1])
        reported = report.algorithm, report.reason, report.not_asserted
        assert reported == ("rematerialise", Reason.LARGE_STORE.value, 0)
        assert closure(store) == expected(tmp_path, *SCHEMA, *FACTS[1:], *MORE)


def test_a_closure_that_is_out_of_date(store: Store, tmp_path: Path) -> None:
    (tmp_path / "more.nt").write_text("".join(f"{s.n3()} {p.n3()} {o.n3()} .\n" for s, p, o in MORE))
    store.load(tmp_path / "more.nt", materialise=False)
    assert not store.materialised
    report = store.update(delete=FACTS[:1])
    assert (report.algorithm, report.reason) == ("rematerialise", Reason.NOT_MATERIALISED.value)
    assert closure(store) == expected(tmp_path, *SCHEMA, *FACTS[1:], *MORE)


def test_all_replaced(store: Store, tmp_path: Path) -> None:
    report = store.sparql_update("CLEAR ALL; INSERT DATA { <http://e/x> a <http://e/C> }")
    assert (report.algorithm, report.reason) == ("rematerialise", Reason.REPLACED.value)
    assert closure(store) == expected(tmp_path, FACTS[0])


def test_from_scratch(store: Store) -> None:
    store._session.workspace.memory = None
    report = store.update(delete=FACTS[:1], maintain="rematerialise")
    assert (report.algorithm, report.reason) == ("rematerialise", "asked for")


def test_rules_that_match_literals_otherwise(store: Store) -> None:
    report = store.change_rules(add="rdfs", remove="owl2rl")
    assert (report.algorithm, report.reason) == ("rematerialise", Reason.LITERALS.value)


def test_drafts_of_a_dry_run(store: Store) -> None:
    before, version = closure(store), store.version
    kept = store._session.workspace.memory
    text = (
        "PREFIX : <http://e/> PREFIX owl: <http://www.w3.org/2002/07/owl#> DELETE DATA { :x owl:sameAs :y };"
        "INSERT { ?x a :D } WHERE { ?x :age 5 }; DELETE WHERE { :x a :C }; INSERT DATA { :y owl:sameAs :z }"
    )
    report = store.sparql_update(text, dry_run=True)
    assert "rematerialise" in report.algorithm.split(", ")
    assert Reason.DRAFT.value in report.reason
    assert report.classes is not None
    assert [{part.term for part in merge} for merge in report.classes.merges] == [{"<http://e/x>", "<http://e/z>"}]
    assert [split.whole.members for split in report.classes.splits] == [2]
    assert (closure(store), store.version) == (before, version)
    assert store._session.workspace.memory is kept
    store.sparql_update(text)
    after = closure(store)
    assert (E.y, OWL.sameAs, E.z) in after
    assert (E.x, OWL.sameAs, E.y) not in after


def test_a_dry_run_leaves_the_memory(store: Store) -> None:
    kept = store._session.workspace.memory
    report = store.update(add=MORE, delete=FACTS[:2], dry_run=True)
    assert report.algorithm != "rematerialise"
    assert store._session.workspace.memory == kept
    assert store.update(add=MORE, delete=FACTS[:2]).added == report.added


def of_either_engine(folder: Path, engine: Engine) -> Store:
    made = Store.create(folder, ["owl2rl"], engine=engine.name, spark=getattr(engine, "spark", None))
    made.update(add=[*SCHEMA, *FACTS])
    return made


@pytest.mark.long_on_spark
def test_a_large_deletion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    """It is computed from scratch, unless an algorithm is asked for."""
    set_fields(monkeypatch, Thresholds, scratch=0)
    with of_either_engine(tmp_path / "kg", engine) as store:
        report = store.update(add=MORE, delete=FACTS[:1])
        assert (report.algorithm, report.reason) == ("rematerialise", Reason.LARGE_CHANGE.value)
        assert closure(store) == expected(tmp_path, *SCHEMA, *FACTS[1:], *MORE)
        report = store.update(delete=SCHEMA[:1], maintain="dred")
        assert (report.algorithm, report.reason) == ("dred", "asked for")
        assert closure(store) == expected(tmp_path, *SCHEMA[1:], *FACTS[1:], *MORE)


@pytest.mark.long_on_spark
def test_a_large_addition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    set_fields(monkeypatch, Thresholds, bulk=0)
    with of_either_engine(tmp_path / "kg", engine) as store:
        report = store.update(add=MORE)
        assert (report.algorithm, report.reason) == ("semi-naive", "nothing is deleted")
        assert store._session.workspace.memory is None
        assert closure(store) == expected(tmp_path, *SCHEMA, *FACTS, *MORE)


def test_what_is_replaced_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replacement that deletes much: the reason says so."""
    (tmp_path / "kept.nt").write_text("".join(f"{s.n3()} {p.n3()} {o.n3()} .\n" for s, p, o in (*SCHEMA, *FACTS[1:])))
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb") as store:
        store.update(add=[*SCHEMA, *FACTS])
        set_fields(monkeypatch, Thresholds, scratch=0)
        store.replace(tmp_path / "kept.nt")
        last = store.stats()["last"]
        assert (last["algorithm"], last["reason"]) == ("rematerialise", Reason.LARGE_CHANGE.value)
        assert closure(store) == expected(tmp_path, *SCHEMA, *FACTS[1:])
