"""Values of SPARQL expressions as SQL text: one `Value` is a handful of SQL expressions over the same row.

A NULL kind is "error or unbound", and every operator passes it on, so that SPARQL's three-valued logic is SQL's. Where
the type is known while compiling (`static`), comparisons shrink to one SQL comparison. Semantics: SPARQL 1.1, section
17; numbers of integer and decimal types are exact, whatever their size: as DECIMAL(38,18) where that holds them (twenty
digits before the point, eighteen behind), else by `triplestore.expressions.exact`; floats and doubles are IEEE; times
without a zone count as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from triplestore.dictionary.datatypes import value_of
from triplestore.dictionary.term_rows import DECIMALS, INSTANTS, INTEGERS, unsigned_zero, within_sql
from triplestore.engine.dialect import Dialect
from triplestore.expressions import calendar, instants, numerals
from triplestore.expressions.decimals import NULL
from triplestore.expressions.instants import PLAIN, PLAIN_DATE
from triplestore.expressions.numerals import DECIMAL, DOUBLE, EXACT, INTEGER, key, key_sql
from triplestore.model.terms import (
    FIRST_BLANK,
    FIRST_LITERAL,
    FIRST_TRIPLE,
    RDF,
    XSD,
    Kind,
    kind_of_token,
    lexical_of,
    literal_token,
    split_literal,
)

STRING: Final = f"'{XSD}string'"
LANG_STRING: Final = f"'{RDF}langString'"
DIRECTIONAL: Final = f"'{RDF}dirLangString'"
TEXTS: Final = f"({STRING}, {LANG_STRING}, {DIRECTIONAL})"
BOOLEAN: Final = f"'{XSD}boolean'"
_RANKS: Final = ("integer", "decimal", "float", "double")


@dataclass(frozen=True, slots=True)
class Value:
    """One term per row. kind: 1 IRI, 2 blank node, 3 literal, 4 triple term, NULL error; the rest as in `tables.TERM`.

    rank: 1 integer, 2 decimal, 3 float, 4 double; NULL for anything but a well-formed number. decimal, micros: of exact
    numbers and instants that fit; `rest` tells those that do not, and times of day and durations (`numerals`,
    `instants`, `durations`). static: what is known of every non-error row: any, iri, node (IRI or blank node), boolean,
    number, quantity (number, time or duration), string (xsd:string), text (string or language-tagged). truth: the SQL
    condition of a boolean. id: the term's id, where the value is a stored term. made: of a computed time or duration,
    what `calendar.computed` gives. written: the SQL of its token, where there is one.

    text, inexact: the lexical form and the DOUBLE of a number. With `writer` set, rows may be computed numbers that
    have neither (the DOUBLE not if they are exact): `lexical` and `double` make them of the other parts, where they are
    asked for, which most numbers on the way to an answer never are.

    most, scale: every number is an integer or decimal, whose whole part is from -most to most, with no more than
    `scale` digits behind the point. small: SQL of the number as a DECIMAL that may be narrower than `decimal`, which is
    made of it. exact: every number is an integer or decimal that `decimal` holds. canonical: the lexical forms of all
    integers are. zoned: whether the times have a zone, where it is the same in every row.
    """

    kind: str
    text: str
    datatype: str
    lang: str = NULL
    rank: str = NULL
    decimal: str = NULL
    inexact: str = NULL
    micros: str = NULL
    rest: str = NULL
    static: str = "any"
    truth: str | None = None
    id: str | None = None
    constant: str | None = None
    writer: Dialect | None = None
    made: str | None = None
    written: str | None = None
    most: int | None = None
    scale: int = 0
    small: str | None = None
    exact: bool = False
    canonical: bool = False
    zoned: bool | None = None

    @property
    def lexical(self) -> str:
        """The lexical form."""
        if self.most is not None and self.scale == 0 and self.text == NULL:
            return f"CAST({self.narrow} AS STRING)"
        if self.writer is None:
            return self.text
        if self.static == "number" and self.is_exact:
            made = numerals.exact_text(self.writer, self.decimal)
        else:
            made = numerals.number_text(self.writer, self.rank, self.decimal, self.inexact, self.rest)
        return made if self.text == NULL else f"coalesce({self.text}, {made})"

    @property
    def double(self) -> str:
        """The nearest DOUBLE of a number."""
        if self.writer is None or self.rank in ("3", "4"):
            return self.inexact
        exact = self.writer.double(numerals.exact_string(self.writer, self.decimal, self.rest))
        if self.rank not in ("1", "2"):
            exact = f"CASE WHEN ({self.rank}) <= 2 THEN {exact} END"
        return exact if self.inexact == NULL else f"coalesce({self.inexact}, {exact})"

    @property
    def is_exact(self) -> bool:
        """Whether every number is an integer or decimal that the part `decimal` holds."""
        held = self.rest == NULL and self.decimal != NULL
        return self.exact or (self.static == "number" and self.rank in ("1", "2") and held)

    @property
    def least_rank(self) -> str:
        """The rank of the numbers, where it is the same of all; else SQL for it, NULL where the row is none."""
        return "1" if self.most is not None and self.scale == 0 and not self.rank.isdigit() else self.rank

    @property
    def digits(self) -> int:
        """Of a number with a bound (`most`): the digits that a DECIMAL needs for it."""
        assert self.most is not None
        return len(str(self.most)) + self.scale

    @property
    def narrow(self) -> str:
        """A number with a bound (`most`) as the narrowest DECIMAL there is."""
        return self.small or f"CAST({self.decimal} AS DECIMAL({self.digits},{self.scale}))"

    @property
    def plain(self) -> str:
        """An exact number as what is compared."""
        return self.small or self.decimal

    @property
    def is_number(self) -> str:
        """Whether the row is a well-formed number."""
        if self.static == "quantity":
            return f"({self.rank}) IS NOT NULL"
        return f"({self.kind}) IS NOT NULL" if self.writer is not None else f"({self.inexact}) IS NOT NULL"

    @property
    def is_instant(self) -> str:
        """Whether the row is a well-formed time."""
        if self.rest == NULL:
            return f"({self.micros}) IS NOT NULL"
        return f"(({self.micros}) IS NOT NULL OR coalesce(({self.rest}) LIKE 'p%', FALSE) AND ({self.rank}) IS NULL)"

    @property
    def is_duration(self) -> str:
        """Whether the row is a well-formed duration."""
        return "FALSE" if self.rest == NULL else f"coalesce(({self.rest}) < 'a', FALSE)"

    @property
    def is_temporal(self) -> str:
        """Whether the row is a well-formed time or duration."""
        if self.made is not None:
            return f"({self.made}) IS NOT NULL AND ({self.rank}) IS NULL"
        return f"(({self.micros}) IS NOT NULL OR ({self.rest}) IS NOT NULL AND ({self.rank}) IS NULL)"

    @property
    def explicit(self) -> Value:
        """The value with its lexical form and DOUBLE as parts."""
        return replace(self, text=self.lexical, inexact=self.double, writer=None)

    @property
    def computed(self) -> Value:
        """The value as one that has no id."""
        return replace(self, id=None, constant=None)

    @property
    def failed(self) -> bool:
        """Whether every row is an error, or unbound."""
        return self.kind == ERROR.kind

    @property
    def bound(self) -> str:
        """Whether the row has a value at all."""
        return f"{self.id} IS NOT NULL" if self.id is not None else f"{self.kind} IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that hold of every value of a column of tokens: its datatype (an IRI); of numbers their rank, and their
    bound (`Value.most`, `Value.scale`). narrow: DECIMAL(38,18) holds all of them."""

    datatype: str
    rank: str = NULL
    most: int | None = None
    narrow: bool = False
    scale: int = 0

    def or_else(self, other: Known | None) -> Known | None:
        """The facts that hold of the values of both columns."""
        if other is None or (self.datatype, self.rank) != (other.datatype, other.rank):
            return None
        most = None if self.most is None or other.most is None else max(self.most, other.most)
        scale = 0 if most is None else max(self.scale, other.scale)
        return replace(self, most=most, narrow=self.narrow and other.narrow, scale=scale)


