"""Numbers as SQL text: their lexical forms, and exact numbers that a DECIMAL(38,18) does not hold.

Such a number is a *key* (the part `rest` of a `Value`): "p" or "n" for its sign, nine digits for how many digits its
whole part has, these, a point and the digits of its fraction, without zeros that say nothing. Of a negative number the
digits are their complements to nine, and "~" closes it. So keys are ordered as their numbers are, by their bytes, on
every engine; and what `near` cuts a number down to, a DECIMAL(38,18), is ordered likewise against its `tail`.
"""

from __future__ import annotations

import re
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.decimals import NULL

INTEGER: Final = r"[+-]?[0-9]+"
DECIMAL: Final = r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)"
DOUBLE: Final = DECIMAL + r"([eE][+-]?[0-9]+)?|[+-]?INF|NaN"
EXACT: Final = r"[+-]?0*([0-9]{1,20}([.][0-9]{0,18}0*)?|[.][0-9]{1,18}0*)"
"""A decimal that fits into DECIMAL(38,18)."""

_WHOLE: Final = 20
FRACTION: Final = 18
"""Its digits before and behind the point, but for zeros at either end."""

_DIGITS: Final = "'0123456789'"
_COMPLEMENTS: Final = "'9876543210'"
_GREATEST: Final = "9" * 20 + "." + "9" * 18
LEAST: Final = f"CAST('-{_GREATEST}' AS DECIMAL(38,18))"
"""The least number that `near` gives."""
_LEAST_INFINITE: Final = "CAST('3.4028235677973366e38' AS DOUBLE)"
"""From here on xsd:float has its infinity only (half a unit above its greatest number)."""


def key(text: str) -> str | None:
    """The key of the text of a decimal, or None where DECIMAL(38,18) holds it."""
    whole, _, fraction = text.lstrip("+-").partition(".")
    held = len(whole.lstrip("0")) <= _WHOLE and len(fraction.rstrip("0")) <= FRACTION  # `EXACT`, whatever the length
    return None if held else any_key(text)


def any_key(text: str) -> str:
    """The key that the text of any decimal would have: keys are ordered as numbers are."""
    whole, _, fraction = text.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    body = f"{len(whole):09}{whole}.{fraction}"
    return f"n{body.translate(_SWAP)}~" if text.startswith("-") and len(body) > 10 else f"p{body}"


def plain_text(rest: str) -> str:
    """The canonical text of a key."""
    return re.sub("^(-?)0(?=[0-9])", r"\1", unkeyed(rest))


def unkeyed(text: str) -> str:
    """The decimal that is the text itself, or that it is the key of."""
    if text[0] not in "np":
        return text
    body = text[1:-1].translate(_SWAP) if text[0] == "n" else text[1:]
    return ("-" if text[0] == "n" else "") + "0" + body[9:].removesuffix(".")


_SWAP: Final = str.maketrans("0123456789", "9876543210")


def key_sql(text: str) -> str:
    """`key` of the text of a decimal that DECIMAL(38,18) does not hold."""
    whole, fraction = f"regexp_extract({text}, '^[+-]?0*([0-9]*)', 1)", f"regexp_extract({text}, '[.]([0-9]*?)0*$', 1)"
    body = f"lpad(CAST(length({whole}) AS STRING), 9, '0') || {whole} || '.' || {fraction}"
    negative = f"'n' || translate({body}, {_DIGITS}, {_COMPLEMENTS}) || '~'"
    return f"CASE WHEN {text} LIKE '-%' THEN {negative} ELSE 'p' || {body} END"


def plain(dialect: Dialect, rest: str) -> str:
    """The canonical text of a key."""
    if dialect.lazy_functions:
        return f"tl_plain({rest})"
    core = (
        f"CASE WHEN {rest} < 'o' THEN translate(substr({rest}, 11, length({rest}) - 11), {_DIGITS}, {_COMPLEMENTS}) "
        f"ELSE substr({rest}, 11) END"
    )
    zero = f"CASE WHEN substr({rest}, 2, 9) IN ('000000000', '999999999') THEN '0' ELSE '' END"
    return f"CASE WHEN {rest} < 'o' THEN '-' ELSE '' END || {zero} || regexp_replace({core}, '[.]$', '')"


