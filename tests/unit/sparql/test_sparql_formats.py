"""Results as text, in each format, held to what other tools read from it."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

import pyarrow as pa
import pyoxigraph as ox
import pytest
import rdflib
from rdflib.plugins.sparql.results.xmlresults import XMLResult

from tests.support.seeds import seeds
from tests.support.sparql import ox_term, ox_token
from triplake.sparql.formats import ROW_FORMATS, pieces
from triplake.sparql.results import Result
from triplestore.model.errors import FormatError, UsageError
from triplestore.model.terms import RDF, XSD

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


@pytest.mark.parametrize(("format", "name"), [("nt", "nt"), ("ttl", "turtle"), ("rdf", "xml"), ("jsonld", "json-ld")])
def test_rdflib_reads_the_same_triples(format: str, name: str) -> None:
    graph = rdflib.Graph().parse(data=written(construct(), format), format=name)
    lines = {" ".join(term.n3() for term in triple) for triple in graph if not isinstance(triple[0], rdflib.BNode)}
    assert lines == {
        f"<http://e/a> <{RDF}type> <http://e/Thing>",
        '<http://e/a> <http://e/p> "x\\n\\\\"@en'.replace('"x\\n\\\\"', '"""x\n\\\\"""'),
        f'<http://e/a> <http://e/p> "1"^^<{XSD}integer>',
    }
    assert len(graph) == 5


def random_triples(dice: random.Random, count: int) -> list[tuple[str, str, str]]:
    """Neighbours that share subjects and predicates, names that are awkward to write."""
    iris = [
        f"<{s}{n}>" for s in (RDF, XSD, "http://e/", "http://e/p/") for n in ("a", "b-1", "c.d", "_1", "a%20b", "é")
    ]
    nodes = [*iris, "<http://e/1>", "<http://e/>", "<urn:x:y>", "_:b1", "_:0", "_:f1_x.y"]
    texts = ["", " ", "\n", "\t ", "x", " a\tb ", "q\"'\\", "line\r\n", "<&>]]>", "é😀", "\u00a0", "1"]
    tails = ["", "@en", "@de-at", f"^^<{XSD}integer>", f"^^<{RDF}HTML>", "^^<http://e/t>"]
    objects = [*nodes, *(f'"{text}"{tail}' for text in texts for tail in tails)]
    found: list[tuple[str, str, str]] = []
    while len(found) < count:
        s, p = dice.choice(nodes), dice.choice(iris)
        found += [(s, p, dice.choice(objects)) for _ in range(dice.randint(1, 3))]
    return found


@pytest.mark.parametrize("seed", seeds(range(20), 2))
@pytest.mark.parametrize(
    ("format", "syntax"),
    [
        ("nt", ox.RdfFormat.N_TRIPLES),
        ("ttl", ox.RdfFormat.TURTLE),
        ("rdf", ox.RdfFormat.RDF_XML),
        ("jsonld", ox.RdfFormat.JSON_LD),
        ("nq", ox.RdfFormat.N_QUADS),
        ("trig", ox.RdfFormat.TRIG),
    ],
)
def test_random_triples_come_back(seed: int, format: str, syntax: ox.RdfFormat) -> None:
    triples = random_triples(random.Random(seed), 40)
    table = pa.table([pa.array([t[place] for t in triples], pa.string()) for place in range(3)], names=["s", "p", "o"])
    result = Result("construct", ("subject", "predicate", "object"), iter(table.to_batches(max_chunksize=7)))
    read, expected = ox.Dataset(ox.parse(written(result, format), syntax)), ox.Dataset()
    for triple in triples:
        expected.add(ox.Quad(*(ox_term(t) for t in triple)))  # type: ignore[arg-type]
    for graph in (read, expected):
        graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert read == expected


def one_triple(predicate: str, text: str) -> Result:
    columns = [pa.array([value]) for value in ("<http://e/a>", f"<{predicate}>", f'"{text}"')]
    return Result("construct", ("subject", "predicate", "object"), pa.table(columns, names=["s", "p", "o"]))


@pytest.mark.parametrize(
    "name", ["é", "日本", "a\u0300", "\u1780a", "\U00020000b", "\u2c00-c", "a\u1780\u0bb8é", "xml"]
)
def test_names_in_xml_are_those_of_any_edition(name: str) -> None:
    """Readers of XML know the letters of its first editions: the others go into the namespace."""
    found = written(one_triple(f"http://e/{name}", "x"), "rdf")
    expat.ParserCreate().Parse(found, True)
    (quad,) = ox.parse(found.encode(), ox.RdfFormat.RDF_XML)
    assert quad.predicate.value == f"http://e/{name}"


@pytest.mark.parametrize(
    ("predicate", "text", "reason"),
    [
        ("http://e/1", "x", "no way to write the predicate <http://e/1>: take Turtle"),
        pytest.param(f"http://e/{'a' * 2_000_000}!", "x", "no way to write the predicate", id="long"),
        (RDF + "li", "x", "no way to write the predicate"),
        (RDF + "aboutEachPrefix", "x", "no way to write the predicate"),
        ("http://www.w3.org/2000/xmlns/a", "x", "no way to write the predicate"),
        ("http://e/\u1780", "x", "no way to write the predicate"),
        ("http://e/p", "a\x01b", "control characters"),
    ],
)
def test_what_xml_cannot_say(predicate: str, text: str, reason: str) -> None:
    result = one_triple(predicate, text)
    with pytest.raises(UsageError, match=re.escape(reason)):
        written(result, "rdf")


WHITE = [" ", "  ", "\n", "\t", "\r", "\r\n", " x", "x ", "\nx\n", " \n ", "a  b", "", "\u00a0", "\u2028", "\x85"]


def one_value(text: str) -> Result:
    return Result("select", ("x",), pa.table({"c0": pa.array([f'"{text}"'])}))


@pytest.mark.parametrize("text", WHITE, ids=lambda text: "-".join(f"{ord(c):x}" for c in text) or "empty")
def test_white_space_survives_xml(text: str) -> None:
    """Also where a parser takes white space that is written as such for layout."""
    found = written(one_value(text), "xml")
    (row,) = ox.parse_query_results(found.encode(), ox.QueryResultsFormat.XML)  # type: ignore[misc]
    assert row["x"].value == text
    assert str(XMLResult(io.BytesIO(found.encode())).bindings[0][rdflib.Variable("x")]) == text
    (value,) = re.findall("<literal>(.*)</literal>", found)
    assert re.search(r"^\s|\s$|[\t\n\r]", value.replace("\u00a0", "").replace("\u2028", "").replace("\x85", "")) is None


@pytest.mark.parametrize("number", [*range(0x20), 0xFFFE, 0xFFFF])
def test_control_characters_in_xml(number: int) -> None:
    """Those that it can hold come back, others are refused; JSON holds all."""
    text = f"a{chr(number)}b"
    assert json.loads(written(one_value(text), "json"))["results"]["bindings"][0]["x"]["value"] == text
    if chr(number) in "\t\n\r":
        (row,) = ox.parse_query_results(written(one_value(text), "xml").encode(), ox.QueryResultsFormat.XML)  # type: ignore[misc]
        assert row["x"].value == text
        return
    with pytest.raises(FormatError, match="ask for JSON"):
        written(one_value(text), "xml")


class TestStreams:
    def stream(self, count: int, size: int = 100) -> Result:
        def batches() -> Iterator[pa.RecordBatch]:
            for start in range(0, count, size):
                values = pa.array([f'"{n}"' for n in range(start, min(start + size, count))])
                yield pa.RecordBatch.from_arrays([values], names=["c0"])

        return Result("select", ("n",), batches())

    def test_are_read_once(self) -> None:
        result = self.stream(250)
        assert [str(n) for (n,) in result] == [str(n) for n in range(250)]
        with pytest.raises(UsageError, match="read once"):
            next(iter(result))

    def test_can_be_collected(self) -> None:
        result = self.stream(250)
        assert len(result) == 250
        assert len(list(result)) == len(list(result)) == result.to_arrow().num_rows == 250
        assert (len(self.stream(0)), list(self.stream(0))) == (0, [])
        assert self.stream(0).to_arrow().column_names == ["n"]

    @pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
    @pytest.mark.sampled(each=2)
    def test_are_written_in_flat_memory(self, format: str) -> None:
        class Counting(io.StringIO):
            size = 0

            def write(self, text: str) -> int:
                self.size += len(text)
                assert len(text) < 200_000
                return len(text)

        out = Counting()
        tracemalloc.start()
        self.stream(50_000, 5_000).write(out, format)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert out.size > 300_000
        assert peak < 25 << 20


def test_names_of_properties_in_xml() -> None:
    """The longest name at the end of an IRI, be the IRI ever so long."""
    iris = ["http://e/a", "http://e#a-1.b", "http://e/1a", "http://e/é·1", "urn:x:y", f"http://e/{'a' * 200_000}"]
    for iri, name in zip(iris, ["a", "a-1.b", "a", "é·1", "y", "a" * 200_000], strict=True):
        columns = [pa.array([term], pa.string()) for term in ("<http://e/s>", f"<{iri}>", '"v"')]
        result = Result("construct", ("subject", "predicate", "object"), pa.table(columns, names=["c0", "c1", "c2"]))
        assert f'<{name} xmlns="{iri.removesuffix(name)}">v</{name}>' in written(result, "rdf")
    for iri in ("http://e/", "http://e/1", f"http://e/{'a' * 200_000}/"):
        columns = [pa.array([term], pa.string()) for term in ("<http://e/s>", f"<{iri}>", '"v"')]
        result = Result("construct", ("subject", "predicate", "object"), pa.table(columns, names=["c0", "c1", "c2"]))
        with pytest.raises(FormatError, match="no way to write the predicate"):
            written(result, "rdf")


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv", "nt", "ttl", "rdf", "jsonld"])
def test_long_texts_are_neither_kept_nor_gathered(format: str) -> None:
    """A batch of an engine's may have hundreds of megabytes of them."""
    kind, names = ("select", ("o",)) if format in ROW_FORMATS else ("construct", ("s", "p", "o"))
    columns = [pa.array([token] * 200) for token in ("<http://e/s>", "<http://e/p>")][: len(names) - 1]
    columns.append(pa.array([f'"{number:06}{"a" * 400_000}"' for number in range(200)]))
    batch = pa.RecordBatch.from_arrays(columns, names=list(names))
    size = 0
    tracemalloc.start()
    for piece in pieces(Result(kind, names, iter([batch])), format):
        size += len(piece)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 80_000_000
    assert kept < 40 << 20  # the last piece
    assert peak < 250 << 20


def test_data_frames() -> None:
    expected = {
        "x": ["<http://e/a&b>", "_:b1", None, "<http://e/c>"],
        "value": ['"plain <&> \\"quoted\\""', '"line\\nbreak\ttab\\\\"@en-gb', f'"1"^^<{XSD}integer>', None],
    }
    assert select().to_arrow(typed=False).to_pydict() == expected
    assert select().to_pandas(typed=False).where(lambda f: f.notna(), None).to_dict("list") == expected


def test_polars() -> None:
    pytest.importorskip("polars", reason="polars is not installed: it is optional")
    assert select().to_polars().to_dict(as_series=False) == select().to_arrow().to_pydict()


def test_polars_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match="pip install polars"):
        select().to_polars()


@pytest.mark.spark
def test_spark_frames(spark: Any) -> None:
    assert [tuple(row) for row in select().to_spark(spark).collect()] == list(
        zip(*select().to_arrow().to_pydict().values(), strict=True)
    )


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