WHOLE: Final = 10**20 - 1
"""The greatest whole number that DECIMAL(38,18) holds."""

COUNTED: Final = 2**63 - 1
"""The greatest number that is counted: it is a BIGINT."""

ERROR: Final = Value("CAST(NULL AS INTEGER)", "CAST(NULL AS STRING)", "CAST(NULL AS STRING)", id="CAST(NULL AS BIGINT)")


def stored(column: Callable[[str], str], token: bool, written: str | None = None) -> Value:
    """A variable's value. `column` qualifies a name of the variable's columns (id, lexical, datatype ...). written: the
    column of its token, if there is one."""
    number = column("id")
    kind = (
        f"CASE WHEN {number} < {FIRST_BLANK} THEN 1 WHEN {number} < {FIRST_LITERAL} THEN 2 "
        f"WHEN {number} < {FIRST_TRIPLE} THEN 3 WHEN {number} IS NOT NULL THEN 4 END"
    )
    return Value(
        kind,
        column("lexical"),
        column("datatype"),
        column("lang"),
        column("rank"),
        column("decimal"),
        column("double"),
        column("micros"),
        column("rest"),
        id=None if token else number,
        written=written,
    )


def only_where(condition: str, value: Value) -> Value:
    """A value that has no value in rows where an SQL condition does not hold."""

    def part(sql: str) -> str:
        return sql if sql == NULL else f"CASE WHEN {condition} THEN {sql} END"

    names = (
        "kind",
        "text",
        "datatype",
        "lang",
        "rank",
        "decimal",
        "inexact",
        "micros",
        "rest",
        "truth",
        "made",
        "small",
    )
    found = {name: part(sql) for name in (*names, "written") if (sql := getattr(value, name)) is not None}
    return replace(value.computed, **found)  # type: ignore[arg-type]


