"""The rule language: what each construct means, and what each mistake is told, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.compile import check
from triplestore.model.errors import InputError, UsageError
from triplestore.model.rule import (
    Atom,
    Filter,
    ListOf,
    MemberOf,
    Rule,
    Span,
    SpanEnd,
    Var,
)
from triplestore.model.terms import OWL, RDF, XSD

TYPE = f"<{RDF}type>"


def rule(text: str) -> Rule:
    (only,) = datalog.parse(text, "family.dlog")
    return only


def ex(name: str) -> str:
    return f"<http://example.org/{name}>"


# -- what is read


def test_a_rule_with_prefixes_name_and_place() -> None:
    text = """# a comment
        PREFIX ex: <http://example.org/>
        @prefix : <http://example.org/#> .

        @rule uncle   # another
        [?x, ex:uncle, ?z] :- [?x, ex:parent, ?y], [?y, :brother, ?z] ."""
    read = rule(text)
    assert read == Rule(
        "uncle",
        (Atom(Var("x"), ex("uncle"), Var("z")),),
        (Atom(Var("x"), ex("parent"), Var("y")), Atom(Var("y"), ex("#brother"), Var("z"))),
    )
    assert (read.source, read.line) == ("family.dlog", 6)


def test_the_name_holds_until_the_next_and_unnamed_rules_are_called_by_their_line() -> None:
    text = """[?x, a, ?y] :- [?x, rdf:type, ?y] .
