"""Arithmetic of times and durations as SQL: the operators of numbers, extended by `triplestore.expressions.calendar`.

It has the rows in which an operand is a time or a duration; those of numbers are computed as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.arithmetic import split
from triplestore.expressions.calendar import CASTS
from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import ERROR, STRING, Value
from triplestore.model.terms import XSD, split_literal

Keep = Callable[[str], str]
Function = Callable[..., Value]


def extended(operator: str, numbers: Function) -> Function:
    """An operator (as `calendar.computed` names it) of numbers, for times and durations too."""

    def apply(d: Dialect, keep: Keep, *values: Value) -> Value:
        found = numbers(d, keep, *values)
        temporal, numeric = [_may_be_temporal(v) for v in values], [v.rank != NULL for v in values]
        if operator == "*":
            possible = any(temporal) and all(t or n for t, n in zip(temporal, numeric, strict=True))
        else:
            possible = all(temporal) or (operator == "/" and temporal[0] and numeric[1])
        if not possible:
            return found
        operands = [moment(d, v) for v in values]
        if operator in "*/":
            operands = [_or_number(v, m) for v, m in zip(values, operands, strict=True)]
        asked = [v.is_temporal for v, t in zip(values, temporal, strict=True) if t]
        guard = f" {'OR' if operator == '*' else 'AND'} ".join(asked[:1] if operator == "/" else asked)
        left, right = operands if len(operands) == 2 else (*operands, "''")
        call = keep(f"CASE WHEN {guard} THEN tl_calendar('{operator}', {left}, {right}) END")
        return _joined(d, found, call, ratio=operator == "/" and temporal[1])

    return apply


def moment(d: Dialect, value: Value) -> str:
    """A time or duration as an operand of `calendar.computed`; NULL for anything else."""
    if value.made is not None:
        return value.made
    if value.constant is not None:
        lexical, datatype, _ = split_literal(value.constant)
        return d.string(f"{datatype.removeprefix(XSD)}|{lexical}")
    name = f"substr({value.datatype}, {len(XSD) + 1})"
    return f"CASE WHEN {value.is_temporal} THEN {name} || '|' || {d.trim(value.text)} END"


def _cast(name: str) -> Function:
    """A cast to a datatype of `CASTS`, of strings and of times and durations."""

    def apply(d: Dialect, keep: Keep, a: Value) -> Value:
        temporal = _may_be_temporal(a)
        if not temporal and a.static not in ("string", "text"):
            return ERROR.computed
        text = f"CASE WHEN {a.datatype} = {STRING} THEN 'string|' || {a.lexical} END"
        operand = f"coalesce({text}, {moment(d, a)})" if temporal else text
        return duration_of(d, keep(f"tl_calendar('{name}', {operand}, '')"))

    return apply


CASTING: Final[dict[str, Function]] = {XSD + name: _cast(name) for name in CASTS}
"""By name; each takes the dialect, `keep`, and a value."""


def duration_of(d: Dialect, call: str) -> Value:
    """The value of what `calendar.computed` gives, if it is not a number."""
    text, datatype, rest = (f"split_part({call}, '|', {place})" for place in (2, 1, 3))
    kind = f"CASE WHEN ({call}) IS NOT NULL THEN 3 END"
    return Value(kind, text, f"'{XSD}' || {datatype}", rest=rest, static="quantity", made=call)


def _joined(d: Dialect, found: Value, call: str, ratio: bool) -> Value:
    """The number where there is one, else what was computed. ratio: whether that may be a number, too."""
    other = duration_of(d, call)
    if found.rank == NULL and not ratio:
        return other
    rank, decimal, rest, text = found.rank, found.decimal, other.rest, other.text
    if ratio:
        is_ratio = f"({call}) LIKE 'decimal|%'"
        narrow, wide = split(f"CASE WHEN {is_ratio} THEN {other.text} END")
        rank = _first(rank, f"CASE WHEN {is_ratio} THEN 2 END")
        decimal, rest = _first(decimal, narrow), _first(wide, f"CASE WHEN NOT {is_ratio} THEN {rest} END")
        text = f"CASE WHEN NOT {is_ratio} THEN {text} END"
    return replace(
        other,
        kind=_first(found.kind, other.kind) if found.rank != NULL else other.kind,
        text=text,
        datatype=_first(found.datatype, other.datatype) if found.rank != NULL else other.datatype,
        rank=rank,
        decimal=decimal,
        inexact=found.inexact,
        rest=_first(found.rest, rest),
        writer=d,
    )


def _first(*parts: str) -> str:
    present = [part for part in parts if part != NULL]
    return present[0] if len(present) == 1 else f"coalesce({', '.join(present)})"


def _may_be_temporal(value: Value) -> bool:
    if value.constant is not None:
        return (value.micros, value.rest) != (NULL, NULL) and value.rank == NULL
    return value.static in ("any", "quantity") and (value.micros, value.rest, value.made) != (NULL, NULL, None)


def _or_number(value: Value, operand: str) -> str:
    """The operand, or if it is NULL the text of a number."""
    if value.rank == NULL:
        return operand
    exact = [value.rest] if value.rest != NULL else []
    exact += [f"CAST({value.decimal} AS STRING)"] if value.decimal != NULL else []
    texts = []
    if exact and value.rank not in ("3", "4"):
        texts.append(f"CASE WHEN ({value.rank}) <= 2 THEN {_first(*exact)} END")
    if value.rank not in ("1", "2") and value.inexact != NULL:
        texts.append(f"CASE WHEN ({value.rank}) >= 3 THEN CAST({value.inexact} AS STRING) END")
    return _first(*([operand] if _may_be_temporal(value) else []), *texts)
