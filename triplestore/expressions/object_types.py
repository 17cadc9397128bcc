"""Refine stored values by the types of objects (`triplestore.dictionary.object_types`): parts that are NULL in every
row, and those that are the same."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from triplestore.dictionary.object_types import BOUNDS, EXACT, INTEGERS, MOMENTS, NUMBERS, TEXTS, ZONED, ObjectType
from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import Known, Value, known_of, stored
from triplestore.model.terms import RDF, XSD


def refined(value: Value, types: Collection[ObjectType], nullable: bool) -> Value:
    """A stored value that is of one of some types, none of them `OTHER`, in every row that has one. nullable: some may
    have none."""
    kinds = frozenset(types)

    def part(sql: str, *of: ObjectType) -> str:
        return NULL if kinds.isdisjoint(of) else sql

    names = {_DATATYPES.get(kind) for kind in kinds}
    (name,) = names if len(names) == 1 else (None,)
    kind = value.kind
    if ObjectType.RESOURCE not in kinds:
        kind = f"CASE WHEN {value.id} IS NOT NULL THEN 3 END" if nullable else "3"
    found = replace(
        value,
        kind=kind,
        datatype=value.datatype if name is None else f"'{name}'",
        lang=part(value.lang, ObjectType.TAGGED),
        rank=part(value.rank, *NUMBERS),
        decimal=part(value.decimal, *EXACT),
        inexact=part(value.inexact, *NUMBERS),
        micros=part(value.micros, *MOMENTS),
        rest=NULL,
    )
    numbers = kinds & NUMBERS
    if numbers:
        found = replace(found, exact=numbers <= EXACT)
        if numbers <= BOUNDS.keys():
            most, scale = (max(column) for column in zip(*(BOUNDS[kind] for kind in numbers), strict=True))
            found = replace(found, most=most, scale=scale, canonical=numbers <= _CANONICAL)
    if kinds <= NUMBERS:
        ranks = {_OF_TYPE.get(kind, "1") for kind in kinds}
        return replace(found, static="number", rank=ranks.pop() if len(ranks) == 1 else found.rank)
    if kinds <= MOMENTS:
        zoned = kinds <= ZONED if kinds <= ZONED or kinds.isdisjoint(ZONED) else None
        return replace(found, static="quantity", zoned=zoned)
    if kinds <= TEXTS:
        return replace(found, static="string" if kinds == {ObjectType.STRING} else "text")
    if kinds == {ObjectType.BOOLEAN}:
        return replace(found, static="boolean", truth=f"{found.text} IN ('true', '1')")
    return replace(found, static="node") if kinds == {ObjectType.RESOURCE} else found


_DATATYPES: Final = {
    **dict.fromkeys(INTEGERS, XSD + "integer"),
    ObjectType.DECIMAL_9: XSD + "decimal",
    ObjectType.DECIMAL: XSD + "decimal",
    ObjectType.FLOAT: XSD + "float",
    ObjectType.DOUBLE: XSD + "double",
    ObjectType.BOOLEAN: XSD + "boolean",
    ObjectType.STRING: XSD + "string",
    ObjectType.TAGGED: RDF + "langString",
    ObjectType.DATE_TIME: XSD + "dateTime",
    ObjectType.ZONED_DATE_TIME: XSD + "dateTime",
    ObjectType.DATE: XSD + "date",
    ObjectType.ZONED_DATE: XSD + "date",
}
"""The datatypes of the types that have one."""

_CANONICAL: Final = frozenset({ObjectType.INTEGER_9, ObjectType.INTEGER_18})

_OF_TYPE: Final = {
    **{ObjectType.DECIMAL_9: "2", ObjectType.DECIMAL: "2"},
    **{ObjectType.FLOAT: "3", ObjectType.DOUBLE: "4"},
}
"""The rank of the numbers of a type, where it is not 1."""


def known_types(types: Collection[ObjectType]) -> Known | None:
    """The facts that hold of all tokens of some types."""
    found = refined(stored(str, token=False), types, nullable=True)
    return known_of(found)
