"""Results as tables with types, and by rows."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from rdflib import BNode, Literal, URIRef

from tests.conftest import MakeStore
from tests.support.turtle import graph
from triplake.sparql.frames import data_frame
from triplake.sparql.results import Result
from triplake.sparql.typed import typed_column
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.model.terms import XSD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS: dict[str, tuple[list[str | None], str, list[Any]]] = {
    "integers": ([f'"1"^^<{XSD}integer>', f'" +02"^^<{XSD}byte>', None], "int64", [1, 2, None]),
    "large integers": ([f'"{10**19}"^^<{XSD}integer>'], "decimal128(38, 18)", [Decimal(10**19)]),
    "larger integers": ([f'"{10**30}"^^<{XSD}integer>'], "string", [str(10**30)]),
    "decimals": ([f'"1.50"^^<{XSD}decimal>', f'"2"^^<{XSD}int>'], "decimal128(38, 18)", [Decimal("1.5"), Decimal(2)]),
    "doubles": (
        [f'"1e0"^^<{XSD}double>', f'"-INF"^^<{XSD}float>', f'"3"^^<{XSD}int>'],
        "double",
        [1, float("-inf"), 3],
    ),
    "truth values": ([f'"true"^^<{XSD}boolean>', f'"0"^^<{XSD}boolean>'], "bool", [True, False]),
    "dates": ([f'"2020-02-29"^^<{XSD}date>'], "date32[day]", [date(2020, 2, 29)]),
    "dates with zones": ([f'"2020-02-29Z"^^<{XSD}date>'], "string", ["2020-02-29Z"]),
    "early dates": ([f'"-0044-03-15"^^<{XSD}date>'], "string", ["-0044-03-15"]),
    "times": ([f'"2020-01-01T01:02:03.5"^^<{XSD}dateTime>'], "timestamp[us]", [datetime(2020, 1, 1, 1, 2, 3, 500000)]),
    "instants": (
        [f'"2020-01-01T01:00:00+01:00"^^<{XSD}dateTime>', f'"2020-01-01T00:00:00Z"^^<{XSD}dateTimeStamp>'],
        "timestamp[us, tz=UTC]",
        [datetime(2020, 1, 1, tzinfo=UTC)] * 2,
    ),
    "times of both kinds": (
        [f'"2020-01-01T00:00:00"^^<{XSD}dateTime>', f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>'],
        "string",
        ["2020-01-01T00:00:00", "2020-01-01T00:00:00Z"],
    ),
    "texts": (['"a"', '"b"@en', f'"2020"^^<{XSD}gYear>', '""'], "string", ["a", "b", "2020", ""]),
    "terms": (["<http://e/a>", "_:b", '"1"', "(<u:a> <u:b> <u:c>)"], "string", None),  # type: ignore[dict-item]
    "a number among texts": ([f'"1"^^<{XSD}integer>', '"x"'], "string", ["1", "x"]),
    "hardly numbers": ([f'"1_0"^^<{XSD}integer>', f'"0x1"^^<{XSD}integer>'], "string", ["1_0", "0x1"]),
    "infinity in words": ([f'"infinity"^^<{XSD}double>'], "string", ["infinity"]),
    "no day": ([f'"2021-02-29"^^<{XSD}date>', f'"2021-02-28"^^<{XSD}date>'], "string", ["2021-02-29", "2021-02-28"]),
    "the year 0": ([f'"0000-01-01"^^<{XSD}date>'], "string", ["0000-01-01"]),
    "fine decimals": ([f'"0.{"0" * 18}1"^^<{XSD}decimal>'], "string", [f"0.{'0' * 18}1"]),
    "quotes": (['"^^<a>"', '"a\\"^^<b>"@en', '"\\\\ \n \r"'], "string", ["^^<a>", 'a\\"^^<b>', "\\\\ \n \r"]),
    "ill-typed": ([f'"1"^^<{XSD}integer>', f'"x"^^<{XSD}integer>'], "string", ["1", "x"]),
    "nothing": ([None, None], "string", [None, None]),
    "no rows": ([], "string", []),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_have_types(name: str) -> None:
    tokens, type_, values = COLUMNS[name]
    found = typed_column(tokens)
    assert str(found.type) == type_
    if values is None:
        assert found.to_pylist()[:3] == ["http://e/a", "_:b", "1"]
    else:
        assert found.to_pylist() == values


@pytest.mark.spark
@pytest.mark.long
def test_columns_on_spark_have_the_types_that_they_have_here(spark: SparkSession) -> None:
    """In executors' SQL, as in Python: typed, and as N-Triples."""
    longest = max(len(tokens) for tokens, _, _ in COLUMNS.values())
    columns = [[*tokens, *[None] * (longest - len(tokens))] for tokens, _, _ in COLUMNS.values()]
    names = tuple(f"n{place}" for place in range(len(columns)))
    rows = pa.table({f"c{place}": pa.array(column, pa.string()) for place, column in enumerate(columns)})
    for table in (rows, rows.slice(0, 0)):
        for typed in (True, False):
            here = Result("select", names, table).to_arrow(typed)
            there = data_frame(spark.createDataFrame(table), names, typed).toArrow()
            assert there.cast(here.schema).to_pylist() == here.to_pylist()
            assert [str(field.type) for field in there.schema] == [str(field.type) for field in here.schema]


