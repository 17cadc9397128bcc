"""Results as text, in each format, held to what other tools read from it."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib
from rdflib.plugins.sparql.results.xmlresults import XMLResult

from sparql.results import Result
from tests.sparql_support import ox_token
from triplestore.errors import UsageError
from triplestore.terms import RDF, XSD

ROWS: list[tuple[str | None, str | None]] = [
    ("<http://e/a&b>", '"plain <&> "quoted""'),
    ("_:b1", '"line\nbreak\ttab\\"@en-gb'),
    (None, f'"1"^^<{XSD}integer>'),
    ("<http://e/c>", None),
]


def select() -> Result:
    columns = [pa.array([row[place] for row in ROWS], pa.string()) for place in range(2)]
    return Result("select", ("x", "value"), pa.table(columns, names=["c0", "c1"]))


def ask(answer: bool) -> Result:
    return Result("ask", (), pa.table({}), truth=answer)


def construct() -> Result:
    triples = [
        ("<http://e/a>", f"<{RDF}type>", "<http://e/Thing>"),
        ("<http://e/a>", "<http://e/p>", '"x\n\\"@en'),
        ("<http://e/a>", "<http://e/p>", f'"1"^^<{XSD}integer>'),
        ("_:b1", "<http://e/p>", '"1e0"^^<http://e/t>'),
        ("_:b1", f"<{RDF}a-b>", f"<{XSD}int>"),
    ]
    columns = [pa.array([triple[place] for triple in triples], pa.string()) for place in range(3)]
    return Result("construct", ("subject", "predicate", "object"), pa.table(columns, names=["c0", "c1", "c2"]))


def written(result: Result, format: str) -> str:
    out = io.StringIO()
    result.write(out, format)
    return out.getvalue()


@pytest.mark.parametrize(
    ("format", "ox_format"),
    [("json", ox.QueryResultsFormat.JSON), ("xml", ox.QueryResultsFormat.XML), ("tsv", ox.QueryResultsFormat.TSV)],
)
def test_oxigraph_reads_the_same_rows(format: str, ox_format: ox.QueryResultsFormat) -> None:
    parsed = ox.parse_query_results(written(select(), format).encode(), ox_format)
    assert isinstance(parsed, ox.QuerySolutions)
    assert [v.value for v in parsed.variables] == ["x", "value"]
    assert [(ox_token(row["x"]), ox_token(row["value"])) for row in parsed] == ROWS


@pytest.mark.parametrize("answer", [True, False])
def test_ask_in_each_format(answer: bool) -> None:
    word = "true" if answer else "false"
    assert json.loads(written(ask(answer), "json")) == {"head": {}, "boolean": answer}
    assert XMLResult(io.BytesIO(written(ask(answer), "xml").encode())).askAnswer is answer
    assert written(ask(answer), "csv") == written(ask(answer), "tsv") == f"{word}\n"
    assert written(ask(answer), "table") == ("yes\n" if answer else "no\n")


def test_csv_has_bare_values() -> None:
    read = list(csv.reader(io.StringIO(written(select(), "csv"), newline="")))
    assert read[:3] == [["x", "value"], ["http://e/a&b", 'plain <&> "quoted"'], ["_:b1", "line\nbreak\ttab\\"]]
    assert read[3:] == [["", "1"], ["http://e/c", ""]]


def test_a_table_is_aligned() -> None:
    assert written(select(), "table").splitlines() == [
        "?x              ?value",
        "--------------  -------------------------",
        '<http://e/a&b>  "plain <&> \\"quoted\\""',
        '_:b1            "line\\nbreak\ttab\\\\"@en-gb',
        "                1",
        "<http://e/c>",
        "(4 rows)",
    ]


@pytest.mark.parametrize(("format", "name"), [("nt", "nt"), ("ttl", "turtle")])
def test_rdflib_reads_the_same_triples(format: str, name: str) -> None:
    graph = rdflib.Graph().parse(data=written(construct(), format), format=name)
    lines = {" ".join(term.n3() for term in triple) for triple in graph if not isinstance(triple[0], rdflib.BNode)}
    assert lines == {
        f"<http://e/a> <{RDF}type> <http://e/Thing>",
        '<http://e/a> <http://e/p> "x\\n\\\\"@en'.replace('"x\\n\\\\"', '"""x\n\\\\"""'),
        f'<http://e/a> <http://e/p> "1"^^<{XSD}integer>',
    }
    assert len(graph) == 5


def test_triples_as_rows() -> None:
    assert written(construct(), "csv").splitlines()[0] == "subject,predicate,object"
    assert len(json.loads(written(construct(), "json"))["results"]["bindings"]) == 5


def test_formats_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="holds triples"):
        written(select(), "ttl")
    with pytest.raises(UsageError, match="unknown result format 'yaml'"):
        written(select(), "yaml")


def test_no_variables() -> None:
    empty = Result("select", (), pa.table({"unit": [1, 1]}))
    assert (len(empty), list(empty)) == (2, [(), ()])
    assert json.loads(written(empty, "json"))["results"]["bindings"] == [{}, {}]
