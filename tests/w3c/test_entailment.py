"""The W3C suites of OWL 2 RL, RDF(S) and RDF 1.2 entailment: each case alone, some suites together on each engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import ROOT
from tests.support import oracle
from tests.w3c.entailment import Case, apart, ntriples, owl2_rl, owl2_w3c, rdf12_semantics, rdf_mt
from tests.w3c.manifest import MISSING, SUITES
from triplake import rulesets
from triplestore import Store
from triplestore.model.terms import from_rdflib

if TYPE_CHECKING:
    from tests.conftest import MakeStore

_DIRECT = "OWL 2 Direct Semantics, section 1: annotations mean nothing there; to RDF-Based Semantics they are triples"
EXCLUDED = {
    # Conclusions with an annotation that the premise lacks: positive under the Direct Semantics only. Both have a twin
    # for the RDF-Based Semantics (without -Direct), where the same conclusion does not follow; that twin is run.
    "w3c-WebOnt-I4.6-005-Direct": _DIRECT,
    "w3c-WebOnt-equivalentClass-008-Direct": _DIRECT,
    # The conclusion's ontology has another IRI than the premise's, and the Direct Semantics does not look at it. The
    # same case in owl2-rl has one IRI, and is run.
    "w3c-chain2trans1": "OWL 2 Direct Semantics, section 1: ontology IRIs mean nothing there",
}

pytestmark = pytest.mark.skipif(not (SUITES / "owl2-rl").exists(), reason=MISSING)


def parameters(*suites: Callable[[], list[Case]]) -> list[object]:
    """The cases of some suites as parameters."""

    def marks(name: str) -> list[pytest.MarkDecorator]:
        return [pytest.mark.skip(reason=EXCLUDED[name])] if name in EXCLUDED else []

    return [pytest.param(case, id=str(case), marks=marks(str(case))) for suite in suites for case in suite()]


def load(store: Store, triples: Iterable[tuple[str, str, str]], folder: Path) -> None:
    file = folder / "premise.nt"
    file.write_text(ntriples(triples), encoding="utf-8")
    store.load(file)


@pytest.mark.parametrize("case", parameters(owl2_rl, owl2_w3c, rdf_mt, rdf12_semantics))
@pytest.mark.sampled(each=4)
def test_case(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("case", parameters(rdf12_semantics))
@pytest.mark.long
def test_case_of_rdf12_on_spark(case: Case, make_store: MakeStore, tmp_path: Path) -> None:
    check(case, tmp_path, "spark")


def check(case: Case, folder: Path, engine: str = "duckdb") -> None:
    """Load the premise, and see whether it is consistent and entails the conclusion as the case says."""
    with Store.create(folder / "kg", case.rules, engine=engine) as store:
        load(store, case.premises, folder)
        found = store.check()
        if case.consistent is not None:
            assert (not found) == case.consistent, found
        if case.conclusion is not None:
            answer = store.entails(case.conclusions)
            assert answer.holds == case.entailed, answer


def closure_of(store: Store) -> set[tuple[str, str, str]]:
    return {(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in store.triples(what="all")}


ON_SPARK = pytest.mark.long_on_spark


@pytest.mark.parametrize(
    "suite",
    [owl2_rl, pytest.param(owl2_w3c, marks=ON_SPARK), pytest.param(rdf_mt, marks=ON_SPARK)],
    ids=lambda suite: suite.__name__,
)
def test_a_suite_in_one_store_closes_as_the_oracle_says(
    suite: Callable[[], list[Case]], make_store: MakeStore, tmp_path: Path
) -> None:
    """All premises of a suite, each in a namespace of its own, in one store: the exact closure, the rules violated."""
    cases = suite()
    rules = ("owl2rl",) if suite is not rdf_mt else ("rdfs", "rdfs-axiomatic")
    facts = {triple for case in cases for triple in apart(case)}
    store = make_store(rules)
    load(store, facts, tmp_path)
    program = [rule for name in rules for rule in rulesets.named(name).rules]
    by_value = oracle.closure_by_value if suite is not rdf_mt else oracle.closure
    expected = by_value(facts, program, store.equality)
    assert closure_of(store) == oracle.rdf_only(expected.triples)
    assert {violation.rule for violation in store.check()} >= expected.violated


MISTAGGED = {
    # OWL 2 Profiles, section 4.2.5, has no ReflexiveObjectProperty; the suite says that this case is RL all the same.
    "New-Feature-ReflexiveProperty-001": ["owl:ReflexiveProperty"],
}
OUTSIDE = {
    **{f"rl-{name.lower()}": whats for name, whats in MISTAGGED.items()},
    "rl-new-feature-keys-007": ["owl:someValuesFrom on the right"],
    "rl-webont-description-logic-209": [
        "owl:complementOf in an equivalence",
        "owl:complementOf on the left",
        "owl:someValuesFrom in an equivalence",
        "owl:someValuesFrom on the right",
    ],
    "rl-webont-equivalentclass-005": ["owl:cardinality"],
    "rl-webont-i5-8-005": ["owl:cardinality"],
    "rl-webont-somevaluesfrom-002": ["owl:someValuesFrom on the right"],
}
"""The cases with a construct outside the profile (the suite's own column leaves out more cases, for other reasons: what
their conclusions say, or undeclared names)."""


@pytest.mark.long
def test_the_profile_check_agrees_with_the_suite(tmp_path: Path) -> None:
    """No axiom of the 93 RL cases is outside the profile; the six cases of owl2-rl with one that is are found."""
    found: dict[str, list[str]] = {}
    for number, case in enumerate((*owl2_w3c(), *owl2_rl())):
        with Store.create(tmp_path / f"kg{number}", engine="duckdb") as store:
            (tmp_path / "premise.nt").write_text(ntriples(case.premises), encoding="utf-8")
            store.load(tmp_path / "premise.nt", materialise=False)
            if outside := store.outside_profile():
                found[str(case)] = sorted({f.what for f in outside})
    assert found == {f"w3c-{name}": whats for name, whats in MISTAGGED.items()} | OUTSIDE


@pytest.mark.parametrize(("suite", "size"), [(owl2_rl, 50), (owl2_w3c, 93), (rdf_mt, 48), (rdf12_semantics, 29)])
def test_whole_suite_is_run(suite: Callable[[], list[Case]], size: int) -> None:
    assert len(suite()) == size


def test_the_document_names_what_is_left_out() -> None:
    rules = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert [name for name in EXCLUDED if f"`{name.removeprefix('w3c-')}`" not in rules] == []
