"""Types of the objects of triples, as far as they make the SQL of expressions short.

A type tells which columns of TERM hold the value of a term, and what they may be. A store keeps the set of types that
the objects of each predicate may have, in its table `object_type`, so that a query knows the type of a variable.

The set of a predicate p has the type of the object of each fact `s p o` and of each asserted triple `s p o`. It may
have more: types that removed triples had stay in it until the sets are made again. One with `OTHER`, of which nothing
is known, may lack others. A version without the table, as programs wrote before there was one, says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Final

from triplestore.dictionary.term_rows import INSTANTS, ZONE
from triplestore.engine import Queries
from triplestore.engine.dialect import Dialect
from triplestore.engine.sql import Spelled
from triplestore.model.tables import ASSERTED, FACT, OBJECT_TYPE
from triplestore.model.terms import FIRST_LITERAL, FIRST_TRIPLE, RDF, XSD, split_literal


class ObjectType(IntEnum):
    """A type, by the number that stores keep: the list grows at its end only.

    An integer has up to 18 digits: an xsd:integer in canonical form of up to 9 or 18, one in another form, or one of a
    derived datatype. A decimal is an xsd:decimal that the column `decimal` holds: one of up to 9 digits before and 9
    behind the point, or any other. A moment has a value in the column `micros`, and a time zone or none.
    """

    OTHER = 0
    """Any other term: a triple term, an integer of more digits, a duration ..."""
    INTEGER_9 = 1
    INTEGER_18 = 2
    INTEGER = 3
    DERIVED_INTEGER = 4
    DECIMAL_9 = 5
    DECIMAL = 6
    FLOAT = 7
    DOUBLE = 8
    BOOLEAN = 9
    STRING = 10
    TAGGED = 11
    """An rdf:langString."""
    DATE_TIME = 12
    ZONED_DATE_TIME = 13
    DATE = 14
    ZONED_DATE = 15
    RESOURCE = 16
    """An IRI or a blank node."""
    OPAQUE = 17
    """A literal without a language that is neither a number nor a moment nor of a datatype of times and durations: one
    of a datatype that has none, or an ill-typed one."""


INTEGERS: Final = frozenset({ObjectType.INTEGER_9, ObjectType.INTEGER_18, ObjectType.INTEGER})
EXACT: Final = INTEGERS | {ObjectType.DERIVED_INTEGER, ObjectType.DECIMAL_9, ObjectType.DECIMAL}
NUMBERS: Final = EXACT | {ObjectType.FLOAT, ObjectType.DOUBLE}
TEXTS: Final = frozenset({ObjectType.STRING, ObjectType.TAGGED})
ZONED: Final = frozenset({ObjectType.ZONED_DATE_TIME, ObjectType.ZONED_DATE})
MOMENTS: Final = ZONED | {ObjectType.DATE_TIME, ObjectType.DATE}

SPELLED_ONCE: Final = frozenset(
    {ObjectType.INTEGER_9, ObjectType.INTEGER_18, ObjectType.STRING, ObjectType.DATE, ObjectType.RESOURCE}
)
"""Types of which no two terms have equal values."""

BOUNDS: Final = {
    ObjectType.INTEGER_9: (10**9 - 1, 0),
    **dict.fromkeys((ObjectType.INTEGER_18, ObjectType.INTEGER, ObjectType.DERIVED_INTEGER), (10**18 - 1, 0)),
    ObjectType.DECIMAL_9: (10**9 - 1, 9),
}
"""The greatest whole number of a type, and how many digits there are behind the point."""

_TIMES: Final = (
    *INSTANTS,
    *(XSD + name for name in ("time", "duration", "dayTimeDuration", "yearMonthDuration")),
)
"""The datatypes of times and durations."""

_DIGITS: Final = "0|-?[1-9][0-9]{{0,{}}}"
_DECIMAL_9: Final = "[+-]?[0-9]{0,9}([.][0-9]{0,9})?"
_ZONED: Final = ZONE.removesuffix("?")
_DAY: Final = "[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
_CLOCK: Final = "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"

_PLAIN: Final = {
    XSD + "integer": ((_DIGITS.format(8), ObjectType.INTEGER_9), (_DIGITS.format(17), ObjectType.INTEGER_18)),
    XSD + "decimal": (
        ("-?[0-9]{1,9}([.][0-9]{1,9})?", ObjectType.DECIMAL_9),
        ("-?[1-9][0-9]{9,19}([.][0-9]{1,18})?", ObjectType.DECIMAL),
    ),
    XSD + "double": (("-?[0-9]{1,15}([.][0-9]{1,15})?([eE]-?[0-9]{1,2})?", ObjectType.DOUBLE),),
    XSD + "boolean": (("true|false|1|0", ObjectType.BOOLEAN),),
    XSD + "dateTime": (
        (_DAY + _CLOCK, ObjectType.DATE_TIME),
        (_DAY + _CLOCK + _ZONED, ObjectType.ZONED_DATE_TIME),
    ),
    XSD + "date": ((_DAY, ObjectType.DATE),),
}
"""The lexical forms of which it is clear, without the columns of TERM, what type the literal has."""

_COMPILED: Final = {
    datatype: tuple((re.compile(form), found) for form, found in forms) for datatype, forms in _PLAIN.items()
}


def plain_type(token: str) -> ObjectType | None:
    """The type of a term, None where only the columns of TERM tell it."""
    if token[0] != '"':
        return ObjectType.OTHER if token[0] == "(" else ObjectType.RESOURCE
    lexical, datatype, _ = split_literal(token)
    if datatype == XSD + "string":
        return ObjectType.STRING
    if datatype == RDF + "langString":
        return ObjectType.TAGGED
    forms = _COMPILED.get(datatype, ())
    return next((found for form, found in forms if form.fullmatch(lexical)), None)


def type_sql(dialect: Dialect, term: str) -> str:
    """The type (`ObjectType`) of a row of TERM, given as an alias, as an SQL expression."""

    def moment(name: str, plain: ObjectType, zoned: ObjectType) -> str:
        zone = f"{dialect.matches(f'{term}.lexical', '.*' + _ZONED)}"
        bare = f"{dialect.matches(f'{term}.lexical', '.*[0-9]')}"
        return (
            f"WHEN {term}.datatype = '{XSD}{name}' THEN "
            f"CASE WHEN {zone} THEN {int(zoned)} WHEN {bare} THEN {int(plain)} ELSE {int(ObjectType.OTHER)} END"
        )

    def floating(name: str, found: ObjectType) -> str:
        return f"WHEN {term}.datatype = '{XSD}{name}' AND {term}.double IS NOT NULL THEN {int(found)}"

    short, long = (dialect.matches(f"{term}.lexical", _DIGITS.format(most)) for most in (8, 17))
    integers = (
        f"CASE WHEN {short} THEN {int(ObjectType.INTEGER_9)} WHEN {long} THEN {int(ObjectType.INTEGER_18)} "
        f"ELSE {int(ObjectType.INTEGER)} END"
    )
    few = dialect.matches(f"{term}.lexical", _DECIMAL_9)
    decimals = f"CASE WHEN {few} THEN {int(ObjectType.DECIMAL_9)} ELSE {int(ObjectType.DECIMAL)} END"
    exact = (
        f"CASE WHEN {term}.datatype = '{XSD}decimal' THEN {decimals} "
        f"WHEN NOT ({term}.decimal BETWEEN -{'9' * 18} AND {'9' * 18}) THEN {int(ObjectType.OTHER)} "
        f"WHEN {term}.datatype = '{XSD}integer' THEN {integers} "
        f"ELSE {int(ObjectType.DERIVED_INTEGER)} END"
    )
    moments = " ".join(
        (
            moment("dateTime", ObjectType.DATE_TIME, ObjectType.ZONED_DATE_TIME),
            moment("date", ObjectType.DATE, ObjectType.ZONED_DATE),
        )
    )
    return (
        f"CASE WHEN {term}.id < {FIRST_LITERAL} THEN {int(ObjectType.RESOURCE)} "
        f"WHEN {term}.id >= {FIRST_TRIPLE} THEN {int(ObjectType.OTHER)} "
        f"WHEN {term}.datatype = '{XSD}string' THEN {int(ObjectType.STRING)} "
        f"WHEN {term}.datatype = '{RDF}langString' THEN {int(ObjectType.TAGGED)} "
        f"WHEN {term}.decimal IS NOT NULL THEN {exact} "
        f"{floating('double', ObjectType.DOUBLE)} {floating('float', ObjectType.FLOAT)} "
        f"WHEN {term}.datatype = '{XSD}boolean' AND {term}.lexical IN ('true', 'false', '1', '0') "
        f"THEN {int(ObjectType.BOOLEAN)} "
        f"WHEN {term}.micros IS NOT NULL THEN CASE {moments} ELSE {int(ObjectType.OTHER)} END "
        f"WHEN {term}.lang IS NULL AND {term}.double IS NULL AND {term}.datatype NOT IN {dialect.listed(_TIMES)} "
        f"THEN {int(ObjectType.OPAQUE)} ELSE {int(ObjectType.OTHER)} END"
    )


Types = Mapping[int, frozenset[ObjectType]]
"""The types that the objects of each predicate (an id) may have; a predicate that is not in it has no objects."""


def read(engine: Queries) -> Types:
    """Read the table `object_type`."""
    return grouped(engine.rows(f"SELECT {OBJECT_TYPE.select} FROM {OBJECT_TYPE.name}"))


def grouped(pairs: Iterable[tuple[int, int]]) -> Types:
    """Types by predicate, of pairs (predicate, type)."""
    found: dict[int, set[ObjectType]] = {}
    for predicate, number in pairs:
        found.setdefault(predicate, set()).add(ObjectType(number))
    return {predicate: frozenset(types) for predicate, types in found.items()}


def extended(types: Types, pairs: Collection[tuple[int, int]]) -> Types:
    """Types together with more pairs (predicate, type)."""
    more = grouped(pairs)
    return {**types, **{predicate: types.get(predicate, frozenset()) | more[predicate] for predicate in more}}


def counted(engine: Queries, facts: str = FACT.name, asserted: str = ASSERTED.name) -> list[tuple[int, int]]:
    """The pairs (predicate, type) of the objects in the tables of the closure and of the asserted triples."""
    # A literal that is asserted is an object of `fact` itself, unless it is another form of one of equal value.
    forms = f"SELECT a.p, a.o FROM {asserted} a JOIN term v ON v.id = a.o WHERE v.value IS NOT NULL"
    return of_triples(engine, facts, f"({forms})")


def of_triples(engine: Queries, *tables: str) -> list[tuple[int, int]]:
    """The pairs (predicate, type) of the objects in some tables of triples."""
    literal, literals = (f"{column} >= {FIRST_LITERAL} AND {column} < {FIRST_TRIPLE}" for column in ("o", "t.id"))

    def sql(dialect: Dialect) -> str:
        typed = f"(SELECT t.id, {type_sql(dialect, 't')} AS type FROM term t WHERE {literals})"
        others = f"CASE WHEN o < {FIRST_LITERAL} THEN {int(ObjectType.RESOURCE)} ELSE {int(ObjectType.OTHER)} END"
        selects = [
            f"SELECT DISTINCT f.p, t.type FROM {table} f JOIN {typed} t ON t.id = f.o WHERE {literal} "
            f"UNION SELECT DISTINCT p, {others} FROM {table} g WHERE NOT ({literal})"
            for table in tables
        ]
        return " UNION ".join(selects)

    return [(predicate, number) for predicate, number in engine.rows(Spelled(engine.dialect, sql))]