def constant(dialect: Dialect, token: str, number: int) -> Value:
    """A constant's value; `number` is its id (see `sparql.constants`)."""
    kind = kind_of_token(token)
    if kind != Kind.LITERAL:
        static, text = "any" if kind == Kind.TRIPLE else "iri", dialect.string(lexical_of(token))
        return Value(str(int(kind)), text, NULL, static=static, id=str(number), constant=token)
    lexical, datatype, lang = split_literal(token)
    text = dialect.string(lexical)
    found = Value("3", text, dialect.string(datatype), id=str(number), constant=token)
    if lang is not None:
        return replace(found, lang=dialect.string(lang), static="text")
    if datatype == XSD + "string":
        return replace(found, static="string")
    if datatype == XSD + "boolean" and lexical in ("true", "1", "false", "0"):
        return replace(found, static="boolean", truth="TRUE" if lexical in ("true", "1") else "FALSE")
    if (rank := rank_of(lexical, datatype)) is not None:
        bare = lexical.strip(" \t\r\n")
        rest = key(bare) if rank < 3 else None
        decimal = f"CAST('{bare}' AS DECIMAL(38,18))" if rank < 3 and rest is None else NULL
        canonical = rank == 1 and re.fullmatch("0|-?[1-9][0-9]*", lexical) is not None
        most, scale = None, 0
        if rank < 3 and rest is None:
            most, scale = int(abs(Decimal(bare))), len(bare.partition(".")[2].rstrip("0"))
        double = f"CAST('{double_of(bare, rank)}' AS DOUBLE)"
        kept = f"'{rest}'" if rest else NULL
        found = replace(found, static="number", rank=str(rank), most=most, scale=scale, canonical=canonical)
        return replace(found, decimal=decimal, inexact=double, rest=kept)
    if datatype in calendar.TEMPORAL:
        bare = lexical.strip(" \t\r\n")
        rest = calendar.rest(bare, datatype)
        if rest is None:
            return found
        if datatype in INSTANTS and re.fullmatch(PLAIN_DATE if datatype == XSD + "date" else PLAIN, bare):
            return replace(found, micros=f"CAST({instants.unkeyed(rest)[0]} AS BIGINT)", static="quantity")
        return replace(found, rest=f"'{rest}'", static="quantity")
    return found


def rank_of(lexical: str, datatype: str) -> int | None:
    """The rank of a literal, None if it is no well-formed number."""
    rank = 1 if datatype in INTEGERS else {"decimal": 2, "float": 3, "double": 4}.get(datatype.removeprefix(XSD))
    bare = lexical.strip(" \t\r\n")
    if rank is None or not re.fullmatch({1: INTEGER, 2: DECIMAL}.get(rank, DOUBLE), bare):
        return None
    if rank == 1 and datatype != XSD + "integer" and value_of(literal_token(bare, datatype)) is None:
        return None  # out of the datatype's bounds
    return rank


