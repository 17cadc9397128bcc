"""Inconsistencies are shown in the terms of the triples that were asserted, whatever terms represent their classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.rule_cases import Case, Triple, owl2rl
from tests.support.stores import as_terms, tokens
from triplestore import Store
from triplestore.model.terms import OWL, from_rdflib

if TYPE_CHECKING:
    from rdflib.term import Node

    from tests.conftest import MakeStore

SAME, DIFFERENT = f"<{OWL}sameAs>", f"<{OWL}differentFrom>"
OWN = """PREFIX ex: <http://example.org/custom/>
@rule no-loops false :- [?x, ex:near, ?y], [?y, ex:near, ?x], FILTER(?x != ex:hub) .
@rule one-boss false :- AGGREGATE([?x, ex:boss, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 1) .
@rule no-chain false :- [?x, ex:boss, ?y], [?y, ex:boss, ?z] .
"""
CUSTOM = frozenset(
    (f"<http://example.org/custom/{s}>", f"<http://example.org/custom/{p}>", f"<http://example.org/custom/{o}>")
    for s, p, o in (("a", "near", "b"), ("b", "near", "a"), ("a", "boss", "c"), ("c", "boss", "d"))
)
CONSTRAINTS = [case for case in owl2rl.CASES if not case.conclusion]


def aliased(triples: frozenset[Triple], space: str, named: Collection[str] = ()) -> set[Triple]:
    """The triples with a name of its own for each occurrence of a term of the namespace `space`, and that such names
    are one. The names that sort first, which represent the classes, occur nowhere else. named: predicates that keep
    their names, since rules mention them."""
    found: set[Triple] = set()
    numbers: dict[str, int] = defaultdict(int)

    def alias(term: str) -> str:
        if not term.startswith(f"<{space}"):
            return term
        numbers[term] += 1
        name = f"{term[:-1]}-{numbers[term]}>"
        found.add((name, SAME, f"<{space}0{term[len(space) + 1 : -1].replace('#', '-')}>"))
        return name

    for s, p, o in sorted(triples):
        found.add((alias(s), p if p in named else alias(p), alias(o)))
    return found


def check(store: Store, asserted: set[Triple]) -> None:
    """Triples at fault are asserted, or follow and are asserted under no names; a proof names those that are."""
    equal: dict[str, set[str]] = defaultdict(set)
    for s, p, o in tokens(store):
        if p == SAME:
            equal[s].add(o)

    def normal(triple: Triple) -> Triple:
        s, p, o = (min({term, *equal[term]}) for term in triple)
        return s, p, o

    known = {normal(triple) for triple in asserted if triple[1] != SAME}
    found = store.check()
    assert found
    for violation in found:
        for triple in (from_terms(triple) for triple in violation.triples):
            assert triple in asserted or normal(triple) not in known
            assert triple[1] not in (SAME, DIFFERENT) or triple[0] != triple[2]
    for violation in store.check(by=True):
        given = {normal(triple) for triple in violation.because if triple in asserted}
        for triple in violation.at_fault:
            assert normal(triple) in given or normal(triple) not in known
            assert triple[1] not in (SAME, DIFFERENT) or triple[0] != triple[2]


def from_terms(triple: tuple[Node, Node, Node]) -> Triple:
    s, p, o = map(from_rdflib, triple)
    return s, p, o


@pytest.mark.parametrize("case", CONSTRAINTS, ids=str)
@pytest.mark.sampled(each=3)
@pytest.mark.long_on_spark
def test_constraints_of_owl(case: Case, make_store: MakeStore) -> None:
    store = make_store(("owl2rl",))
    asserted = aliased(case.triples("must"), case.space)
    store.update(add=as_terms(sorted(asserted)))
    assert case.rule in store.violated()
    check(store, asserted)


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_constraints_of_custom_rules(equality: str, make_store: MakeStore, tmp_path: Path) -> None:
    (tmp_path / "own.dlog").write_text(OWN)
    store = make_store(("owl2rl", str(tmp_path / "own.dlog")), equality)
    asserted = aliased(CUSTOM, "http://example.org/custom/", {p for _, p, _ in CUSTOM})
    store.update(add=as_terms(sorted(asserted)))
    assert {"no-loops", "no-chain"} <= store.violated().keys()
    check(store, asserted)
