"""SPARQL Update: INSERT DATA and DELETE DATA, their net effect, and clear refusals of the rest."""

from __future__ import annotations

import pytest

from sparql.update import parse_update
from triplestore.errors import InputError, UnsupportedError
from triplestore.terms import XSD

A, B, P = "<http://e/a>", "<http://e/b>", "<http://e/p>"
PREFIX = "PREFIX : <http://e/> "


def test_operations_count_in_order_and_are_netted() -> None:
    text = PREFIX + "INSERT DATA { :a :p :b . :b :p :b } ; DELETE DATA { :a :p :b } ; INSERT DATA { :a :p :a } ;"
    assert parse_update(text) == ([(B, P, B), (A, P, A)], [(A, P, B)])
    assert parse_update(PREFIX + "DELETE DATA { :a :p :b } ; INSERT DATA { :a :p :b }") == ([(A, P, B)], [])


def test_an_empty_request_changes_nothing() -> None:
    assert parse_update("") == ([], [])
    assert parse_update("INSERT DATA { } ; DELETE DATA { }") == ([], [])


def test_strings_iris_and_comments_do_not_cut_operations() -> None:
    text = PREFIX + (
        'INSERT DATA { :a :p "x } ; DELETE DATA {" , """a "quoted" } \n . """ , <http://e/#;> . # } ; GRAPH\n'
        " } # ; \n ; DELETE DATA { :a :p ':GRAPH {' # . \n }"
    )
    added, deleted = parse_update(text)
    assert added == [
        (A, P, '"x } ; DELETE DATA {"'),
        (A, P, '"a "quoted" } \n . "'),
        (A, P, "<http://e/#;>"),
    ]
    assert deleted == [(A, P, '":GRAPH {"')]


def test_prologues_accumulate() -> None:
    text = "PREFIX : # a comment\n <http://e/> INSERT DATA { :a :p :b } ; BASE <http://e/> DELETE DATA { <a> :p <b> }"
    assert parse_update(text) == ([], [(A, P, B)])


def test_terms_become_tokens() -> None:
    added, _ = parse_update(PREFIX + 'INSERT DATA { :a :p 01, 1.50, true, "x"@EN-gb, "y"^^:t, "\\u00e9\\n" }')
    assert [o for _, _, o in added] == [
        f'"01"^^<{XSD}integer>',
        f'"1.50"^^<{XSD}decimal>',
        f'"true"^^<{XSD}boolean>',
        '"x"@en-gb',
        '"y"^^<http://e/t>',
        '"é\n"',
    ]


def test_blank_nodes_are_numbered_under_the_prefix_and_new_in_each_operation() -> None:
    text = PREFIX + "INSERT DATA { :a :p _:x . _:x :p [] } ; INSERT DATA { :b :p _:x }"
    added, _ = parse_update(text, blank_prefix="v7_")
    assert added == [(A, P, "_:v7_0"), ("_:v7_0", P, "_:v7_1"), (B, P, "_:v7_2")]


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }", "INSERT"),
        ("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "DELETE"),
        ("DELETE WHERE { ?s ?p ?o }", "DELETE WHERE"),
        ("WITH <http://e/g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "WITH"),
        ("LOAD <http://e/g>", "LOAD"),
        ("CLEAR ALL", "CLEAR"),
        ("DROP DEFAULT", "DROP"),
        ("INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/p> <http://e/b> } }", "GRAPH"),
    ],
)
def test_other_operations_are_named(text: str, construct: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"u.ru:1:\d+: {construct} .*not supported"):
        parse_update(text, "u.ru")


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("INSERT DATA {\n <http://e/a> <http://e/p>\n  ?x }", 3, 3, "valid RDF object"),
        ("INSERT DATA { <http://e/a> <http://e/p> ; }", 1, 41, "object"),
        ("INSERT DATA { <http://e/a> <http://e/p> :x }", 1, 41, "prefix"),
        ("INSERT DATA { <http://e/a> <http://e/p> 1", 1, 13, "never closed"),
        ("INSERT DATA {} INSERT DATA {}", 1, 16, "';'"),
        ("\nFROB", 2, 1, "FROB"),
        ("PREFIX", 1, 7, "IRI"),
        ("INSERT DATA", 1, 12, "'{'"),
        ("DELETE DATA { _:b <http://e/p> 1 }", 1, 14, "blank nodes"),
        ("INSERT DATA { PREFIX : <http://e/> :a :p :b }", 1, 15, "PREFIX"),
    ],
)
def test_errors_tell_the_place(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        parse_update(text, "u.ru")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("u.ru", line, column)


def test_a_large_request() -> None:
    data = "".join(f':a{number} :p "v{number}" .\n' for number in range(20_000))
    added, deleted = parse_update(f"{PREFIX} INSERT DATA {{ {data} }} ; DELETE DATA {{ {data} }}")
    assert (len(added), len(deleted)) == (0, 20_000)
