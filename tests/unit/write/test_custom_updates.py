"""Updates of stores with rules that have NOT, AGGREGATE, FILTER or BIND: after each the closure is the stable one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Literal
from rdflib.namespace import RDF, Namespace

from tests.conftest import MakeStore
from tests.support import random_programs
from tests.support.closure import MODES, PHASES
from tests.support.custom_programs import data, equating, numbers, programs, programs_over
from tests.support.custom_updates import follow
from tests.support.random_programs import Triple
from tests.support.seeds import long
from tests.support.thresholds import set_fields
from triplestore import Store
from triplestore.engine import Engine
from triplestore.maintain.thresholds import Thresholds
from triplestore.materialise.limits import Limits
from triplestore.model.errors import EndlessError
from triplestore.model.rule import Rule
from triplestore.model.thresholds import Sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = Namespace("http://e/")


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[Triple], list[Triple]]]:
    """What comes and goes in some updates: first a data set, then mostly little."""
    first = draw(data)
    now, updates = set(first), [(first, list[Triple]())]
    for _ in range(3):
        little = st.lists(st.one_of(random_programs.data, random_programs.equalities, numbers), max_size=2)
        add = draw(st.one_of(little, little, data))
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=2)) if now else []
        delete = [t for t in going if t not in add]
        updates.append((add, delete))
        now = (now - set(delete)) | set(add)
    return updates


@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(updates=histories(), rules=programs_over("rdfs-plus", "none"))
@pytest.mark.sampled(each=2)
def test_updates_keep_the_closure_stable(
    embedded: Engine, updates: list[tuple[list[Triple], list[Triple]]], rules: tuple[Rule, ...], equality: str
) -> None:
    follow(updates, rules, equality, embedded, engine="duckdb")


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(updates=histories(), rules=programs)
def test_updates_keep_the_closure_stable_often(
    embedded: Engine, updates: list[tuple[list[Triple], list[Triple]]], rules: tuple[Rule, ...], equality: str
) -> None:
    follow(updates, rules, equality, embedded, engine="duckdb")


@pytest.mark.parametrize("examples", [1, long(12)])
@pytest.mark.parametrize("equality", MODES)
def test_equations_in_little_room(
    embedded: Engine, equality: str, examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are joined by computed keys, in parts."""
    set_fields(monkeypatch, Thresholds, room=3)
    set_fields(monkeypatch, Sizes, much=1)

    @settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES
    )
    @given(updates=histories(), rules=equating)
    def follows(updates: list[tuple[list[Triple], list[Triple]]], rules: tuple[Rule, ...]) -> None:
        follow(updates, rules, equality, embedded, engine="duckdb")

    follows()


@pytest.mark.spark
@pytest.mark.long
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(updates=histories(), rules=programs, equality=st.sampled_from(MODES))
def test_updates_keep_the_closure_stable_on_spark(
    spark: SparkSession,
    embedded: Engine,
    updates: list[tuple[list[Triple], list[Triple]]],
    rules: tuple[Rule, ...],
    equality: str,
) -> None:
    follow(updates, rules, equality, embedded, spark=spark)


PEOPLE = """PREFIX : <http://e/>
    @rule lonely  [?x, a, :Lonely] :- [?x, a, :Person], NOT [?x, :knows, ?y] .
    @rule friends [?x, :friends, ?n] :- AGGREGATE([?x, :knows, ?y] ON ?x BIND COUNT(?y) AS ?n) .
    @rule liked   [?x, a, :Liked] :- [?x, :friends, ?n], FILTER(?n > 1) .
    @rule next    [?x, :next, ?m] :- [?x, :friends, ?n], BIND(?n * 10 AS ?m) .
    @rule alone   false :- [?x, a, :King], NOT [?x, a, :Liked] .
    """


@pytest.fixture
def people(make_store: MakeStore, tmp_path: Path) -> Store:
    """A store in which c and b are lonely, and a, a king, knows b."""
    (tmp_path / "people.dlog").write_text(PEOPLE)
    store = make_store([str(tmp_path / "people.dlog")])
    store.update(add=[*((E[name], RDF.type, E.Person) for name in "abc"), (E.a, E.knows, E.b), (E.a, RDF.type, E.King)])
    return store


NEEDED = """PREFIX : <http://e/>
    @rule none  false :- [?x, a, :C], NOT [?x, :p, ?y] .
    @rule few   false :- [?x, a, :D], AGGREGATE([?x, :p, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n < 2) .
    @rule that  false :- [?x, a, :D], NOT [:that, owl:sameAs, :that] .
    """


