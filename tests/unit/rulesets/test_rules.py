"""Each rule derives what it must and nothing that it must not: by the oracle, and by the store on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import ROOT
from tests.support import oracle
from tests.support.blocks import blocks
from tests.support.both_routes import AXIOMS, RULES, assert_both_routes_agree
from tests.support.rule_cases import Case, Triple, equality, ntriples, owl2rl, rdfs
from triplake import rulesets
from triplake.rulesets import datalog
from triplestore import Store
from triplestore.model.terms import from_rdflib

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _ids(name: str) -> list[str]:
    return list(dict.fromkeys(rule.name for rule in RULES[name]))


CASES: dict[str, tuple[Case, ...]] = {
    "owl2rl": owl2rl.CASES,
    "rdfs": rdfs.CASES,
    "rdfs-axiomatic": rdfs.AXIOMATIC,
    "rdf": tuple(case for case in rdfs.CASES if case.rule == "rdfD2"),
    "rdf-axiomatic": tuple(case for case in rdfs.AXIOMATIC if case.rule == "rdf-axioms"),
    "rdfs-plus": tuple(case for case in rdfs.CASES + owl2rl.CASES + equality.CASES if case.rule in _ids("rdfs-plus")),
    "datatypes": tuple(case for case in owl2rl.CASES if case.rule == "dt-type1"),
    "equality": equality.CASES,
}
"""The cases of each ruleset. Those of equality hold under any ruleset."""

ALL = [pytest.param(name, case, id=f"{name}:{case}") for name, cases in CASES.items() for case in cases]

W3C_OWL2RL = """
    eq-diff1 eq-diff2 eq-diff3
    prp-ap prp-dom prp-rng prp-fp prp-ifp prp-irp prp-symp prp-asyp prp-trp prp-spo1 prp-spo2 prp-eqp1 prp-eqp2
    prp-pdw prp-adp prp-inv1 prp-inv2 prp-key prp-npa1 prp-npa2
    cls-thing cls-nothing1 cls-nothing2 cls-int1 cls-int2 cls-uni cls-com cls-svf1 cls-svf2 cls-avf cls-hv1 cls-hv2
    cls-maxc1 cls-maxc2 cls-maxqc1 cls-maxqc2 cls-maxqc3 cls-maxqc4 cls-oo
    cax-sco cax-eqc1 cax-eqc2 cax-dw cax-adc dt-type1
    scm-cls scm-sco scm-eqc1 scm-eqc2 scm-op scm-dp scm-spo scm-eqp1 scm-eqp2 scm-dom1 scm-dom2 scm-rng1 scm-rng2
    scm-hv scm-svf1 scm-svf2 scm-avf1 scm-avf2 scm-int scm-uni
