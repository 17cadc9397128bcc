"""Casts to strings' derived datatypes, parts of dates, binaries and IRIs: expected values from XPath and XQuery
Functions 3.1, section 19, and the lexical mappings of XML Schema."""

from __future__ import annotations

import pytest

from tests.support.sparql import make_graph
from triplake.sparql import query
from triplestore.dictionary.datatypes import BOUNDS, value_of
from triplestore.engine import Engine
from triplestore.model.terms import XSD, literal_token, split_literal

CASES: dict[str, dict[str, str | None]] = {
    "normalizedString": {'" a\\t\\nb "': " a  b ", "12": "12", "true": "true", '" a "^^xsd:token': " a "},
    "token": {'" a \\t b "': "a b", '""': "", "1.50": "1.5", "-0e0": "-0", "<http://e/>": "http://e/", "1e6": "1.0E6"},
    "language": {'" en-US "': "en-US", '"e n"': None, '"12"': None, "true": "true"},
    "Name": {'":a-b"': ":a-b", '"1a"': None, '""': None},
    "NCName": {'"a.b"': "a.b", '"a:b"': None},
    "NMTOKEN": {'"1a:b"': "1a:b", '"a b"': None},
    "gYear": {'" 2000 "': "2000", '"2000+01:00"': "2000+01:00", '"200"': None, '"02000"': None, "2000": None}
    | {'"-12345-06-07"^^xsd:date': "-12345", '"1999-12-31T24:00:00Z"^^xsd:dateTime': "2000Z"},
    "gYearMonth": {'"2000-13"': None, '"2000-01Z"': "2000-01Z", '"2000-06-07-05:00"^^xsd:date': "2000-06-05:00"},
    "gMonth": {'"--06"': "--06", '"--06--"': None, '"2000-06-07T01:02:03.5"^^xsd:dateTime': "--06"},
    "gMonthDay": {'"--02-29"': "--02-29", '"--02-30"': None, '"--04-31"': None, '"--12-31"': "--12-31"}
    | {'"2000-02-29"^^xsd:date': "--02-29", '"--01-01"^^xsd:gMonthDay': "--01-01", '"--01"^^xsd:gMonth': None},
    "gDay": {'"---31Z"': "---31Z", '"---32"': None, '"2000-06-07Z"^^xsd:dateTimeStamp': None}
    | {'"2000-06-07T00:00:00Z"^^xsd:dateTimeStamp': "---07Z", '"01:02:03"^^xsd:time': None},
    "anyURI": {'" http://e/ "': "http://e/", "<http://e/>": "http://e/", "1": None, '"a"^^xsd:NCName': "a"},
    "hexBinary": {'"0fB7"': "0FB7", '"0f8"': None, '"D7c="^^xsd:base64Binary': "0FB7", "10": None},
    "base64Binary": {'"D7 c="': "D7c=", '"D7"': None, '"0fb7"^^xsd:hexBinary': "D7c=", '""': ""},
    "string": {'"-0"^^xsd:double': "-0", '"-0"^^xsd:float': "-0", "1e6": "1.0E6", "1e5": "100000"},
}


@pytest.mark.long_on_spark
@pytest.mark.parametrize("datatype", CASES)
def test_casts(engine: Engine, datatype: str) -> None:
    selected = " ".join(f"(xsd:{datatype}({term}) AS ?x{place})" for place, term in enumerate(CASES[datatype]))
    (row,) = query(make_graph(engine, []), f"PREFIX xsd: <{XSD}> SELECT {selected} {{ }}").tokens()
    wanted = [None if text is None else literal_token(text, XSD + datatype) for text in CASES[datatype].values()]
    assert dict(zip(CASES[datatype], row, strict=True)) == dict(zip(CASES[datatype], wanted, strict=True))


def test_casts_of_stored_terms(engine: Engine) -> None:
    """In every row by its own datatype, an error where there is none."""
    terms = ['" a "', f'"1999-12-31"^^<{XSD}date>', f'"12"^^<{XSD}gYear>', "<http://e/>", "_:b", '"x"@en', '"7"']
    facts = [("<u:s>", f"<u:{place}>", term) for place, term in enumerate(terms)]
    text = f"PREFIX xsd: <{XSD}> SELECT ?p (xsd:gYear(?o) AS ?y) (xsd:token(?o) AS ?t) {{ ?s ?p ?o }} ORDER BY ?p"
    found = [
        tuple(t and split_literal(t)[0] for t in row[1:]) for row in query(make_graph(engine, facts), text).tokens()
    ]
    tokens = ["a", "1999-12-31", "12", "http://e/", None, "x", "7"]
    assert found == list(zip([None, "1999", None, None, None, None, None], tokens, strict=True))


@pytest.mark.parametrize(
    "name",
    [
        name if name == "byte" else pytest.param(name, marks=pytest.mark.long_on_spark)
        for name in (name.removeprefix(XSD) for name in BOUNDS)
    ],
)
@pytest.mark.sampled(each=4)
def test_integers_are_within_their_bounds(engine: Engine, name: str) -> None:
    """By the dictionary's reading of what is legal: of numbers at the bounds and around them, from text and number."""
    numbers = sorted({n + d for bound in BOUNDS.values() for n in bound if n is not None for d in (-1, 0, 1)})
    numbers += [10**40, -(10**40)]
    sources = [source for n in numbers for source in (f'"{n}"', f'"{n}"^^xsd:decimal', str(n))]
    selected = " ".join(f"(xsd:{name}({source}) AS ?x{place})" for place, source in enumerate(sources))
    (row,) = query(make_graph(engine, []), f"PREFIX xsd: <{XSD}> SELECT {selected} {{ }}").tokens()
    literals = [literal_token(str(n), XSD + name) for n in numbers for _ in range(3)]
    assert list(row) == [literal if value_of(literal) else None for literal in literals]
