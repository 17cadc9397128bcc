"""What is not maintained in memory, and what reports say of it then: the closure is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import OWL, RDF, RDFS, Literal, Namespace

from triplestore import Store
from triplestore.engine import Engine
from triplestore.maintain import in_tables
from triplestore.write import in_memory, load
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
    with Store.create(tmp_path / "other", ["owl2rl"], engine="duckdb") as other:
        other.update(add=triples)
        other.materialise()
        return closure(other)


@pytest.mark.parametrize(("name", "reason"), [("SMALL", Reason.LARGE_CHANGE), ("LARGEST", Reason.LARGE_STORE)])
def test_sizes(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: Reason) -> None:
    monkeypatch.setattr(in_memory, name, 0)
    if reason is Reason.LARGE_STORE:  # only derivation counts are read whole
        store.close()
        store = Store.create(tmp_path / "counting", ["owl2rl"], engine="duckdb", equality="axioms", counting=True)
        store.update(add=[*SCHEMA, *FACTS])
    store._session.workspace.memory = None
    report = store.update(add=MORE, delete=FACTS[:1])
    assert (report.algorithm, report.reason, report.not_asserted) == ("rematerialise", reason.value, 0)
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


@pytest.mark.long_on_spark
def test_a_large_deletion_by_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    monkeypatch.setattr(in_memory, "SMALL", 0)
    monkeypatch.setattr(in_tables, "SMALL_SHARE", 1.0)
    session = getattr(engine, "spark", None)
    with Store.create(tmp_path / "kg", ["owl2rl"], engine=engine.name, spark=session) as store:
        store.update(add=[*SCHEMA, *FACTS])
        report = store.update(add=MORE, delete=FACTS[:1])
        assert (report.algorithm, report.reason) == ("dred", f"{Reason.LARGE_CHANGE.value}: by joins")
        assert closure(store) == expected(tmp_path, *SCHEMA, *FACTS[1:], *MORE)
        report = store.update(delete=SCHEMA[:1])
        assert report.algorithm == "rematerialise", "an axiom goes"


def test_what_is_replaced_in_part_by_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replacement that is too large for memory: the reason names what is deleted."""
    monkeypatch.setattr(load, "FEW", 0)
    monkeypatch.setattr(in_tables, "SMALL_SHARE", 1.0)
    (tmp_path / "kept.nt").write_text("".join(f"{s.n3()} {p.n3()} {o.n3()} .\n" for s, p, o in (*SCHEMA, *FACTS[1:])))
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb") as store:
        store.update(add=[*SCHEMA, *FACTS])
        store.replace(tmp_path / "kept.nt")
        last = store.stats()["last"]
        assert (last["algorithm"], last["reason"]) == ("dred", "1 asserted facts are deleted: by joins")
        assert closure(store) == expected(tmp_path, *SCHEMA, *FACTS[1:])
