"""After every update of a random sequence the store equals the oracle, whatever algorithm and engine."""

from __future__ import annotations

import tempfile
from itertools import chain, pairwise, product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib.namespace import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from tests.support.closure import MODES, PHASES
from tests.support.random_programs import Triple, facts, programs
from tests.support.seeds import seeds
from tests.support.stores import Update, follow, rule_names
from triplestore import Store
from triplestore.engine.duckdb.connection import Connection
from triplestore.read.proofs import Violation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rdflib import URIRef


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Triple], list[Update]]:
    """A data set and three updates: new facts and axioms come, some of what is there goes."""
    start = draw(facts(odd=False))
    now, updates = set(start), []
    for _ in range(3):
        add = draw(facts(odd=False)) if draw(st.booleans()) else []
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=3)) if now and draw(st.booleans()) else []
        delete = [t for t in going if t not in add]
        updates.append((add, delete))
        now = (now - set(delete)) | set(add)
    return start, updates


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(history=histories(), program=programs)
@pytest.mark.sampled(each=2)
def test_updates_equal_the_oracle(
    history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder, "kg"), rule_names(program, folder), equality, engine="duckdb") as store,
    ):
        follow(store, history, program, equality)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=7, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(history=histories(), program=programs)
def test_updates_equal_the_oracle_often(
    history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder, "kg"), rule_names(program, folder), equality, engine="duckdb") as store,
    ):
        follow(store, history, program, equality)


@pytest.mark.spark
@pytest.mark.long
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(history=histories(), program=programs, equality=st.sampled_from(MODES))
def test_updates_equal_the_oracle_on_spark(
    spark: SparkSession, history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(Path(folder, "kg"), rule_names(program, folder), equality, spark=spark) as store,
    ):
        follow(store, history, program, equality)


E = Namespace("http://e/")


@pytest.mark.long_on_spark
def test_additions_merge_and_deletions_split(make_store: MakeStore) -> None:
    store = make_store()
    store.update(add=[(E.mail, RDF.type, OWL.InverseFunctionalProperty), (E.a, E.mail, E.m), (E.a, E.name, E.n)])
    added = store.update(add=[(E.b, E.mail, E.m), (E.b, E.age, E.old)])
    assert (added["algorithm"], added["merged"], added["split"]) == ("semi-naive", 1, 0)
    assert {(E.b, E.name, E.n), (E.a, E.age, E.old), (E.a, OWL.sameAs, E.b)} <= set(store.triples())
    assert store.stats()["classes"] == 1
    deleted = store.update(delete=[(E.b, E.mail, E.m)])
    assert deleted["algorithm"] in ("dred", "fixpoint-update")
    assert (deleted["merged"], deleted["split"]) == (0, 1)
    now = set(store.triples())
    assert (E.b, E.age, E.old) in now
    assert not {(E.b, E.name, E.n), (E.a, E.age, E.old), (E.a, OWL.sameAs, E.b)} & now
    with Store.open(store.path, engine="duckdb") as reopened:
        assert set(reopened.triples()) == now


@pytest.mark.long_on_spark
def test_a_schema_triple_is_a_rule_change(make_store: MakeStore) -> None:
    store = make_store()
    store.update(add=[(E.x, RDF.type, E.Cat), (E.y, RDF.type, E.Dog)])
    axiom = (E.Cat, RDFS.subClassOf, E.Animal)
    added = store.update(add=[axiom])
    assert added["algorithm"] == "semi-naive"
    assert (E.x, RDF.type, E.Animal) in set(store.triples())
    store.update(delete=[axiom])
    assert (E.x, RDF.type, E.Animal) not in set(store.triples())


@pytest.mark.long_on_spark
def test_an_update_without_effect_publishes_nothing(make_store: MakeStore) -> None:
    store = make_store()
    store.update(add=[(E.x, E.p, E.y)])
    version = store.version
    assert store.update(add=[(E.x, E.p, E.y)], delete=[(E.no, E.p, E.y)])["algorithm"] == "none"
    assert store.version == version == Store.open(store.path, engine="duckdb").version


