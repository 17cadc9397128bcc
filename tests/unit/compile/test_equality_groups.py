"""Rules that say "all who share this are one" run by group: which those are, that nothing is lost, what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random

import pyarrow as pa
import pytest

from tests.support.closure import agree
from tests.support.equality_programs import RULES, random_facts
from tests.support.random_programs import SAME, Triple, lists, rules_of
from tests.support.seeds import seeds
from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.compile.schema import Constants, Fact, SchemaFacts
from triplestore.compile.specialise import Specialiser
from triplestore.compile.symmetry import half
from triplestore.engine import Engine
from triplestore.engine.duckdb import DuckDBEngine
from triplestore.model.rule import Rule
from triplestore.model.terms import BUILTIN_IDS, OWL, RDF, SAME_AS

E = "<http://e/"


def equalities(rules: Sequence[Rule], schema: Sequence[Triple] = ()) -> list[tuple[str, str]]:
    """(shape, its half or "None") of the instances that derive owl:sameAs."""
    atoms = [e for rule in rules for e in (*rule.heads, *rule.body)]
    terms = {t for a in atoms for t in getattr(a, "terms", ()) if isinstance(t, str)} | {t for f in schema for t in f}
    ids = BUILTIN_IDS | {t: 1000 + n for n, t in enumerate(sorted(terms - BUILTIN_IDS.keys()))}
    facts: list[Fact] = [(ids[s], ids[p], ids[o]) for s, p, o in schema]
    program = Specialiser(rules, "rewrite").program(SchemaFacts(facts), Constants(ids))
    found = []
    for shape, rows in program.instances.items():
        if any(row[slot.number] == SAME_AS for row in rows for slot in [shape.output[1]]):
            found.append((str(shape), str(half(shape))))
    return found


def axiom(kind: str) -> list[Triple]:
    node, prop = f"{E}C>", f"{E}p>"
    restriction = [(node, f"<{OWL}onProperty>", prop)]
    one = '"1"^^<http://www.w3.org/2001/XMLSchema#nonNegativeInteger>'
    return {
        "prp-fp": [(prop, f"<{RDF}type>", f"<{OWL}FunctionalProperty>")],
        "prp-ifp": [(prop, f"<{RDF}type>", f"<{OWL}InverseFunctionalProperty>")],
        "prp-key": [(node, f"<{OWL}hasKey>", "_:k0"), *lists("k", [prop, f"{E}q>", f"{E}r>"])],
        "cls-maxc2": [(node, f"<{OWL}maxCardinality>", one), *restriction],
        "cls-maxqc3": [
            (node, f"<{OWL}maxQualifiedCardinality>", one),
            (node, f"<{OWL}onClass>", f"{E}D>"),
            *restriction,
        ],
        "cls-maxqc4": [
            *((node, f"<{OWL}maxQualifiedCardinality>", one), (node, f"<{OWL}onClass>", f"<{OWL}Thing>")),
            *restriction,
        ],
    }[kind]


@pytest.mark.parametrize(
    ("rule", "member"),
    [
        ("prp-fp", "(v1 v0 k0) :- (v0 k0 v1)"),
        ("prp-ifp", "(v0 v1 k0) :- (v0 k0 v1)"),
        (
            "prp-key",
            "(v0 v1 v2 v3 k0 k1 k2 k3 k4) :- (v0 k0 k1), (v0 k2 v1), (v0 k3 v2), (v0 k4 v3)",
        ),
        ("cls-maxc2", "(v1 v0 k0 k1 k2) :- (v0 k0 k1), (v0 k2 v1)"),
        ("cls-maxqc3", "(v1 v0 k0 k1 k2 k3) :- (v0 k0 k1), (v0 k2 v1), (v1 k0 k3)"),
        ("cls-maxqc4", "(v1 v0 k0 k1 k2) :- (v0 k0 k1), (v0 k2 v1)"),
    ],
)
def test_the_rules_of_the_standard_split(rule: str, member: str) -> None:
    only = tuple(r for r in rulesets.named("owl2rl").rules if r.name == rule)
    assert [found for _, found in equalities(only, axiom(rule))] == [member]


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ("[?a, :m, ?x], [?b, :m, ?x], FILTER(?a != ?b)", "(v0 v1 k0) :- (v0 k0 v1)"),
        ("[?a, a, :C], [?b, a, :C]", "(v0 k0 k1) :- (v0 k0 k1)"),
        ("[?a, ?p, ?x], [?b, ?p, ?x], [?p, a, :Id]", "(v0 v1 v2 k0 k1) :- (v0 v1 v2), (v1 k0 k1)"),
        (
            "[?a, :m, ?x], [?x, :v, ?k], [?b, :m, ?y], [?y, :v, ?k]",
            "(v0 v4 k0 k1) :- (v0 k0 v1), (v1 k1 v4)",
        ),
        (
            "[?a, :m, ?x], [?b, :m, ?x], [?x, :k, ?y], FILTER(?y != ?x)",
            "(v0 v1 v3 k0 k1) :- (v0 k0 v1), (v1 k1 v3), (v3) != (v1)",
        ),
        ("[?a, :m, ?b], [?b, :m, ?a]", "None"),
        ("[?a, :m, ?x], [?b, :n, ?x]", "None"),
        ("[?a, :m, ?x], [?b, :m, ?y], FILTER(?x != ?y)", "None"),
        ("[?a, :m, ?x], [?b, :m, ?y]", "(v0 k0) :- (v0 k0 v1)"),
        ("[?a, :m, 1], [?b, :m, 1]", "None"),
    ],
)
def test_rules_of_users_split_if_they_are_symmetric(body: str, member: str) -> None:
    rules = datalog.parse(f"PREFIX : <http://e/>\n@rule r [?a, owl:sameAs, ?b] :- {body} .", "own")
    assert member in {found for _, found in equalities(tuple(rules))}


MODES = ("rewrite", "axioms")


def check(engine: Engine, seed: int, equality: str) -> None:
    rng = Random(seed)
    own = tuple(rng.sample(RULES, rng.randint(0, 2)))
    agree(engine, random_facts(rng), (*rules_of((rng.choice(["owl2rl", "rdfs-plus"]),)), *own), equality)


@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("seed", seeds(range(40), 3))
@pytest.mark.sampled(each=3)
def test_no_equality_is_lost(embedded: Engine, seed: int, equality: str) -> None:
    check(embedded, seed, equality)


@pytest.mark.parametrize("equality", [*MODES, "off"])
@pytest.mark.parametrize(
    "numbers", [range(4), pytest.param(range(2000, 2040), marks=pytest.mark.long)], ids=["some", "many"]
)
def test_no_equality_is_lost_by_an_order_of_our_own(
    embedded: Engine, numbers: range, equality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bodies with many elements about one variable are joined one by one: here, all with more than one."""
    monkeypatch.setattr("triplestore.compile.thresholds.Thresholds.together", 1)
    for seed in numbers:
        check(embedded, seed, equality)


