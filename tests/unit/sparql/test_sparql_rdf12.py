"""Functions and operators of SPARQL 1.2 on what RDF 1.2 adds."""

from __future__ import annotations

import re

import pytest

from tests.support.sparql import make_graph
from tests.unit.sparql.test_sparql_functions import ERROR, FALSE, TRUE, integer
from triplake.sparql import explain, query
from triplestore.engine import Engine
from triplestore.model.errors import UsageError
from triplestore.model.terms import RDF, XSD

PREFIX = f"PREFIX xsd: <{XSD}> PREFIX : <http://e/> "

CASES: dict[str, str | None] = {
    "LANG('a'@EN--ltr)": '"en"',
    "LANG(STRLANGDIR('a', 'EN', 'rtl'))": '"en"',
    "LANGDIR('a'@en--rtl)": '"rtl"',
    "LANGDIR('a'@en)": '""',
    "LANGDIR(:a)": ERROR,
    "hasLANG('a'@en--rtl)": TRUE,
    "hasLANG('a')": FALSE,
    "hasLANG(:a)": FALSE,
    "hasLANGDIR('a'@en--rtl)": TRUE,
    "hasLANGDIR('a'@en)": FALSE,
    "hasLANGDIR(1)": FALSE,
    "STRLANGDIR('a', 'EN-gb', 'ltr')": '"a"@en-gb--ltr',
    "STRLANGDIR('a', 'en', 'up')": ERROR,
    "STRLANGDIR('a'@en, 'en', 'ltr')": ERROR,
    "STRLANG('a', 'en--ltr')": ERROR,
    "DATATYPE('a'@en--ltr)": f"<{RDF}dirLangString>",
    "DATATYPE(STRLANGDIR('a', 'en', 'ltr'))": f"<{RDF}dirLangString>",
    "UCASE('a'@en--ltr)": '"A"@en--ltr',
    "DATATYPE(UCASE('a'@en--ltr))": f"<{RDF}dirLangString>",
    "CONCAT('a'@en--ltr, 'b'@en--ltr)": '"ab"@en--ltr',
    "CONCAT('a'@en--ltr, 'b'@en)": '"ab"',
    "'a'@en--ltr = 'a'@en": FALSE,
    "'a'@en--ltr = 'a'@en--ltr": TRUE,
    "'a'@en--ltr = 'a'@en--rtl": FALSE,
    "sameTerm('a'@en--ltr, 'a'@EN--ltr)": TRUE,
    "IF('a'@en--ltr, 1, 2)": integer("1"),
    "STR('a'@en--ltr)": '"a"',
    "STRLEN('abc'@en--ltr)": integer("3"),
}


def values(engine: Engine, expressions: list[str]) -> list[str | None]:
    """The values of expressions."""
    binds = " ".join(f"BIND({text} AS ?v{place})" for place, text in enumerate(expressions))
    facts = [("<http://e/s>", "<http://e/p>", "<http://e/o>")]
    names = " ".join(f"?v{place}" for place in range(len(expressions)))
    (row,) = query(make_graph(engine, facts), f"{PREFIX} SELECT {names} {{ :s :p ?o {binds} }}").tokens()
    return list(row)


def test_values(engine: Engine) -> None:
    found = dict(zip(CASES, values(engine, list(CASES)), strict=True))
    assert found == CASES


@pytest.mark.parametrize("text", ["LANGDIR()", "STRLANGDIR('a', 'en')", "'a'@en--LTR", "'a'@en--up"])
def test_what_is_refused(engine: Engine, text: str) -> None:
    with pytest.raises(UsageError, match="line 1, column"):
        values(engine, [text])


