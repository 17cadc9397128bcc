"""Prefixes, and terms written by them: whatever is kept, Turtle's own parser reads back."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplake.sparql.graph_formats import turtle
from triplestore.model.errors import UsageError
from triplestore.model.prefixes import MOST, OWN, Names, Prefix, Prefixes
from triplestore.model.terms import RDF, XSD

letters = st.text("aé.-_0:#/ª²<>\\ %\x00~ ", max_size=4)
iris = st.builds("http://{}{}".format, st.sampled_from(["e/", "e/a#", "e/a", "f/x:"]), letters)
declarations = st.lists(
    st.builds(Prefix, letters, st.one_of(iris, letters), st.sampled_from(["", "a.ttl"])), max_size=6
)
locals_ = st.text("aé0.-_/#:~%", max_size=5)


@settings(deadline=None)
@given(
    declarations, st.lists(st.tuples(st.sampled_from(["e/", "e/a#", "e/a", "f/x:"]), locals_), min_size=1, max_size=6)
)
def test_turtle_reads_what_is_written(found: list[Prefix], names: list[tuple[str, str]]) -> None:
    known = Prefixes().met(found)
    triples = [(f"<http://{a}{b}>", f"<{RDF}type>", f'"x"^^<http://{a}{b}>') for a, b in names if not {*b} & {*"%#"}]
    text = "".join(turtle([triples], known.names))
    read = {(str(q.subject), str(q.predicate), str(q.object)) for q in ox.parse(text.encode(), ox.RdfFormat.TURTLE)}
    assert read == set(triples)


@given(declarations, declarations)
def test_the_first_of_a_name_holds(first: list[Prefix], second: list[Prefix]) -> None:
    one, both = Prefixes().met(first), Prefixes().met(first).met(second)
    assert both.declared | one.declared == both.declared or any(not p.iri for p in second)
    assert len({(p.name, p.iri) for p in both.declarations}) == len(both.declarations)
    assert all(both.declared[p.name] != p.iri for p in both.conflicts)
    assert both.met(both.declarations) == both


def test_shortest_and_longest() -> None:
    names = Names({"e": "http://e/", "v": "http://e/v#", "also": "http://e/", "rdf": "http://mine/"})
    written = {
        "<http://e/a>": "e:a",
        "<http://e/v#a>": "v:a",
        "<http://e/a/b>": "<http://e/a/b>",
        "<http://e/>": "<http://e/>",
        "<http://e/a.>": "<http://e/a.>",
        f"<{RDF}type>": f"<{RDF}type>",
        "<http://mine/x>": "rdf:x",
        f'"1"^^<{XSD}integer>': '"1"^^xsd:integer',
        '"a\n"@en': '"a\\n"@en',
        "_:f1_x": "_:f1_x",
    }
    assert {token: names.token(token) for token in written} == written


def test_bounds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    full = Prefixes().met(Prefix(f"p{i}", "http://e/", "a.ttl") for i in range(2 * MOST))
    assert [record.getMessage() for record in caplog.records] == [
        "1000 prefixes are not kept: a store keeps 1000; `triplake prefixes` removes some"
    ]
    assert len(full.declarations) == MOST
    with pytest.raises(UsageError, match="as many as it keeps"):
        full.added("one", "http://more/")
    assert full.added("p1", "http://e/").declarations[0] == Prefix("p1", "http://e/", OWN)
    assert not Prefixes().met([Prefix("p", "http://e/" + "x" * 1000, ""), Prefix("xsd", XSD, "a.ttl")])