@pytest.mark.long
@pytest.mark.parametrize("equality", MODES)
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_no_equality_is_lost_often(embedded: Engine, seed: int, equality: str) -> None:
    check(embedded, seed, equality)


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("seed", [5000])
def test_no_equality_is_lost_on_spark(spark_engine: Engine, seed: int) -> None:
    check(spark_engine, seed, MODES[seed % 2])


class Profiled(DuckDBEngine):
    """Runs what it appends under EXPLAIN ANALYZE too, and keeps the most rows that any operator put out."""

    most = 0

    def append(self, name: str, selects: Sequence[str]) -> list[int]:
        for select in selects:
            plan = json.loads(self.query(f"EXPLAIN (ANALYZE, FORMAT json) {select}").column(1)[0].as_py())
            self.most = max(self.most, *rows_of_operators(plan))
        return super().append(name, selects)


def rows_of_operators(plan: dict[str, object]) -> Iterator[int]:
    yield int(str(plan.get("intermediate_rows", 0)))
    children = plan.get("children", plan.get("operator", []))
    assert isinstance(children, list)
    for child in children:
        yield from rows_of_operators(child)


def shared(n: int) -> list[Triple]:
    mail = (f"{E}mail>", f"<{RDF}type>", f"<{OWL}InverseFunctionalProperty>")
    return [mail, *((f"{E}s{i}>", f"{E}mail>", f"{E}m>") for i in range(n))]


def test_a_shared_value_costs_no_more_than_its_subjects() -> None:
    """One inverse functional value, n subjects: no operator of any statement puts out more than a few n rows."""
    engine, n = Profiled(), 3_000
    run(engine, shared(n))
    assert n <= engine.most <= 3 * n
    assert engine.query("SELECT count(*) AS n FROM same_as").column(0)[0].as_py() == n
    engine.close()


def run(engine: Engine, triples: list[Triple]) -> None:
    """The closure alone, without its (quadratic) expansion."""
    from triplestore.dictionary import encoding
    from triplestore.materialise.tables import Tables
    from triplestore.storage.manifest import Counters

    encoding.builtin_terms(engine, "term")
    engine.load("raw", pa.table({c: [t[i] for t in triples] for i, c in enumerate("spo")}))
    encoding.encode(engine, "raw", Counters())
    engine.append("term", ["SELECT * FROM new_term"])
    engine.create("asserted", "SELECT s, p, o FROM encoded")
    engine.view("given", "SELECT s, p, o FROM asserted")
    Tables(engine, rulesets.named("owl2rl").rules, "rewrite", Constants({})).materialise()


def test_links_are_one_fewer_than_members(embedded: Engine) -> None:
    triples = [*shared(50), (f"{E}s7>", SAME, f"{E}t>")]
    run(embedded, triples)
    assert embedded.query("SELECT count(*) AS n FROM same_as").column(0)[0].as_py() == 51


@pytest.mark.parametrize("clashing", [True, False])
def test_a_literal_of_unknown_datatype_hides_no_clash(embedded: Engine, clashing: bool) -> None:
    """The least of a group is linked to the others, and says nothing of its value: two others may still differ."""
    functional = (f"{E}p>", f"<{RDF}type>", f"<{OWL}FunctionalProperty>")
    values = ['"0"^^<http://e/type>', '"1"^^<http://e/type>', '"a"', *(['"b"'] if clashing else [])]
    triples = [functional, *((f"{E}s>", f"{E}p>", value) for value in values)]
    run(embedded, triples)
    violations = embedded.query("SELECT DISTINCT rule FROM violation").column(0).to_pylist()
    assert violations == (["eq-diff1"] if clashing else [])


def test_an_iri_is_equal_to_a_literal(embedded: Engine) -> None:
    functional = (f"{E}p>", f"<{RDF}type>", f"<{OWL}FunctionalProperty>")
    run(embedded, [functional, (f"{E}s>", f"{E}p>", f"{E}o>"), (f"{E}s>", f"{E}p>", '"a"')])
    assert embedded.query("SELECT rule FROM violation").num_rows == 0
    assert embedded.query("SELECT * FROM same_as").num_rows == 2
