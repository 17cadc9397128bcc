"""Stores of format 3 have other number columns of some literals: they are corrected where they are read."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from triplestore import Store
from triplestore.dictionary.older_numbers import corrected_sql
from triplestore.dictionary.term_rows import term_sql
from triplestore.engine import Engine
from triplestore.model.tables import TERM
from triplestore.model.terms import FIRST_LITERAL, XSD
from triplestore.storage.manifest import FORMAT
from triplestore.storage.versions import Versions

OLDER = {
    ("0.1", "float"): (0.1, None),
    (" 16777217 ", "float"): (16777217.0, None),
    ("1200", "byte"): (1200.0, Decimal(1200)),
    ("-1", "nonNegativeInteger"): (-1.0, Decimal(-1)),
    ("18446744073709551616", "unsignedLong"): (1.8446744073709552e19, Decimal(2**64)),
    ("-0.0", "decimal"): (-0.0, Decimal(0)),
}
"""Literals, and the `double` and `decimal` that format 3 gave them."""

SAME = [
    *(("0.5", "float"), ("INF", "float"), ("x", "float"), ("0.1", "double"), ("-0.0", "double"), ("x", "byte")),
    *(("120", "byte"), ("1" * 40, "integer"), ("1.5", "decimal"), ("1200", "string"), ("2020-01-01", "date")),
]


def older(terms: pa.Table) -> pa.Table:
    """Rows of TERM as format 3 had them."""
    rows = terms.to_pylist()
    for row in rows:
        known = OLDER.get((row["lexical"], (row["datatype"] or "").removeprefix(XSD)))
        if known is not None:
            row["double"], row["decimal"] = known
    return pa.Table.from_pylist(rows, terms.schema)


def test_columns_are_those_of_today(engine: Engine) -> None:
    tokens = [f'"{text}"^^<{XSD}{name}>' for text, name in [*OLDER, *SAME]] + ['"a"', '"a"@en', "<http://e/a>"]
    ids = [FIRST_LITERAL + place for place in range(len(tokens) - 1)] + [FIRST_LITERAL - 1]
    engine.load("token", pa.table({"id": ids, "token": tokens}))
    rest = "FALSE AS ill_typed, CAST(NULL AS STRING) AS canonical, CAST(NULL AS BIGINT) AS value"
    engine.create("today", f"SELECT t.*, {rest} FROM ({term_sql(engine.dialect, 'token')}) t")
    stored = older(engine.query(f"SELECT {TERM.select} FROM today"))
    engine.load("older", stored)

    def read(source: str) -> str:
        return str(engine.rows(f"SELECT {TERM.select} FROM {source} t ORDER BY id"))  # as texts: NaN is NaN

    today = read("today")
    assert read("older") != today
    assert read(f"({corrected_sql(engine.dialect, 'older')})") == today


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    """A store of format 3."""
    path, data = tmp_path / "kg", tmp_path / "data.nt"
    lines = (f'<http://e/s> <http://e/p> "{text}"^^<{XSD}{name}> .\n' for text, name in OLDER)
    data.write_text("".join(lines))
    with Store.create(path, rules=[]) as store:
        store.load(data)
    for file in (path / "data").glob("term-*.parquet"):
        pq.write_table(older(pq.read_table(file)), file)
    (path / "triplake.json").write_text('{"format": 3}')
    for number in Versions(path).numbers():
        manifest = Path(path, Versions(path).file(number))
        held = json.loads(manifest.read_text()) | {"format": 3}
        del held["checksum"], held["current_numbers"]
        for table in held["tables"].values():
            for part in table["files"]:
                file = path / "data" / part["path"]
                part |= {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        manifest.write_text(json.dumps(held))
    return path


def check(store: Store) -> None:
    numbers = store.query("SELECT ?o { ?s ?p ?o FILTER(isNumeric(?o)) }")
    assert len(list(numbers)) == 3
    assert len(list(store.query(f"SELECT ?o {{ ?s ?p ?o FILTER(?o = '0.1'^^<{XSD}float>) }}"))) == 1


def test_a_store_of_format_3(kg: Path) -> None:
    """Its queries are right as it is, after a change in memory, and after the closure is computed from scratch."""
    with Store.open(kg) as store:
        check(store)
        store.sparql_update('INSERT DATA { <http://e/t> <http://e/q> "x" }')
        check(store)
    assert json.loads((kg / "triplake.json").read_text())["format"] == FORMAT
    with Store.open(kg) as store:
        check(store)
        store.materialise()
        check(store)
    with Store.open(kg) as store:
        store.compact()
        check(store)
        assert not Versions(kg).read().current_numbers
