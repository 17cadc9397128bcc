"""Values of SPARQL expressions as SQL text: one `Value` is a handful of SQL expressions over the same row.

A NULL kind is "error or unbound", and every operator passes it on, so that SPARQL's three-valued logic is SQL's. Where
the type is known while compiling (`static`), comparisons shrink to one SQL comparison. Semantics: SPARQL 1.1, section
17; numbers of integer and decimal types are exact (DECIMAL(38,18): twenty digits before the point, eighteen behind;
what does not fit is an error), floats and doubles are IEEE; times without a zone count as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from triplestore.dictionary import DECIMALS, INSTANTS, INTEGERS, micros_sql
from triplestore.engine.dialect import Dialect
from triplestore.expressions.decimals import NULL
from triplestore.terms import FIRST_BLANK, FIRST_LITERAL, RDF, XSD, Kind, kind_of_token, split_literal

STRING: Final = f"'{XSD}string'"
LANG_STRING: Final = f"'{RDF}langString'"
BOOLEAN: Final = f"'{XSD}boolean'"
INTEGER: Final = r"[+-]?[0-9]+"
DECIMAL: Final = r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)"
DOUBLE: Final = DECIMAL + r"([eE][+-]?[0-9]+)?|[+-]?INF|NaN"
_EXACT: Final = r"[+-]?0*([0-9]{1,20}([.][0-9]{0,18}0*)?|[.][0-9]{1,18}0*)"
_RANKS: Final = ("integer", "decimal", "float", "double")


@dataclass(frozen=True, slots=True)
class Value:
    """One term per row. kind: 1 IRI, 2 blank node, 3 literal, NULL error; the rest as columns of `tables.TERM`.

    rank: 1 integer, 2 decimal, 3 float, 4 double; NULL for anything but a well-formed number. static: what is known
    of every non-error row: any, iri, boolean, number, string (xsd:string), text (string or language-tagged). truth: the
    SQL condition of a boolean. id: the term's id, where the value is a stored term.
    """

    kind: str
    lexical: str
    datatype: str
    lang: str = NULL
    rank: str = NULL
    decimal: str = NULL
    double: str = NULL
    micros: str = NULL
    static: str = "any"
    truth: str | None = None
    id: str | None = None
    constant: str | None = None

    @property
    def computed(self) -> Value:
        """The value as one that has no id."""
        return replace(self, id=None, constant=None)

    @property
    def bound(self) -> str:
        """Whether the row has a value at all."""
        return f"{self.id} IS NOT NULL" if self.id is not None else f"{self.kind} IS NOT NULL"


ERROR: Final = Value("CAST(NULL AS INTEGER)", "CAST(NULL AS STRING)", "CAST(NULL AS STRING)", id="CAST(NULL AS BIGINT)")


def stored(column: Callable[[str], str], token: bool) -> Value:
    """A variable's value. `column` qualifies a name of the variable's columns (id, lexical, datatype ...)."""
    number = column("id")
    kind = (
        f"CASE WHEN {number} < {FIRST_BLANK} THEN 1 WHEN {number} < {FIRST_LITERAL} THEN 2 "
        f"WHEN {number} IS NOT NULL THEN 3 END"
    )
    datatype, double = column("datatype"), column("double")
    rank = (
        f"CASE WHEN {double} IS NULL THEN NULL WHEN {datatype} IN {_list(INTEGERS)} THEN 1 "
        f"WHEN {datatype} = '{XSD}decimal' THEN 2 WHEN {datatype} = '{XSD}float' THEN 3 ELSE 4 END"
    )
    return Value(
        kind,
        column("lexical"),
        datatype,
        column("lang"),
        rank,
        column("decimal"),
        double,
        column("micros"),
        id=None if token else number,
    )


def constant(dialect: Dialect, token: str, number: int) -> Value:
    """A constant's value; `number` is its id (see `sparql.constants`)."""
    kind = kind_of_token(token)
    if kind != Kind.LITERAL:
        text = dialect.string(token[1:-1] if kind == Kind.IRI else token[2:])
        return Value(str(int(kind)), text, NULL, static="iri", id=str(number), constant=token)
    lexical, datatype, lang = split_literal(token)
    text = dialect.string(lexical)
    found = Value("3", text, dialect.string(datatype), id=str(number), constant=token)
    if lang is not None:
        return replace(found, lang=dialect.string(lang), static="text")
    if datatype == XSD + "string":
        return replace(found, static="string")
    if datatype == XSD + "boolean" and lexical in ("true", "1", "false", "0"):
        return replace(found, static="boolean", truth="TRUE" if lexical in ("true", "1") else "FALSE")
    rank, exact, double = _number_of(lexical, datatype)
    if rank:
        decimal = f"CAST('{exact}' AS DECIMAL(38,18))" if exact is not None else NULL
        return replace(found, rank=str(rank), decimal=decimal, double=f"CAST('{double}' AS DOUBLE)", static="number")
    if datatype in INSTANTS:
        return replace(found, micros=instant(dialect, text, datatype == XSD + "date"))
    return found


