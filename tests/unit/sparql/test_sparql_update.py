"""Parsing SPARQL Update: operations, graphs, blank nodes, places of errors."""

from __future__ import annotations

from time import process_time

import pytest

from triplake.sparql.algebra import Dataset, GraphPattern, Join
from triplake.sparql.update import Clear, Create, Data, Load, Modify, Transfer, parse_update
from triplestore.model.dataset import DEFAULT, Quad
from triplestore.model.errors import InputError
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import XSD

A, B, P = "<http://e/a>", "<http://e/b>", "<http://e/p>"
PREFIX = "PREFIX : <http://e/> "


def data(text: str, blank_prefix: str = "u") -> list[tuple[bool, list[Quad]]]:
    """The data operations of a request: whether they insert, and their quads."""
    found = parse_update(text, blank_prefix=blank_prefix)
    return [(operation.insert, list(operation.quads)) for operation in found if isinstance(operation, Data)]


def test_operations_come_in_order() -> None:
    text = PREFIX + "INSERT DATA { :a :p :b . :b :p :b } ; DELETE DATA { :a :p :b } ; INSERT DATA { :a :p :a } ;"
    assert data(text) == [(True, [(A, P, B), (B, P, B)]), (False, [(A, P, B)]), (True, [(A, P, A)])]
    mixed = (
        PREFIX + "CLEAR SILENT DEFAULT; LOAD SILENT :b; DROP ALL; DELETE WHERE { ?s :p :a }; COPY DEFAULT TO DEFAULT"
    )
    cleared, loaded, dropped, deleted, copied = parse_update(mixed, "u.ru")
    assert cleared == Clear("DEFAULT", False, True, "u.ru:1:22")
    assert dropped == Clear("ALL", True, False, "u.ru:1:60")
    assert copied == Transfer("COPY", DEFAULT, DEFAULT, False, "u.ru:1:97")
    assert loaded == Load("http://e/b", True, "u.ru:1:44")
    assert isinstance(deleted, Modify)
    assert deleted.insert == ()
    assert deleted.delete == ((None, deleted.where.pattern.triples),)  # type: ignore[union-attr]


def test_an_empty_request_changes_nothing() -> None:
    assert parse_update("") == parse_update(" BASE <http://e/> # nothing") == ()
    assert data("INSERT DATA { } ; DELETE DATA { }") == [(True, []), (False, [])]


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


def test_names_with_escapes_may_have_keywords_in_them() -> None:
    text = rf"{PREFIX} INSERT DATA {{ :a :p :x\/graph . :a :p :y\,base, :\'prefix\' GRAPH :g {{ :a :p :z\/graph }} }}"
    terms = ["<http://e/x/graph>", "<http://e/y,base>", "<http://e/'prefix'>"]
    assert data(text) == [(True, [*((A, P, term) for term in terms), (A, P, "<http://e/z/graph>", G)])]


def test_prefixes_may_begin_as_keywords_do() -> None:
    for name in ("graph-of", "base-x", "prefix.y", "Graph", "base", "prefix-graph"):
        block = f"{name}:a {name}:p {name}:b . GRAPH {name}:g {{ {name}:b {name}:p {name}:base }}"
        found = data(f"PREFIX {name}: <http://e/> INSERT DATA {{ {block} }}")
        assert found == [(True, [(A, P, B), (B, P, "<http://e/base>", "<http://e/g>")])]
    with pytest.raises(InputError, match="'BASE' has no place among triples"):
        data("INSERT DATA { BASE <http://e/> <a> <p> <b> }")


def test_prologues_accumulate() -> None:
    text = "PREFIX : # a comment\n <http://e/> INSERT DATA { :a :p :b } ; BASE <http://e/> DELETE DATA { <a> :p <b> }"
    assert data(text) == [(True, [(A, P, B)]), (False, [(A, P, B)])]


