"""Parsing SPARQL Update: operations, blank nodes, places of errors, and clear refusals of named graphs."""

from __future__ import annotations

import pytest

from triplake.sparql.algebra import Bgp
from triplake.sparql.update import Clear, Data, Load, Modify, parse_update
from triplestore.model.errors import InputError, UnsupportedError
from triplestore.model.terms import XSD

A, B, P = "<http://e/a>", "<http://e/b>", "<http://e/p>"
PREFIX = "PREFIX : <http://e/> "


def data(text: str, blank_prefix: str = "u") -> list[tuple[bool, list[tuple[str, str, str]]]]:
    """The data operations of a request: whether they insert, and their triples."""
    found = parse_update(text, blank_prefix=blank_prefix)
    return [(operation.insert, list(operation.triples)) for operation in found if isinstance(operation, Data)]


def test_operations_come_in_order() -> None:
    text = PREFIX + "INSERT DATA { :a :p :b . :b :p :b } ; DELETE DATA { :a :p :b } ; INSERT DATA { :a :p :a } ;"
    assert data(text) == [(True, [(A, P, B), (B, P, B)]), (False, [(A, P, B)]), (True, [(A, P, A)])]
    mixed = (
        PREFIX + "CLEAR SILENT DEFAULT; LOAD SILENT :b; DROP ALL; DELETE WHERE { ?s :p :a }; COPY DEFAULT TO DEFAULT"
    )
    cleared, loaded, dropped, deleted = parse_update(mixed, "u.ru")
    assert cleared == dropped == Clear()
    assert loaded == Load("http://e/b", True, "u.ru:1:44")
    assert isinstance(deleted, Modify)
    assert deleted.insert == ()
    assert deleted.where.pattern == Bgp(deleted.delete)


def test_an_empty_request_changes_nothing() -> None:
    assert parse_update("") == parse_update(" BASE <http://e/> # nothing") == ()
    assert data("INSERT DATA { } ; DELETE DATA { }") == [(True, []), (False, [])]
    assert parse_update("CLEAR NAMED ; MOVE SILENT DEFAULT TO DEFAULT") == ()


def test_strings_iris_and_comments_do_not_cut_operations() -> None:
    text = PREFIX + (
        'INSERT DATA { :a :p "x } ; DELETE DATA {" , """a "quoted" } \n . """ , <http://e/#;> . # } ; GRAPH\n'
        " } # ; \n ; DELETE DATA { :a :p ':GRAPH {' # . \n }"
    )
    assert data(text) == [
        (
            True,
            [(A, P, '"x } ; DELETE DATA {"'), (A, P, '"a "quoted" } \n . "'), (A, P, "<http://e/#;>")],
        ),
        (False, [(A, P, '":GRAPH {"')]),
    ]


def test_prologues_accumulate() -> None:
    text = "PREFIX : # a comment\n <http://e/> INSERT DATA { :a :p :b } ; BASE <http://e/> DELETE DATA { <a> :p <b> }"
    assert data(text) == [(True, [(A, P, B)]), (False, [(A, P, B)])]


def test_terms_become_tokens() -> None:
    [(_, added)] = data(PREFIX + 'INSERT DATA { :a :p 01, 1.50, true, "x"@EN-gb, "y"^^:t, "\\u00e9\\n" }')
    assert [o for _, _, o in added] == [
        f'"01"^^<{XSD}integer>',
        f'"1.50"^^<{XSD}decimal>',
        f'"true"^^<{XSD}boolean>',
        '"x"@en-gb',
        '"y"^^<http://e/t>',
        '"é\n"',
    ]


def test_blank_nodes_are_numbered_under_the_prefix() -> None:
    text = PREFIX + "INSERT DATA { :a :p _:x . _:x :p [] } ; INSERT DATA { :b :p _:y }"
    assert data(text, "v7_") == [
        (True, [(A, P, "_:v7_0"), ("_:v7_0", P, "_:v7_1")]),
        (True, [(B, P, "_:v7_2")]),
    ]


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("WITH <http://e/g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "WITH"),
        ("DELETE { ?s ?p ?o } USING <http://e/g> WHERE { ?s ?p ?o }", "USING"),
        ("INSERT { GRAPH <http://e/g> { ?s ?p ?o } } WHERE { ?s ?p ?o }", "GRAPH"),
        ("INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }", "GRAPH"),
        ("DELETE WHERE { GRAPH <http://e/g> { ?s ?p ?o } }", "GRAPH"),
        ("LOAD <http://e/g> INTO GRAPH <http://e/g>", "INTO GRAPH"),
        ("CLEAR GRAPH <http://e/g>", "GRAPH"),
        ("DROP SILENT GRAPH <http://e/g>", "GRAPH"),
        ("CREATE GRAPH <http://e/g>", "CREATE"),
        ("ADD <http://e/g> TO DEFAULT", "GRAPH"),
        ("COPY DEFAULT TO <http://e/g>", "GRAPH"),
        ("INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/p> <http://e/b> } }", "GRAPH"),
    ],
)
def test_named_graphs_are_refused_with_their_place(text: str, construct: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"u.ru:1:\d+: {construct}: .*not supported"):
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
        ("PREFIX", 1, 7, "prefix"),
        ("DELETE { ?s <http://e/p> [] } WHERE { ?s <http://e/p> 1 }", 1, 8, "blank nodes"),
        ("DELETE WHERE { _:b <http://e/p> 1 }", 1, 14, "blank nodes"),
        ("INSERT { ?s <http://e/p> 1 }", 1, 29, "WHERE"),
        ("INSERT { ?s <http://e/p> 1 } WHERE { ?s ?p ?o BIND (1 AS ?o) }", 1, 58, "o has a value already"),
        ("INSERT { ?s <http://e/p>/<http://e/p> 1 } WHERE {}", 1, 25, "object"),
        ("INSERT DATA { _:b <http://e/p> 1 } ; INSERT DATA { _:b <http://e/p> 2 }", 1, 51, "_:b"),
        ("CLEAR GRPH", 1, 7, "DEFAULT"),
        ("LOAD 1", 1, 6, "IRI"),
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
    text = "".join(f':a{number} :p "v{number}" .\n' for number in range(20_000))
    assert [len(triples) for _, triples in data(f"{PREFIX} INSERT DATA {{ {text} }} ; DELETE DATA {{ {text} }}")] == [
        20_000
    ] * 2