def _number_of(lexical: str, datatype: str) -> tuple[int, str | None, str | None]:
    """(rank, exact text or None, double text) of a numeric constant; rank 0 if it is none."""
    rank = 1 if datatype in INTEGERS else 2 if datatype in DECIMALS else 3 if datatype == XSD + "float" else 4
    if rank == 4 and datatype != XSD + "double":
        return 0, None, None
    text = lexical.strip(" \t\r\n")
    if not re.fullmatch({1: INTEGER, 2: DECIMAL}.get(rank, DOUBLE), text):
        return 0, None, None
    double = text.replace("INF", "Infinity") if "INF" in text or "NaN" in text else repr(float(text))
    return rank, text if rank < 3 and re.fullmatch(_EXACT, text) else None, double


def typed(dialect: Dialect, lexical: str, datatype: str) -> Value:
    """The literal of an SQL text and a datatype's IRI, computed both; NULL in either is an error."""
    text = dialect.trim(lexical)
    whole = f"{datatype} IN {_list(INTEGERS)} AND {dialect.matches(text, INTEGER)}"
    exact = f"({whole} OR {datatype} = '{XSD}decimal' AND {dialect.matches(text, DECIMAL)})"
    rounded = f"({datatype} IN ('{XSD}double', '{XSD}float') AND {dialect.matches(text, DOUBLE)})"
    rank = (
        f"CASE WHEN {whole} THEN 1 WHEN {exact} THEN 2 WHEN {rounded} THEN "
        f"CASE WHEN {datatype} = '{XSD}float' THEN 3 ELSE 4 END END"
    )
    decimal = f"CASE WHEN {exact} AND {dialect.matches(text, _EXACT)} THEN TRY_CAST({text} AS DECIMAL(38,18)) END"
    micros = " ".join(
        f"WHEN {datatype} = '{XSD}{name}' THEN {instant(dialect, text, name == 'date')}"
        for name in ("dateTime", "dateTimeStamp", "date")
    )
    return Value(
        f"CASE WHEN ({lexical}) IS NOT NULL AND ({datatype}) IS NOT NULL THEN 3 END",
        lexical,
        datatype,
        rank=rank,
        decimal=decimal,
        double=f"CASE WHEN {exact} OR {rounded} THEN {dialect.double(text)} END",
        micros=f"CASE {micros} END",
    )


def boolean(sql: str) -> Value:
    """The xsd:boolean of an SQL condition; NULL is an error."""
    return Value(
        f"CASE WHEN ({sql}) IS NOT NULL THEN 3 END",
        f"CASE WHEN ({sql}) THEN 'true' WHEN NOT ({sql}) THEN 'false' END",
        BOOLEAN,
        static="boolean",
        truth=sql,
    )