def test_tables_of_a_store(make_store: MakeStore) -> None:
    store = make_store(["none"], add=[*graph(":a :n 1 ; :l 'A'@en ; :d '2020-01-02'^^xsd:date . :b :n 2.5 ; :l 'B'")])
    asked = store.query(
        "PREFIX : <http://ex/> SELECT ?x ?n ?l ?d { ?x :n ?n ; :l ?l OPTIONAL { ?x :d ?d } } ORDER BY ?x"
    )
    table = asked.to_arrow()
    assert table.to_pylist() == [
        {"x": "http://ex/a", "n": Decimal(1), "l": "A", "d": date(2020, 1, 2)},
        {"x": "http://ex/b", "n": Decimal("2.5"), "l": "B", "d": None},
    ]
    assert [str(column.type) for column in table.columns] == ["string", "decimal128(38, 18)", "string", "date32[day]"]
    assert asked.to_arrow(typed=False)["l"].to_pylist() == ['"A"@en', '"B"']
    assert list(asked.to_pandas()["x"]) == ["http://ex/a", "http://ex/b"]
    assert store.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").to_pandas()["n"][0] == 5


def test_rows_have_names() -> None:
    tokens = [("<http://e/a>", '"1"'), ("<http://e/b>", None), ("<http://e/c>", '"3"')]
    columns = [pa.array([row[place] for row in tokens], pa.string()) for place in range(2)]
    found = Result("select", ("x", "count"), pa.table(columns, names=["c0", "c1"]))
    first, *_, last = found
    assert first == (URIRef("http://e/a"), Literal("1"))
    assert first.x == first["x"] == first["?x"] == first[0] == URIRef("http://e/a")
    assert first["count"] == Literal("1")
    assert last.as_dict() == {"x": URIRef("http://e/c"), "count": Literal("3")}
    assert found[1].as_dict() == {"x": URIRef("http://e/b")}
    assert found[0] == first
    assert found[-1] == last
    assert found[1:] == list(found)[1:]
    assert found[::-2] == [last, first]
    assert found[5:] == []
    with pytest.raises(IndexError):
        found[3]
    with pytest.raises(AttributeError, match="no 'y': its variables are x, count"):
        _ = first.y
    with pytest.raises(KeyError, match="no 'y'"):
        first["y"]
    other = next(iter(Result("select", ("y",), pa.table({"c0": ["<http://e/a>"]}))))
    assert other.y == URIRef("http://e/a")
    assert not hasattr(other, "x")


