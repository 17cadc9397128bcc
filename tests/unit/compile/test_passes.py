"""What the passes make of rules."""

from __future__ import annotations

import pytest

from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.compile.passes import Draft, Options, drafts_of
from triplestore.compile.schema import atom_node
from triplestore.compile.unify import SAME_AS_TOKEN
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.rule import Atom, Holds, constants_of

PREFIX = "PREFIX : <http://e/>\n"


def drafts(*names: str, options: Options | None = None) -> dict[str, Draft]:
    rules = [rule for rule in rulesets.named("owl2rl").rules if rule.name in names]
    return {draft.rule.name: draft for draft in drafts_of(rules, options or Options(Equality.REWRITE))}


def test_each_body_is_divided() -> None:
    found = drafts("cax-sco", "scm-sco", "prp-spo2")
    assert found["scm-sco"].closes_schema
    cax = found["cax-sco"]
    assert not cax.closes_schema
    assert not cax.joined
    assert {*cax.schema, *cax.data} == {*cax.rule.body}
    assert [atom.p for atom in cax.schema if isinstance(atom, Atom)] == [
        "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    ]
    assert len(found["prp-spo2"].schema) == 2  # the axiom, and the list


def test_what_is_large_is_joined_and_what_follows_from_it_left_out() -> None:
    names = ("cax-sco", "scm-sco", "scm-eqc1", "cax-eqc1", "scm-int")
    axioms = [atom for name in ("cax-sco", "cax-eqc1") for atom in drafts(name)[name].schema if isinstance(atom, Atom)]
    found = drafts(*names, options=Options(Equality.REWRITE, frozenset(map(atom_node, axioms))))
    assert {name for name, draft in found.items() if draft.joined} == {"cax-sco", "scm-sco", "scm-eqc1"}
    assert {name for name, draft in found.items() if not draft.joined} == {"scm-int"}  # reads lists
    assert found["cax-sco"].schema == ()
    assert found["cax-sco"].data == found["cax-sco"].rule.body
    assert not found["scm-sco"].closes_schema


def test_names_of_same_as_are_read_as_it() -> None:
    rules = datalog.parse(f"{PREFIX}@rule r [?x, :p, :c] :- [?x, :is, ?y], [?y, :p, :c] .", "test.dlog")
    options = Options(Equality.REWRITE, names=frozenset({"<http://e/is>"}))
    (draft,) = drafts_of(rules, options)
    assert {*constants_of(draft.rule)} == {"<http://e/p>", "<http://e/c>", SAME_AS_TOKEN}
    grouping = datalog.parse(
        f"{PREFIX}@rule n [?x, :n, ?n] :- AGGREGATE([?x, :is, ?y] ON ?x BIND COUNT(?y) AS ?n) .", "test.dlog"
    )
    with pytest.raises(InputError, match="aggregates over a property that equals owl:sameAs"):
        drafts_of(grouping, options)


def test_binds_are_put_in_place() -> None:
    rules = datalog.parse(f"{PREFIX}@rule made [?x, :p, ?y] :- [?x, :q, ?z], BIND(STR(?z) AS ?y) .", "test.dlog")
    (draft,) = drafts_of(rules, Options(Equality.OFF))
    assert list(draft.made) == ["y"]
    assert [type(element) for element in draft.rule.body] == [Atom, Holds]