def string(sql: str, lang: str = NULL) -> Value:
    """The string of an SQL text; `lang` (an SQL text, NULL where there is none) makes it language-tagged."""
    kind = f"CASE WHEN ({sql}) IS NOT NULL THEN 3 END"
    if lang == NULL:
        return Value(kind, sql, STRING, static="string")
    datatype = f"CASE WHEN ({lang}) IS NULL THEN {STRING} ELSE {LANG_STRING} END"
    return Value(kind, sql, datatype, lang, static="text")


def iri(sql: str) -> Value:
    """The IRI of an SQL text."""
    return Value(f"CASE WHEN ({sql}) IS NOT NULL THEN 1 END", sql, NULL, static="iri")


def number(dialect: Dialect, rank: str, decimal: str, double: str) -> Value:
    """A number: `decimal` counts for ranks 1 and 2, `double` for 3 and 4."""
    if rank in ("1", "2"):
        kind = f"CASE WHEN ({decimal}) IS NOT NULL THEN 3 END"
        lexical = exact_text(decimal)
        datatype = f"'{XSD}{_RANKS[int(rank) - 1]}'"
    elif rank in ("3", "4"):
        kind = f"CASE WHEN ({double}) IS NOT NULL THEN 3 END"
        lexical, decimal = double_text(dialect, double), NULL
        datatype = f"'{XSD}{_RANKS[int(rank) - 1]}'"
    else:
        kind = (
            f"CASE WHEN ({rank}) <= 2 THEN CASE WHEN ({decimal}) IS NOT NULL THEN 3 END "
            f"WHEN ({double}) IS NOT NULL THEN CASE WHEN ({rank}) IS NOT NULL THEN 3 END END"
        )
        lexical = f"CASE WHEN ({rank}) <= 2 THEN {exact_text(decimal)} ELSE {double_text(dialect, double)} END"
        names = " ".join(f"WHEN {place + 1} THEN '{XSD}{name}'" for place, name in enumerate(_RANKS))
        datatype = f"CASE {rank} {names} END"
    return Value(kind, lexical, datatype, NULL, rank, decimal, double, static="number")


def integer(dialect: Dialect, sql: str) -> Value:
    """The xsd:integer of an SQL integer."""
    exact = f"CAST({sql} AS DECIMAL(38,18))"
    return number(dialect, "1", exact, f"CAST({sql} AS DOUBLE)")


def exact_text(decimal: str) -> str:
    """The canonical text of a DECIMAL(38,18): no zeros at the end, no point without digits behind it."""
    return f"regexp_replace(CAST({decimal} AS STRING), '[.]?0+$', '')"


def double_text(dialect: Dialect, double: str) -> str:
    """The canonical text of a DOUBLE (XML Schema Datatypes 1.0, 3.2.5.2), from either engine's shortest text."""
    text = f"lower(CAST({double} AS STRING))"
    whole, fraction = "regexp_extract(t, '([0-9]+)', 1)", "regexp_extract(t, '[.]([0-9]+)', 1)"
    exponent = "coalesce(TRY_CAST(regexp_extract(t, 'e(.+)$', 1) AS INTEGER), 0)"
    digits = f"concat({whole}, {fraction})"
    stripped = f"regexp_replace({digits}, '^0+', '')"
    power = f"({exponent} + length({whole}) - 1 - (length({digits}) - length({stripped})))"
    tail = f"regexp_replace(substr({stripped}, 2), '0+$', '')"
    body = (
        f"CASE WHEN t IS NULL THEN NULL WHEN t IN ('inf', 'infinity') THEN 'INF' "
        f"WHEN t IN ('-inf', '-infinity') THEN '-INF' WHEN t LIKE '%nan' THEN 'NaN' "
        f"ELSE concat(CASE WHEN substr(t, 1, 1) = '-' THEN '-' ELSE '' END, CASE WHEN {stripped} = '' THEN '0.0E0' "
        f"ELSE concat(substr({stripped}, 1, 1), '.', CASE WHEN {tail} = '' THEN '0' ELSE {tail} END, "
        f"'E', CAST({power} AS STRING)) END) END"
    )
    return dialect.let("t", text, body)


