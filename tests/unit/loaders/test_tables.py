"""Tables in: what a template makes of rows, next to what rdflib makes of the same rows."""

from __future__ import annotations

import csv
import datetime
import decimal
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rdflib import BNode, Graph, Literal, URIRef
from rdflib.compare import isomorphic
from rdflib.namespace import RDF, XSD

from tests.conftest import MakeStore
from triplake.loaders import mapping, tables
from triplake.loaders.template import read_template
from triplestore import Store
from triplestore.model.errors import InputError, TriplakeError, UsageError

EX = "http://example.org/"
TEMPLATE = f"""
PREFIX : <{EX}>
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"{EX}row/{{id}}" a :Row ;          # a quoted subject is an IRI
    :text {{a text}}, "{{a text}} \\{{of\\}} \\"{{id}}\\""@en-GB ; :year {{n}}^^xsd:gYear ;
    :n {{n}} ; :x {{x}} ; :d {{d}} ; :day {{day}} ; :at {{at}} ; :now {{now}} ; :ok {{ok}} ; :bytes {{bytes}} ;
    :iri :of-{{a text}}, <{{link}}> ; :same _:s{{a text}} ; :has [ :n {{n}} ; :no [] ] ; :one _:one, 7, true .
_:one :of :{{id}} .
"""
NASTY = ["", " ", "a b", "100%", "é", "日本", "🦉", 'q"uo"te', "back\\slash", "new\nline", "cr\r", "tab\t", "<x>", 
         "{y}",
         "a/b", "a#b?c=d&e", "'", "''", "_:b", "^^", "@en", "~.-_",
         "�", "NULL", "None", "\x7f\x01", "à", "‮"]  # fmt: skip
DAY = datetime.date
AT = datetime.datetime
UTC = datetime.UTC


def row(chance: random.Random, number: int) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    def text() -> str:
        return "".join(chance.choices(NASTY, k=chance.randint(1, 3)))

    moment = AT(chance.randint(1, 9999), 2, 3, 4, 5, 6, chance.choice([0, 1, 120_000]))
    return {
        "id": number,
        "a text": maybe(text()),
        "n": maybe(chance.choice([0, -1, 2**63 - 1, -(2**63), 7])),
        "x": maybe(chance.choice([0.1, -2.0, 1e300, 5e-324, float("inf"), float("-inf"), 123456789.0])),
        "d": maybe(decimal.Decimal(chance.choice(["0.00", "-1.50", "12345678901234567890.12"]))),
        "day": maybe(DAY(chance.randint(1, 9999), 12, 31)),
        "at": maybe(moment),
        "now": maybe(moment.replace(tzinfo=UTC)),
        "ok": maybe(chance.random() < 0.5),
        "bytes": maybe(bytes(chance.choices(range(256), k=3))),
        "link": maybe(
            chance.choice(["http://e/x", "urn:a:b", "http://e/ü?q=%20#f", "mailto:a@b.c", "http://[::1]:8/"])
        ),
        "unused": maybe("x"),
    }