def test_terms_become_tokens() -> None:
    [(_, added)] = data(PREFIX + 'INSERT DATA { :a :p 01, 1.50, true, "x"@EN-gb, "y"^^:t, "\\u00e9\\n" }')
    assert [o for _, _, o, *_ in added] == [
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


G = "<http://e/g>"


def test_data_in_graphs() -> None:
    text = PREFIX + (
        "INSERT DATA { :a :p :b GRAPH :g { :a :p _:x . } . :b :p _:x . GRAPH <http://e/g> {} "
        "GRAPH :g { :b :p 'GRAPH' } }"
    )
    assert data(text) == [
        (True, [(A, P, B), (A, P, "_:u0", G), (B, P, "_:u0"), (B, P, '"GRAPH"', G)]),
    ]


def test_graphs_of_changes_by_pattern() -> None:
    template = "DELETE { ?s :p ?o } INSERT { ?o :p ?s GRAPH ?h { ?s :q ?o } }"
    [modify] = parse_update(f"{PREFIX} WITH :g {template} WHERE {{ ?s :p ?o GRAPH ?h {{}} }}")
    assert isinstance(modify, Modify)
    assert [graph for graph, _ in (*modify.delete, *modify.insert)] == [Constant(G), Constant(G), Variable("h")]
    assert modify.where.dataset == Dataset((G,), None)
    [modify] = parse_update(PREFIX + "WITH :g INSERT { ?s :p ?o } USING :a USING NAMED :b WHERE { ?s :p ?o }")
    assert isinstance(modify, Modify)
    assert modify.where.dataset == Dataset((A,), (B,))
    [modify] = parse_update(PREFIX + "DELETE WHERE { :a :p ?x GRAPH ?g { ?x :p :b } }")
    assert isinstance(modify, Modify)
    assert isinstance(modify.where.pattern, Join)
    assert isinstance(modify.where.pattern.right, GraphPattern)


def test_whole_graphs() -> None:
    operations = (
        ("CREATE SILENT GRAPH :g", Create(G, True, "u.ru:2:1")),
        ("DROP GRAPH :g", Clear(G, True, False, "u.ru:2:1")),
        ("CLEAR SILENT NAMED", Clear("NAMED", False, True, "u.ru:2:1")),
        ("LOAD <x.ttl> INTO GRAPH :g", Load("x.ttl", False, "u.ru:2:1", G)),
        ("ADD :a TO DEFAULT", Transfer("ADD", A, DEFAULT, False, "u.ru:2:1")),
        ("MOVE GRAPH :a TO :b", Transfer("MOVE", A, B, False, "u.ru:2:1")),
    )
    for text, expected in operations:
        assert parse_update(f"{PREFIX}\n{text}", "u.ru") == (expected,)


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
        ("DELETE { ?s ?p <<( ?s ?p <<( _:b ?p 1 )>> )>> } WHERE { ?s ?p 1 }", 1, 8, "blank nodes"),
        ("INSERT { ?s <http://e/p> 1 }", 1, 29, "WHERE"),
        ("INSERT { ?s <http://e/p> 1 } WHERE { ?s ?p ?o BIND (1 AS ?o) }", 1, 58, "o has a value already"),
        ("INSERT { ?s <http://e/p>/<http://e/p> 1 } WHERE {}", 1, 25, "object"),
        ("INSERT DATA { _:b <http://e/p> 1 } ; INSERT DATA { _:b <http://e/p> 2 }", 1, 51, "_:b"),
        ("CLEAR GRPH", 1, 7, "DEFAULT"),
        ("INSERT DATA { GRAPH ?g { <http://e/a> <http://e/p> 1 } }", 1, 21, "IRI"),
        ("INSERT DATA { GRAPH <http://e/g> { GRAPH <http://e/h> { <http://e/a> <http://e/p> 1 } } }", 1, 36, "GRAPH"),
        ("INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/p> } }", 1, 62, "object"),
        ("INSERT DATA { GRAPH <http://e/g> { <http://e/a> <http://e/p> 1 }", 1, 13, "never closed"),
        ("DELETE { GRAPH ?g { ?s <http://e/p> 1 WHERE { ?s ?p ?o }", 1, 39, "'}'"),
        ("CREATE <http://e/g>", 1, 8, "GRAPH"),
        ("COPY <http://e/g> DEFAULT", 1, 19, "TO"),
        ("WITH <http://e/g> DELETE WHERE { ?s ?p ?o }", 1, 26, "'{'"),
        ("WITH <http://e/g> LOAD <http://e/g>", 1, 19, "DELETE"),
        ("LOAD 1", 1, 6, "IRI"),
        ("INSERT DATA", 1, 12, "'{'"),
        ("DELETE DATA { _:b <http://e/p> 1 }", 1, 14, "blank nodes"),
        ("INSERT DATA { <http://e/a> <http://e/p> TRUE . (1 2) . }", 1, 54, "a collection or `..` cannot stand alone"),
        ("INSERT DATA { <http://e/a> <http://e/p> TRUER }", 1, 41, "TRUER is not a valid RDF object"),
        ("INSERT DATA { PREFIX : <http://e/> :a :p :b }", 1, 15, "PREFIX"),
    ],
)
def test_errors_tell_the_place(text: str, line: int, column: int, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        parse_update(text, "u.ru")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("u.ru", line, column)


def test_booleans_are_keywords_in_any_case() -> None:
    text = """PREFIX : <http://e/> PREFIX TRUE: <http://e/TRUE>
        INSERT DATA { :a :p TRUE, False, "TRUE", "a"@TRUE, :TRUE, <http://e/TRUE> . # TRUE
        :b :p (TRUE) . TRUE:b :TRUE TRUE }"""
    lowered = text.replace(":p TRUE, False", ":p true, false").replace("(TRUE)", "(true)").replace("TRUE }", "true }")
    found = data(text)
    assert found == data(lowered)
    assert sum(quad[2] == f'"true"^^<{XSD}boolean>' for quad in found[0][1]) == 3


def test_a_large_request() -> None:
    text = "".join(f':a{number} :p "v{number}" .\n' for number in range(20_000))
    assert [len(triples) for _, triples in data(f"{PREFIX} INSERT DATA {{ {text} }} ; DELETE DATA {{ {text} }}")] == [
        20_000
    ] * 2


def test_blocks_of_graphs_are_read_in_the_time_of_their_length() -> None:
    """The lines before each of them were counted: 8,000 in 8 MB took half a minute."""
    blocks = " ".join(f"GRAPH <u:{n}> {{ <u:s> <u:p> '{'x' * 1_000}' }}" for n in range(8_000))
    started = process_time()
    ((_, quads),) = data(f"INSERT DATA {{ {blocks} }}")
    assert len(quads) == 8_000
    assert process_time() - started < 5