def test_blank_nodes_of_a_folder_that_is_added_are_its_own(make_store: MakeStore, tmp_path: Path) -> None:
    """Each of its files has a number, which no later file has."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "later").mkdir()
    with make_store(["none"]) as store:
        for name in ("folder/1.ttl", "folder/2.ttl", "folder/3.nt", "later/1.ttl", "later/2.ttl"):
            (tmp_path / name).write_text(f'_:x <http://e/p> "{name}" .')
        store.update_files(add=[tmp_path / "folder"])
        store.update_files(add=[tmp_path / "later/*.ttl"])
        store.load(tmp_path / "folder/1.ttl")
        assert len(store.query("SELECT DISTINCT ?x { ?x <http://e/p> ?name }")) == 6


@pytest.mark.long_on_spark
def test_a_replacement_keeps_the_labels_of_the_store(make_store: MakeStore, tmp_path: Path) -> None:
    """Of blank nodes that earlier files named, so that what was exported changes nothing; two labels are two nodes."""

    def written(name: str, *lines: str) -> Path:
        (tmp_path / name).write_text("".join(f"{line} .\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    def lines(store: Store) -> list[str]:
        return sorted(line.removesuffix(" .") for lines in store.lines("asserted") for line in lines)

    with make_store(["none"]) as store:
        p = "<http://e/p>"
        store.load(written("1.ttl", f"_:x {p} [ {p} _:g.1 ]"))
        store.load(written("2.nt", f"_:x {p} <http://e/a>"))
        before = lines(store)
        assert before == [f"_:f1_x {p} _:f1g1", f"_:f1g1 {p} _:f1_g.1", f"_:f2_x {p} <http://e/a>"]
        for suffix in ("nt", "ttl"):
            version = store.version
            store.replace(written(f"again.{suffix}", *before))
            assert (store.version, lines(store)) == (version, before)
        # A label that no file before this one gave is the file's own, as are labels of one of several files.
        labels = ("f3_x", "f02_x", "f1", "fg1", "f1_", "f1gx")
        store.replace(written("strange.nt", *(f"_:{label} {p} <http://e/a>" for label in labels)))
        found = [line.split()[0] for line in lines(store)]
        assert found == ["_:f02_x", "_:f1_", "_:f1gx", "_:f3_f1", "_:f3_f3_x", "_:f3_fg1"]
        store.replace(*(written(f"{n}.nt", f"_:f1_x {p} <http://e/a>") for n in range(2)))
        assert [line.split()[0] for line in lines(store)] == ["_:f4_f1_x", "_:f5_f1_x"]


@pytest.mark.long_on_spark
def test_a_dry_run_tells_and_commits_nothing(make_store: MakeStore) -> None:
    store = make_store()
    store.update(add=[(E.p, RDFS.domain, E.C)])
    before, version = set(store.triples()), store.version
    assert store.update(add=[(E.x, E.p, E.y)], dry_run=True)["added"] == 2
    assert store.version == version
    assert set(store.triples()) == before
    assert store.update(add=[(E.x, E.p, E.y)])["added"] == 2


@pytest.mark.long_on_spark
@pytest.mark.parametrize("maintain", ["auto", "rematerialise"], ids=["in memory", "by tables"])
def test_a_dry_run_tells_which_inconsistencies_go_and_come(make_store: MakeStore, maintain: str) -> None:
    """Those of terms that are represented by others afterwards are the same."""
    same, apart = OWL.sameAs, OWL.differentFrom
    store = make_store(
        add=[
            (E.b, same, E.c),
            (E.b, apart, E.c),
            (E.x, same, E.y),
            (E.x, apart, E.y),
            (E.m, same, E.n),
            (E.m, apart, E.n),
        ]
    )
    add = [(E.a, same, E.b), (E.q, apart, E.q2), (E.q, same, E.q2)]
    figures = store.update(add, [(E.x, same, E.y)], maintain, dry_run=True)
    found = figures.violations
    assert found is not None
    assert (found.made, found.mended) == (1, 1)
    ((made,), (mended,)) = found.makes, found.mends
    assert made.rule == "eq-diff1"
    assert made.triples[0][0] in (f"<{E.q}>", f"<{E.q2}>")
    assert (mended.rule, mended.triples[0][0]) == ("eq-diff1", f"<{E.x}>")
    assert [part.names for part in made.classes] == [(f"<{E.q}>", f"<{E.q2}>")]
    assert [part.names for part in mended.classes] == [(f"<{E.x}>", f"<{E.y}>")]
    assert figures["inconsistencies_mended"] == 1
    figures = store.update([], [(E.m, same, E.n), (E.m, apart, E.n)], maintain, dry_run=True)
    assert (figures["inconsistencies_made"], figures["inconsistencies_mended"]) == (0, 1)
    assert len(store.check()) == 3
    store.update(add, [(E.x, same, E.y)], maintain)
    assert len(store.check()) == 3


@pytest.mark.long_on_spark
@pytest.mark.parametrize("seed", seeds(range(20), 2))
def test_a_dry_run_compares_inconsistencies(make_store: MakeStore, seed: int) -> None:
    """In memory and in tables: those of whose terms none are one with theirs, before or after, go and come."""
    dice = Random(seed)
    pool = [(E[a], p, E[b]) for a, b in product("abcdef", repeat=2) for p in (OWL.sameAs, OWL.differentFrom)]
    store = make_store(add=dice.sample(pool, 14))
    add, gone = dice.sample(pool, 4), dice.sample(sorted(store.triples("asserted")), 4)

    def classes() -> dict[object, object]:
        return {term: members[0] for _, members in store.equality_classes(100, 100) for term in members}

    before, at_first = store.check(), classes()
    dry = [store.update(add, gone, way, dry_run=True).violations for way in ("auto", "rematerialise")]
    assert dry[0] == dry[1]
    assert dry[0] is not None
    store.update(add, gone)
    after, at_last = store.check(), classes()

    def alike(one: Violation, other: Violation) -> bool:
        terms = list(zip(chain(*one.triples), chain(*other.triples), strict=True))
        return any(all(of.get(a, a) == of.get(b, b) for a, b in terms) for of in (at_first, at_last))

    assert dry[0].made == sum(not any(alike(old, new) for old in before) for new in after)
    assert dry[0].mended == sum(not any(alike(old, new) for new in after) for old in before)


@pytest.mark.long_on_spark
@pytest.mark.parametrize(
    "maintain", ["auto", pytest.param("rematerialise", marks=pytest.mark.long_on_spark)], ids=["in memory", "by tables"]
)
def test_a_dry_run_tells_which_classes_change(make_store: MakeStore, maintain: str) -> None:
    store = make_store()

    def equal(*names: str) -> list[tuple[URIRef, URIRef, URIRef]]:
        return [(E[a], OWL.sameAs, E[b]) for a, b in pairwise(names)]

    def term(*names: str) -> dict[str, object]:
        found = [f"<{E[name]}>" for name in names]
        return {"term": found[0], "members": len(found), **({"names": found} if len(found) > 1 else {})}

    store.update(add=[*equal("a", "b", "c"), *equal("d", "e"), *equal("m", "n", "o"), *equal("x", "y")])
    version = store.version
    add, delete = [*equal("c", "d"), *equal("f", "g")], [*equal("m", "n"), *equal("x", "y")]
    figures = store.update(add, delete, maintain, dry_run=True)
    assert (figures["algorithm"] == "rematerialise") == (maintain == "rematerialise")
    assert figures["merges"] == [[term(*"abc"), term(*"de")], [term("f"), term("g")]]
    assert figures["splits"] == [
        {"class": term(*"mno"), "into": [term(*"no"), term("m")]},
        {"class": term(*"xy"), "into": [term("x"), term("y")]},
    ]
    assert (figures["classes_merged"], figures["classes_split"]) == (2, 2)
    figures = store.update(equal("b", "m"), equal("a", "b"), maintain, dry_run=True)
    assert figures["merges"] == [[term(*"abc"), term(*"mno")]]
    assert figures["splits"] == [{"class": term(*"abc"), "into": [term(*"bcmno"), term("a")]}]
    assert store.version == version
    assert store.update(add=equal("o", "n"), dry_run=True)["merges"] == []


def test_a_warm_update_runs_no_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither with known terms nor with new names: the dictionary's rows of these are made in memory."""
    run, statements = Connection._run, list[str]()

    def counted(self: Connection, work: object, sql: str) -> object:
        statements.append(sql)
        return run(self, work, sql)  # type: ignore[arg-type]

    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb") as store:
        for n in range(3):
            store.update(add=[(E.a, E.p, E[f"b{n}"])])
        monkeypatch.setattr(Connection, "_run", counted)
        store.update(add=[(E.a, E.q, E.c), (rdflib.BNode(), E.p, E.b1)])
        store.update(add=[(E.c, E.p, E.b1)])
        store.update(delete=[(E.a, E.q, E.c)])
        assert statements == []
        assert set(store.query("SELECT ?x ?y { ?x <http://e/p> ?y FILTER(?x = <http://e/c>) }")) == {(E.c, E.b1)}
        assert statements