class TestBindings:
    QUERY = "PREFIX : <http://ex/> SELECT ?x ?n { ?x :n ?n FILTER(?n >= ?least) }"

    def test_values(self, make_store: MakeStore) -> None:
        store = make_store(["none"], add=[*graph(":a :n 1 . :b :n 2 . :c :n 3 . [] :n 4")])
        found = store.query(self.QUERY, bindings={"least": 2, "x": URIRef("http://ex/c")})
        assert list(found) == [(URIRef("http://ex/c"), Literal(3))]
        assert {int(row.n) for row in store.query(self.QUERY, bindings={"?least": 2})} == {2, 3, 4}
        (node,) = {s for s, _, _ in store.triples() if isinstance(s, BNode)}
        assert [row.n.toPython() for row in store.query(self.QUERY, bindings={"least": 1, "x": node})] == [4]
        assert store.query("ASK { ?x ?p ?n }", bindings={"n": 3}).boolean
        assert not store.query("ASK { ?x ?p ?n }", bindings={"n": 9}).boolean
        built = store.query("CONSTRUCT WHERE { ?x <http://ex/n> ?n }", bindings={"n": 2})
        assert list(built) == [(URIRef("http://ex/b"), URIRef("http://ex/n"), Literal(2))]
        assert len(store.query("DESCRIBE ?x { ?x ?p ?n }", bindings={"n": 2})) == 1
        assert len(store.query("SELECT * { { SELECT ?x ?n { ?x ?p ?n } } }", bindings={"n": 2})) == 1
        tested = "SELECT (EXISTS { { SELECT * { ?y <http://ex/n> 1 } } } AS ?e) ?n { ?x <http://ex/n> ?n }"
        assert [(bool(e), int(n)) for e, n in store.query(tested, bindings={"n": 2})] == [(True, 2)]
        assert not list(store.query(self.QUERY)), "without them, the filter is an error in every row"

    def test_text_is_no_syntax(self, make_store: MakeStore) -> None:
        store = make_store(["none"], add=[*graph(":a :n 1")])
        text = "1 } UNION { ?s ?p ?o"
        found = store.query("SELECT ?n { ?x ?p ?o }", bindings={"n": text})
        assert list(found) == [(Literal(text),)]

    def test_wrong_usage(self, tmp_path: Path) -> None:
        with Store.create(tmp_path / "kg", engine="duckdb") as store:
            with pytest.raises(UsageError, match="by the names of variables, such as 'name': not 'a b'"):
                store.query("ASK {}", bindings={"a b": 1})
            with pytest.raises(UsageError, match="bindings are for a query with a WHERE"):
                store.query("DESCRIBE <http://ex/a>", bindings={"x": 1})
            with pytest.raises(UsageError, match="already"):
                store.query("SELECT * { BIND(1 AS ?x) }", bindings={"x": 1})


def test_rows_are_pickled(make_store: MakeStore) -> None:
    """With the names of the variables, and lexical forms as they are stored."""
    store = make_store(["none"])
    subject = URIRef("http://ex/a")
    number = Literal("01", datatype=URIRef(XSD + "integer"), normalize=False)
    store.update(add=[(subject, subject, o) for o in (number, Literal("chat", lang="fr"), BNode(), Literal(" x "))])
    rows = list(store.query("SELECT ?o ?none { ?s ?p ?o }"))
    for again in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows), [copy.copy(row) for row in rows]):
        assert again == rows
        assert [row.o.n3() for row in again] == [row["o"].n3() for row in rows]
        assert [row.as_dict() for row in again] == [row.as_dict() for row in rows]
        assert {row.none for row in again} == {None}


def test_an_answer_that_is_not_read_to_its_end_leaves_no_tables(tmp_path: Path) -> None:
    links = " ".join(f"<u:{n}> <u:p> <u:{n + 1}> ." for n in range(160))
    with Store.create(tmp_path / "kg", rules=[], engine="duckdb") as store:
        store.sparql_update(f"INSERT DATA {{ {links} }}")
        engine = store._session.engine
        for stream in (False, True):
            found = store.query("SELECT * { ?x <u:p>+ ?y }", stream=stream)
            assert next(iter(found)) is not None
            del found
        assert not [name for (name,) in engine.rows("SELECT table_name FROM duckdb_tables()") if "path" in name]