def near(dialect: Dialect, decimal: str, rest: str) -> str:
    """The exact number, or what is left of it if it is cut down to DECIMAL(38,18)."""
    if rest == NULL:
        return decimal
    sizes = f"substr({rest}, 1, 10)"
    cut = f"regexp_extract({plain(dialect, rest)}, '^-?[0-9]*[.]?[0-9]{{0,18}}', 0)"
    clamped = (
        f"CASE WHEN {rest} IS NULL THEN NULL WHEN {sizes} >= 'p000000021' THEN CAST('{_GREATEST}' AS DECIMAL(38,18)) "
        f"WHEN {sizes} <= 'n999999978' THEN {LEAST} "
        f"ELSE TRY_CAST({cut} AS DECIMAL(38,18)) END"
    )
    return f"coalesce({decimal}, {clamped})" if decimal != NULL else clamped


def tail(rest: str) -> str:
    """What orders exact numbers that are near to the same one."""
    return "'o'" if rest == NULL else f"coalesce({rest}, 'o')"


def exact_string(dialect: Dialect, decimal: str, rest: str) -> str:
    """An exact number as a text that casts take."""
    if rest == NULL:
        return f"CAST({decimal} AS STRING)"
    wide = plain(dialect, rest)
    return wide if decimal == NULL else f"coalesce(CAST({decimal} AS STRING), {wide})"


def exact_text(dialect: Dialect, decimal: str, rest: str = NULL) -> str:
    """The canonical text of an exact number: no zeros at the end, no point without digits behind it."""
    if decimal == NULL:
        return plain(dialect, rest)
    text = f"regexp_replace(CAST({decimal} AS STRING), '[.]?0+$', '')"
    return text if rest == NULL else f"coalesce({text}, {plain(dialect, rest)})"


def single(double: str) -> str:
    """A DOUBLE rounded to a single-precision number, still a DOUBLE."""
    return (
        f"CASE WHEN isnan({double}) OR abs({double}) < {_LEAST_INFINITE} THEN CAST(CAST({double} AS FLOAT) AS DOUBLE) "
        f"WHEN ({double}) > 0 THEN CAST('Infinity' AS DOUBLE) WHEN ({double}) < 0 THEN CAST('-Infinity' AS DOUBLE) END"
    )


def floating_string(rank: str, double: str) -> str:
    """The engine's text of a float (rank 3) or double."""
    if rank == "4":
        return f"CAST({double} AS STRING)"
    narrow = f"CAST(CAST({double} AS FLOAT) AS STRING)"
    return narrow if rank == "3" else f"CASE WHEN ({rank}) = 3 THEN {narrow} ELSE CAST({double} AS STRING) END"


def floating_text(dialect: Dialect, rank: str, double: str) -> str:
    """The canonical text of a float or double (XML Schema Datatypes 1.0, 3.2.5.2), from the engine's shortest text."""
    text = f"lower({floating_string(rank, double)})"
    whole, fraction = "regexp_extract(t, '([0-9]+)', 1)", "regexp_extract(t, '[.]([0-9]+)', 1)"
    exponent = "coalesce(TRY_CAST(regexp_extract(t, 'e(.+)$', 1) AS INTEGER), 0)"
    digits = f"concat({whole}, {fraction})"
    stripped = f"regexp_replace({digits}, '^0+', '')"
    power = f"({exponent} + length({whole}) - 1 - (length({digits}) - length({stripped})))"
    tail_ = f"regexp_replace(substr({stripped}, 2), '0+$', '')"
    body = (
        f"CASE WHEN t IS NULL THEN NULL WHEN t IN ('inf', 'infinity') THEN 'INF' "
        f"WHEN t IN ('-inf', '-infinity') THEN '-INF' WHEN t LIKE '%nan' THEN 'NaN' "
        f"ELSE concat(CASE WHEN substr(t, 1, 1) = '-' THEN '-' ELSE '' END, CASE WHEN {stripped} = '' THEN '0.0E0' "
        f"ELSE concat(substr({stripped}, 1, 1), '.', CASE WHEN {tail_} = '' THEN '0' ELSE {tail_} END, "
        f"'E', CAST({power} AS STRING)) END) END"
    )
    return dialect.let("t", text, body)


def number_text(dialect: Dialect, rank: str, decimal: str, double: str, rest: str) -> str:
    """The canonical text of a number by its rank (1 integer, 2 decimal, 3 float, 4 double)."""
    if rank in ("1", "2"):
        return exact_text(dialect, decimal, rest)
    floating = floating_text(dialect, rank, double)
    if rank in ("3", "4"):
        return floating
    return f"CASE WHEN ({rank}) <= 2 THEN {exact_text(dialect, decimal, rest)} WHEN ({rank}) >= 3 THEN {floating} END"
