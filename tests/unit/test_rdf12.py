"""RDF 1.2 as data: what is loaded comes out again, by every syntax, and rules pass it by."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import URIRef

from tests.support.seeds import seeds
from triplake import Store
from triplestore.cli.export import write_export
from triplestore.model.errors import FormatError, UsageError
from triplestore.model.rdflib_terms import TripleTerm
from triplestore.model.terms import RDF, XSD, from_rdflib, to_ntriples, to_rdflib
from triplestore.proof.text import text
from triplestore.read.names import graph_token, token_of

E = "http://e/"
DIRECTED = {'"a"@en--ltr', '"a"@en--rtl', '"a"@en', '"a"'}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb") as made:
        yield made


def load(store: Store, folder: Path, text: str, name: str = "data.ttl") -> None:
    (folder / name).write_text(text, encoding="utf-8")
    store.load(folder / name)


def column(store: Store, query: str) -> list[str | None]:
    """The first column of the answer to a query."""
    return [row[0] for row in store.query(f"PREFIX : <{E}> PREFIX rdf: <{RDF}> {query}").tokens()]


def written(store: Store, query: str, format: str) -> str:
    out = io.StringIO()
    store.query(query).write(out, format)
    return out.getvalue()


DIRECTED_FILES = {
    "data.ttl": f'<{E}s> <{E}p> "a"@EN--ltr, "a"@en--rtl, "a"@en, "a" .',
    "data.nt": "".join(f'<{E}s> <{E}p> "a"{tag} .\n' for tag in ("@EN--ltr", "@en--rtl", "@en", "")),
    "data.rdf": f"""<rdf:RDF xmlns:rdf="{RDF}" xmlns:its="http://www.w3.org/2005/11/its" rdf:version="1.2"
        its:version="2.0"><rdf:Description rdf:about="{E}s" xmlns:e="{E}"><e:p>a</e:p><e:p xml:lang="en">a</e:p>
        <e:p xml:lang="en" its:dir="ltr">a</e:p><e:p xml:lang="en" its:dir="rtl">a</e:p>
        </rdf:Description></rdf:RDF>""",
    "data.jsonld": f"""{{"@id": "{E}s", "{E}p": ["a", {{"@value": "a", "@language": "en"}},
        {{"@value": "a", "@language": "en", "@direction": "ltr"}},
        {{"@value": "a", "@language": "en", "@direction": "rtl"}}]}}""",
}


@pytest.mark.parametrize("name", DIRECTED_FILES)
def test_base_directions_are_loaded(store: Store, tmp_path: Path, name: str) -> None:
    load(store, tmp_path, DIRECTED_FILES[name], name)
    assert set(column(store, "SELECT ?o { :s :p ?o }")) == DIRECTED
    assert column(store, "SELECT (COUNT(*) AS ?n) { :s :p 'a'@en--ltr }") == [
        '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    ]
    assert column(store, "SELECT ?o { :s :p ?o FILTER(LANGDIR(?o) = 'rtl') }") == ['"a"@en--rtl']
    assert (
        column(store, "SELECT (DATATYPE(?o) AS ?d) { :s :p ?o FILTER hasLANGDIR(?o) }") == [f"<{RDF}dirLangString>"] * 2
    )


@pytest.mark.parametrize(
    ("format", "syntax"),
    [
        ("nt", ox.RdfFormat.N_TRIPLES),
        ("ttl", ox.RdfFormat.TURTLE),
        ("rdf", ox.RdfFormat.RDF_XML),
        ("jsonld", ox.RdfFormat.JSON_LD),
    ],
)
def test_base_directions_are_exported(store: Store, tmp_path: Path, format: str, syntax: ox.RdfFormat) -> None:
    load(store, tmp_path, DIRECTED_FILES["data.nt"], "data.nt")
    text = written(store, f"CONSTRUCT {{ ?s <{E}p> ?o }} {{ ?s <{E}p> ?o }}", format)
    assert {str(quad.object) for quad in ox.parse(text.encode(), syntax)} == DIRECTED


@pytest.mark.parametrize(
    ("format", "syntax"),
    [
        ("json", ox.QueryResultsFormat.JSON),
        ("xml", ox.QueryResultsFormat.XML),
        ("tsv", ox.QueryResultsFormat.TSV),
    ],
)
def test_base_directions_in_results(store: Store, tmp_path: Path, format: str, syntax: ox.QueryResultsFormat) -> None:
    load(store, tmp_path, DIRECTED_FILES["data.nt"], "data.nt")
    found = ox.parse_query_results(written(store, f"SELECT ?o {{ ?s <{E}p> ?o }}", format).encode(), syntax)
    assert isinstance(found, ox.QuerySolutions)
    assert {str(row["o"]) for row in found} == DIRECTED


def test_base_directions_in_updates(store: Store) -> None:
    store.sparql_update(f"PREFIX : <{E}> INSERT DATA {{ :s :p 'a'@EN--ltr, 'a'@en--rtl }}")
    store.sparql_update(f"PREFIX : <{E}> DELETE DATA {{ :s :p 'a'@en--ltr }}")
    assert column(store, "SELECT ?o { :s :p ?o }") == ['"a"@en--rtl']
    with pytest.raises(UsageError, match="expected the base direction 'ltr' or 'rtl'"):
        store.query("SELECT ?o { ?s ?p 'a'@en--up }")


def test_base_directions_are_other_strings_to_rules(store: Store, tmp_path: Path) -> None:
    """rdf:langString does not have them; two directions are two values."""
    load(
        store,
        tmp_path,
        f"""PREFIX : <{E}> PREFIX owl: <http://www.w3.org/2002/07/owl#>
        :p a owl:FunctionalProperty . :s :p "a"@en--ltr, "a"@en--rtl .""",
    )
    assert store.check()


TERMS = f"""PREFIX : <{E}> PREFIX rdf: <{RDF}>
:r rdf:reifies <<( :s :p "q\\"\\\\\\n<<( é" )>> .
_:b :says <<( _:b :p <<( :s :p "x"@en--ltr )>> )>>, <<( :s :p 1 )>>, "1", :s .
:s :q "c" ~ :why {{| :since 2001 |}} .
"""


def test_triple_terms_are_data(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, TERMS)
    assert set(column(store, "SELECT ?o { :r rdf:reifies ?o }")) == {f'(<{E}s> <{E}p> "q\\"\\\\\\n<<( é")'}
    assert column(store, "SELECT (OBJECT(?o) AS ?x) { :r rdf:reifies ?o }") == ['"q"\\\n<<( é"']
    assert column(store, "SELECT (OBJECT(OBJECT(?o)) AS ?x) { ?s :says ?o FILTER isTRIPLE(OBJECT(?o)) }") == [
        '"x"@en--ltr'
    ]
    same = "SELECT ?s { ?s :says ?o FILTER(isTRIPLE(?o) && sameTerm(SUBJECT(?o), ?s)) }"
    assert len(column(store, same)) == 1  # a blank node within is the one outside
    assert column(store, "SELECT ?o { ?s :says ?o } ORDER BY ?o")[:2] == [f"<{E}s>", '"1"']
    assert column(store, "SELECT ?s { ?s ?p ?o FILTER isTRIPLE(?s) }") == []


def random_term(dice: random.Random, depth: int = 3) -> str:
    """A term as N-Triples writes it; half of them triple terms, nested up to a depth."""
    kind = dice.randrange(6 if depth else 3)
    if kind == 0:
        return f"<{E}{dice.randrange(4)}>"
    if kind == 1:
        return f"_:b{dice.randrange(3)}"
    if kind == 2:
        texts = ("a", "", 'q\\"u', "<<( x )>>", "two\\nlines", "back\\\\slash ", "(é) ")
        tails = ("", "@en", "@en-gb--rtl", f"^^<{XSD}integer>", f"^^<{E}t>")
        return f'"{dice.choice(texts)}"{dice.choice(tails)}'
    subject = dice.choice((f"<{E}s>", "_:b0", "_:b1"))
    return f"<<( {subject} <{E}{dice.choice('pq')}> {random_term(dice, depth - 1)} )>>"


def shape(text: bytes, suffix: str) -> ox.Dataset:
    """The triples of a text, with blank nodes named by their shape."""
    syntax = ox.RdfFormat.from_extension(suffix)
    assert syntax is not None
    found = ox.Dataset(ox.parse(text, syntax))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


@pytest.mark.parametrize("seed", seeds(range(8), 2))
def test_random_triple_terms_come_back(tmp_path: Path, seed: int) -> None:
    """Loaded, exported and loaded again, and changed by patches: by each syntax the same triples."""
    dice = random.Random(seed)
    lines = {
        f"{dice.choice((f'<{E}s>', '_:b0', '_:b2'))} <{E}{dice.choice('pqr')}> {random_term(dice)} .\n"
        for _ in range(40)
    }
    # as ids of blank nodes are compared by shape, some that tell each from the others
    text = "".join(sorted(lines)) + "".join(f'_:b{n} <{E}name> "{n}" .\n' for n in range(3))
    expected = shape(text.encode(), "nt")
    (tmp_path / "start.nt").write_text(text, encoding="utf-8")
    previous = tmp_path / "start.nt"
    for suffix in ("nt", "ttl", "nq", "trig"):
        with Store.create(tmp_path / f"kg-{suffix}", [], engine="duckdb") as store:
            store.load(previous)
            previous = tmp_path / f"end.{suffix}"
            write_export(store, str(previous), "all", "expand")
            assert shape(previous.read_bytes(), suffix) == expected
            found = ox.parse_query_results(
                written(store, "SELECT * { ?s ?p ?o }", "json").encode(), ox.QueryResultsFormat.JSON
            )
            assert isinstance(found, ox.QuerySolutions)
            rows = ox.Dataset(ox.Quad(row["s"], row["p"], row["o"]) for row in found)  # type: ignore[arg-type]
            rows.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
            assert rows == expected
            assert {from_rdflib(o) for _, _, o in store.triples()} == {o for _, _, o in tokens(store)}
            patch = "".join(f"D {' '.join(map(to_ntriples, row))} .\n" for row in tokens(store))
            (tmp_path / "patch.rdfp").write_text(patch, encoding="utf-8")
            store.update_files(tmp_path / "patch.rdfp")
            assert list(tokens(store)) == []


def tokens(store: Store) -> list[tuple[str, str, str]]:
    """The triples of a store."""
    return [row for batch in store.token_batches() for row in batch]


@pytest.mark.parametrize("suffix", ["rdf", "jsonld"])
def test_formats_without_triple_terms_say_so(store: Store, tmp_path: Path, suffix: str) -> None:
    load(store, tmp_path, TERMS)
    with pytest.raises(FormatError, match=r"triple term.*<<\( <http://e/s> .*take Turtle|take Turtle.*<<\("):
        write_export(store, str(tmp_path / f"out.{suffix}"), "all", "expand")


@pytest.mark.parametrize("format", ["xml", "csv", "tsv", "table"])
def test_triple_terms_in_results(store: Store, tmp_path: Path, format: str) -> None:
    load(store, tmp_path, f'<{E}s> <{E}p> <<( <{E}a> <{E}b> "x,\\t\\"y" )>> .')
    text = written(store, f"SELECT ?o {{ ?s <{E}p> ?o }}", format)
    inner = f'<{E}a> <{E}b> "x,\\t\\"y"'
    expected = {
        "xml": f"<triple><subject><uri>{E}a</uri></subject><predicate><uri>{E}b</uri></predicate>"
        '<object><literal>x,&#9;"y</literal></object></triple>',
        "csv": '"<<( ' + inner.replace("\\t", "\t").replace('"', '""') + ' )>>"',
        "tsv": f"<<( {inner} )>>",
        "table": "<<( " + inner.replace("\\t", "\t") + " )>>",
    }
    assert expected[format] in text


def test_triple_terms_in_updates(store: Store) -> None:
    term = f"<<( <{E}a> <{E}b> _:x )>>"
    store.sparql_update(f"INSERT DATA {{ _:x <{E}p> {term} . <{E}s> <{E}p> <<( <{E}a> <{E}b> 01 )>> }}")
    same = f"SELECT ?s {{ ?s <{E}p> ?o FILTER(OBJECT(?o) = ?s) }}"
    assert len(column(store, same)) == 1
    store.sparql_update(f"DELETE DATA {{ <{E}s> <{E}p> <<( <{E}a> <{E}b> 01 )>> }}")
    assert len(column(store, "SELECT ?s { ?s :p ?o }")) == 1


OWL_TERMS = f"""PREFIX : <{E}> PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX xsd: <{XSD}>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
:f a owl:FunctionalProperty . :i a owl:InverseFunctionalProperty . :p rdfs:range :C ; rdfs:subPropertyOf :q .
:s :f <<( :a :b :c )>>, <<( :a :b :d )>> ; :p <<( :a :b "1"^^xsd:int )>>, <<( :a :b "1"^^xsd:integer )>> .
:x :i <<( :a :b :c )>> . :y :i <<( :a :b :c )>> . :s owl:sameAs <<( :t :t :t )>> .
:a owl:sameAs :z . :z :n "1"^^xsd:int .
"""


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_rules_take_triple_terms_for_opaque(tmp_path: Path, equality: str) -> None:
    """They are objects alone, as literals are; equal terms within one make no equal triple term."""
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb", equality=equality) as store:
        load(store, tmp_path, OWL_TERMS)
        assert not store.check()
        assert set(column(store, "SELECT ?s { ?s :i ?o }")) == {f"<{E}x>", f"<{E}y>"}
        assert set(column(store, "SELECT ?y { :x <http://www.w3.org/2002/07/owl#sameAs> ?y }")) >= {f"<{E}y>"}
        assert len(set(column(store, "SELECT ?o { :s :q ?o }"))) == 2
        assert column(store, "SELECT ?s { ?s ?p ?o FILTER(isTRIPLE(?s) || isTRIPLE(?p)) }") == []
        assert f"(<{E}z> <{E}b> <{E}c>)" not in column(store, "SELECT ?o { ?s ?p ?o }")
        before = set(tokens(store))
        store.sparql_update(f"PREFIX : <{E}> INSERT DATA {{ :new :i <<( :a :b :c )>> ; :f <<( :a :b :d )>> }}")
        assert f"<{E}new>" in column(store, "SELECT ?y { :x <http://www.w3.org/2002/07/owl#sameAs> ?y }")
        store.sparql_update(f"PREFIX : <{E}> DELETE DATA {{ :new :i <<( :a :b :c )>> ; :f <<( :a :b :d )>> }}")
        assert set(tokens(store)) == before
        goal = URIRef(f"{E}s"), URIRef(f"{E}q"), TripleTerm(f'(<{E}a> <{E}b> "1"^^<{XSD}int>)')
        proof = store.explain(goal)
        assert proof is not None
        assert any(f'<<( <{E}a> <{E}b> "1"^^<{XSD}int> )>>' in line for line in text(proof, to_ntriples))
    with Store.open(tmp_path / "kg") as store:
        assert set(tokens(store)) == before


def test_triple_terms_as_arguments() -> None:
    text = f'<<( <{E}a> <{E}b> "x"@en--ltr )>>'
    assert token_of(text, {}) == f'(<{E}a> <{E}b> "x"@en--ltr)'
    with pytest.raises(UsageError, match="names no graph"):
        graph_token(text)


def test_rdflib_terms() -> None:
    token = f'(<{E}a> <{E}b> <<( _:x <{E}p> "l\\n"@en )>>)'
    term = to_rdflib(token)
    assert isinstance(term, TripleTerm)
    assert from_rdflib(term) == token
    assert term.n3() == f"<<( {token[1:-1]} )>>"


@pytest.mark.spark
def test_triple_terms_on_spark(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="spark") as store:
        load(store, tmp_path, TERMS)
        assert column(store, "SELECT (OBJECT(OBJECT(?o)) AS ?x) { ?s :says ?o FILTER isTRIPLE(OBJECT(?o)) }") == [
            '"x"@en--ltr'
        ]
        write_export(store, str(tmp_path / "out.nt"), "asserted", "expand")
        assert shape((tmp_path / "out.nt").read_bytes(), "nt") == shape(TERMS.encode(), "ttl")


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_parts_of_triple_terms_have_equals(tmp_path: Path, equality: str) -> None:
    """What a pattern finds within a triple term is the term itself, of which all holds that holds of its equals."""
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb", equality=equality) as store:
        load(
            store,
            tmp_path,
            f"""PREFIX : <{E}> PREFIX rdf: <{RDF}> PREFIX owl: <http://www.w3.org/2002/07/owl#>
            :a owl:sameAs :z . :a :q 5 . :z :p :o . :r rdf:reifies <<( :z :p :o )>> .""",
        )
        for text in (
            "{ ?r rdf:reifies <<( ?s :p ?o )>> . ?s :q ?x }",
            "{ ?r rdf:reifies <<( ?s :p ?o )>> { ?s :q ?x } }",
            "{ { ?s :q ?x } ?r rdf:reifies <<( ?s :p ?o )>> }",
            "{ ?s :p ?o ~ ?r . ?s :q ?x }",
        ):
            assert column(store, f"SELECT ?s {text}") == [f"<{E}z>"], text
        assert column(store, "SELECT ?r { ?r rdf:reifies <<( :a :p :o )>> }") == []
        assert column(store, "SELECT ?r { ?r rdf:reifies <<( :z :p :o )>> }") == [f"<{E}r>"]