def instant(dialect: Dialect, text: str, date: bool) -> str:
    """An xsd:dateTime (or xsd:date) text as microseconds since 1970 UTC; NULL where it is none."""
    whole = f"concat(substr({text}, 1, 10), 'T00:00:00', substr({text}, 11))" if date else text
    return f"CASE WHEN {dialect.matches(text, DATE if date else DATE_TIME)} THEN {micros_sql(dialect, whole)} END"


DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?"
DATE_TIME: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}([.][0-9]{1,6}0*)?|24:00:00([.]0+)?)"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)


def token(value: Value) -> str:
    """The token of a value (`triplestore.terms`), NULL for an error."""
    if value.static == "iri" and value.constant is None:
        return _joined(LESS, value.lexical, CLOSE)
    if value.static == "string":
        return _joined(QUOTE, value.lexical, QUOTE)
    if value.static in ("boolean", "number"):
        return _joined(QUOTE, value.lexical, TYPE, value.datatype, CLOSE)
    literal = (
        f"CASE WHEN {value.lang} IS NOT NULL THEN {_joined(QUOTE, value.lexical, TAG, value.lang)} "
        f"WHEN {value.datatype} = {STRING} THEN {_joined(QUOTE, value.lexical, QUOTE)} "
        f"ELSE {_joined(QUOTE, value.lexical, TYPE, value.datatype, CLOSE)} END"
    )
    if value.static == "text":
        return f"CASE WHEN {value.kind} = 3 THEN {literal} END"
    return (
        f"CASE {value.kind} WHEN 1 THEN {_joined(LESS, value.lexical, CLOSE)} "
        f"WHEN 2 THEN {_joined(BLANK, value.lexical)} WHEN 3 THEN {literal} END"
    )


QUOTE: Final = "'\"'"
TAG: Final = "'\"@'"
TYPE: Final = "'\"^^<'"
LESS: Final = "'<'"
CLOSE: Final = "'>'"
BLANK: Final = "'_:'"


def _joined(*parts: str) -> str:
    return " || ".join(f"({part})" if not part.startswith("'") else part for part in parts)


def _list(texts: tuple[str, ...]) -> str:
    return f"({', '.join(repr(text) for text in texts)})"


def string_literal(value: Value) -> str:
    """The text of a string or language-tagged string; NULL for anything else."""
    if value.static in ("string", "text"):
        return value.lexical
    return f"CASE WHEN {value.datatype} IN ({STRING}, {LANG_STRING}) THEN {value.lexical} END"


def well_formed_boolean(value: Value) -> str:
    """The SQL truth of an xsd:boolean literal; NULL for anything else."""
    if value.truth is not None:
        return value.truth
    return (
        f"CASE WHEN {value.datatype} = {BOOLEAN} THEN CASE WHEN {value.lexical} IN ('true', '1') THEN TRUE "
        f"WHEN {value.lexical} IN ('false', '0') THEN FALSE END END"
    )


def truth(value: Value) -> str:
    """The effective boolean value (SPARQL 17.2.2): an SQL condition, NULL for a type error."""
    if value.truth is not None:
        return value.truth
    if value.static == "string":
        return f"({value.lexical}) <> ''"
    if value.static == "iri":
        return "CAST(NULL AS BOOLEAN)"
    number = f"({value.double}) <> 0 AND NOT isnan({value.double})"
    if value.static == "number":
        return f"CASE WHEN {value.rank} <= 2 THEN ({value.decimal}) <> 0 ELSE {number} END"
    return (
        f"CASE WHEN {value.datatype} = {BOOLEAN} THEN {value.lexical} IN ('true', '1') "
        f"WHEN {value.datatype} = {STRING} THEN {value.lexical} <> '' WHEN {value.rank} IS NOT NULL THEN {number} "
        f"WHEN {value.datatype} IN {_list((*DECIMALS, XSD + 'float', XSD + 'double'))} THEN FALSE END"
    )
