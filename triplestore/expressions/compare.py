"""Comparing values: ``=``, ``<`` (SPARQL 1.1, section 17.3) and the order of ORDER BY, MIN and MAX (section 15.1).

Literals of unknown datatypes that are not the same term give an error, as the recommendation asks; literals of two
known but different types (1 and "a") are not equal, as its successor has it. `<` knows numbers, strings, booleans and
times; anything else is an error.
"""

from __future__ import annotations

from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import STRING, Value, string_literal, well_formed_boolean
from triplestore.terms import XSD


def _numbers(left: Value, operator: str, right: Value) -> str:
    """Compare numbers: exactly where both are exact, as floats where one is a float and none a double."""
    ranks = {left.rank, right.rank}
    if left.static == right.static == "number" and ranks <= {"1", "2"} and NULL not in (left.decimal, right.decimal):
        return f"({left.decimal}) {operator} ({right.decimal})"
    unordered = {"=": left, ">": left, "<": right}[operator]  # engines hold NaN equal to NaN and above all else
    single = f"CAST({left.double} AS FLOAT) {operator} CAST({right.double} AS FLOAT)"
    double = f"({left.double}) {operator} ({right.double}) AND NOT isnan({unordered.double})"
    exact = f"({left.decimal}) {operator} ({right.decimal})"
    return (
        f"CASE WHEN ({left.decimal}) IS NOT NULL AND ({right.decimal}) IS NOT NULL THEN {exact} "
        f"WHEN greatest({left.rank}, {right.rank}) = 3 AND NOT isnan({unordered.double}) THEN {single} "
        f"ELSE {double} END"
    )


def _date(value: Value) -> str:
    return f"{value.datatype} = '{XSD}date'"


def _times(left: Value, operator: str, right: Value) -> str:
    """Compare times: one with a zone and one without are ordered where no zone (14 hours at most) could change it."""
    plain = f"{left.micros} {operator} {right.micros}"
    apart = f"abs({left.micros} - {right.micros}) > 50400000000"
    return f"CASE WHEN ({_zoned(left)}) = ({_zoned(right)}) OR {apart} THEN {plain} END"


def _zoned(value: Value) -> str:
    end = f"substr({value.lexical}, length({value.lexical}) - 5, 1)"
    return f"({value.lexical} LIKE '%Z' OR ({end} IN ('+', '-') AND {value.lexical} LIKE '%:__'))"


def _known(value: Value) -> str:
    """Whether a literal is of a type that comparisons understand, and well-formed."""
    if value.static in ("boolean", "number", "string", "text"):
        return "TRUE"
    return (
        f"({value.datatype} = {STRING} OR {value.lang} IS NOT NULL OR {value.double} IS NOT NULL "
        f"OR {value.micros} IS NOT NULL OR ({well_formed_boolean(value)}) IS NOT NULL)"
    )


def same_term(left: Value, right: Value) -> str:
    """sameTerm: the condition that both are one and the same term."""
    if left.id is not None and right.id is not None:
        return f"{left.id} = {right.id}"
    parts = [f"({left.kind}) = ({right.kind})", f"({left.lexical}) = ({right.lexical})"]
    parts.append(f"coalesce({left.datatype}, '') = coalesce({right.datatype}, '')")
    parts.append(f"coalesce({left.lang}, '') = coalesce({right.lang}, '')")
    return f"CASE WHEN ({left.kind}) IS NOT NULL AND ({right.kind}) IS NOT NULL THEN {' AND '.join(parts)} END"


