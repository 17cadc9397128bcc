"""SWRL rules in RDF: the rules of the rule language that they are, and what is refused, by rule and atom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rdflib import RDF, Graph, Namespace

from tests.support.cli import done, run
from triplake.rulesets import datalog, swrl
from triplestore import Store
from triplestore.compile import check
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule
from triplestore.read.reasoning import rules_of, ruleset_text, switched_off

PREFIXES = """
@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
@prefix swrlb: <http://www.w3.org/2003/11/swrlb#> .
:x a swrl:Variable . :y a swrl:Variable . :z a swrl:Variable . <urn:swrl:var#v> a swrl:Variable .
"""
E = Namespace("http://e/")


def ruleset_rules(file: Path) -> tuple[Rule, ...]:
    return rules_of(ruleset_text(str(file)))


def imp(body: str, head: str, about: str = ":rule") -> str:
    return f"{PREFIXES}\n{about} a swrl:Imp ; swrl:body ({body}) ; swrl:head ({head}) ."


def property_(name: str, s: str, o: str, kind: str = "IndividualPropertyAtom") -> str:
    return f"[a swrl:{kind} ; swrl:propertyPredicate {name} ; swrl:argument1 {s} ; swrl:argument2 {o}]"


def class_(name: str, s: str) -> str:
    return f"[a swrl:ClassAtom ; swrl:classPredicate {name} ; swrl:argument1 {s}]"


def built_in(name: str, *arguments: str) -> str:
    return f"[a swrl:BuiltinAtom ; swrl:builtin swrlb:{name} ; swrl:arguments ({' '.join(arguments)})]"


def two(kind: str, s: str, o: str) -> str:
    return f"[a swrl:{kind} ; swrl:argument1 {s} ; swrl:argument2 {o}]"


def own(text: str) -> tuple[Rule, ...]:
    return datalog.parse(f"PREFIX : <http://e/>\n@rule rule\n{text}", "r.dlog")


AGE = property_(":age", ":x", ":y", "DatavaluedPropertyAtom")


@pytest.mark.parametrize(
    ("body", "head", "same"),
    [
        (
            property_(":parent", ":x", ":y") + property_(":brother", ":y", ":z"),
            property_(":uncle", ":x", ":z"),
            "[?x, :uncle, ?z] :- [?x, :parent, ?y], [?y, :brother, ?z] .",
        ),
        (
            class_(":Person", ":x") + property_(":age", ":x", "18", "DatavaluedPropertyAtom"),
            class_(":Adult", ":x") + property_(":status", ":x", '"new"@en', "DatavaluedPropertyAtom"),
            '[?x, a, :Adult], [?x, :status, "new"@en] :- [?x, a, :Person], [?x, :age, 18] .',
        ),
        (property_(":boss", ":x", ":x"), "", "false :- [?x, :boss, ?x] ."),
        ("", class_(":Thing", ":i"), "[:i, a, :Thing] ."),
        (
            two("SameIndividualAtom", ":x", ":y"),
            two("DifferentIndividualsAtom", ":x", ":i"),
            "[?x, owl:differentFrom, :i] :- [?x, owl:sameAs, ?y] .",
        ),
        (
            two("DifferentIndividualsAtom", ":x", ":y"),
            class_(":C", ":x"),
            "[?x, a, :C] :- [?x, owl:differentFrom, ?y] .  [?x, a, :C] :- [?y, owl:differentFrom, ?x] .",
        ),
        (
            AGE + built_in("greaterThan", ":y", "17"),
            class_(":Adult", ":x"),
            "[?x, a, :Adult] :- [?x, :age, ?y], FILTER((?y > 17)) .",
        ),
        (
            built_in("add", ":z", ":y", "1", "2") + AGE,
            property_(":next", ":x", ":z", "DatavaluedPropertyAtom"),
            "[?x, :next, ?z] :- [?x, :age, ?y], BIND(((?y + 1) + 2) AS ?z) .",
        ),
        (
            built_in("equal", "<urn:swrl:var#v>", ":z") + built_in("multiply", ":z", ":y", "2") + AGE,
            property_(":next", ":x", "<urn:swrl:var#v>", "DatavaluedPropertyAtom"),
            "[?x, :next, ?v] :- [?x, :age, ?y], BIND((?y * 2) AS ?z), BIND(?z AS ?v) .",
        ),
        (
            AGE + built_in("subtract", "3", ":y", "2"),
            class_(":Five", ":x"),
            "[?x, a, :Five] :- [?x, :age, ?y], FILTER(3 = (?y - 2)) .",
        ),
        (
            AGE + built_in("stringConcat", ":z", ":y", '"!"') + built_in("containsIgnoreCase", ":z", '"A"'),
            property_(":name", ":x", ":z", "DatavaluedPropertyAtom"),
            '[?x, :name, ?z] :- [?x, :age, ?y], BIND(CONCAT(STR(?y), STR("!")) AS ?z), '
            'FILTER(CONTAINS(LCASE(?z), LCASE("A"))) .',
        ),
        (
            AGE + built_in("substring", ":z", ":y", "1", "2") + built_in("matches", ":z", '"^a"'),
            class_(":A", ":x"),
            '[?x, a, :A] :- [?x, :age, ?y], BIND(SUBSTR(?y, 1, 2) AS ?z), FILTER(REGEX(?z, "^a")) .',
        ),
    ],
)
def test_a_rule_of_swrl_is_one_of_the_language(body: str, head: str, same: str) -> None:
    assert swrl.parse(imp(body, head), "r.ttl", check.fault) == own(same)


def test_names_come_from_labels_iris_or_lines() -> None:
    body, head = class_(":A", ":x"), class_(":B", ":x")
    text = imp(body, head) + imp(body, head, ":other rdfs:label 'an other' ; ") + imp(body, head, "[]")
    rules = swrl.parse(text, "some.ttl")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if "swrl:Imp" in line]
    assert [(r.name, r.line) for r in rules] == [
        *zip(("rule", "an-other", f"some:{lines[2]}"), lines, strict=True),
    ]


@pytest.mark.parametrize(
    ("body", "head", "message"),
    [
        (AGE + built_in("pow", ":z", ":y", "2"), "", "atom 2 of the body: swrlb:pow has no counterpart"),
        (AGE + built_in("add", ":z"), "", "atom 2 of the body: swrlb:add takes 3 or more arguments, not 1"),
        (built_in("lessThan", ":y", "1"), "", "atom 1 of the body: nothing gives a value to what lessThan reads"),
        (AGE, built_in("add", ":z", ":y", "1"), "the head: a built-in in the head derives nothing"),
        (AGE, class_(":C", ":z"), "r.ttl:8: rule rule: ?z occurs in no atom of the body"),
        (AGE, class_("[]", ":x"), "the head: a class expression has no counterpart"),
        ("[a swrl:ClassAtom ; swrl:argument1 :x]", "", "atom 1 of the body: no swrl:classPredicate"),
        ("[a swrl:DataRangeAtom ; swrl:dataRange :D ; swrl:argument1 :x]", "", "swrl:DataRangeAtom has no counterpart"),
        ("[swrl:argument1 :x]", "", "atom 1 of the body: an atom without a type of SWRL's"),
        (class_(":C", "_:b"), "", "atom 1 of the body: a blank node has no name that a rule could use"),
        (
            AGE + "[a swrl:BuiltinAtom ; swrl:builtin :mine ; swrl:arguments (:x)]",
            "",
            "atom 2 of the body: <http://e/mine> is not a built-in of SWRL's",
        ),
    ],
)
def test_what_has_no_counterpart_is_refused(body: str, head: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        swrl.parse(imp(body, head), "r.ttl", check.fault)
    assert message in str(refused.value)
    assert str(refused.value).startswith("r.ttl:8: rule rule")


def test_files_that_are_no_rules_are_refused() -> None:
    with pytest.raises(InputError, match=r"r\.ttl: no rules in this file"):
        swrl.parse(PREFIXES, "r.ttl")
    with pytest.raises(InputError, match=r"^r\.ttl:2:\d+: (?!Parser error)"):
        swrl.parse("\n:a :b :c .", "r.ttl")


def test_every_format_of_rdf(tmp_path: Path) -> None:
    graph = Graph().parse(data=imp(class_(":A", ":x"), class_(":B", ":x")), format="turtle")
    for suffix, name in ((".rdf", "xml"), (".owl", "xml"), (".nt", "nt"), (".jsonld", "json-ld"), (".ttl", "turtle")):
        rules = swrl.parse(graph.serialize(format=name), f"r{suffix}")
        assert rules == own("[?x, a, :B] :- [?x, a, :A] .")


RDF_XML = """<?xml version="1.0"?>
<!-- a comment
     of two lines -->
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:swrl="http://www.w3.org/2003/11/swrl#" BASE>
  <swrl:Variable rdf:about="http://e/x"/>
  <swrl:Imp rdf:about="http://e/rule">
    <swrl:body rdf:parseType="Collection">
      <swrl:ClassAtom>
        <swrl:classPredicate rdf:resource="A"/><swrl:argument1 rdf:resource="http://e/x"/>
      </swrl:ClassAtom>
    </swrl:body>
    <swrl:head rdf:parseType="Collection">
      <swrl:ClassAtom>
        <swrl:classPredicate rdf:resource="http://e/B"/><swrl:argument1 rdf:resource="http://e/x"/>
      </swrl:ClassAtom>
    </swrl:head>
  </swrl:Imp>