SCHEMA = pa.schema(
    [("id", pa.int32()), ("a text", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("d", pa.decimal128(22, 2)),
     ("day", pa.date32()), ("at", pa.timestamp("us")), ("now", pa.timestamp("us", "Asia/Tokyo")), ("ok", pa.bool_()),
     ("bytes", pa.binary()), ("link", pa.string()), ("unused", pa.string())]
)  # fmt: skip


def encoded(text: str) -> str:
    """By R2RML's section 7.3: all but iunreserved, by character."""
    kept = [
        c if "\xa0" <= c <= "\ud7ff" or "\uf900" <= c <= "\uffef" or c > "\uffff" else quote(c, safe="") for c in text
    ]
    return "".join(kept)


def instant(value: datetime.datetime) -> str:
    fraction = f".{value.microsecond:06}".rstrip("0").rstrip(".")
    return f"{value.year:04}{value:-%m-%dT%H:%M:%S}{fraction}{'Z' if value.tzinfo else ''}"


def expected(rows: list[dict[str, Any]]) -> Graph:
    """What rdflib makes of the rows, in Python."""
    graph = Graph()

    def iri(name: str) -> URIRef:
        return URIRef(EX + name)

    def add(subject: Any, name: str, value: Any) -> None:
        if value is not None:
            graph.add((subject, iri(name), value))

    nodes: dict[str, BNode] = {}
    for r in rows:
        s, n, text, node, one = iri(f"row/{r['id']}"), r["n"], r["a text"], BNode(), BNode()
        number = None if n is None else Literal(str(n), datatype=XSD.integer)
        graph.add((s, RDF.type, iri("Row")))
        if text is not None:
            add(s, "text", Literal(text))
            add(s, "text", Literal(f'{text} {{of}} "{r["id"]}"', lang="en-gb"))
            add(s, "iri", iri(f"of-{encoded(text)}"))
            add(s, "same", nodes.setdefault(text, BNode()))
        if n is not None:
            add(s, "year", Literal(str(n), datatype=XSD.gYear, normalize=False))
        add(s, "n", number)
        add(node, "n", number)
        if r["x"] is not None:
            lexical = {float("inf"): "INF", float("-inf"): "-INF"}.get(r["x"], repr(r["x"]))
            add(s, "x", Literal(lexical, datatype=XSD.double, normalize=False))
        if r["d"] is not None:
            add(s, "d", Literal(str(r["d"]), datatype=XSD.decimal, normalize=False))
        if r["day"] is not None:
            add(s, "day", Literal(r["day"].isoformat(), datatype=XSD.date, normalize=False))
        for name in ("at", "now"):
            if r[name] is not None:
                add(s, name, Literal(instant(r[name]), datatype=XSD.dateTime, normalize=False))
        if r["ok"] is not None:
            add(s, "ok", Literal("true" if r["ok"] else "false", datatype=XSD.boolean))
        if r["bytes"] is not None:
            add(s, "bytes", Literal(r["bytes"].hex().upper(), datatype=XSD.hexBinary, normalize=False))
        if r["link"] is not None:
            add(s, "iri", URIRef(r["link"]))
        add(s, "has", node)
        add(node, "no", BNode())
        for value in (one, Literal("7", datatype=XSD.integer), Literal("true", datatype=XSD.boolean)):
            add(s, "one", value)
        add(one, "of", iri(str(r["id"])))
    return graph


def asserted(store: Store) -> Graph:
    graph = Graph()
    for triple in store.triples("asserted"):
        graph.add(triple)
    return graph


def alike(left: Graph, right: Graph) -> bool:
    """Isomorphic, blank nodes by their neighbours, which differ in these graphs: rdflib's own search is slow."""
    return len(left) == len(right) and isomorphic(left, right)


@pytest.mark.parametrize("seed", range(4))
def test_rows_as_rdflib_makes_them(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.rows", 1 + seed * 5000)
    chance = random.Random(seed)
    rows = [row(chance, number) for number in range(12)]
    table = pa.Table.from_pylist(rows, SCHEMA)
    pq.write_table(table, tmp_path / "rows.parquet")
    given: list[Any] = [table, pl.from_arrow(table), tmp_path / "rows.parquet", duckdb.from_arrow(table)]
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        report = store.load_table(given[seed], template=TEMPLATE)
        found, wanted = asserted(store), expected(rows)
    assert report.triples >= len(wanted)
    assert alike(found, wanted), set(found.n3().splitlines()) ^ set(wanted.n3().splitlines())


@pytest.mark.long_on_spark
def test_on_either_engine(make_store: MakeStore) -> None:
    chance = random.Random(99)
    rows = [row(chance, number) for number in range(10)]
    store = make_store(["none"])
    store.load_table(pa.Table.from_pylist(rows, SCHEMA), template=TEMPLATE)
    assert alike(asserted(store), expected(rows))
    store.load_table([{"id": "x"}], [{"id": "y"}], template=f"<{EX}{{id}}> a <{EX}T>", graph=f"{EX}g")
    assert [(g.name, g.triples) for g in store.graphs() if g.name == f"<{EX}g>"] == [(f"<{EX}g>", 2)]
    assert store.load_table([{"id": "z"}], template=f"<{EX}{{id}}> a <{EX}T>").triples == 1


def values(store: Store) -> set[tuple[str, str]]:
    return {(str(s).removeprefix(EX), o.n3()) for s, _, o in store.triples("asserted")}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        yield store


COLUMN = f"<{EX}{{id}}> <{EX}p> {{v}}"


class TestPandas:
    def test_what_a_gap_makes_of_a_column(self, store: Store) -> None:
        """Of whole numbers it makes doubles with NaN, which is not a value; IRIs and texts have no fraction."""
        frame = pd.DataFrame({"id": [1, None, 3.5, 2], "v": [1, 2, None, 4], "w": ["x", None, "", "z"]})
        store.load_table(frame, template=COLUMN + f'. <{EX}s> <{EX}p> "{{v}}{{w}}"')
        assert values(store) == {
            ("1", f'"1.0"^^<{XSD.double}>'), ("2", f'"4.0"^^<{XSD.double}>'), ("s", '"1x"'), ("s", '"4z"')
        }  # fmt: skip

    def test_columns_of_several_types(self, store: Store) -> None:
        with pytest.raises(UsageError, match=r"(?s)several types.*Conversion failed for column v"):
            store.load_table(pd.DataFrame({"id": [1, 2], "v": ["x", 5]}), template=COLUMN)

    def test_categories(self, store: Store) -> None:
        store.load_table(pd.DataFrame({"id": [1, 2], "v": pd.Categorical(["x", "y"])}), template=COLUMN)
        assert values(store) == {("1", '"x"'), ("2", '"y"')}


def test_years_before_the_first(store: Store) -> None:
    day = "'0044-03-15 (BC)"
    made = f"DATE {day}' AS d, TIMESTAMP {day} 01:02:03.5' AS t, TIMESTAMPTZ {day} 01:02:03+00' AS z"
    table = duckdb.sql(f"SELECT {made}")
    store.load_table(table, template=" . ".join(f"<{EX}{name}> <{EX}p> {{{name}}}" for name in "dtz"))
    time = f"^^<{XSD.dateTime}>"
    assert values(store) == {
        ("d", f'"-0043-03-15"^^<{XSD.date}>'),
        ("t", f'"-0043-03-15T01:02:03.5"{time}'),
        ("z", f'"-0043-03-15T01:02:03Z"{time}'),
    }


class TestCsv:
    def test_types_are_of_all_values(self, store: Store, tmp_path: Path) -> None:
        """A code with a leading zero stays what it is, and digits are never rounded."""
        big = "123456789012345678901234567890"
        columns = {
            "integer": ["-1", "0", big], "decimal": ["1", "-0.10", "0.12345678901234567890123"], 
            "double": ["1e5", "2", "-0.5"], "boolean": ["True", "false", "TRUE"],
            "date": ["2024-02-29", "1999-12-31", ""],
            "dateTime": ["2024-01-01 10:00:00", "2024-01-01T10:00:00.5Z", "0001-01-01T00:00:00+05:30"],
        }  # fmt: skip
        texts = {
            "zip": ["01234", "1", "2"],
            "phone": ["+4930", "1", "2"],
            "late": ["1", "2", "x"],
            "no": ["2023-02-29", "", ""],
        }
        names = [*columns, *texts]
        with (tmp_path / "t.csv").open("w", newline="") as file:
            csv.writer(file).writerows(
                [["id", *names], *([i, *(v[i] for v in (columns | texts).values())] for i in range(3))]
            )
        store.load_table(tmp_path / "t.csv", template=". ".join(f"<{EX}{n}{{id}}> <{EX}p> {{{n}}}" for n in names))
        wanted = set()
        for name, found in (columns | texts).items():
            for place, value in enumerate(found):
                shown = value.lower() if name == "boolean" else value.replace(" ", "T")
                if value:
                    wanted.add((f"{name}{place}", f'"{shown}"' + (f"^^<{XSD[name]}>" if name in columns else "")))
        assert tokens(store) == wanted

    def test_nasty_texts(self, store: Store, tmp_path: Path) -> None:
        with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "v"])
            writer.writerows([n, f"x{text}"] for n, text in enumerate(NASTY))
        store.load_table(tmp_path / "t.csv", template=COLUMN)
        assert {(s, o[1:-1]) for s, o in tokens(store)} == {(str(n), f"x{text}") for n, text in enumerate(NASTY)}

    def test_long_texts(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text(f"id,v\n1,{'x' * 3_000_000}\n2,y\n")
        store.load_table(tmp_path / "t.csv", template=COLUMN)
        assert sorted(len(o) for _, o in tokens(store)) == [3, 3_000_002]

    def test_other_delimiters_and_packed(self, store: Store, tmp_path: Path) -> None:
        import gzip

        (tmp_path / "a.tsv").write_text("id\tv\n1\tx y, z\n")
        (tmp_path / "b.csv").write_text("id;v\n2;x\n3;y\n")
        (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"id,v\n4,\xc3\xa9\n"))
        store.load_table(tmp_path / "a.tsv", tmp_path / "b.csv", tmp_path / "c.csv.gz", template=COLUMN)
        assert values(store) == {("1", '"x y, z"'), ("2", '"x"'), ("3", '"y"'), ("4", '"é"')}
        assert store.version == 2