def double_of(text: str, rank: int) -> str:
    """The text of a number's DOUBLE, which is rounded to single precision if it is a float."""
    found = value_of(f'"{text}"^^<{XSD}float>') if rank == 3 else None
    number = float(text.replace("INF", "inf") if found is None or found.number is None else found.number)
    if rank < 3:
        number += 0.0  # an exact number has no negative zero
    return repr(number).replace("inf", "Infinity").replace("nan", "NaN")


def typed(dialect: Dialect, lexical: str, datatype: str) -> Value:
    """The literal of an SQL text and a datatype's IRI, computed both; NULL in either is an error."""
    text = dialect.trim(lexical)
    whole = f"{datatype} IN {_list(INTEGERS)} AND {dialect.matches(text, INTEGER)}"
    whole += f" AND {within_sql(dialect, text, datatype)}"
    exact = f"({whole} OR {datatype} = '{XSD}decimal' AND {dialect.matches(text, DECIMAL)})"
    rounded = f"({datatype} IN ('{XSD}double', '{XSD}float') AND {dialect.matches(text, DOUBLE)})"
    rank = (
        f"CASE WHEN {whole} THEN 1 WHEN {exact} THEN 2 WHEN {rounded} THEN "
        f"CASE WHEN {datatype} = '{XSD}float' THEN 3 ELSE 4 END END"
    )
    decimal = f"CASE WHEN {exact} AND {dialect.matches(text, EXACT)} THEN TRY_CAST({text} AS DECIMAL(38,18)) END"
    kinds = ("dateTime", "dateTimeStamp", "date")
    micros = " ".join(
        f"WHEN {datatype} = '{XSD}{name}' THEN {instants.instant(dialect, text, name == 'date')}" for name in kinds
    )
    late = f"{datatype} IN {_list(calendar.TEMPORAL)} AND (CASE {micros} END) IS NULL"
    double = dialect.double(text)
    return Value(
        f"CASE WHEN ({lexical}) IS NOT NULL AND ({datatype}) IS NOT NULL THEN 3 END",
        lexical,
        datatype,
        rank=rank,
        decimal=decimal,
        inexact=f"CASE WHEN {datatype} = '{XSD}float' AND {rounded} THEN {numerals.single(double)} "
        f"WHEN {exact} THEN {unsigned_zero(double)} WHEN {rounded} THEN {double} END",
        micros=f"CASE {micros} END",
        rest=f"CASE WHEN {exact} AND NOT {dialect.matches(text, EXACT)} THEN {key_sql(text)} "
        f"WHEN {late} THEN {calendar.rest_sql(dialect, text, datatype)} END",
    )


