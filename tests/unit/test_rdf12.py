"""RDF 1.2 as data: what is loaded comes out again, by every syntax, and rules pass it by."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from triplake import Store
from triplestore.model.errors import UsageError
from triplestore.model.terms import RDF

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
