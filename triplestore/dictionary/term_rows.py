"""Terms as rows of the TERM table: tokens cut up, and the values of literals, in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from triplestore.dictionary.datatypes import BOUNDS
from triplestore.engine.arrow import int64s, strings
from triplestore.engine.dialect import Dialect
from triplestore.model.tables import TERM
from triplestore.model.terms import FIRST_BLANK, FIRST_LITERAL, FIRST_TRIPLE, RDF, XSD

INTEGERS: Final = tuple(BOUNDS)
"""xsd:integer and the types derived from it."""

DECIMALS: Final = (XSD + "decimal", *INTEGERS)
DOUBLES: Final = (XSD + "double", XSD + "float")
INSTANTS: Final = (XSD + "dateTime", XSD + "dateTimeStamp", XSD + "date")

INTEGER: Final = r"[+-]?[0-9]+"
DECIMAL: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
EXACT: Final = r"[+-]?0*([0-9]{1,20}(\.[0-9]{0,18}0*)?|\.[0-9]{1,18}0*)"
DOUBLE: Final = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN"
ZONE: Final = r"(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
"""The zone at the end of the lexical form of a time."""
INSTANT: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T(([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,6}0*)?|24:00:00(\.0+)?))?" + ZONE
)


def micros_sql(dialect: Dialect, text: str) -> str:
    """The text of an xsd:dateTime as microseconds since 1970 UTC; 24:00:00 is the next day's first moment."""
    day = f"CASE WHEN substr({text}, 12, 3) = '24:' THEN 86400000000 ELSE 0 END"
    moment = f"replace({text}, 'T24:', 'T00:')"
    return f"{dialect.micros(moment)} + {day}"


def single_sql(text: str) -> str:
    """The DOUBLE of a text's nearest single-precision number, which is the value of an xsd:float."""
    return f"CAST(TRY_CAST({text} AS FLOAT) AS DOUBLE)"


def unsigned_zero(double: str) -> str:
    """The DOUBLE of an exact number, which has no negative zero."""
    return f"{double} + CAST(0 AS DOUBLE)"


def within_sql(dialect: Dialect, text: str, datatype: str) -> str:
    """Whether a whole number, as text, is within the bounds of one of `INTEGERS`, as texts in SQL."""
    cases = []
    for name, (low, high) in BOUNDS.items():
        if low is not None and high is not None:
            number = f"TRY_CAST({text} AS DECIMAL(38,0))"
            cases.append(f"WHEN '{name}' THEN coalesce({number} BETWEEN {low} AND {high}, FALSE)")
        elif low is not None or high is not None:
            bound = f"<= {high}" if low is None else f">= {low}"
            cases.append(f"WHEN '{name}' THEN {dialect.double(text)} {bound}")
    return f"CASE {datatype} {' '.join(cases)} ELSE TRUE END"


def term_sql(dialect: Dialect, source: str) -> str:
    """Rows (id, token) of `source` as rows of the TERM table up to `micros`: tokens cut up, typed literals read."""
    # No reverse(): DuckDB's keeps marks that are shown as one together, and so moves quotes behind some Arabic signs.
    last = "split_part(token, '\"', -1)"
    cut = (
        f"SELECT id, CASE WHEN id < {FIRST_BLANK} OR id >= {FIRST_TRIPLE} THEN substr(token, 2, length(token) - 2) "
        f"WHEN id < {FIRST_LITERAL} THEN substr(token, 3) "
        f"ELSE substr(token, 2, length(token) - length({last}) - 2) END AS lexical, "
        f"CASE WHEN id >= {FIRST_LITERAL} AND id < {FIRST_TRIPLE} THEN {last} END AS tail FROM {source}"
    )
    parts = (
        f"SELECT id, lexical, CASE WHEN tail IS NULL THEN NULL WHEN tail = '' THEN '{XSD}string' "
        f"WHEN substr(tail, 1, 1) = '@' THEN CASE WHEN tail LIKE '%--%' THEN '{RDF}dirLangString' "
        f"ELSE '{RDF}langString' END ELSE substr(tail, 4, length(tail) - 4) END AS datatype, "
        f"CASE WHEN substr(tail, 1, 1) = '@' THEN substr(tail, 2) END AS lang FROM ({cut}) c"
    )
    trimmed = dialect.trim("lexical")
    instant = (
        f"CASE WHEN datatype = '{XSD}date' THEN concat(substr({trimmed}, 1, 10), 'T00:00:00', substr({trimmed}, 11)) "
        f"ELSE {trimmed} END"
    )
    whole = f"{dialect.matches(trimmed, INTEGER)} AND {within_sql(dialect, trimmed, 'datatype')}"
    exact = (  # CASE, since DuckDB evaluates both sides of AND for every row, and most terms are no numbers
        f"CASE WHEN datatype IN {dialect.listed(INTEGERS)} THEN {whole} "
        f"WHEN datatype = '{XSD}decimal' THEN {dialect.matches(trimmed, DECIMAL)} ELSE FALSE END"
    )
    double = f"CASE WHEN datatype = '{XSD}float' THEN {single_sql(trimmed)} ELSE {dialect.double(trimmed)} END"
    return (
        f"SELECT id, lexical, datatype, lang, "
        f"CASE WHEN id < {FIRST_LITERAL} THEN NULL WHEN datatype IN {dialect.listed(DOUBLES)} "
        f"AND {dialect.matches(trimmed, DOUBLE)} THEN {double} "
        f"WHEN is_exact THEN {unsigned_zero(double)} END AS double, "
        f"CASE WHEN is_exact AND {dialect.matches(trimmed, EXACT)} "
        f"THEN TRY_CAST({trimmed} AS DECIMAL(38,18)) END AS decimal, "
        f"CASE WHEN datatype IN {dialect.listed(INSTANTS)} AND {dialect.matches(trimmed, INSTANT)} "
        f"THEN {micros_sql(dialect, instant)} END AS micros "
        f"FROM (SELECT p.*, {exact} AS is_exact FROM ({parts}) p) q"
    )


def names_sql(dialect: Dialect, source: str) -> str:
    """Rows (id, token) of `source`, IRIs and blank nodes alone, as rows of the TERM table."""
    lexical = f"CASE WHEN id < {FIRST_BLANK} THEN substr(token, 2, length(token) - 2) ELSE substr(token, 3) END"
    given = {"id": "id", "lexical": lexical, "ill_typed": "FALSE"}
    columns = (
        f"{given[name] if name in given else f'CAST(NULL AS {dialect.type(kind)})'} AS {name}"
        for name, kind in TERM.columns
    )
    return f"SELECT {', '.join(columns)} FROM {source}"


def names_rows(ids: Mapping[str, int]) -> pa.Table:
    """Rows of the TERM table in memory, of the ids of new tokens of IRIs and blank nodes, ordered by id."""
    found = sorted((number, token[1:-1] if token[0] == "<" else token[2:]) for token, number in ids.items())
    given = {
        "id": int64s(number for number, _ in found),
        "lexical": strings(lexical for _, lexical in found),
        "ill_typed": pa.array([False] * len(found)),
    }
    return pa.table({name: given.get(name, pa.nulls(len(found), _ARROW[kind])) for name, kind in TERM.columns})


_ARROW: Final = {
    "BIGINT": pa.int64(),
    "STRING": pa.string(),
    "DOUBLE": pa.float64(),
    "DECIMAL(38,18)": pa.decimal128(38, 18),
    "BOOLEAN": pa.bool_(),
}