def tokens(store: Store) -> set[tuple[str, str]]:
    """Subjects without their beginning, and objects, as tokens."""
    return {(s[1 + len(EX) : -1], o) for batch in store.token_batches("asserted") for s, _, o in batch}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (f"<{EX}{{idd}}> a <{EX}T>", r"line 1.*: table 1 has no column 'idd': is \{id\} meant\? It has id, v"),
        ("{id} a <x:y>", r"\{id\} is a literal, which a subject cannot be: write <\{id\}> where .* else <http://example"),
        ("<{id}/x> a <x:y>", "is not an absolute IRI: begin it with its scheme"),
        ("ex:{id} a <x:y>", "line 1, column 1: the prefix 'ex:' is not declared: begin with PREFIX ex: <http://...>"),
        ("<x:{id}>\n  <x:p> {id", r"line 2, column 9: this is no \{column\}"),
        ("<x:{id}> <x:p> 'a{b'", r"a brace of the text itself is written \\\{"),
        ("<x:{id}> <x:p>", "expected an object: .*, found the end of the template"),
        ("<x:{id}> <x:p> 1 <x:q>", "expected ';', ',' or '.', found '<x:q>'"),
        ("<x:{id}> <x:p> {id}^^<x:{v}>", "a datatype is one IRI, whatever the row"),
        ("<x:{id}> <x:p> 'x'@a-toolongtag", "not a language tag"),
        ("BASE <x:y> <x:{id}> a <x:y>", "templates have no base"),
        ("", "the template has no triples"),
        ("<x:{id}> <x:p> {l}", "column 'l' of table 1 is of type BIGINT.., which gives no term: unnest it"),
        ("<{v}> a <x:y>", r"table 1: row 1, column 'v': 'x' is not an absolute IRI .*its scheme.*encodes"),
    ],
)  # fmt: skip
def test_wrong_templates(store: Store, template: str, message: str) -> None:
    with pytest.raises(TriplakeError, match=message):
        store.load_table([{"id": 1, "v": "x", "l": [1]}, {"id": 2, "v": "y", "l": [2]}], template=template)
    assert store.version == 1