def parsed(dialect: Dialect, keep: Callable[[str], str], token: str) -> Value:
    """The term of a token."""
    pattern = dialect.string(r'(@[^"]*|\^\^<[^"]*>|)$')
    tail = keep(f"CASE WHEN {token} LIKE '\"%' THEN regexp_extract({token}, {pattern}, 1) END")
    lang = keep(f"CASE WHEN {tail} LIKE '@%' THEN substr({tail}, 2) END")
    datatype = f"CASE WHEN {tail} = '' THEN {STRING} ELSE substr({tail}, 4, length({tail}) - 4) END"
    tagged = tagged_datatype(lang)
    datatype = keep(f"CASE WHEN {lang} IS NOT NULL THEN {tagged} WHEN {tail} IS NOT NULL THEN {datatype} END")
    within = f"CASE WHEN {tail} IS NULL THEN NULL ELSE substr({token}, 2, length({token}) - 2 - length({tail})) END"
    lexical = keep(within)
    node = f"CASE WHEN {token} LIKE '_:%' THEN substr({token}, 3) ELSE substr({token}, 2, length({token}) - 2) END"
    return replace(
        typed(dialect, lexical, datatype),
        kind=f"CASE substr({token}, 1, 1) WHEN '<' THEN 1 WHEN '_' THEN 2 WHEN '\"' THEN 3 WHEN '(' THEN 4 END",
        text=f"CASE WHEN {tail} IS NULL THEN {node} ELSE {lexical} END",
        lang=lang,
        written=token,
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
    datatype = f"CASE WHEN ({lang}) IS NULL THEN {STRING} ELSE {tagged_datatype(lang)} END"
    return Value(kind, sql, datatype, lang, static="text")


def tagged_datatype(lang: str) -> str:
    """The datatype of a string with a language tag, which may hold a base direction."""
    return f"CASE WHEN ({lang}) LIKE '%--%' THEN {DIRECTIONAL} ELSE {LANG_STRING} END"


def iri(sql: str) -> Value:
    """The IRI of an SQL text."""
    return Value(f"CASE WHEN ({sql}) IS NOT NULL THEN 1 END", sql, NULL, static="iri")


def number(dialect: Dialect, rank: str, decimal: str, inexact: str, rest: str = NULL) -> Value:
    """A computed number: `decimal` and `rest` count for ranks 1 and 2, the DOUBLE for 3 (rounded here) and 4."""
    exact = " OR ".join(f"({part}) IS NOT NULL" for part in (decimal, rest) if part != NULL) or "FALSE"
    if rank in ("1", "2"):
        kind = f"CASE WHEN {exact} THEN 3 END"
        inexact, datatype = NULL, f"'{XSD}{_RANKS[int(rank) - 1]}'"
    elif rank in ("3", "4"):
        kind = f"CASE WHEN ({inexact}) IS NOT NULL THEN 3 END"
        inexact, decimal, rest = numerals.single(inexact) if rank == "3" else inexact, NULL, NULL
        datatype = f"'{XSD}{_RANKS[int(rank) - 1]}'"
    else:
        kind = f"CASE WHEN ({rank}) <= 2 AND ({exact}) OR ({rank}) >= 3 AND ({inexact}) IS NOT NULL THEN 3 END"
        inexact = f"CASE WHEN ({rank}) = 4 THEN {inexact} WHEN ({rank}) = 3 THEN {numerals.single(inexact)} END"
        names = " ".join(f"WHEN {place + 1} THEN '{XSD}{name}'" for place, name in enumerate(_RANKS))
        datatype = f"CASE {rank} {names} END"
    return Value(
        *(kind, NULL, datatype, NULL, rank, decimal, inexact),
        rest=rest,
        static="number",
        writer=dialect,
    )


def bounded(dialect: Dialect, rank: str, small: str, most: int, scale: int = 0) -> Value:
    """A computed integer (rank 1) or decimal (2), the SQL of which is a DECIMAL. most, scale: see `Value`."""
    found = number(dialect, rank, f"CAST({small} AS DECIMAL(38,18))", NULL)
    kind = f"CASE WHEN ({small}) IS NOT NULL THEN 3 END"
    return replace(found, kind=kind, most=most, scale=scale, small=small, exact=True, canonical=True)


def integer(dialect: Dialect, sql: str, most: int = COUNTED) -> Value:
    """The xsd:integer of an SQL integer from -most to most."""
    return bounded(dialect, "1", f"CAST({sql} AS DECIMAL({len(str(most))},0))", most)


def known_of(value: Value) -> Known | None:
    """What is known of all values of an expression; None where their datatype depends on the row."""
    found = re.fullmatch("'([^']*)'", value.datatype)
    if found is None or value.static not in ("boolean", "number", "string"):
        return None
    if value.static != "number":
        return Known(found[1])
    if not value.rank.isdigit():
        return None
    return Known(found[1], value.rank, value.most, value.rest == NULL, 0 if value.most is None else value.scale)


def of_known(dialect: Dialect, column: str, known: Known) -> Value:
    """The literals in a column of their tokens, of which something is known."""
    kind = f"CASE WHEN {column} IS NOT NULL THEN 3 END"
    tail = '"' if known.datatype == XSD + "string" else f'"^^<{known.datatype}>'
    text = f"substr({column}, 2, length({column}) - {1 + len(tail)})"
    found = Value(kind, text, dialect.string(known.datatype), written=column)
    if known.datatype == XSD + "string":
        return replace(found, static="string")
    if known.datatype == XSD + "boolean":
        return replace(found, static="boolean", truth=f"{text} IN ('true', '1')")
    found = replace(found, static="number", rank=known.rank, most=known.most, scale=known.scale)
    if known.most is not None:
        return replace(found, decimal=f"CAST({text} AS DECIMAL(38,18))", inexact=f"CAST({text} AS DOUBLE)")
    bare = dialect.trim(text)
    double = dialect.double(bare)
    if known.rank in ("3", "4"):
        return replace(found, inexact=numerals.single(double) if known.rank == "3" else double)
    found = replace(found, inexact=unsigned_zero(double))
    if known.narrow:
        return replace(found, decimal=f"CAST({bare} AS DECIMAL(38,18))")
    small = dialect.matches(bare, EXACT)
    return replace(
        found,
        decimal=f"CASE WHEN {small} THEN CAST({bare} AS DECIMAL(38,18)) END",
        rest=f"CASE WHEN NOT {small} THEN {key_sql(bare)} END",
    )


def token(value: Value) -> str:
    """The token of a value (`triplestore.model.terms`), NULL for an error."""
    if value.written is not None:
        return value.written
    text = f"({value.lexical})"
    iri_, plain = f"'<' || {text} || '>'", f"'\"' || {text} || '\"'"
    typed_ = f"'\"' || {text} || '\"^^<' || ({value.datatype}) || '>'"
    if value.static == "iri" and value.constant is None:
        return iri_
    if value.static == "string":
        return plain
    if value.static in ("boolean", "number", "quantity"):
        return typed_
    tagged = f"'\"' || {text} || '\"@' || ({value.lang})"
    literal = (
        f"CASE WHEN {value.lang} IS NOT NULL THEN {tagged} "
        f"WHEN {value.datatype} = {STRING} THEN {plain} ELSE {typed_} END"
    )
    if value.static == "text":
        return f"CASE WHEN {value.kind} = 3 THEN {literal} END"
    return (
        f"CASE {value.kind} WHEN 1 THEN {iri_} WHEN 2 THEN '_:' || {text} WHEN 3 THEN {literal} "
        f"WHEN 4 THEN '(' || {text} || ')' END"
    )


def _list(texts: tuple[str, ...]) -> str:
    return f"({', '.join(repr(text) for text in texts)})"


def string_literal(value: Value) -> str:
    """The text of a string or language-tagged string; NULL for anything else."""
    if value.static in ("string", "text"):
        return value.lexical
    if value.static != "any":
        return "CAST(NULL AS STRING)"
    return f"CASE WHEN {value.datatype} IN {TEXTS} THEN {value.lexical} END"


def well_formed_boolean(value: Value) -> str:
    """The SQL truth of an xsd:boolean literal; NULL for anything else."""
    if value.truth is not None:
        return value.truth
    return (
        f"CASE WHEN {value.datatype} = {BOOLEAN} THEN CASE WHEN {value.lexical} IN ('true', '1') THEN TRUE "
        f"WHEN {value.lexical} IN ('false', '0') THEN FALSE END END"
    )


def truth(value: Value) -> str:
    """The effective boolean value (SPARQL 17.2.2): an SQL condition, NULL for a type error. A plain literal counts by
    its length, with a language tag (RDF Concepts 2004, section 6.5) or without."""
    if value.failed:
        return "CAST(NULL AS BOOLEAN)"
    if value.truth is not None:
        return value.truth
    if value.static in ("string", "text"):
        return f"({value.lexical}) <> ''"
    if value.static in ("iri", "node"):
        return "CAST(NULL AS BOOLEAN)"
    if value.static == "number" and value.is_exact:
        return f"({value.plain}) <> 0"
    if value.static == "number":
        exact = f"(({value.decimal}) <> 0{'' if value.rest == NULL else f' OR ({value.rest}) IS NOT NULL'})"
        if value.rank in ("1", "2"):
            return f"CASE WHEN ({value.kind}) IS NOT NULL THEN {exact} END"
        rounded = f"({value.inexact}) <> 0 AND NOT isnan({value.inexact})"
        return rounded if value.rank in ("3", "4") else f"CASE WHEN ({value.rank}) <= 2 THEN {exact} ELSE {rounded} END"
    rounded = f"({value.double}) <> 0 AND NOT isnan({value.double})"
    return (
        f"CASE WHEN {value.datatype} = {BOOLEAN} THEN {value.lexical} IN ('true', '1') "
        f"WHEN {value.datatype} IN {TEXTS} THEN {value.lexical} <> '' "
        f"WHEN {value.rank} <= 2 AND (({value.rest}) IS NOT NULL OR ({value.decimal}) <> 0) THEN TRUE "
        f"WHEN {value.rank} IS NOT NULL THEN {rounded} "
        f"WHEN {value.datatype} IN {_list((*DECIMALS, XSD + 'float', XSD + 'double'))} THEN FALSE END"
    )