@pytest.mark.long_on_spark
@pytest.mark.parametrize("most", [0, 50_000])
def test_additions_undo_violations(
    make_store: MakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Those of NOT and AGGREGATE; in tables, for which a change may be too large or a rule of a kind, as in memory."""
    set_fields(monkeypatch, Thresholds, bulk=most)
    (tmp_path / "needed.dlog").write_text(NEEDED)
    store = make_store([str(tmp_path / "needed.dlog")])
    things = [(E[f"x{n}"], RDF.type, E.C) for n in range(9)]
    store.update(add=[*things, (E.x0, E.p, E.a), (E.y, RDF.type, E.D), (E.y, E.p, E.a)])
    assert store.violated() == {"none": 8, "few": 1, "that": 1}
    assert store.update(add=[(E.x1, E.p, E.a), (E.y, E.p, E.that)])["algorithm"] == "semi-naive"
    assert store.violated() == {"none": 7}


LONELY = (E.c, RDF.type, E.Lonely)


@pytest.mark.long_on_spark
def test_not_and_aggregate_are_evaluated(people: Store) -> None:
    assert [v.rule for v in people.check()] == ["alone"]
    assert {LONELY, (E.b, RDF.type, E.Lonely), (E.a, E.next, Literal(10))} <= set(people.triples())


@pytest.mark.long_on_spark
def test_not_and_aggregate_are_maintained(people: Store) -> None:
    store = people
    added = store.update(add=[(E.c, E.knows, E.b), (E.a, E.knows, E.c)])
    assert (added["algorithm"], added["reason"]) == ("dred", "nothing is deleted")
    now = set(store.triples())
    assert LONELY not in now
    assert {(E.c, E.friends, Literal(1)), (E.a, E.next, Literal(20)), (E.a, RDF.type, E.Liked)} <= now
    assert (E.a, E.next, Literal(10)) not in now
    assert store.check() == []
    gone = store.update(delete=[(E.c, E.knows, E.b), (E.a, E.knows, E.c)])
    assert gone["algorithm"] == "dred"
    now = set(store.triples())
    assert LONELY in now
    assert (E.a, RDF.type, E.Liked) not in now
    assert {t for t in now if t[1] == E.friends} == {(E.a, E.friends, Literal(1))}
    assert [v.rule for v in store.check()] == ["alone"]


def test_terms_that_rules_make_are_there_in_a_new_process(tmp_path: Path) -> None:
    file = tmp_path / "sums.dlog"
    file.write_text("PREFIX : <http://e/> [?x, :more, ?w] :- [?x, :n, ?v], BIND(?v * 1000 AS ?w) .")
    with Store.create(tmp_path / "kg", [str(file)], engine="duckdb") as store:
        store.update(add=[(E.a, E.n, Literal(1))])
    for number in (2, 3):
        with Store.open(tmp_path / "kg", engine="duckdb") as store:
            dry = store.update(add=[(E.a, E.n, Literal(number))], dry_run=True)
            assert dry["added"] == 2
            store.update(add=[(E.b, E.n, Literal(number + 10))])
            assert store.update(add=[(E.a, E.n, Literal(number))])["algorithm"] == "semi-naive"
    with Store.open(tmp_path / "kg", engine="duckdb") as store:
        assert set(store.match(E.a, E.more)) == {(E.a, E.more, Literal(1000 * n)) for n in (1, 2, 3)}
        assert set(store.match(E.b, E.more)) == {(E.b, E.more, Literal(1000 * n)) for n in (12, 13)}
        gone = store.update(delete=[(E.a, E.n, Literal(2))], maintain="backward-forward")
        assert gone["algorithm"] == "backward-forward"
        assert set(store.match(E.a, E.more)) == {(E.a, E.more, Literal(1000 * n)) for n in (1, 3)}


def test_rules_that_would_not_end_are_refused_and_leave_the_store_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "endless.dlog"
    file.write_text("PREFIX : <http://e/> [?x, :n, ?w] :- [?x, :n, ?v], [?x, a, :C], BIND(?v + 1 AS ?w) .")
    with Store.create(tmp_path / "kg", [str(file)], engine="duckdb") as store:
        store.limits = Limits(rounds=50)
        store.update(add=[(E.a, E.n, Literal(1))])
        before = set(store.triples())
        with pytest.raises(EndlessError, match="makes ever more terms"):
            store.update(add=[(E.a, RDF.type, E.C)])
        assert set(store.triples()) == before
        store.update(add=[(E.b, E.n, Literal(7))])
        assert set(store.triples()) == {*before, (E.b, E.n, Literal(7))}
