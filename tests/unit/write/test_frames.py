"""Spark DataFrames in and out: triples of a frame, tables of a store with their terms."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from rdflib import RDF, URIRef

from tests.support.seeds import seeds
from triplake.sparql.results import Result
from triplestore import Store
from triplestore.engine.spark import SparkEngine
from triplestore.engine.spark.session import SESSION_SETTINGS
from triplestore.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SUB = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
COLUMNS = "s string, p string, o string"
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
ODD = '"a \\"quoted\\" word,\\n\\\\ and é"@en'
ROWS = [
    ("<http://e/A>", SUB, "<http://e/B>"),
    ("<http://e/a>", TYPE, "<http://e/A>"),
    ("<http://e/a>", SAME, "<http://e/b>"),
    ("<http://e/a>", "<http://e/p>", ODD),
    ("<http://e/a>", "<http://e/p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    *(("_:n", "<http://e/q>", f"<http://e/x{n}>") for n in range(8)),
]


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.long)])
def test_triples_of_a_frame(tmp_path: Path, spark: SparkSession, engine: str) -> None:
    frame = spark.createDataFrame([*ROWS, (None, "<http://e/p>", "<http://e/a>")], COLUMNS)
    session = spark if engine == "spark" else None
    with Store.create(tmp_path / "kg", ["owl2rl"], engine=engine, spark=session) as store:
        report = store.load_dataframe(frame.repartition(4))
        assert report.triples == len(ROWS)
        assert store.query("ASK { <http://e/b> a <http://e/B> }").boolean
        assert store.query(f"ASK {{ <http://e/b> <http://e/p> {ODD} }}").boolean
        assert store.query(
            "SELECT (COUNT(DISTINCT ?n) AS ?nodes) (COUNT(*) AS ?all) { ?n <http://e/q> ?x }"
        ).to_arrow().to_pylist() == [{"nodes": 1, "all": 8}]
        assert not list((tmp_path / "kg").glob(".frame-*"))
        with pytest.raises(InputError):
            store.load_dataframe(spark.createDataFrame([("a b", "<http://e/p>", "<http://e/a>")], COLUMNS))
        with pytest.raises(UsageError, match="the columns s, p: give s, p and o"):
            store.load_dataframe(frame.select("s", "p"))
        assert store.version == 2


def test_graphs_of_a_frame(tmp_path: Path, spark: SparkSession) -> None:
    rows = [("<http://e/a>", TYPE, "<http://e/A>", "<http://e/g>"), ("<http://e/b>", TYPE, "<http://e/A>", None)]
    with Store.create(tmp_path / "kg", ["rdfs"], engine="duckdb") as store:
        store.load_dataframe(spark.createDataFrame(rows, "S string, P string, O string, G string"))
        assert [(g.name, g.triples) for g in store.graphs()][1:] == [("<http://e/g>", 1)]
        assert store.query("ASK { GRAPH <http://e/g> { <http://e/a> a <http://e/A> } }").boolean
        assert not store.query("ASK { GRAPH ?g { <http://e/b> a <http://e/A> } }").boolean


def test_tables_with_their_terms(tmp_path: Path, spark: SparkSession) -> None:
    with Store.create(tmp_path / "kg", ["owl2rl"], spark=spark) as store:
        store.load_dataframe(spark.createDataFrame(ROWS, COLUMNS))
        asserted = {tuple(row) for row in store.asserted_df(terms=True).collect()}
        assert {row for row in asserted if row[0][0] != "_"} == {row for row in ROWS if row[0][0] != "_"}
        assert len(asserted) == len(ROWS)
        facts = {tuple(row) for row in store.facts_df(terms=True).collect()}
        assert ("<http://e/a>", TYPE, "<http://e/B>") in facts
        assert store.facts_df().count() == len(facts)
        same = {tuple(row) for row in store.same_as_df(terms=True).collect()}
        assert same == {("<http://e/a>", "<http://e/a>"), ("<http://e/b>", "<http://e/a>")}
        terms = {row.id: row.term for row in store.terms_df().collect()}
        assert {tuple(terms[i] for i in row) for row in store.asserted_df().collect()} == asserted
        with pytest.raises(UsageError, match="has more than ids"):
            store.table_df("term", terms=True)
        with Store.create(tmp_path / "again", ["owl2rl"], engine="duckdb") as again:
            again.load_dataframe(store.asserted_df(terms=True))
            assert again.stats().facts == store.stats().facts


def test_a_store_beside_a_folder_that_java_was_not_started_in(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.createDataFrame(ROWS, COLUMNS)
    monkeypatch.chdir(tmp_path)
    with Store.create("kg", ["none"], engine="duckdb") as store:
        assert store.load_dataframe(frame).triples == len(ROWS)


ASKED = (
    "PREFIX : <http://e/> SELECT ?x (STRLEN(STR(?x)) AS ?n) (?v AS ?V2) { ?x a :B ; :p ?v FILTER(ISNUMERIC(?v)) }",
    "PREFIX : <http://e/> SELECT ?x ?y { ?x (<http://www.w3.org/2000/01/rdf-schema#subClassOf>|a)+ ?y }",
    "PREFIX : <http://e/> SELECT ?x ?v { ?x :p ?v OPTIONAL { ?x :none ?y } VALUES ?z { :new 1 } }",
    "CONSTRUCT { ?x ?p ?v } { ?x ?p ?v }",
)


def test_answers_are_frames_of_the_active_session(tmp_path: Path, spark: SparkSession) -> None:
    """Whatever engine and thread asked: a view of such a frame is found by the program's own session."""
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.load(data='<http://e/a> <http://e/p> 1, 2, "three" .', format="ttl")
        frame = store.query("SELECT ?v { ?x ?p ?v FILTER(ISNUMERIC(?v)) }").to_spark()
        frame.createOrReplaceTempView("answer")
        assert spark.sql("SELECT sum(v) AS total FROM answer").collect() == [(3,)]
    with Store.open(tmp_path / "kg", spark=spark) as store, ThreadPoolExecutor(1) as other:
        asked = "SELECT ?v { ?x ?p ?v }"
        for stream in (False, True):
            assert store.query(asked, stream=stream).to_spark().count() == 3
            assert other.submit(lambda: store.query(asked).to_spark().count()).result() == 3
        with pytest.raises(UsageError, match=r"read result\.boolean"):
            store.query("ASK { ?x ?p ?v }").to_spark()


