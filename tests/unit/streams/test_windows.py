"""At every step the answer is that of a store with just the window's triples and the background's."""

from __future__ import annotations

import io
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rdflib import OWL, RDF, RDFS, XSD, Literal, Namespace

from tests.support.seeds import seeds
from tests.support.streams import Case, random_case, random_scenario, store_of
from triplestore import Store
from triplestore.engine import Engine
from triplestore.streams.run import StreamRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = Namespace("http://example.org/")
SIOC = Namespace("http://rdfs.org/sioc/ns#")


def followed(case: Case, folder: Path, algorithm: str, spark: SparkSession | None = None) -> StreamRun:
    kind = {"engine": "spark", "spark": spark} if spark else {"engine": "duckdb"}
    with store_of(case, folder, **kind) as store:
        return case.follow(store, algorithm)


@pytest.mark.parametrize("seed", seeds(range(15), 2))
@pytest.mark.sampled(each=2)
def test_auto(tmp_path: Path, seed: int) -> None:
    followed(random_case(seed), tmp_path / "kg", "auto")


@pytest.mark.parametrize("algorithm", ["dred", "naive"])
@pytest.mark.parametrize("seed", seeds(range(4), 1))
def test_baselines(tmp_path: Path, seed: int, algorithm: str) -> None:
    assert followed(random_case(seed, 8), tmp_path / "kg", algorithm).stats.algorithm == algorithm


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 112))
def test_auto_often(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms are forgotten at once."""
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.rows", 1)
    followed(random_case(seed, 30), tmp_path / "kg", "auto")


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["dred", "naive"])
@pytest.mark.parametrize("seed", range(100, 105))
def test_baselines_often(tmp_path: Path, seed: int, algorithm: str) -> None:
    followed(random_case(seed), tmp_path / "kg", algorithm)


@pytest.mark.spark
def test_auto_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    assert followed(random_case(3, 3), tmp_path / "kg", "auto", spark).stats.algorithm in ("imars", "dred")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ["auto", "dred", "naive"])
@pytest.mark.parametrize("seed", range(1))
def test_on_spark_often(tmp_path: Path, spark: SparkSession, seed: int, algorithm: str) -> None:
    followed(random_case(seed, 6), tmp_path / "kg", algorithm, spark)


def in_scenario(seed: int, folder: Path, algorithm: str, spark: SparkSession | None = None, length: int = 14) -> None:
    scenario = random_scenario(seed, length)
    kind = {"engine": "spark", "spark": spark} if spark else {"engine": "duckdb"}
    with store_of(scenario, folder, **kind) as store:
        scenario.follow(store, algorithm)


@pytest.mark.parametrize("seed", seeds(range(40), 8))
def test_scenarios(tmp_path: Path, seed: int) -> None:
    """Several windows, over streams with forms of equal literals, malformed lines, and late ones."""
    in_scenario(seed, tmp_path / "kg", "auto")


@pytest.mark.parametrize("algorithm", ["dred", "naive"])
@pytest.mark.parametrize("seed", seeds(range(100, 115), 3))
def test_scenarios_by_the_baselines(tmp_path: Path, seed: int, algorithm: str) -> None:
    in_scenario(seed, tmp_path / "kg", algorithm)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("algorithm", ["auto", "dred", "naive"])
@pytest.mark.parametrize("seed", range(200, 203))
def test_scenarios_on_spark(tmp_path: Path, spark: SparkSession, seed: int, algorithm: str) -> None:
    in_scenario(seed, tmp_path / "kg", algorithm, spark, 6)


@pytest.mark.long
def test_most_are_by_imars(tmp_path: Path) -> None:
    """The random streams above are mostly of the kind that IMaRS can keep."""
    found = Counter(followed(random_case(seed, 1), tmp_path / str(seed), "auto").stats.algorithm for seed in range(12))
    assert found["imars"] > 6, found


@pytest.mark.long_on_spark
def test_running_example(tmp_path: Path, engine: Engine) -> None:
    """That of the paper, section 3.2. Its windows have the times from T - 5 to before T; ours, of integers, are those
    of T - 1. What ends is removed, what is renewed stays: Adam is a user by tweet 1, then by tweet 3."""
    ontology = [
        (SIOC.UserAccount, RDF.type, OWL.Class),
        (SIOC.Post, RDF.type, OWL.Class),
        (SIOC.creator_of, RDF.type, OWL.ObjectProperty),
        (SIOC.creator_of, OWL.inverseOf, SIOC.has_creator),
        (SIOC.has_creator, RDFS.range, SIOC.UserAccount),
    ]
    tweets = [(5, (E.Adam, SIOC.creator_of, E.tweet1)), (7, (E.Bob, SIOC.creator_of, E.tweet2))]
    tweets += [(10, (E.Adam, SIOC.creator_of, E.tweet3)), (17, (E.Eve, SIOC.creator_of, E.tweet4))]
    query = """PREFIX sioc: <http://rdfs.org/sioc/ns#>
        REGISTER {} active_users AS SELECT ?author ?post FROM STREAM <http://example.org/stream> [RANGE 5 STEP 1]
        WHERE {{ ?author a sioc:UserAccount ; sioc:creator_of ?post . ?post sioc:has_creator ?author }}"""
    session = getattr(engine, "spark", None)
    with Store.create(tmp_path / "kg", "rdfs-plus", engine=engine.name, spark=session) as store:
        store.update(add=ontology)
        asked = [query.format(kind) for kind in ("QUERY", "ISTREAM", "DSTREAM")]
        with store.stream(tweets, asked, algorithm="imars") as run:
            found: dict[int, list[set[str]]] = {}
            for answer in run:
                rows = {f"{a[20:-1]} {b[20:-1]}" for a, b in map(str_pair, answer.rows)}
                found.setdefault(answer.time, []).append(rows)
    one, two, three = "Adam tweet1", "Bob tweet2", "Adam tweet3"
    assert found[9] == [{one, two}, set(), set()]
    assert found[10] == [{two, three}, {three}, {one}]
    assert found[11] == [{two, three}, set(), set()]
    assert found[12] == [{three}, set(), {two}]
    assert found[15] == [set(), set(), {three}]
    assert list(found) == [*range(5, 16), 17], "an empty window is answered once"


def str_pair(row: tuple[str | None, ...]) -> tuple[str, str]:
    a, b = row
    return str(a), str(b)


@pytest.mark.long_on_spark
def test_classes_split_when_links_end(tmp_path: Path, engine: Engine) -> None:
    """A chain of equal terms, whose links end one by one, from the middle."""
    names = [E[f"n{i}"] for i in range(5)]
    ends = {2: 1, 0: 2, 3: 3, 1: 4}
    stream = [(time, (names[i], OWL.sameAs, names[i + 1])) for i, time in sorted(ends.items(), key=lambda x: x[1])]
    stream += [(4, (names[0], E.p, names[4])), (9, (E.other, E.p, E.other))]
    session = getattr(engine, "spark", None)
    with Store.create(tmp_path / "kg", "owl2rl", engine=engine.name, spark=session) as store:
        query = f"SELECT ?a ?b {{ ?a <{E.p}> ?b FILTER(?a != <{E.other}>) }}"
        with store.stream(stream, query, "4", "1", algorithm="imars") as run:
            found = {answer.time: len(answer.rows) for answer in run}
    assert found == {1: 0, 2: 0, 3: 0, 4: 25, 5: 6, 6: 2, 7: 1, 8: 0, 9: 0}


def test_literals_have_types_while_they_are_there(tmp_path: Path) -> None:
    """Also where an axiom ends, and the window is derived again; the closure does not grow with the literals met."""
    numbers = [(E.Number, OWL.onProperty, E.p), (E.Number, OWL.someValuesFrom, XSD.integer)]
    stream = [(time, (E.x, E.p, Literal(7))) for time in range(1, 5)]
    stream[1:1] = [(1, (E.A, RDFS.subClassOf, E.B))]
    stream += [(time, (E.x, E.p, Literal(time))) for time in range(9, 15)]
    with Store.create(tmp_path / "kg", "owl2rl", engine="duckdb") as store:
        store.update(add=numbers)
        with store.stream(stream, f"ASK {{ <{E.x}> a <{E.Number}> }}", "2", "1", algorithm="imars") as run:
            found = [(answer.time, bool(answer.rows), run.stats.facts) for answer in run]
    assert [time for time, there, _ in found if there] == [1, 2, 3, 4, 5, *range(9, 15)]
    assert len({facts for time, _, facts in found if time > 9}) == 1


@pytest.mark.long_on_spark
def test_a_rule_of_axioms_alone_with_a_condition(tmp_path: Path, engine: Engine) -> None:
    """An axiom of the stream gives rise to matches that have no facts, which would end."""
    file = tmp_path / "own.dlog"
    file.write_text(f"[?c, <{E.q}>, ?d] :- [?c, rdfs:subClassOf, ?d], FILTER(?c != ?d) .", encoding="utf-8")
    stream = [(1, (E.B, RDFS.subClassOf, E.C)), (4, (E.x, E.p, E.y))]
    session = getattr(engine, "spark", None)
    with Store.create(tmp_path / "kg", [str(file)], "off", engine=engine.name, spark=session) as store:
        store.update(add=[(E.A, RDFS.subClassOf, E.B)])
        with store.stream(stream, f"SELECT ?c {{ ?c <{E.q}> ?d }}", "2", "1", algorithm="imars") as run:
            found = {answer.time: {row[0] for row in answer.rows} for answer in run}
    a, b = f"<{E.A}>", f"<{E.B}>"
    assert found == {1: {a, b}, 2: {a, b}, 3: {a}, 4: {a}}


@pytest.mark.parametrize("algorithm", ["auto", "dred", "naive"])
@pytest.mark.parametrize("rules", ["none", "owl2rl"])
def test_rules_that_mention_a_literal(tmp_path: Path, rules: str, algorithm: str) -> None:
    """They match each form of it that the stream brings, also when terms are forgotten in between."""
    file = tmp_path / "own.dlog"
    file.write_text(f"[?x, <{E.q}>, <{E.adult}>] :- [?x, <{E.age}>, 18] .", encoding="utf-8")
    forms = [
        Literal("18", datatype=XSD.integer),
        Literal("018", datatype=XSD.integer, normalize=False),
        Literal("18.0", datatype=XSD.decimal),
    ]
    stream = [(3 * time, (E[f"x{time}"], E.age, form)) for time, form in enumerate([*forms, Literal("19"), *forms])]
    asked = f"SELECT ?x {{ ?x <{E.q}> ?y }}"
    with (
        Store.create(tmp_path / "kg", [rules, str(file)], engine="duckdb") as store,
        store.stream(stream, asked, "2", "1", algorithm=algorithm) as run,
    ):
        found = {answer.time: [row[0] for row in answer.rows] for answer in run}
    assert {time: names for time, names in found.items() if names} == {
        3 * time + more: [f"<{E}x{time}>"] for time in (0, 1, 2, 4, 5, 6) for more in (0, 1) if 3 * time + more in found
    }


def test_the_form_of_a_value_that_is_shown(tmp_path: Path) -> None:
    """One that is in the window or the background, whatever came before."""
    stream = [
        (time, (E.x, E.p, Literal(text, datatype=XSD.integer, normalize=False)))
        for time, text in ((1, "1"), (2, "01"), (5, "1"), (5, "+1"))
    ]
    for background, wanted in ((None, ["1", "01", "01", "+1"]), ("0001", ["0001"] * 4)):
        for algorithm in ("imars", "dred", "naive"):
            with Store.create(tmp_path / f"kg {background} {algorithm}", "owl2rl", engine="duckdb") as store:
                store.update(add=[(E.p, RDFS.subPropertyOf, E.q)])
                if background:
                    store.update(add=[(E.y, E.r, Literal(background, datatype=XSD.integer, normalize=False))])
                with store.stream(stream, f"SELECT ?o {{ <{E.x}> <{E.q}> ?o }}", "2", "1", algorithm=algorithm) as run:
                    found = {answer.time: [str(value["o"]) for value in answer.bindings()] for answer in run}
            assert [found[time] for time in (1, 2, 3, 5)] == [[text] for text in wanted], algorithm


def test_the_background_is_that_of_the_beginning(tmp_path: Path) -> None:
    """Also when DRed takes over after the store has changed, and its older versions are no longer kept."""
    stream = [(time, (E[f"n{time}"], E.p, E.o)) for time in range(1, 16)]
    stream.insert(4, (4, (E.n4, OWL.sameAs, Literal("four"))))  # which IMaRS cannot keep
    asked = f"SELECT ?s {{ ?s <{E.p}> <{E.o}> FILTER(isIRI(?s)) }}"
    with Store.create(tmp_path / "kg", "owl2rl", engine="duckdb") as store, store.stream(stream, asked, "1") as run:
        for answer in run:
            assert answer.rows == [(f"<{E}n{answer.time}>",)]
            store.update(add=[(E[f"later{answer.time}"], E.p, E.o)])
            store.vacuum(keep=1)
        assert run.stats.algorithm == "dred"


def test_out_of_order(tmp_path: Path) -> None:
    """Within the lateness nothing is lost; the answers are those of the ordered stream. Later ones are counted."""
    case = random_case(7, 30)
    rng = random.Random(1)
    moved = sorted(case.stream, key=lambda pair: pair[0] + rng.uniform(0, 2.9))
    lines = "".join(f"{Case(*parts(case, [pair])).text.decode()}" for pair in moved).encode()
    with store_of(case, tmp_path / "kg", engine="duckdb") as store:
        assert case.follow(store, "auto", io.BytesIO(lines), lateness="3").stats.late == 0
        late = [*case.stream, (case.stream[0][0] - 1000, case.stream[0][1])]
        assert case.follow(store, "auto", io.BytesIO(Case(*parts(case, late)).text)).stats.late == 1


def parts(case: Case, stream: list[tuple[int, tuple[str, str, str]]]) -> tuple:  # type: ignore[type-arg]
    return case.rules, case.equality, case.background, tuple(stream), case.window