</rdf:RDF>
"""


@pytest.mark.parametrize(
    ("base", "resolved"),
    [
        ("", "file:A"),
        ('xml:base=""', "file:A"),
        ('xml:base="sub/"', "file:sub/A"),
        ('xml:base="http://e/f"', "http://e/A"),
    ],
)
def test_a_base_in_rdf_xml(tmp_path: Path, base: str, resolved: str) -> None:
    file = tmp_path / "rules.rdf"
    file.write_text(RDF_XML.replace("BASE", base))
    (rule,) = ruleset_rules(file)
    assert rule == replace(own(f"[?x, a, :B] :- [?x, a, <{resolved}>] .")[0], source=str(file), line=6)
    text = ruleset_text(str(file))
    assert switched_off(text) == ()


def test_the_place_of_a_fault_in_rdf_xml(tmp_path: Path) -> None:
    """It is told in the text as it was written, with its comments."""
    file = tmp_path / "rules.rdf"
    file.write_text(RDF_XML.replace(" BASE", "").replace("</swrl:Imp>", ""))
    with pytest.raises(InputError, match=r"rules\.rdf:18:3: not well-formed XML: mismatched tag"):
        ruleset_text(str(file))


def test_a_store_takes_swrl_for_a_ruleset_and_lists_it(tmp_path: Path) -> None:
    file = tmp_path / "rules.ttl"
    file.write_text(imp(AGE + built_in("greaterThanOrEqual", ":y", "18"), class_(":Adult", ":x")))
    with Store.create(tmp_path / "kg", ["rdfs", str(file)], engine="duckdb") as store:
        store.update(add=Graph().parse(data="@prefix : <http://e/> . :a :age 18 . :b :age 17 .", format="turtle"))
        assert {s for s, _, o in store.triples() if o == E.Adult} == {E.a}
    listed = done("rules", tmp_path / "kg", "list", "--verbose").splitlines()
    assert listed[-2:] == [f"{file}: 1 rule, SWRL", f"  rule ({file}:8)"]


ENABLED = "<http://swrl.stanford.edu/ontologies/3.3/swrla.owl#isRuleEnabled>"


@pytest.mark.parametrize(
    ("annotation", "enabled"),
    [
        ("", True),
        (f"{ENABLED} true ;", True),
        (f"{ENABLED} false ;", False),
        (f'{ENABLED} "false" ;', False),
        (f'{ENABLED} "0"^^<http://www.w3.org/2001/XMLSchema#boolean> ;', False),
    ],
)
def test_a_rule_that_is_switched_off_is_left_out(annotation: str, enabled: bool) -> None:
    text = imp(AGE, class_(":Aged", ":x")).replace("a swrl:Imp ;", f"a swrl:Imp ; {annotation}")
    both = text + imp(AGE, class_(":Old", ":x"), ":other").removeprefix(PREFIXES)
    assert [rule.name for rule in swrl.parse(both, "r.ttl")] == ["rule", "other"][not enabled :]
    assert swrl.disabled(both, "r.ttl") == (() if enabled else ("rule",))


def test_what_a_switched_off_rule_says_is_not_checked() -> None:
    """It need not have a counterpart: nothing is made of it."""
    text = imp(built_in("nonsense", ":x"), class_(":Aged", ":x"))
    with pytest.raises(InputError):
        swrl.parse(text, "r.ttl")
    assert swrl.parse(text.replace("a swrl:Imp ;", f"a swrl:Imp ; {ENABLED} false ;"), "r.ttl") == ()


def test_commands_name_files_without_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("none.dlog").write_text("# no rule\n")
    message = "warning: none.dlog has no rules: nothing follows by it"
    assert message in run("init", "a", "--rules", "none.dlog").err
    done("init", "b", "--rules", "rdfs")
    assert message in run("rules", "b", "add", "none.dlog").err
    assert message not in run("rules", "b", "add", "owl2rl").err


def test_commands_name_the_rules_that_are_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = imp(AGE, class_(":Aged", ":x")).replace("a swrl:Imp ;", f"a swrl:Imp ; {ENABLED} false ;")
    Path("aged.ttl").write_text(text + imp(AGE, class_(":Old", ":x"), ":other").removeprefix(PREFIXES))
    Path("data.ttl").write_text("@prefix : <http://e/> . :a :age 70 .")
    message = "warning: aged.ttl: the rule rule is switched off (swrla:isRuleEnabled false) and left out"
    assert message in run("init", "a", "--rules", "aged.ttl").err
    assert message in run("load", "b", "data.ttl", "--rules", "aged.ttl").err
    assert message not in run("load", "b", "data.ttl").err
    done("load", "c", "data.ttl", "--rules", "none")
    assert message in run("rules", "c", "add", "aged.ttl").err
    for store in ("b", "c"):
        lines = done("rules", store, "list").splitlines()
        assert lines[-2:] == ["aged.ttl: 1 rule, SWRL", "  rule is switched off in the file and left out"]
        with Store.open(store) as opened:
            assert {kind for _, _, kind in opened.match(E.a, RDF.type)} == {E.Old}
