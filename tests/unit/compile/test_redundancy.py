"""Which rules others make superfluous."""

from __future__ import annotations

import pytest

from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.compile.redundancy import without_redundant


def left_out(text: str) -> set[str]:
    rules = datalog.parse(f"PREFIX : <http://e/>\n{text}", "rules")
    return {rule.name for rule in rules} - {rule.name for rule in without_redundant(rules, lambda rule: True)}


def test_of_owl2rl_the_rules_for_equal_classes_follow_from_those_for_subclasses() -> None:
    rules = rulesets.named("owl2rl").rules
    kept = without_redundant(rules, lambda rule: True)
    assert [rule.name for rule in rules if rule not in kept] == ["cax-eqc1", "cax-eqc2"]
    asked = without_redundant(rules, lambda rule: rule.name == "cax-eqc1")
    assert [rule.name for rule in rules if rule not in asked] == ["cax-eqc1"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@rule a [?x, :p, ?y] :- [?x, :q, ?y] . @rule b [?x, :q, ?y] :- [?x, :p, ?y] .", set()),
        ("@rule a [?x, :p, ?y] :- [?x, :q, ?y] . @rule b [?u, :p, ?v] :- [?u, :q, ?v] .", {"a"}),
        ("@rule a [?x, :p, ?y] :- [?x, :q, ?y] . @rule b [?x, :p, ?x] :- [?x, :q, ?x] .", {"b"}),
        ("@rule a [?x, :p, ?x] :- [?x, :q, ?x] . @rule b [?x, :p, ?y] :- [?x, :q, ?y], [?x, :r, ?z] .", set()),
        ("@rule a [?x, :p, ?y] :- [?x, :q, ?y] . @rule b [?x, :p, :c] :- [?x, :q, :c] .", {"b"}),
        ("@rule a [?x, :p, :c] :- [?x, :q, :c] . @rule b [?x, :p, :d] :- [?x, :q, :d] .", set()),
        ("@rule t [?x, :p, ?z] :- [?x, :p, ?y], [?y, :p, ?z] . "
         "@rule four [?a, :p, ?e] :- [?a, :p, ?b], [?b, :p, ?c], [?c, :p, ?d], [?d, :p, ?e] .", {"four"}),
        ("@rule a [?x, ?p, ?y] :- [?x, :q, ?y], [?p, :r, :s] . @rule b [?x, :p, ?y] :- [?x, :q, ?y], [:p, :r, :s] .",
         set()),
        ("@rule a [?x, :p, ?y] :- [?x, :q, ?y], FILTER(?x != ?y) . @rule b [?x, :p, ?y] :- [?x, :q, ?y] .", set()),
        ("@rule a [?x, :p, ?y], [?y, :p, ?x] :- [?x, :q, ?y] . @rule b [?y, :p, ?x] :- [?x, :q, ?y] .", {"b"}),
        ("@rule a [?x, :p, ?y] :- [?x, :q, ?y] . @rule b [?x, :p, ?y], [?y, :p, ?x] :- [?x, :q, ?y] .", {"a"}),
    ],
)  # fmt: skip
def test_a_rule_is_left_out_if_the_others_derive_its_head_from_its_body(text: str, names: set[str]) -> None:
    assert left_out(text) == names
