"""What is legal SPARQL, and what is not, by the text of the recommendation: lexical rules, scopes, places of errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import run
from triplake.sparql.parser import parse_query
from triplake.sparql.update import parse_update
from triplestore import Store
from triplestore.model.errors import InputError, UsageError

PREFIX = "PREFIX : <http://e/> PREFIX ec: <http://purl.uniprot.org/enzyme/> "

LEGAL = {
    "digits and dots": "SELECT * { ?x :enzyme ec:1.1.1.353 }",
    "dashes": "SELECT * { ?x :enzyme ec:1.-.-.- , ec:2.3.-.- . }",
    "a dot that ends": "SELECT * { ?x :enzyme ec:1.1.1.353.}",
    "escapes in a name": r"SELECT * { ?x :a\.b\-c ec:%41\%41 }",
    "having in ask": "ASK { ?x ?y ?z } GROUP BY ?x HAVING(COUNT(*) > 1)",
    "a variable twice": "SELECT ?s ?s { ?s ?p ?o }",
    "a variable twice, the first time made": "SELECT (1 AS ?x) ?x { }",
    "no space behind FILTER": "SELECT * { ?s ?p ?o FILTERsameTerm(?s, ?o) }",
    "no space at all": "SELECT*WHERE{?s?p?o.FILTERISIRI(?o)FILTERNOTEXISTS{?s a :b}}ORDERBY?s LIMIT1OFFSET2",
    "a codepoint in a string": r"SELECT ('a\u00e9\U0001F600' AS ?x) {}",
    "a codepoint in an IRI": r"SELECT * { ?x <http://e/\u0070> ?z }",
    "a codepoint in a comment": r"SELECT * { ?x :p ?z } # \u007D",
    "blank nodes on both sides of a filter": "SELECT * { _:a :p ?x FILTER(?x > 1) _:a :q ?y }",
    "a filter with a pattern between": "SELECT * { _:a :p ?x FILTER EXISTS { ?x :p ?y } _:a :q ?y }",
    "true in any case": "SELECT * { ?x :p TRUE FILTER(FALSE || True) }",
    "a key with a name": "SELECT ?k (COUNT(*) AS ?n) { ?x :p ?z } GROUP BY (?x AS ?k)",
    "an alias read by the next": "SELECT (SUM(?z) AS ?n) (?n + 1 AS ?m) { ?x :p ?z }",
    "spaces before brackets": "SELECT (CONCAT ( 'a' , 'b' ) AS ?x) (COALESCE ( ) AS ?y) { }",
    "a collection alone": "SELECT * { (1 ?x) . [ :p 1 ] }",
    "a version": "VERSION '1.2' PREFIX e: <http://e/> version \"1.1\" SELECT * { ?s e:p ?o }",
    "offset before limit": "SELECT * { ?s ?p ?o } OFFSET 1 LIMIT 1",
}

ILLEGAL = {
    "an aggregate in an aggregate": ("SELECT (SUM(COUNT(*)) AS ?x) { ?s ?p ?o }", "COUNT has no place here"),
    "an aggregate in FILTER": ("SELECT * { ?s ?p ?o FILTER(COUNT(*) > 1) }", "COUNT has no place here"),
    "an aggregate in GROUP BY": ("SELECT (1 AS ?x) { ?s ?p ?o } GROUP BY (SUM(?o))", "SUM has no place here"),
    "an aggregate in EXISTS": ("SELECT * { ?s ?p ?o } HAVING(EXISTS { ?s ?p ?o FILTER(MAX(?o) > 1) })", "MAX has no"),
    "BIND of what is bound": ("SELECT * { ?s ?p ?o BIND(1 AS ?o) }", "?o has a value already"),
    "BIND twice": ("SELECT * { BIND(1 AS ?o) BIND(2 AS ?o) }", "?o has a value already"),
    "AS what is bound": ("SELECT (1 AS ?o) { ?s ?p ?o }", "?o has a value already"),
    "AS what is named": ("SELECT ?x (1 AS ?x) { }", "?x has a value already"),
    "AS twice": ("SELECT (1 AS ?x) (2 AS ?x) { }", "?x has a value already"),
    "AS what VALUES binds": ("SELECT (1 AS ?x) { } VALUES ?x { 1 }", "?x has a value already"),
    "no key": ("SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o }", "?s is neither a key of the groups nor in an aggregate"),
    "no key in an expression": ("SELECT (?s + COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p", "?s is neither"),
    "everything of groups": ("SELECT * { ?s ?p ?o } GROUP BY ?s", "SELECT * has no meaning"),
    "blank nodes in two patterns": ("SELECT * { _:a :p ?x OPTIONAL { _:a :q ?y } }", "_:a is in another"),
    "blank nodes around a pattern": ("SELECT * { _:a :p ?x OPTIONAL { ?x :q ?y } _:a :p ?z }", "_:a is in another"),
    "no full stop": ("SELECT * { ?s ?p ?o ?a ?b ?c }", "found '?a'"),
    "two full stops": ("SELECT * { ?s ?p ?o . . }", "found '.'"),
    "nothing but a blank node": ("SELECT * { [] }", "expected a predicate"),
    "half a surrogate pair": (r"SELECT ('\uD800' AS ?x) {}", r"no escape \uD800"),
    "a codepoint for a letter of a variable": (r"SELECT ?x\u0079 { ?xy :p ?z }", "codepoint escapes"),
    "a codepoint in a name": (r"SELECT * { ?x :a\u0062c ?z }", "codepoint escapes"),
    "a codepoint for a brace": (r"SELECT * \u007B ?x :p ?z }", "codepoint escapes"),
    "a codepoint for a keyword": (r"\U00000041SK {}", "codepoint escapes"),
    "too large a codepoint": (r"SELECT ('\U00110000' AS ?x) {}", "no escape"),
    "an unknown escape": (r"SELECT ('\x' AS ?x) {}", r"no escape \x"),
    "no IRI": ("SELECT * { ?x <http://[> ?z }", "is not an IRI"),
    "no language tag": ("SELECT ('a'@abcdefghijkl AS ?x) { }", "not a language tag"),
    "a prefix of two colons": ("PREFIX a:b: <http://e/> ASK {}", "expected a prefix"),
    "a variable twice in VALUES": ("SELECT * { VALUES (?x ?x) { (1 2) } }", "names a variable twice"),
    "LIMIT twice": ("SELECT * { ?s ?p ?o } LIMIT 1 LIMIT 1", "expected the end of the query"),
    "no second operand": ("SELECT (1 + AS ?x) {}", "expected an expression, found 'AS'"),
    "an unknown function": ("ASK { ?s ?p ?o FILTER(foo(?o)) }", "expected a function that SPARQL has, found 'foo'"),
    "a version that is a number": ("VERSION 1.2 ASK {}", "expected a version, as in '1.2'"),
    "an update": ("INSERT DATA { <http://e/a> <http://e/p> 1 }", "this is an update, not a query"),
    "BOUND of an expression": ("SELECT * { ?s ?p ?o FILTER(BOUND(1)) }", "BOUND takes a variable"),
}


@pytest.mark.parametrize("text", LEGAL.values(), ids=LEGAL.keys())
def test_legal(text: str) -> None:
    parse_query(PREFIX + text)


@pytest.mark.parametrize(("text", "reason"), ILLEGAL.values(), ids=ILLEGAL.keys())
def test_illegal(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_query(PREFIX + text)
    assert reason in str(refused.value)
    assert "line 1, column" in str(refused.value)
    assert "unreported" not in str(refused.value)


def test_a_codepoint_is_read_as_its_character() -> None:
    """In strings and IRIs, and only there (SPARQL 1.2, section 19.2)."""
    escaped = r"SELECT ?x { ?x <http://e/\u0070> 'a\u005Cn', '\U0001F600' }"
    assert parse_query(escaped) == parse_query(r"SELECT ?x { ?x <http://e/p> 'a\\n', '😀' }")


@pytest.mark.parametrize("triple", ["?s :p +5", "?s :p+5", "?s :q/^:p +5 ; :p+ +.5", "?s (:p)+1e0, -5"])
def test_a_sign_before_digits_is_of_the_number(triple: str) -> None:
    """Longest match (section 19.8): it is not the `+` of a path."""
    plain = triple
    for number, datatype in (("+5", "integer"), ("+.5", "decimal"), ("+1e0", "double"), ("-5", "integer")):
        plain = plain.replace(number, f" '{number}'^^<http://www.w3.org/2001/XMLSchema#{datatype}>")
    assert parse_query(f"{PREFIX} SELECT * {{ {triple} }}") == parse_query(f"{PREFIX} SELECT * {{ {plain} }}")
    assert "Repeat" not in repr(parse_query(f"{PREFIX} SELECT * {{ ?s :p+5 }}"))
    assert "Repeat" in repr(parse_query(f"{PREFIX} SELECT * {{ ?s :p+ 5 }}"))


def test_scopes_of_updates() -> None:
    with pytest.raises(InputError, match="_:a is in another"):
        parse_update(
            "DELETE { ?x ?y 1 } WHERE { ?x ?y _:a } ; DELETE { ?x ?y 1 } WHERE { ?x ?y _:a }",
        )
    with pytest.raises(InputError, match="1:1: this is a query, not an update"):
        parse_update("ASK {}", "u.ru")
    with pytest.raises(InputError, match=r"1:51: .o has a value already"):
        parse_update("INSERT { ?s ?p 1 } WHERE { ?s ?p ?o BIND(1 + 1 AS ?o) }", "u.ru")


def test_having_of_an_alias_is_warned_of() -> None:
    text = "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o }\nGROUP BY ?s HAVING(?n > 1)"
    (warning,) = parse_query(text).warnings
    assert warning.startswith("line 2, column 19: HAVING reads ?n, which has no value there")
    assert parse_query(text.replace("?n > 1", "COUNT(*) > 1")).warnings == ()
    assert parse_query(text.replace("?n > 1", "?s > 1")).warnings == ()


def test_a_variable_that_no_group_has_a_value_of_is_warned_of() -> None:
    text = "SELECT ?s { ?s ?p ?o }\nGROUP BY ?s HAVING(?o > 1) ORDER BY ?s DESC(?p)"
    having, order = parse_query(text).warnings
    assert having.startswith("line 2, column 19: HAVING reads ?o, which has no value there: it is neither a key")
    assert order.startswith("line 2, column 37: ORDER BY reads ?p, ")
    assert parse_query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o } ORDER BY ?s").warnings != ()
    for legal in (
        "SELECT ?s { ?s ?p ?o } ORDER BY ?o",
        "SELECT ?s (MAX(?o) AS ?m) { ?s ?p ?o } GROUP BY ?s HAVING(MIN(?o) > 1) ORDER BY ?m COUNT(?p)",
        "SELECT ?t { ?s ?p ?o } GROUP BY (STR(?s) AS ?t) HAVING EXISTS { ?a ?b ?c } ORDER BY ?t",
        "SELECT ?s { ?s ?p ?o } GROUP BY ?s ORDER BY ?v VALUES ?v { 1 }",
    ):
        assert parse_query(legal).warnings == (), legal


def test_warnings_reach_who_asked(tmp_path: Path) -> None:
    text = "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING(?n > 1)"
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        assert "HAVING reads ?n" in store.query(text).warnings[0]
        assert store.query("ASK { }").warnings == ()
    outcome = run("query", tmp_path / "kg", text)
    assert outcome.code == 0
    assert outcome.err.startswith("warning: line 1, column 59: HAVING reads ?n")