"""
W3C_DATATYPES = "dt-type2 dt-not-type dt-eq dt-diff"


# -- the rulesets


def test_owl2rl_holds_every_rule_of_the_profile_in_its_order() -> None:
    others = [name for name in W3C_OWL2RL.split() if name != "dt-type1"]  # which has a file of its own
    assert _ids("owl2rl") == [*others, "dt-type1"]
    assert _ids("datatypes") == ["dt-type1"]


@pytest.mark.parametrize("name", CASES)
def test_every_rule_has_cases(name: str) -> None:
    assert {case.rule for case in CASES[name]} == set(_ids(name))


def test_rdfs_plus_is_table_3_1_of_the_imars_paper() -> None:
    table = "rdfD2 rdfs2 rdfs3 rdfs5 rdfs7 rdfs9 rdfs11 prp-trp prp-inv1 prp-inv2 eq-sym"
    assert _ids("rdfs-plus") == table.split()
    assert set(RULES["rdfs-plus"]) <= set(RULES["rdfs"] + RULES["owl2rl"] + RULES["equality"])


README = Path(rulesets.__file__).with_name("README.md").read_text(encoding="utf-8")


LISTED = ("prp-ap", "dt-type1", "rdf-axioms", "rdfs-axioms")
"""Rules that are lists of facts, of which the table shows one."""

VIRTUAL = ("rdfs4a", "rdfs4b")
"""Rules that are not stored: the table shows them as the standard has them, the ruleset what follows from them."""


def row(name: str) -> list[str]:
    """The cells of a rule's row: id, rule, where, tests, note."""
    (line,) = [line for line in README.splitlines() if line.startswith(f"| `{name}` |")]
    return [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize(
    "name", dict.fromkeys(rule.name for rules in RULES.values() for rule in rules if rule.name not in VIRTUAL)
)
def test_the_rule_table_shows_the_rule(name: str) -> None:
    shown = {datalog.render(rule).split("\n")[1] for rules in RULES.values() for rule in rules if rule.name == name}
    assert (
        any(text in row(name)[1] for text in shown) if name in LISTED else all(text in row(name)[1] for text in shown)
    )


def table_ids(heading: str) -> list[str]:
    """The ids of the rows in a part of the rule table."""
    (part,) = [part for part in README.split("\n### ") if part.startswith(heading)]
    return [line.split("`")[1] for line in part.splitlines() if line.startswith("| `")]


def test_the_rule_table_has_the_78_rules_of_the_profile_and_those_of_rdfs() -> None:
    of_profile = ["eq-ref", *_ids("equality"), *W3C_OWL2RL.split(), *W3C_DATATYPES.split()]
    assert sorted(table_ids("OWL 2 RL\n")) == sorted(of_profile)
    assert len(of_profile) == 78
    numbered = [f"rdfs{n}" for n in range(1, 14)]
    numbered[3:4] = ["rdfs4a", "rdfs4b"]
    assert table_ids("RDFS\n") == ["rdfD1", "rdfD2", *numbered, *_ids("rdfs-axiomatic")]


@pytest.mark.parametrize("name", [*table_ids("OWL 2 RL\n"), *table_ids("RDFS\n")])
def test_what_the_rule_table_points_to_is_there(name: str) -> None:
    """Where a rule is carried out: a ruleset's file that has it, or a module; its tests."""
    _, _, where, tests, *_ = row(name)
    folder, package = Path(rulesets.__file__).parent, ROOT / "triplestore"
    for place in where.split(", ") if where != "—" else []:
        if place.endswith(".dlog"):
            assert f"@rule {name}\n" in (folder / place).read_text(encoding="utf-8")
        else:
            assert (package / place).is_file(), place
    for cell in tests.split(", ") if tests != "—" else []:
        file, _, test = cell.strip("`").partition("::")
        text = next((ROOT / "tests").rglob(file)).read_text(encoding="utf-8")
        assert (f"def {test}(" if test else f'"{name}"') in text


@pytest.mark.parametrize("name", W3C_OWL2RL.split())
def test_every_rule_must_and_must_not(name: str) -> None:
    """One case at least with a premise from which the rule derives and one from which it must not."""
    cases = [case for case in owl2rl.CASES if case.rule == name]
    assert any((case.must or case.conclusion) and (case.must_not or case.absent) for case in cases)


def test_the_examples_of_the_reference_are_rules() -> None:
    examples = [block.body for block in blocks(ROOT / "rulesets/README.md") if block.language == "dlog"]
    assert [rule.name for text in examples for rule in datalog.parse(text, "README.md")] == [
        "uncle",
        "all-of",
        "chain",
        "exclusive",
    ]


# -- by the oracle


def by_oracle(facts: Iterable[Triple], name: str, mode: str = "rewrite") -> oracle.Closure:
    """The closure under a built-in ruleset, literals by value where the ruleset has the datatype rules."""
    by_value = rulesets.BUILT_IN[name].datatypes
    return (oracle.closure_by_value if by_value else oracle.closure)(facts, RULES[name], mode)


@pytest.mark.parametrize(("name", "case"), ALL)
def test_the_rule_alone_derives_what_it_must(name: str, case: Case) -> None:
    rule = [rule for rule in RULES[name] if rule.name == case.rule]
    equality = "off" if case.rule in _ids("equality") else "rewrite"
    without, found = (oracle.closure(case.triples("must"), rules, equality) for rules in ([], rule))
    if case.conclusion:
        assert not case.triples("conclusion") & without.triples
        assert case.triples("conclusion") <= found.triples
        assert found.violated == set()
    else:
        assert without.violated == set()
        assert found.violated == {case.rule}


@pytest.mark.parametrize(("name", "case"), ALL)
def test_no_rule_derives_what_it_must_not(name: str, case: Case) -> None:
    name = "owl2rl" if name == "equality" else name
    found = by_oracle(case.triples("must_not"), name)
    assert found.violated == set()
    if case.conclusion:
        assert len(case.triples("absent")) == 1
        assert not case.triples("absent") & found.triples


@pytest.mark.parametrize("case", equality.LITERALS, ids=str)
def test_two_values_of_one_term_are_a_violation(case: Case) -> None:
    assert oracle.closure(case.triples("must"), RULES["owl2rl"]).violated == {case.rule}
    assert oracle.closure(case.triples("must_not"), RULES["owl2rl"]).violated == set()


@pytest.mark.parametrize("case", [c for c in owl2rl.CASES + equality.CASES if c.conclusion], ids=str)
@pytest.mark.sampled(each=4)
def test_the_oracles_equality_is_that_of_the_six_rules(case: Case) -> None:
    assert_both_routes_agree(case.triples("must"))
    assert_both_routes_agree(case.triples("must_not"))


EVERYTHING = "[?x, a, rdfs:Resource] :- [?x, ?p, ?y] . [?y, a, rdfs:Resource] :- [?x, ?p, ?y] ."
"""rdfs4a and rdfs4b as the standard has them."""


@pytest.mark.parametrize("part", ["must", "must_not"])
@pytest.mark.parametrize("mode", ["off", "rewrite", "axioms"])
@pytest.mark.sampled(each=2)
def test_virtual_triples_make_the_closure_of_all_rules(mode: str, part: str, tmp_path: Path) -> None:
    """Exports that ask have the closure under eq-ref, rdfs4a and rdfs4b too, and queries that ask have the answers;
    where rules make something of what is virtual, and where they do not."""
    cases = rdfs.CASES + (() if mode == "off" else equality.CASES)
    for count, cut in enumerate((cases, [case for case in cases if case.rule not in VIRTUAL])):
        facts = {triple for case in cut for triple in case.triples(part)}
        with Store.create(tmp_path / f"kg{count}", ["rdfs"], mode, engine="duckdb") as store:
            assert_virtual(store, facts, tmp_path)


@pytest.mark.long
@pytest.mark.spark
def test_virtual_triples_make_the_closure_of_all_rules_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    facts = {triple for case in rdfs.CASES[::2] + equality.CASES for triple in case.triples("must_not")}
    with Store.create(tmp_path / "kg", ["rdfs"], "rewrite", spark=spark) as store:
        assert_virtual(store, facts, tmp_path)


def assert_virtual(store: Store, facts: set[Triple], folder: Path) -> None:
    rules = (*RULES["rdfs"], *datalog.parse(EVERYTHING, "rdfs4"), *(AXIOMS if store.equality != "off" else ()))
    expected = oracle.rdf_only(oracle.closure(facts, rules, "off").triples)
    (folder / "cases.nt").write_text(ntriples(facts), encoding="utf-8")
    store.load(str(folder / "cases.nt"))
    assert sorted(tokens(store.triples(virtual=True))) == sorted(expected)
    assert sorted(tokens(store.triples("inferred", virtual=True))) == sorted(expected - facts)
    resources = store.query(f"SELECT ?x {{ ?x a <{rdflib.RDFS.Resource}> }}")
    of_type = (f"<{rdflib.RDF.type}>", f"<{rdflib.RDFS.Resource}>")
    assert sorted(from_rdflib(x) for (x,) in resources) == sorted(s for s, p, o in expected if (p, o) == of_type)


def _tokens(names: str) -> list[str]:
    graph = rdflib.Graph()
    return [
        f"<{graph.namespace_manager.expand_curie(name)}>" if ":" in name else f"<http://e/{name}>"
        for name in names.split()
    ]


RANDOM_FACTS = st.frozensets(
    st.tuples(
        st.sampled_from(_tokens("a b c p q")),
        st.sampled_from(
            _tokens("p q owl:sameAs rdf:type rdfs:subPropertyOf owl:inverseOf rdfs:domain owl:differentFrom")
        ),
        st.sampled_from(_tokens("a b c p q owl:FunctionalProperty owl:TransitiveProperty owl:SymmetricProperty")),
    ),
    max_size=8,
)


@given(RANDOM_FACTS)
@settings(deadline=None)
def test_the_oracles_equality_is_that_of_the_six_rules_on_random_facts(facts: frozenset[Triple]) -> None:
    assert_both_routes_agree(facts)


def test_rules_match_the_reflexivity_that_the_oracle_does_not_return() -> None:
    facts = {("<x:a>", "<x:p>", "<x:b>"), ("<x:c>", oracle.SAME_AS, "<x:d>")}
    rules = datalog.parse("[?x, a, <x:Subject>] :- [?x, ?p, ?y], [?y, owl:sameAs, ?y], [<x:a>, ?p, ?y] .", "r")
    found = oracle.closure(facts, rules).triples
    assert ("<x:a>", _tokens("rdf:type")[0], "<x:Subject>") in found
    assert {s + o for s, p, o in found if p == oracle.SAME_AS} == {
        "<x:c><x:d>", "<x:d><x:c>", "<x:c><x:c>", "<x:d><x:d>"
    }  # fmt: skip
    assert oracle.closure(facts, rules, "off").triples == facts


# -- by the store, all cases in one (to be cheap on Spark): each has its own namespace

ON_BOTH = [
    ("owl2rl", "rewrite"),
    *(pytest.param("owl2rl", mode, marks=pytest.mark.long_on_spark) for mode in ("axioms", "off")),
    *(pytest.param("rdfs-plus", mode, marks=pytest.mark.long_on_spark) for mode in ("rewrite", "axioms", "off")),
    pytest.param("rdfs", "off", marks=pytest.mark.long_on_spark),
    pytest.param("rdfs-axiomatic", "off", marks=pytest.mark.long_on_spark),
]
ON_ONE = [(name, mode) for name in ("rdfs", "rdfs-axiomatic") for mode in ("rewrite", "axioms")]
ON_ONE += [("rdf", "off"), ("rdf-axiomatic", "off")]


def tokens(triples: Iterable[tuple[rdflib.term.Node, rdflib.term.Node, rdflib.term.Node]]) -> list[Triple]:
    return [(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in triples]


def closure_of(store: Store) -> set[Triple]:
    return set(tokens(store.triples(what="all")))


@pytest.mark.parametrize("part", ["must", pytest.param("must_not", marks=pytest.mark.long_on_spark)])
@pytest.mark.parametrize(("name", "mode"), ON_BOTH)
def test_the_store_agrees_with_the_oracle_on_all_cases(
    name: str, mode: str, part: str, make_store: Callable[..., Store], tmp_path: Path
) -> None:
    """The exact closure and the exact set of violated rules, on the engine at hand."""
    assert_agreement(name, part, make_store([name], mode), tmp_path)


@pytest.mark.parametrize("part", ["must", "must_not"])
@pytest.mark.parametrize(("name", "mode"), ON_ONE)
@pytest.mark.sampled(each=2)
def test_the_embedded_store_agrees_with_the_oracle_on_all_cases(
    name: str, mode: str, part: str, tmp_path: Path
) -> None:
    with Store.create(tmp_path / "kg", [name], mode, engine="duckdb") as store:
        assert_agreement(name, part, store, tmp_path)


def assert_agreement(name: str, part: str, store: Store, tmp_path: Path) -> None:
    mode = store.equality
    cases = CASES[name] + (() if mode == "off" else CASES["equality"])
    facts = {triple for case in cases for triple in case.triples(part)}
    expected = by_oracle(facts, name, mode)
    (tmp_path / "cases.nt").write_text(ntriples(facts), encoding="utf-8")
    store.load(str(tmp_path / "cases.nt"))
    assert closure_of(store) == oracle.rdf_only(expected.triples)
    assert {violation.rule for violation in store.check()} == expected.violated


def test_a_number_of_a_rule_matches_however_it_is_written(make_store: Callable[..., Store]) -> None:
    """Also in what a violation shows: the store may lack the number as the rule writes it."""
    store, facts = make_store(), rdflib.Graph()
    facts.parse(
        data="""
        @prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix x: <http://www.w3.org/2001/XMLSchema#> .
        :R owl:maxCardinality "0"^^x:int ; owl:onProperty :p . :a a :R ; :p :b .
    """
    )
    store.update(add=facts)
    (violation,) = store.check()
    assert violation.rule == "cls-maxc1"
    assert (rdflib.URIRef("http://e/R"), rdflib.OWL.maxCardinality, rdflib.Literal("0", datatype=rdflib.XSD.int)) in (
        violation.triples
    )


@pytest.mark.long_on_spark
@pytest.mark.parametrize("mode", ["rewrite", "axioms"])
def test_the_store_finds_each_term_with_two_values(mode: str, make_store: Callable[..., Store], tmp_path: Path) -> None:
    """Each is reported, and applied."""
    facts = {triple for case in equality.LITERALS for part in ("must", "must_not") for triple in case.triples(part)}
    (tmp_path / "literals.nt").write_text(ntriples(facts), encoding="utf-8")
    store = make_store(rules=["owl2rl"], equality=mode)
    store.load(str(tmp_path / "literals.nt"))
    assert closure_of(store) == oracle.rdf_only(by_oracle(facts, "owl2rl", mode).triples)
    named = {by for violation in store.check(by=True) for by in violation.by}
    assert named == {"asserted", "prp-fp"}
    at_fault = {from_rdflib(term) for violation in store.check() for triple in violation.triples for term in triple}
    for case in equality.LITERALS:
        assert {term for triple in case.triples("must") for term in triple if oracle.is_literal(term)} <= at_fault
        assert (
            not {term for triple in case.triples("must_not") for term in triple if oracle.is_literal(term)} & at_fault
        )
