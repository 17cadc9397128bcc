"""Rows of the dictionary made from tokens: those of names alone are as those of all terms, those of literals cut."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import MakeStore
from triplestore.dictionary.literals import settle
from triplestore.dictionary.term_rows import names_sql, term_sql
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s, strings
from triplestore.model.tables import TERM
from triplestore.model.terms import FIRST_BLANK, FIRST_IRI, FIRST_LITERAL, split_literal

NAMES = {
    FIRST_IRI: "<http://ex/a>",
    FIRST_IRI + 1: "<>",
    FIRST_IRI + 2: "<http://ex/é𝄞\\u0041>",
    FIRST_BLANK: "_:b1",
    FIRST_BLANK + 1: "_:1.2-x",
}


def test_names_are_rows_as_of_all_terms(engine: Engine) -> None:
    table = pa.table({"id": pa.array(NAMES, pa.int64()), "token": pa.array(NAMES.values(), pa.string())})
    with engine.scratch() as scratch:
        tokens = scratch.load("tokens", table)
        engine.create("plain", names_sql(engine.dialect, tokens))
        engine.create("whole", term_sql(engine.dialect, tokens))
        settle(engine, "whole", "whole", few=False)
    columns = ", ".join(TERM.names)
    plain, whole = (engine.query(f"SELECT {columns} FROM {name} ORDER BY id") for name in ("plain", "whole"))
    assert plain.to_pylist() == whole.to_pylist()
    assert plain.schema.types == whole.schema.types


ENDS = ("", "@en--ltr", "^^<http://ex/é\u0600>")
LITERALS = [f'"a{chr(c)}"{ENDS[c % 3]}' for c in (*range(0xD800), *range(0xE000, 0x11100))]


def test_a_literal_may_end_in_any_character(engine: Engine) -> None:
    """Some signs of Arabic and other scripts are shown as one with what follows them, a quote too."""
    ids = range(FIRST_LITERAL, FIRST_LITERAL + len(LITERALS))
    with engine.scratch() as scratch:
        tokens = scratch.load("tokens", pa.table({"id": int64s(ids), "token": strings(LITERALS)}))
        rows = engine.rows(f"SELECT lexical, datatype, lang FROM ({term_sql(engine.dialect, tokens)}) t ORDER BY id")
    assert rows == [split_literal(token) for token in LITERALS]


@pytest.mark.parametrize("names", [40, 600])
def test_pages_of_the_dictionary_do_not_overlap(make_store: MakeStore, names: int) -> None:
    """IRIs that begin others are numbered before those, so that one is looked for on one page."""
    store = make_store(["none"])
    written = {*(store.path / "data").glob("term-*")}
    store.load(data="".join(f"<urn:x{n}> <urn:p> <urn:x{n}/y> .\n" for n in range(names // 2)), format="nt")
    (file,) = {*(store.path / "data").glob("term-*")} - written
    lexicals = pq.read_table(file)["lexical"].to_pylist()
    assert len(lexicals) > names
    assert lexicals == sorted(lexicals)