E = "http://e/"
A, P, Q, B, C = (f"<{E}{name}>" for name in "apqbc")
REIFIES = f"<{RDF}reifies>"
FACTS = [
    (A, P, B),
    (B, P, C),
    ("_:r", REIFIES, f"({A} {P} {B})"),
    ("_:r", Q, '"1"'),
    ("<http://e/s>", REIFIES, f'({A} {P} "x"@en)'),
    ("<http://e/s>", Q, f"({B} {Q} <<( {B} {P} {C} )>>)"),
    (C, Q, C),
]
QUERIES: dict[str, set[tuple[str | None, ...]]] = {
    "SELECT ?r { ?r rdf:reifies <<( :a :p :b )>> }": {("_:r",)},
    "SELECT ?r ?o { ?r rdf:reifies <<( :a :p ?o )>> }": {("_:r", B), (f"<{E}s>", '"x"@en')},
    "SELECT ?p { ?r rdf:reifies <<( ?s ?p ?o )>> . ?s ?p ?o }": {(P,)},
    "SELECT * { ?r :q <<( ?s ?p <<( ?s ?x ?y )>> )>> }": {(f"<{E}s>", B, Q, P, C)},
    "SELECT ?s { ?s :q <<( ?x ?x ?y )>> }": set(),
    "SELECT ?r ?n { << :a :p :b ~ ?r >> :q ?n }": {("_:r", '"1"')},
    "SELECT ?n { << ?a ?p ?b >> :q ?n FILTER(?b = :b) }": {('"1"',)},
    "SELECT ?n { :a :p ?b {| :q ?n |} }": {('"1"',)},
    "SELECT ?r { :a :p ?b ~ ?r }": {("_:r",)},
    "SELECT ?r { :a :p :b ~ ?r {| :q '2' |} }": set(),
    "SELECT ?n ?c { ?a :p ?b {| :q ?n |} . ?b :p ?c }": {('"1"', C)},
    "SELECT ?r ?t { ?r rdf:reifies <<( ?a ?p ?b )>> . ?t :q <<( ?b :q ?c )>> . ?x ?p ?b }": {("_:r", f"<{E}s>")},
    "SELECT ?y ?o { << ?x ?p ?y >> :q '1' . << ?x ?p ?o >> :q ?t . ?c :q ?c }": {(B, B), (B, '"x"@en')},
    "SELECT ?r { VALUES ?t { <<( :a :p :b )>> <<( :a :p 7 )>> } ?r rdf:reifies ?t }": {("_:r",)},
    "SELECT (OBJECT(<<( :a a <<( ?s a :c )>> )>>) AS ?t) { BIND(:b AS ?s) }": {(f"({B} <{RDF}type> {C})",)},
    "SELECT ?t { :a :p ?o BIND(<<( :a :p ?o )>> AS ?t) ?r rdf:reifies ?t }": {(f"({A} {P} {B})",)},
    "SELECT ?r { ?r rdf:reifies ?t OPTIONAL { ?r :q <<( ?s ?p ?o )>> } FILTER(!BOUND(?s)) }": {("_:r",)},
    "SELECT ?r { ?r rdf:reifies ?t FILTER NOT EXISTS { ?r rdf:reifies <<( ?s ?p :b )>> } }": {(f"<{E}s>",)},
    "SELECT * { ?s :p ?o FILTER NOT EXISTS { << ?s :p ?o >> :q ?n } }": {(B, C)},
    "SELECT * { ?s ?p ?o FILTER EXISTS { ?r rdf:reifies <<( ?s ?p ?o )>> } }": {(A, P, B)},
    "SELECT ?r { ?r :q ?n FILTER(?r = :s || EXISTS { ?r rdf:reifies <<( ?s ?p :b )>> }) }": {("_:r",), (f"<{E}s>",)},
    "SELECT ?x ?s { VALUES ?x { :a :b } OPTIONAL { ?x :p :c BIND(?x AS ?s) } "
    "FILTER EXISTS { ?r rdf:reifies <<( ?s :p :b )>> . ?x :p|:none ?o } }": {(A, None)},
    "SELECT ?o { VALUES ?o { :b :none } FILTER EXISTS { ?r rdf:reifies <<( ?s :p :b )>> . ?o :none? ?o } }": {
        (B,),
        (f"<{E}none>",),
    },
    "SELECT ?o { ?r :p?/rdf:reifies <<( ?s ?p ?o )>> . ?s :p/:p :c }": {(B,), ('"x"@en',)},
    "CONSTRUCT { ?r :said <<( ?s :p <<( :a :b ?o )>> )>> } { ?r rdf:reifies <<( ?s ?p ?o )>> }": {
        ("_:r", f"<{E}said>", f"({A} {P} <<( {A} {B} {B} )>>)"),
        (f"<{E}s>", f"<{E}said>", f'({A} {P} <<( {A} {B} "x"@en )>>)'),
    },
    "SELECT (TRIPLE(1, :p, :o) AS ?x) {}": {(None,)},
    "SELECT * { <<( ?a ?b ?c )>> ?p ?o }": set(),
    "SELECT * { ?r :q <<( <<( :a :p :b )>> ?p ?o )>> }": set(),
    "CONSTRUCT WHERE { ?r rdf:reifies <<( :a :p ?o )>> }": {
        ("_:r", REIFIES, f"({A} {P} {B})"),
        (f"<{E}s>", REIFIES, f'({A} {P} "x"@en)'),
    },
    "CONSTRUCT { ?t :p :b . :a ?t :b . :a :q <<( ?l :p :b )>> } { :s rdf:reifies ?t BIND(OBJECT(?t) AS ?l) }": set(),
    "CONSTRUCT { ?t :p :b . :a ?t :b } { :a :p ?o BIND(<<( :a :p ?o )>> AS ?t) }": set(),
}