@rule one
[?x, a, ?y] :- [?x, a, ?y] .
[?x, a, ?y] :- [?y, a, ?x] .
@rule two
false :- [?x, a, ?x] ."""
    assert [r.name for r in datalog.parse(text, "rules/my family.dlog")] == ["my_family:1", "one", "one", "two"]


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("<http://example.org/a>", ex("a")),
        (r"<http://example.org/\u00e9>", ex("é")),
        ("owl:Thing", f"<{OWL}Thing>"),
        ("xsd:a.b-c", f"<{XSD}a.b-c>"),
        ('"x"', '"x"'),
        ("'x'", '"x"'),
        (r'"a\"b\n\u0041\\"', '"a"b\nA\\"'),
        ('"chat"@FR-be', '"chat"@fr-be'),
        ('"1"^^xsd:byte', f'"1"^^<{XSD}byte>'),
        ('"1"^^<http://example.org/t>', f'"1"^^{ex("t")}'),
        ('"x"^^xsd:string', '"x"'),
        ("-12", f'"-12"^^<{XSD}integer>'),
        ("1.50", f'"1.50"^^<{XSD}decimal>'),
        ("1e3", f'"1e3"^^<{XSD}double>'),
        ("true", f'"true"^^<{XSD}boolean>'),
        ("?x1", Var("x1")),
    ],
)
def test_terms(text: str, token: str | Var) -> None:
    assert rule(f"[?x1, owl:sameAs, {text}] :- [?x1, owl:sameAs, {text}].").body == (
        Atom(Var("x1"), f"<{OWL}sameAs>", token),
    )


def test_a_is_rdf_type_as_predicate_only() -> None:
    assert rule("[?x, a, ?x] :- [?x,a,?x] .").heads == (Atom(Var("x"), TYPE, Var("x")),)
    with pytest.raises(InputError, match=r"family\.dlog:1:2: expected a subject, found 'a'"):
        rule("[a, a, ?x] :- [?x, a, ?x] .")


def test_facts_several_heads_and_inconsistencies() -> None:
    assert rule("[owl:Thing, a, owl:Class] .").body == ()
    assert len(rule("[?x, a, ?y], [?y, a, ?x]:-[?x, owl:sameAs, ?y].").heads) == 2
    assert rule("false:-[?x, a, owl:Nothing].").heads == ()


def test_lists() -> None:
    read = rule("[?y, a, ?c] :- [?c, owl:intersectionOf, ?l], LIST[?l, ?c1 .. ?cn], [?y, a, ?c1..?cn] .")
    assert read.body[1:] == (ListOf(Var("l"), Span("c", 1)), Atom(Var("y"), TYPE, Span("c", 1)))
    read = rule("[?u0, ?p, ?un] :- [?p, a, ?l], LIST[?l, ?p1 .. ?pn], [?u0 .. ?un-1, ?p1 .. ?pn, ?u1 .. ?un] .")
    assert read.heads == (Atom(Var("u0"), Var("p"), SpanEnd("u")),)
    assert read.body[2] == Atom(Span("u", 0), Span("p", 1), Span("u", 1))


def test_members_and_filters() -> None:
    read = rule(
        "false :- MEMBER[?l, ?x, ?i], MEMBER[?l, ?y, ?j], FILTER(?i<?j), FILTER(?x != owl:Thing), [?x, a, ?y] ."
    )
    assert read.body[:4] == (
        MemberOf(Var("l"), Var("x"), Var("i")),
        MemberOf(Var("l"), Var("y"), Var("j")),
        Filter("<", Var("i"), Var("j")),
        Filter("!=", Var("x"), f"<{OWL}Thing>"),
    )
    assert rule("false :- MEMBER[?l,?x,?i],MEMBER[?l,?x,?j],FILTER(?i<?j),FILTER(?j>?i).").body[2:] == (
        Filter("<", Var("i"), Var("j")),
        Filter(">", Var("j"), Var("i")),
    )
    assert rule("[?l, a, ?x] :- MEMBER[?l, ?x], FILTER(xsd:a = ?x) .").body == (
        MemberOf(Var("l"), Var("x")),
        Filter("=", f"<{XSD}a>", Var("x")),
    )


def test_a_variable_that_ends_in_n_is_a_variable_where_no_span_has_its_stem() -> None:
    assert rule("[?person, a, ?un] :- [?person, a, ?un] .").heads == (Atom(Var("person"), TYPE, Var("un")),)


def test_an_empty_text_has_no_rules() -> None:
    assert datalog.parse(" # nothing\n", "x") == ()


# -- what is refused


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("[?x, a, ?y] :- [?x, a, ?y]", 1, 27, "expected ',' or '.', found the end of the text"),
        ("[?x, a, ?y] :-\n  [?x, a ?y] .", 2, 10, "expected ',' and an object, found '?y'"),
        ("[?x, a, ?y] :- [?x, a, ?y, ?z] .", 1, 26, "expected ']' after the object, found ','"),
        (
            "[?x, a, ?y] :- .",
            1,
            16,
            "expected an atom [s, p, o], LIST[..], MEMBER[..], FILTER(..), BIND(..), NOT or AGGREGATE(..)",
        ),
        ("[?x, a, ?y] [?y, a, ?x] .", 1, 13, "expected ',', ':-' or '.', found '['"),
        ("head :- [?x, a, ?y] .", 1, 1, "expected a rule: head atoms"),
        ("[?x, ex:p, ?y] :- [?x, a, ?y] .", 1, 6, "unknown prefix 'ex:': declare it with PREFIX ex: <...>"),
        ("[?x, <p>, ?y] :- [?x, a, ?y] .", 1, 6, "relative IRI <p>: write it in full"),
        ("PREFIX ex <http://example.org/>", 1, 8, "expected a prefix that ends in ':'"),
        ("PREFIX ex: owl:", 1, 12, "expected an IRI between < and >"),
        ("@rule\n[?x, a, ?y] .", 1, 1, "expected a name after @rule"),
        ("[_:x, a, ?y] :- [?x, a, ?y] .", 1, 2, "a blank node has no name that a rule could use"),
        ("[?x, a, [a, a, a]] :- [?x, a, ?y] .", 1, 9, "a blank node has no name that a rule could use"),
        ('[?x, "p", ?y] :- [?x, a, ?y] .', 1, 6, "a literal cannot be a predicate"),
        ('[?x, a, ?y] :- [?x, "p", ?y] .', 1, 21, "a literal cannot be a predicate"),
        ('["s", a, ?y] :- [?x, a, ?y] .', 1, 1, "a literal cannot be the subject of a head"),
        (r'[?x, a, "\q"] :- [?x, a, ?y] .', 1, 9, r"unknown escape \q"),
        (r'[?x, a, "\uD800"] :- [?x, a, ?y] .', 1, 9, r"unknown escape \uD800"),
        (r'[?x, a, "\U00110000"] :- [?x, a, ?y] .', 1, 9, r"unknown escape \U00110000"),
        ('[?x, a, "open] :- [?x, a, ?y] .', 1, 9, "expected an object, found '\"'"),
        ('[?x, a, "x"^^"y"] :- [?x, a, ?y] .', 1, 14, "expected a datatype after ^^"),
        ("\n  [?x, a, ?z] :- [?x, a, ?y] .", 2, 3, "rule family:2: ?z occurs in no atom of the body"),
        ("[?x, a, ?x] .", 1, 1, "rule family:1: ?x occurs in no atom of the body"),
        ("[?x, a, ?y] :- [?x, a, ?y], FILTER(?x != ?z) .", 1, 1, "?z occurs in no atom of the body"),
        ("false .", 1, 1, "false needs a body"),
        ("[?x, a, ?y] :- [?x, a, ?y], OPTIONAL [?y, a, ?x] .", 1, 29, "OPTIONAL is not of the rule language"),
        ("[?x, a, ?y] :- [?x, a, ?z], NOT ([?x, a, ?y]) .", 1, 1, "?y occurs in no atom of the body"),
        (
            "[?x, a, ?z] :- [?x, a, ?z], NOT ([?x, a, ?y], FILTER(?v > 1)) .",
            1,
            1,
            "?v occurs in no atom of the body nor",
        ),
        ("[?x, a, ?z] :- [?x, a, ?z], NOT (FILTER(?z > 1)) .", 1, 1, "a NOT needs an atom: write FILTER(!(..))"),
        ("[?x, a, ?z] :- [?x, a, ?z], NOT (MEMBER[?z, ?y]) .", 1, 29, "a NOT holds atoms and FILTERs"),
        ("[?x, a, ?z] :- [?x, a, ?z], NOT EXISTS ?z IN [?z, a, ?x] .", 1, 29, "?z of NOT EXISTS occurs outside of it"),
        ("[?x, a, ?z] :- [?x, a, ?z], NOT EXISTS ?y IN [?z, a, ?x] .", 1, 29, "?y of NOT EXISTS does not occur in"),
        (
            "[?x, a, ?z] :- [?x, a, ?z], NOT EXISTS ?y IN [?y, a, ?w] .",
            1,
            29,
            "?w occurs in a NOT EXISTS only: list it",
        ),
        ("[?x, a, ?z] :- [?x, a, ?z], NOT EXISTS ?y [?y, a, ?x] .", 1, 43, "expected IN"),
        ("[?x, a, ?y] :- [?x, a, ?z], BIND(?w AS ?y) .", 1, 1, "?w is read by BIND, but bound by no atom"),
        ("[?x, a, ?y] :- [?x, a, ?z], BIND(1 AS ?y), BIND(2 AS ?y) .", 1, 1, "?y is bound by two BINDs"),
        ("[?x, a, ?y] :- [?x, a, ?z], BIND(?z + 1) .", 1, 40, "expected AS and a variable"),
        ("[?x, a, ?y] :- [?x, a, ?z], BIND(?z + AS ?y) .", 1, 39, "expected a term, or a function and its arguments"),
        ("[?x, a, ?n] :- AGGREGATE([?x, a, ?y]) .", 1, 37, "expected ',' or ON, found ')'"),
        ("[?x, a, ?n] :- AGGREGATE([?x, a, ?y] ON ?x) .", 1, 43, "expected BIND and an aggregate"),
        (
            "[?x, a, ?n] :- AGGREGATE([?x, a, ?y] ON ?x BIND MEDIAN(?y) AS ?n) .",
            1,
            49,
            "one of COUNT, SUM, MIN, MAX, AVG",
        ),
        (
            "[?z, a, ?n] :- AGGREGATE([?x, a, ?y] ON ?z BIND COUNT(?y) AS ?n) .",
            1,
            1,
            "?z of AGGREGATE .. ON occurs in no",
        ),
        ("[?x, a, ?n] :- AGGREGATE([?x, a, ?y] ON ?x BIND COUNT(?z) AS ?n) .", 1, 1, "?z of COUNT occurs in no atom"),
        (
            "[?x, a, ?n] :- [?y, a, ?x], AGGREGATE([?x, a, ?y] ON ?x BIND COUNT(?y) AS ?n) .",
            1,
            1,
            "?y is AGGREGATE's own",
        ),
        ("[?x, a, ?n] :- AGGREGATE([?x, owl:sameAs, ?y] ON ?x BIND COUNT(?y) AS ?n) .", 1, 1, "equal terms count once"),
        ("[?x, a, ?y] :- [?x, a, ?y], FILTER(NOT [?x, a, ?z]) .", 1, 36, "NOT is not an expression: write NOT [..]"),
        ("[?x, a, ?y] :- [?x, a, ?y], FILTER(median(?x)) .", 1, 36, "the function MEDIAN is not supported"),
        ("[?x, a, ?y] :- [?x, a, ?y], FILTER(strlen(?x, ?y) > 1) .", 1, 36, "STRLEN does not take 2 arguments"),
        ("[?x, a, ?y] :- [?x, a, ?y], FILTER(rand() > ?y) .", 1, 36, "RAND gives another answer each time"),
        ("[?x, a, ?y] :- [?x, a, ?y], FILTER(xsd:QName(?x)) .", 1, 36, "is not supported"),
        ("[?x, a, ?y] :- MEMBER[?x, ?y, ?i], FILTER(?i != ?y) .", 1, 1, "compares a position in a list with a term"),
        ("[?x, a, ?i] :- MEMBER[?x, ?y, ?i] .", 1, 1, "?i is a position in a list, a number"),
        ("[?x, a, ?y] :- MEMBER[?x, ?y, ?i], BIND(1 AS ?i) .", 1, 1, "?i is a position in a list, a number"),
        (
            "[?x, a, ?y] :- MEMBER[?x, ?y, ?i], AGGREGATE([?x, a, ?z] ON ?x BIND COUNT(?z) AS ?i) .",
            1,
            1,
            "?i is a position in a list, a number",
        ),
        (
            "[?x, a, ?y] :- MEMBER[?x, ?y, ?i], MEMBER[?x, ?z, ?j], NOT ([?y, a, ?z], FILTER(?i < ?j)) .",
            1,
            1,
            "positions in a list are compared beside the atoms, not in a NOT",
        ),
        ("[?x, a, ?y] :- MEMBER[?x, ?y, 0] .", 1, 31, "the position of a member is a variable"),
        ("[?x, a, ?y] :- MEMBER[?x, ?y1 .. ?yn] .", 1, 27, "expected a member: one term, not a span"),
        ("[?x, a, ?y] :- LIST[?x, ?y] .", 1, 25, "LIST takes a list and its members as a span"),
        ("[?x, a, ?y1] :- LIST[?x, ?y1 .. ?y3] .", 1, 26, "a span is written ?x1 .. ?xn or ?x0 .. ?xn-1"),
        ("[?x, a, ?y1] :- LIST[?x, ?y1 .. ?zn] .", 1, 26, "a span is written ?x1 .. ?xn or ?x0 .. ?xn-1"),
        ("[?x, a, ?y] :- [?x, a, ?y], [?x, a, ?c1 .. ?cn] .", 1, 1, "?c1 .. ?cn has no length"),
        ("[?x, a, ?y] :- LIST[?x, ?c1 .. ?cn], LIST[?y, ?d1 .. ?dn] .", 1, 1, "one LIST at most"),
        ("[?x, a, ?c2] :- LIST[?x, ?c1 .. ?cn] .", 1, 1, "?c2 occurs in no atom of the body"),
        ("[?x, a, ?un] :- LIST[?x, ?c1 .. ?cn], [?u0 .. ?un-1, a, ?c1 .. ?cn] .", 1, 1, "?un occurs in no atom"),
        ("[?x, a, ?d1 .. ?dn] :- LIST[?x, ?c1 .. ?cn] .", 1, 1, "?d1 .. ?dn occurs in no atom of the body"),
        ("[?x, a, ?y] :- LIST[?x, ?c1 .. ?cn], FILTER(?c1 .. ?cn = ?x) .", 1, 45, "one term, not a span"),
    ],
)
def test_mistakes(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        datalog.parse(text, "family.dlog", check.fault)
    error = caught.value
    assert reason in error.reason
    assert (error.file, error.line, error.column) == ("family.dlog", line, column)


@given(st.text(alphabet="[]?xyn01.,:-@<>\"'\\ \nafalse=!()LISTMEMBERrule#^_{}", max_size=60))
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    try:
        datalog.parse(text, "any.dlog")
    except InputError as error:
        place = (error.file, error.line, error.column)
    else:
        return
    lines = text.split("\n")
    assert place in {("any.dlog", i + 1, j + 1) for i, line in enumerate(lines) for j in range(len(line) + 1)}


# -- text and back

_VARIABLES = st.sampled_from([Var("x"), Var("y"), Var("person")])
_IRIS = st.sampled_from([ex("a"), TYPE, f"<{OWL}Thing>", f"<{RDF}_1>", f"<{XSD}a/b>"])
_LITERALS = st.builds(
    lambda lexical, tail: f'"{lexical}"{tail}',
    st.text(max_size=8),
    st.sampled_from(["", "@en-gb", f"^^<{XSD}integer>", f"^^{ex('t')}"]),
)
_ATOMS = st.builds(Atom, _VARIABLES | _IRIS, _VARIABLES | _IRIS, _VARIABLES | _IRIS | _LITERALS)


@given(st.lists(_ATOMS, max_size=3), st.lists(_ATOMS, max_size=3), st.sampled_from(["r", "my-rule", "f:3"]))
def test_a_rendered_rule_is_read_as_itself(heads: list[Atom], body: list[Atom], name: str) -> None:
    bind = Atom(Var("x"), Var("person"), Var("y"))
    original = Rule(name, tuple(heads), (bind, *body, Filter("!=", Var("x"), Var("y"))))
    assert datalog.parse(datalog.render(original), "rendered") == (original,)


@pytest.mark.parametrize("name", rulesets.NAMES)
def test_the_rendered_rulesets_are_read_as_themselves(name: str) -> None:
    ruleset = rulesets.named(name)
    text = "\n".join(datalog.render(rule) for rule in ruleset.rules)
    assert datalog.parse(text, "rendered") == ruleset.rules


# -- rulesets by name


def test_named_rulesets_and_files(tmp_path: Path) -> None:
    assert rulesets.named("owl2rl") is rulesets.named("owl2rl")
    assert rulesets.named("none").rules == ()
    file = tmp_path / "family.dlog"
    file.write_text("[?x, a, ?y] :- [?x, a, ?y] .", encoding="utf-8")
    read = rulesets.named(file)
    assert (read.name, read.rules[0].name, read.rules[0].source) == (str(file), "family:1", str(file))


def test_an_unknown_ruleset_is_told_with_the_names() -> None:
    with pytest.raises(
        UsageError,
        match="no ruleset 'owl': give one of owl2rl, rdfs-plus, rdfs, rdfs-axiomatic, rdf, rdf-axiomatic, datatypes, "
        "equality, none, or",
    ):
        rulesets.named("owl")


def test_a_file_that_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.dlog"
    file.write_bytes(b"# one\n# caf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8") as caught:
        datalog.read(file)
    assert (caught.value.file, caught.value.line) == (str(file), 2)
    with pytest.raises(InputError, match="cannot read the rules: No such file"):
        datalog.read(tmp_path / "absent.dlog")