def test_the_programs_own_session_keeps_the_defaults_of_spark(spark: SparkSession) -> None:
    """Triplake's settings are for its own sessions: in others `"a"` is a text, as Spark has it."""
    SparkEngine(spark).close()
    assert spark.sql('SELECT "a"').collect() == [("a",)]
    for name in SESSION_SETTINGS:
        assert name not in dict(spark.sparkContext.getConf().getAll())


def test_without_a_session_the_message_says_what_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    answer = Result("select", ("x",), pa.table({"c0": ["<http://e/a>"]}))
    for module in (False, True):
        with monkeypatch.context() as patch:
            if module:
                patch.delitem(sys.modules, "pyspark")
            patch.setattr(SparkContext, "_active_spark_context", None)
            patch.setattr(SparkSession, "_instantiatedSession", None)
            with pytest.raises(UsageError, match=r"to_spark\(session\)"):
                answer.to_spark()


@pytest.mark.parametrize("same_as", seeds(["expand", "canonical"], 1))
@pytest.mark.long
def test_answers_without_the_driver(tmp_path: Path, spark: SparkSession, same_as: str) -> None:
    """The rows and types of a streamed answer's data frame are those that the driver has, after a change too."""
    with Store.create(tmp_path / "kg", ["owl2rl"], spark=spark) as store:
        store.load_dataframe(spark.createDataFrame(ROWS, COLUMNS))
        tables = [store.query(text, same_as).to_arrow() for text in ASKED]
        frames = [store.query(text, same_as, stream=True).to_spark() for text in ASKED]
        store.update(add=[(URIRef("http://e/c"), RDF.type, URIRef("http://e/A"))])
        for table, frame in zip(tables, frames, strict=True):
            found = frame.toArrow()
            assert [str(field.type) for field in found.schema] == [str(field.type) for field in table.schema]
            assert Counter(map(str, found.to_pylist())) == Counter(map(str, table.to_pylist()))
        read = store.query(ASKED[0], stream=True)
        assert len(read.to_spark(typed=False).collect()) == len(list(read)) > 0
        assert store.query(ASKED[0], same_as).to_spark(spark).count() == tables[0].num_rows