@pytest.mark.parametrize(
    "text", [pytest.param(text, marks=[pytest.mark.long_on_spark] * (n % 5 > 0)) for n, text in enumerate(QUERIES)]
)
def test_patterns(engine: Engine, text: str) -> None:
    """Of a query with `*`, variables come in the order in which they are met."""
    found = query(make_graph(engine, FACTS), f"{PREFIX} PREFIX rdf: <{RDF}> {text}")
    assert set(found.tokens()) == QUERIES[text]


def test_annotations_are_joined_with_their_triples(engine: Engine) -> None:
    """Not held against each of them: two thousand took ten seconds."""
    facts = [(f"<{E}s{n}>", P, f"<{E}s{n + 1}>") for n in range(200)]
    said = [(f"_:r{n}", REIFIES, f"({' '.join(triple)})") for n, triple in enumerate(facts)]
    graph = make_graph(engine, [*facts, *said, *((f"_:r{n}", Q, f'"{n}"') for n in range(200))])
    text = f"{PREFIX} SELECT ?n {{ ?s :p ?o {{| :q ?n |}} }}"
    assert {token for (token,) in query(graph, text).tokens()} == {f'"{n}"' for n in range(200)}
    plan = explain(graph, text).plan
    assert plan is not None
    assert max(int(count.replace(",", "")) for count in re.findall(r"([0-9,]+) rows", "\n".join(plan.lines()))) < 2_000


REFUSED = {
    "SELECT * { ?s ?p <<( ?a ?b >> }": "expected a term",
    "SELECT * { ?s ?p <<( 'a' ?b ?c )>> }": "a literal cannot be the subject of a triple term",
    "SELECT * { ?s ?p << 'a' ?b ?c >> }": "a literal cannot be the subject of a triple term",
    "SELECT * { ?s :p/:q ?o {| :a :b |} }": "plain predicate",
    "SELECT * { VALUES ?x { <<( ?a :p :b )>> } }": "without variables",
    "CONSTRUCT WHERE { ?r :p <<( _:s :p ?o )>> }": "a blank node within",
    "CONSTRUCT { :a :p <<( :a :p ?o )>> } WHERE { ?r :p ?x } VALUES ?o { 1 }": "VALUES",
    "SELECT (<<( 1 :p :o )>> AS ?x) {}": "an IRI or a variable",
    "SELECT (<<( :s :p )>> AS ?x) {}": "a subject, a predicate and an object",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_had_is_told(engine: Engine, text: str) -> None:
    with pytest.raises(UsageError, match=f"line 1.*{REFUSED[text]}"):
        query(make_graph(engine, FACTS), f"{PREFIX} {text}")
