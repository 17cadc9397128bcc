"""The types of terms: what they say of the columns of the dictionary."""

from __future__ import annotations

import re

import pyarrow as pa

from tests.support.expression_random import POOLS, UNKNOWN
from triplestore.dictionary.object_types import ObjectType, plain_type, type_sql
from triplestore.dictionary.term_rows import term_sql
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s, strings
from triplestore.expressions.decoding import derived
from triplestore.expressions.vectorised import register
from triplestore.model.terms import FIRST_LITERAL, XSD, split_literal

TERMS = [token for pools in POOLS.values() for pool in pools for token in pool if token[0] == '"'] + UNKNOWN
TERMS += [f'" 7 "^^<{XSD}{name}>' for name in ("integer", "decimal", "double", "boolean", "date")]
TERMS += [f'"{text}"^^<{XSD}integer>' for text in ("999999999", "1" * 10, "1" * 18, "-" + "1" * 19, "1" * 20, "1" * 21)]
TERMS += [f'"2020-01-01T00:00:00Z\n"^^<{XSD}dateTime>', f'"0000-01-01"^^<{XSD}date>', '"a"@ar--rtl', '"\n"']
TERMS += [f'"2020-02-30T00:00:00"^^<{XSD}dateTime>', f'"1e400"^^<{XSD}double>', f'"2020-01-01Z"^^<{XSD}dateTimeStamp>']

EXACT = {
    *(ObjectType.INTEGER_9, ObjectType.INTEGER_18, ObjectType.INTEGER),
    *(ObjectType.DERIVED_INTEGER, ObjectType.DECIMAL_9, ObjectType.DECIMAL),
}
NUMBERS = {
    **dict.fromkeys(EXACT, 1),
    ObjectType.DECIMAL_9: 2,
    ObjectType.DECIMAL: 2,
    ObjectType.FLOAT: 3,
    ObjectType.DOUBLE: 4,
}
MOMENTS = {ObjectType.DATE_TIME, ObjectType.ZONED_DATE_TIME, ObjectType.DATE, ObjectType.ZONED_DATE}


def test_types_tell_where_the_value_is(engine: Engine) -> None:
    """And the type that a token alone tells is the same."""
    register(engine)
    terms = list(dict.fromkeys(TERMS))
    ids = range(FIRST_LITERAL, FIRST_LITERAL + len(terms))
    with engine.scratch() as scratch:
        tokens = scratch.load("tokens", pa.table({"id": int64s(ids), "token": strings(terms)}))
        table = scratch.create("terms", term_sql(engine.dialect, tokens))
        source = derived(engine.dialect, table, ["rank", "rest"])
        columns = "datatype, lang, double, decimal, micros, rank, rest"
        rows = engine.rows(f"SELECT {type_sql(engine.dialect, 't')} AS type, {columns} FROM {source} t ORDER BY id")
    met = set()
    for token, (number, datatype, lang, double, decimal, micros, rank, rest) in zip(terms, rows, strict=True):
        kind, name = ObjectType(number), datatype.removeprefix(XSD)
        met.add(kind)
        assert plain_type(token) in (None, kind), token
        assert (lang is not None and "--" not in lang) == (kind is ObjectType.TAGGED), token
        if kind is ObjectType.OTHER:
            continue
        assert rest is None, token
        assert rank == NUMBERS.get(kind), token
        assert (decimal is not None) == (kind in EXACT), token
        assert (double is not None) == (kind in NUMBERS), token
        assert (micros is not None) == (kind in MOMENTS), token
        if kind in (ObjectType.INTEGER_9, ObjectType.INTEGER_18):
            assert split_literal(token)[0] == f"{decimal:.0f}", token
            assert abs(decimal) < 10 ** (9 * int(kind)), token
        if kind not in (ObjectType.DERIVED_INTEGER, ObjectType.TAGGED, ObjectType.OPAQUE):
            word = kind.name.partition("_")[0] if kind in EXACT else kind.name.removeprefix("ZONED_").replace("_", "")
            assert name.lower() == word.lower(), token
        if kind in MOMENTS:
            zoned = re.search("(Z|[+-]..:..)$", split_literal(token)[0]) is not None
            assert zoned == kind.name.startswith("ZONED"), token
    assert met == {*ObjectType} - {ObjectType.RESOURCE}