def test_long_texts_come_in_small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplestore.model.thresholds.Sizes.batch", 1 << 20)
    rows = pa.table({"id": range(10_000), "v": ["x" * 1000] * 10_000})
    with tables.opened(rows, 1, "") as table:
        batches = list(mapping._tokens(table, read_template(COLUMN, {}), 1))
    assert sum(map(len, batches)) == 10_000
    assert max(batch.nbytes for batch in batches) < 3 << 20


def test_wrong_tables(store: Store, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "short.csv").write_text("id,v\n1,2\n3,4,5,6\n")
    (tmp_path / "twice.csv").write_text("id,v,v\n1,2,3\n")
    (tmp_path / "case.csv").write_text("id,v,ID\n1,2,3\n")
    (tmp_path / "open.csv").write_text('"id,v\n' + "1,2\n" * 50_000)
    (tmp_path / "line.csv").write_text("id" * 2_000_000)
    (tmp_path / "ends.csv").write_bytes(b"id,v\n1,2\r\n3,4\n")
    (tmp_path / "latin.csv").write_bytes(b"id,v\n1,\xe9t\xe9\n")
    (tmp_path / "no.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "t.txt").write_text("id,v\n")
    for given, kind, message in (
        ("empty.csv", InputError, "empty.csv: the file is empty"),
        ("short.csv", InputError, "short.csv:3"),
        ("twice.csv", InputError, "twice.csv:1: more than one column is called 'v': give each a name of its own"),
        ("case.csv", InputError, "case.csv:1: more than one column is called 'id'"),
        ("open.csv", InputError, r"open.csv:1: this is not a line of column names .*: is a quote closed\?"),
        ("line.csv", InputError, "line.csv:1: this is not a line of column names"),
        ("ends.csv", InputError, "ends.csv: its lines end in several ways"),
        ("latin.csv", InputError, "latin.csv.*not UTF-8: convert it"),
        ("no.parquet", InputError, "no.parquet: "),
        ("none.csv", InputError, "none.csv: there is no such file: check the path"),
        ("t.txt", UsageError, "t.txt: the suffix does not tell the table's format; use .csv"),
        ("", UsageError, "is a folder: name the tables in it"),
    ):
        with pytest.raises(kind, match=message):
            store.load_table(tmp_path / given, template=COLUMN)
    for rows, message in (
        ([{"id": 1, "v": 2**64}], "a column of the rows has whole numbers of more than 64 bits: make texts"),
        ([{"id": 1, "v": 1}, {"id": 2, "v": "x"}], "a column of the rows has values of several types: make it one"),
        ([{1: 1}], "a column of the rows has values of several types"),
        (pd.DataFrame({"id": [1], "v": [2**64]}, dtype=object), "a column of the DataFrame has whole numbers of more"),
        (pd.DataFrame([[1, 2, 3]], columns=["id", "v", "v"]), "more than one column of the DataFrame is called 'v'"),
    ):
        with pytest.raises(UsageError, match=message):
            store.load_table(rows, template=COLUMN)
    with pytest.raises(UsageError, match="int is not a table: give a DataFrame"):
        store.load_table(5, template=COLUMN)
    with pytest.raises(InputError, match=r"T.ttl: cannot read the template: No such file"):
        store.load_table([{"id": 1}], template=tmp_path / "T.ttl")
    (tmp_path / "T.ttl").write_text("<x:{id}> a\n\n {id")
    with pytest.raises(InputError, match=r"T.ttl:3:2: this is no"):
        store.load_table([{"id": 1}], template=tmp_path / "T.ttl")
    assert store.version == 1


def test_reading_heeds_the_limit_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    tokens = mapping._tokens

    def looked(table: tables.Table, *more: Any) -> Any:
        found.append(table.connection.execute("SELECT current_setting('memory_limit')").fetchall())
        return tokens(table, *more)

    monkeypatch.setattr(mapping, "_tokens", looked)
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb", memory_limit="512MiB") as store:
        store.load_table([{"id": 1, "v": 2}], template=COLUMN)
    assert found == [[("512.0 MiB",)]]


def test_rows_need_not_have_all_columns(store: Store) -> None:
    """Nor the first of them, which has no column for another then."""
    store.load_table([{"id": 1}, {"id": 2, "v": "x"}, {}], template=COLUMN)
    assert [str(o) for _, _, o in store.triples("asserted")] == ["x"]


def test_a_file_that_is_named_twice_is_read_once(store: Store, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,v\n1,x\n")
    given = tmp_path / "t.csv", tmp_path / "*.csv", f"{tmp_path}/./t.csv"
    assert store.load_table(*given, template="[] <x:p> {v}").files == 1
    assert len([*store.triples("asserted")]) == 1


def test_prefixes_of_the_store_and_of_the_template(store: Store) -> None:
    store.change_prefixes({"shop": EX})
    store.load_table([{"id": 1}], template="PREFIX own: <http://own.org/> shop:{id} a own:T, owl:Thing")
    assert store.prefixes.declared == {"shop": EX, "own": "http://own.org/"}
    assert store.query("ASK { shop:1 a own:T }").boolean