def equals(left: Value, right: Value) -> str:
    """``left = right``."""
    statics = {left.static, right.static}
    if left.id is not None and right.id is not None and "iri" in statics:
        return f"{left.id} = {right.id}"
    if statics == {"number"}:
        return _numbers(left, "=", right)
    if statics == {"string"}:
        return f"({left.lexical}) = ({right.lexical})"
    if statics == {"boolean"}:
        return f"({left.truth}) = ({right.truth})"
    cases = [
        f"WHEN ({left.kind}) IS NULL OR ({right.kind}) IS NULL THEN NULL",
        f"WHEN ({left.kind}) <> 3 OR ({right.kind}) <> 3 THEN {same_term(left, right)}",
    ]
    if statics <= {"any", "number"}:
        both = f"({left.double}) IS NOT NULL AND ({right.double}) IS NOT NULL"
        cases.append(f"WHEN {both} THEN {_numbers(left, '=', right)}")
    cases.append(f"WHEN {same_term(left, right)} THEN TRUE")
    if statics <= {"any"}:
        both = f"{left.micros} IS NOT NULL AND {right.micros} IS NOT NULL"
        same_kind = f"({_date(left)}) = ({_date(right)})"
        cases.append(f"WHEN {both} THEN CASE WHEN {same_kind} THEN {_times(left, '=', right)} ELSE FALSE END")
    if statics <= {"any", "boolean"}:
        truths = well_formed_boolean(left), well_formed_boolean(right)
        cases.append(f"WHEN ({truths[0]}) IS NOT NULL AND ({truths[1]}) IS NOT NULL THEN ({truths[0]}) = ({truths[1]})")
    cases.append(f"WHEN {left.lang} IS NOT NULL OR {right.lang} IS NOT NULL THEN FALSE")
    cases.append(f"WHEN {_known(left)} AND {_known(right)} THEN FALSE")
    return f"CASE {' '.join(cases)} END"


def less(left: Value, operator: str, right: Value) -> str:
    """``left < right`` or ``left > right``."""
    statics = {left.static, right.static}
    if statics == {"number"}:
        return _numbers(left, operator, right)
    cases: list[str] = []
    if statics <= {"any", "number"}:
        both = f"({left.double}) IS NOT NULL AND ({right.double}) IS NOT NULL"
        cases.append(f"WHEN {both} THEN {_numbers(left, operator, right)}")
    if statics <= {"any", "string", "text"}:
        both = f"{left.datatype} = {STRING} AND {right.datatype} = {STRING}"
        cases.append(f"WHEN {both} THEN ({string_literal(left)}) {operator} ({string_literal(right)})")
    if statics <= {"any"}:
        both = f"{left.micros} IS NOT NULL AND {right.micros} IS NOT NULL AND ({_date(left)}) = ({_date(right)})"
        cases.append(f"WHEN {both} THEN {_times(left, operator, right)}")
    if statics <= {"any", "boolean"}:
        truths = well_formed_boolean(left), well_formed_boolean(right)
        both = f"({truths[0]}) IS NOT NULL AND ({truths[1]}) IS NOT NULL"
        cases.append(f"WHEN {both} THEN ({truths[0]}) {operator} ({truths[1]})")
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS BOOLEAN)"


def sort_keys(value: Value) -> tuple[str, ...]:
    """SQL expressions that, sorted in turn with NULLs first, give SPARQL's order.

    Unbound, blank nodes, IRIs, then literals: numbers, times, booleans, strings, language-tagged ones, all others;
    equal numbers of different types are ties. Literals that `<` cannot compare are put in order by this rule of ours.
    """
    if value.static == "number":
        return (f"CASE WHEN ({value.kind}) IS NOT NULL THEN 3 ELSE 0 END", value.double, value.decimal)
    truths = well_formed_boolean(value)
    valued = f"({value.double}) IS NOT NULL OR ({value.micros}) IS NOT NULL OR ({truths}) IS NOT NULL"
    kind = (
        f"CASE WHEN ({value.kind}) IS NULL THEN 0 WHEN ({value.kind}) = 2 THEN 1 WHEN ({value.kind}) = 1 THEN 2 "
        f"WHEN ({value.double}) IS NOT NULL THEN 3 WHEN ({value.micros}) IS NOT NULL THEN CASE WHEN {_date(value)} "
        f"THEN 5 ELSE 4 END WHEN ({truths}) IS NOT NULL THEN 6 WHEN {value.datatype} = {STRING} THEN 7 "
        f"WHEN {value.lang} IS NOT NULL THEN 8 ELSE 9 END"
    )
    return (
        kind,
        value.double,
        value.decimal,
        f"coalesce({value.micros}, CASE WHEN ({truths}) THEN 1 WHEN NOT ({truths}) THEN 0 END)",
        f"CASE WHEN {valued} THEN NULL ELSE {value.lexical} END",
        f"CASE WHEN {valued} THEN NULL ELSE coalesce({value.lang}, {value.datatype}) END",
    )
