"""The aggregates of SPARQL (1.1, section 18.5.1) over `Value`s, in two steps: SQL aggregates, then a term of them.

An error in the argument is an error of SUM, AVG, MIN, MAX and GROUP_CONCAT, and is not counted by COUNT. SUM and AVG of
no rows are 0, GROUP_CONCAT is empty, MIN, MAX and SAMPLE are an error. MIN and MAX order as ORDER BY does; SAMPLE takes
the first in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.arithmetic import WIDEST, split
from triplestore.expressions.compare import sort_keys
from triplestore.expressions.decimals import NULL, divide
from triplestore.expressions.limits import MOST_BYTES
from triplestore.expressions.numerals import exact_text
from triplestore.expressions.strings import failing
from triplestore.expressions.temporal import duration_of, moment
from triplestore.expressions.values import COUNTED, WHOLE, Known, Value, integer, known_of, number, string, token
from triplestore.model.terms import XSD

COUNTED_ONCE: Final = ("COUNT", "SUM", "AVG", "GROUP_CONCAT")
"""The aggregates that DISTINCT makes a difference to."""


def parts(
    dialect: Dialect,
    place: int,
    function: str,
    distinct: bool,
    value: Value | None,
    weight: str = "1",
    separator: str = " ",
) -> list[str]:
    """The SQL aggregates that the result of one SPARQL aggregate is made from, each as ``sql AS a<place>_<part>``.

    function: COUNT, SUM, MIN, MAX, AVG, SAMPLE, GROUP_CONCAT. value: the argument, None for ``COUNT(*)``. distinct:
    column ``d<place>`` is 1 in the first row of each argument. weight: SQL of how often a row counts (for COUNT only).
    separator: of GROUP_CONCAT.
    """
    distinct = distinct and function in COUNTED_ONCE
    once = f"d{place} = 1" if distinct else "TRUE"
    if value is None:
        return [f"coalesce(sum(CASE WHEN {once} THEN {weight} ELSE 0 END), 0) AS a{place}_count"]
    present = f"{once} AND {value.bound}"
    count = f"coalesce(sum(CASE WHEN {present} THEN {weight} ELSE 0 END), 0) AS a{place}_count"
    match function:
        case "COUNT":
            return [count]
        case "SUM" if _has_sum(value):
            wrong = f"sum(CASE WHEN {once} AND ({value.plain}) IS NULL THEN 1 ELSE 0 END) AS a{place}_wrong"
            rank = [] if value.least_rank.isdigit() else [f"max({value.rank}) AS a{place}_rank"]
            return [wrong, *rank, f"sum(CASE WHEN {once} THEN {_summand(value)} END) AS a{place}_sum"]
        case "SUM" | "AVG":
            return [
                count,
                f"sum(CASE WHEN {once} AND ({value.kind}) IS NOT NULL AND (({value.rank}) IS NOT NULL "
                f"OR {value.is_duration}) THEN 0 WHEN {once} THEN 1 ELSE 0 END) AS a{place}_wrong",
                f"max({value.rank}) AS a{place}_rank",
                *_sums(dialect, place, once, value),
            ]
        case "GROUP_CONCAT":
            text = _text(value)
            fails = failing(dialect, "GROUP_CONCAT", f"g{place}")
            joined = f"CASE WHEN g{place} > {MOST_BYTES} THEN {fails} WHEN {once} THEN {text} END"
            return [
                f"sum(CASE WHEN {once} AND ({text}) IS NULL THEN 1 ELSE 0 END) AS a{place}_wrong",
                f"{dialect.concatenation(joined, separator)} AS a{place}_text",
            ]
        case _:
            keys = sort_keys(dialect, value)
            names = [f"k{number_}" for number_ in range(len(keys))]
            best = "max" if function == "MAX" else "min"
            record = dialect.record([*names, "token"], [*keys, token(value)])
            wrong = f"sum(CASE WHEN {value.bound} THEN 0 ELSE 1 END) AS a{place}_wrong"
            return [wrong, f"{best}(CASE WHEN {value.bound} THEN {record} END) AS a{place}_best"]


def size(dialect: Dialect, place: int, distinct: bool, value: Value, separator: str, keys: Sequence[str]) -> str:
    """Column ``g<place>`` that GROUP_CONCAT asks for: the bytes of its result, the same in each row of a group. It is
    known before any text is joined, so that one that is too long never is. distinct, separator: as in `parts`."""
    bytes_ = f"greatest({dialect.bytes(_text(value))} + {len(separator.encode())}, 1)"
    part, counted = f"PARTITION BY {', '.join(keys)}" if keys else "", f"d{place} = 1" if distinct else "TRUE"
    return f"sum(CASE WHEN {counted} THEN {bytes_} ELSE 0 END) OVER ({part}) AS g{place}"


def _text(value: Value) -> str:
    return f"CASE WHEN ({value.kind}) IN (1, 3) THEN {value.lexical} END"


def _has_sum(value: Value | None) -> bool:
    """Whether a DECIMAL holds the sum of 10^10 such values."""
    return value is not None and value.most is not None and value.digits <= WIDEST - 10


def _summand(value: Value) -> str:
    """A number with a bound as what is summed: as it is stored where that holds the sum of 10^10 such numbers."""
    small = value.small is None and value.most is not None and value.most * 10**10 <= WHOLE
    return value.decimal if small else value.narrow


def known_result(function: str, value: Value | None) -> Known | None:
    """What is known of all results of an aggregate over values like this one; None for ``COUNT(*)``."""
    if function == "COUNT":
        return Known(XSD + "integer", "1", COUNTED, True)
    if function == "GROUP_CONCAT":
        return Known(XSD + "string")
    found = None if value is None else known_of(value)
    if function in ("MIN", "MAX", "SAMPLE"):
        return found
    if function == "SUM" and found is not None and found.datatype == XSD + "integer":
        return Known(XSD + "integer", "1")
    return None


def result(dialect: Dialect, place: int, function: str, value: Value | None) -> str:
    """The token of an aggregate over some values, from its parts; NULL for an error."""
    if function == "COUNT":
        return token(integer(dialect, f"a{place}_count"))
    if function == "SUM" and value is not None and _has_sum(value):
        if value.least_rank == "1":
            text = f"CAST(CAST(coalesce(a{place}_sum, 0) AS DECIMAL(38,0)) AS STRING)"
            found = f"'\"' || {text} || '\"^^<{XSD}integer>'"
        else:
            text = exact_text(dialect, f"CAST(a{place}_sum AS DECIMAL(38,{max(value.scale, 1)}))")
            datatype = f"'{XSD}decimal'"
            if value.least_rank != "2":
                datatype = f"CASE WHEN a{place}_rank = 1 THEN '{XSD}integer' ELSE {datatype} END"
            found = f"coalesce('\"' || {text} || '\"^^<' || {datatype} || '>', {token(integer(dialect, '0'))})"
        return f"CASE WHEN coalesce(a{place}_wrong, 0) = 0 THEN {found} END"
    if function in ("MIN", "MAX"):
        return f"CASE WHEN a{place}_wrong = 0 THEN a{place}_best.token END"
    if function == "SAMPLE":
        return f"a{place}_best.token"
    if function == "GROUP_CONCAT":
        text = f"CASE WHEN coalesce(a{place}_wrong, 0) = 0 THEN coalesce(a{place}_text, '') END"
        return token(string(text))
    small, double, rank = (f"a{place}_{part}" for part in ("small", "double", "rank"))
    parts_ = [f"CAST(a{place}_{part} AS STRING)" for part in ("small", "whole", "fraction")]
    total = f"tl_exact('sum', concat_ws(' ', {', '.join([*parts_, f'a{place}_keys'])}), '')"
    if function == "AVG":
        small = divide(dialect, small, f"a{place}_count")
        double, rank = f"{double} / a{place}_count", f"greatest({rank}, 2)"
        total = f"tl_exact('/', {total}, CAST(a{place}_count AS STRING))"
    plain = f"a{place}_whole IS NULL AND coalesce(a{place}_keys, '') = ''"
    decimal, rest = split(
        f"CASE WHEN {rank} <= 2 AND NOT ({plain}) THEN {total} END", f"CASE WHEN {plain} THEN {small} END"
    )
    zero = token(integer(dialect, "0"))
    numbers = token(number(dialect, rank, decimal, double, rest))
    durations = f"coalesce(a{place}_durations, '')"
    only = f"{durations} <> '' AND a{place}_rank IS NULL"
    total = f"CASE WHEN {only} THEN tl_calendar('{function.lower()}', {durations}, '') END"
    found = f"CASE WHEN {durations} = '' THEN {numbers} ELSE {token(duration_of(dialect, total))} END"
    return f"CASE WHEN coalesce(a{place}_wrong, 0) > 0 THEN NULL WHEN a{place}_count = 0 THEN {zero} ELSE {found} END"


def _sums(dialect: Dialect, place: int, once: str, value: Value) -> list[str]:
    """What a sum is made of: of doubles, and of exact ones in four parts that cannot overflow, nor be rounded.

    small: of those up to 10^11. whole, fraction: of the others' whole parts and what is left. keys: what no DECIMAL
    holds, as texts. durations: these, as texts."""
    kept, keys = f"CASE WHEN {once} THEN {value.decimal} END", NULL
    if value.decimal == NULL:
        kept = "CAST(NULL AS DECIMAL(38,18))"
    small = f"{kept} BETWEEN -100000000000 AND 100000000000"
    whole = f"CASE WHEN {kept} < 0 THEN ceil({kept}) ELSE floor({kept}) END"
    cut = f"CAST({kept} AS DECIMAL(38,18)) - CAST({whole} AS DECIMAL(38,18))"
    if value.rest != NULL:
        keys = f"CASE WHEN {once} AND ({value.rank}) <= 2 THEN {value.rest} END"
    floating = value.double if value.rank not in ("1", "2") else NULL
    if value.writer is not None and not value.rank.isdigit():
        floating = f"coalesce({value.inexact}, CAST({value.decimal} AS DOUBLE), {floating})"
    floating = "CAST(NULL AS DOUBLE)" if floating == NULL else floating
    durations = NULL
    if value.static in ("any", "quantity") and value.rest != NULL:
        durations = f"CASE WHEN {once} AND {value.is_duration} THEN {moment(dialect, value)} END"
    return [
        f"sum(CASE WHEN {small} THEN {kept} END) AS a{place}_small",
        f"sum(CASE WHEN NOT {small} THEN CAST({whole} AS DECIMAL(38,0)) END) AS a{place}_whole",
        f"sum(CASE WHEN NOT {small} THEN CAST({cut} AS DECIMAL(38,18)) END) AS a{place}_fraction",
        f"{_gathered(dialect, keys)} AS a{place}_keys",
        f"{_gathered(dialect, durations)} AS a{place}_durations",
        f"sum(CASE WHEN {once} THEN {floating} END) AS a{place}_double",
    ]


def _gathered(dialect: Dialect, texts: str) -> str:
    return "max('')" if texts == NULL else dialect.gathered(texts)
