"""Comparing values: ``=``, ``<`` (SPARQL 1.1, section 17.3) and the order of ORDER BY, MIN and MAX (section 15.1).

Literals of unknown datatypes that are not the same term give an error, as the recommendation asks; literals of two
known but different types (1 and "a") are not equal, as its successor has it. `<` knows numbers, strings, booleans,
times and durations of one derived type (by XPath and XQuery Functions 3.1, sections 8.2 and 9.5); anything else is an
error.
"""

from __future__ import annotations

from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions import instants, numerals
from triplestore.expressions.decimals import NULL
from triplestore.expressions.durations import DURATION
from triplestore.expressions.values import STRING, Value, well_formed_boolean
from triplestore.model.terms import XSD


def _numbers(d: Dialect, left: Value, operator: str, right: Value) -> str:
    """Compare numbers: exactly where both are exact, as floats where one is a float and none a double."""
    ranks = {left.rank, right.rank}
    if left.is_exact and right.is_exact:
        return f"({left.plain}) {operator} ({right.plain})"
    exact = f"({left.decimal}) {operator} ({right.decimal})"
    known = ranks <= {"1", "2"}
    if known and left.rest == right.rest == NULL and NULL not in (left.decimal, right.decimal):
        return exact
    cases = []
    if NULL not in (left.decimal, right.decimal):
        cases.append(f"WHEN ({left.decimal}) IS NOT NULL AND ({right.decimal}) IS NOT NULL THEN {exact}")
    if (left.rest != NULL or right.rest != NULL) and not ranks & {"3", "4"}:
        sides = (
            d.record(("a", "b"), (numerals.near(d, v.decimal, v.rest), numerals.tail(v.rest))) for v in (left, right)
        )
        tests = [f"({v.rank}) <= 2" for v in (left, right) if v.rank not in ("1", "2")]
        tests += [f"({v.kind}) IS NOT NULL" for v in (left, right) if v.writer is not None]
        cases.append(f"WHEN {' AND '.join(tests) or 'TRUE'} THEN {f' {operator} '.join(sides)}")
    if not known:
        # Engines hold NaN equal to NaN and above all else.
        unordered = {"=": left, ">": left, "<": right}[operator]
        number = f"NOT isnan({unordered.double})"
        if "4" not in ranks:
            single = f"{numerals.single(left.double)} {operator} {numerals.single(right.double)}"
            cases.append(f"WHEN greatest({left.rank}, {right.rank}) = 3 AND {number} THEN {single}")
        double = f"({left.double}) {operator} ({right.double}) AND {number}"
        if not cases:
            return double
        cases.append(f"ELSE {double}")
    return f"CASE {' '.join(cases)} END"


def _same_family(left: Value, right: Value) -> str:
    """Whether two times are of one family: xsd:date, xsd:time, or xsd:dateTime with xsd:dateTimeStamp."""
    return f"replace({left.datatype}, 'Stamp', '') = replace({right.datatype}, 'Stamp', '')"


def _times(d: Dialect, left: Value, operator: str, right: Value) -> str:
    """Compare times: one with a zone and one without are ordered where no zone (14 hours at most) could change it."""
    a, b = (instants.near(d, v.micros, v.rest) for v in (left, right))
    both = [d.record(("a", "b"), (near, instants.tail(v.rest))) for near, v in ((a, left), (b, right))]
    plain = f"{left.micros} {operator} {right.micros}"
    if left.rest == right.rest == NULL:
        full = plain
    elif NULL in (left.micros, right.micros):
        full = f" {operator} ".join(both)
    else:
        modern = f"{left.micros} IS NOT NULL AND {right.micros} IS NOT NULL"
        full = f"CASE WHEN {modern} THEN {plain} ELSE {f' {operator} '.join(both)} END"
    apart = f"abs(({a}) - ({b})) > 50400000000"
    return f"CASE WHEN ({instants.zoned(left.lexical)}) = ({instants.zoned(right.lexical)}) OR {apart} THEN {full} END"


def _plain_times(left: Value, operator: str, right: Value) -> str | None:
    """Compare times of one datatype that all have a zone, or all have none; None for others."""
    if not (_is_plain_time(left) and _is_plain_time(right)):
        return None
    same = left.zoned == right.zoned and left.datatype == right.datatype
    return f"{left.micros} {operator} {right.micros}" if same else None


def _is_plain_time(value: Value) -> bool:
    """Whether microseconds alone order times of the value's datatype."""
    return value.zoned is not None and value.rest == NULL and value.datatype in _PLAIN_TIMES


_PLAIN_TIMES: Final = (f"'{XSD}dateTime'", f"'{XSD}date'")


def _maybe_instant(value: Value) -> bool:
    return value.static in ("any", "quantity") and (value.micros != NULL or value.rest != NULL)


def _maybe_duration(value: Value) -> bool:
    return value.static in ("any", "quantity") and value.rest != NULL


def known(value: Value) -> str:
    """Whether a literal is of a type that comparisons understand, and well-formed."""
    if value.static in ("boolean", "number", "quantity", "string", "text"):
        return "TRUE"
    return (
        f"({value.datatype} = {STRING} OR {value.lang} IS NOT NULL OR {value.is_number} "
        f"OR {value.is_instant} OR {value.is_duration} OR ({well_formed_boolean(value)}) IS NOT NULL)"
    )


def same_term(left: Value, right: Value) -> str:
    """sameTerm: the condition that both are one and the same term."""
    if left.id is not None and right.id is not None:
        return f"{left.id} = {right.id}"
    parts = [f"({left.kind}) = ({right.kind})", f"({left.lexical}) = ({right.lexical})"]
    parts.append(f"coalesce({left.datatype}, '') = coalesce({right.datatype}, '')")
    parts.append(f"coalesce({left.lang}, '') = coalesce({right.lang}, '')")
    return f"CASE WHEN ({left.kind}) IS NOT NULL AND ({right.kind}) IS NOT NULL THEN {' AND '.join(parts)} END"


def equals(d: Dialect, left: Value, right: Value, triples: bool) -> str:
    """``left = right``. triples: both may be triple terms."""
    statics = {left.static, right.static}
    if left.id is not None and right.id is not None and not statics.isdisjoint(("iri", "node")):
        return f"{left.id} = {right.id}"
    if statics == {"number"}:
        return _numbers(d, left, "=", right)
    if statics == {"string"}:
        stored = left.id is not None and right.id is not None
        return f"{left.id} = {right.id}" if stored else f"({left.lexical}) = ({right.lexical})"
    if statics == {"boolean"}:
        return f"({left.truth}) = ({right.truth})"
    if (times := _plain_times(left, "=", right)) is not None:
        return times
    cases = [
        f"WHEN ({left.kind}) IS NULL OR ({right.kind}) IS NULL THEN NULL",
        f"WHEN ({left.kind}) <> 3 OR ({right.kind}) <> 3 THEN {_no_literals(left, right, triples)}",
    ]
    if NULL not in (left.rank, right.rank):
        both = f"{left.is_number} AND {right.is_number}"
        cases.append(f"WHEN {both} THEN {_numbers(d, left, '=', right)}")
    cases.append(f"WHEN {same_term(left, right)} THEN TRUE")
    if _maybe_instant(left) and _maybe_instant(right):
        both = f"{left.is_instant} AND {right.is_instant}"
        same = _same_family(left, right)
        cases.append(f"WHEN {both} THEN CASE WHEN {same} THEN {_times(d, left, '=', right)} ELSE FALSE END")
    if _maybe_duration(left) and _maybe_duration(right):
        cases.append(f"WHEN {left.is_duration} AND {right.is_duration} THEN {left.rest} = {right.rest}")
    if statics <= {"any", "boolean"}:
        truths = well_formed_boolean(left), well_formed_boolean(right)
        cases.append(f"WHEN ({truths[0]}) IS NOT NULL AND ({truths[1]}) IS NOT NULL THEN ({truths[0]}) = ({truths[1]})")
    cases.append(f"WHEN {left.lang} IS NOT NULL OR {right.lang} IS NOT NULL THEN FALSE")
    cases.append(f"WHEN {known(left)} AND {known(right)} THEN FALSE")
    return f"CASE {' '.join(cases)} END"


def equality_key(value: Value) -> str:
    """A text that values have in common of which `=` or `sameTerm` holds; NULL for an error. Others may have it too.

    Numbers are compared exactly, as doubles or as floats: the float is the same in each case. A string, a text with a
    language, an IRI and a blank node are no more than what they spell. Everything else is one."""
    number = f"'n' || CAST({numerals.single(value.double)} + 0 AS STRING)"  # makes -0 of it 0
    text = f"'t' || ({value.lexical})"
    if value.static == "number":
        return f"CASE WHEN ({value.kind}) IS NOT NULL THEN {number} END"
    if value.static in ("string", "text", "iri", "node"):
        return f"CASE WHEN ({value.kind}) IS NOT NULL THEN {text} END"
    cases = [f"WHEN ({value.kind}) IS NULL THEN NULL"]
    if value.rank != NULL:
        cases.append(f"WHEN {value.is_number} THEN {number}")
    spelt = f"({value.kind}) IN (1, 2) OR ({value.datatype}) = {STRING} OR ({value.lang}) IS NOT NULL"
    return f"CASE {' '.join(cases)} WHEN {spelt} THEN {text} ELSE 'x' END"


def _no_literals(left: Value, right: Value, triples: bool) -> str:
    """``=`` of terms one of which is no literal. The parts of two triple terms are compared, by a function. (What it is
    given is NULL for all other rows: Spark calls it for those too.)"""
    same, both = same_term(left, right), f"({left.kind}) = 4 AND ({right.kind}) = 4"
    if not triples or {left.static, right.static} != {"any"}:
        return same
    parts = ", ".join(f"CASE WHEN {both} THEN {side.lexical} END" for side in (left, right))
    return f"CASE WHEN {both} THEN tl_triples_equal({parts}) = 'true' ELSE {same} END"


def less(d: Dialect, left: Value, operator: str, right: Value) -> str:
    """``left < right`` or ``left > right``."""
    statics = {left.static, right.static}
    if statics == {"number"}:
        return _numbers(d, left, operator, right)
    if statics == {"string"}:
        return f"({left.lexical}) {operator} ({right.lexical})"
    if (times := _plain_times(left, operator, right)) is not None:
        return times
    cases: list[str] = []
    if NULL not in (left.rank, right.rank):
        both = f"{left.is_number} AND {right.is_number}"
        cases.append(f"WHEN {both} THEN {_numbers(d, left, operator, right)}")
    if statics <= {"any", "string", "text"}:
        both = f"{left.datatype} = {STRING} AND {right.datatype} = {STRING}"
        cases.append(f"WHEN {both} THEN ({left.lexical}) {operator} ({right.lexical})")
    if _maybe_instant(left) and _maybe_instant(right):
        both = f"{left.is_instant} AND {right.is_instant} AND {_same_family(left, right)}"
        cases.append(f"WHEN {both} THEN {_times(d, left, operator, right)}")
    if _maybe_duration(left) and _maybe_duration(right):
        ordered = f"{left.datatype} = {right.datatype} AND {left.datatype} <> '{DURATION}'"
        both = f"{left.is_duration} AND {right.is_duration} AND {ordered}"
        cases.append(f"WHEN {both} THEN {left.rest} {operator} {right.rest}")
    if statics <= {"any", "boolean"}:
        truths = well_formed_boolean(left), well_formed_boolean(right)
        both = f"({truths[0]}) IS NOT NULL AND ({truths[1]}) IS NOT NULL"
        cases.append(f"WHEN {both} THEN ({truths[0]}) {operator} ({truths[1]})")
    return f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS BOOLEAN)"


def sort_keys(d: Dialect, value: Value) -> tuple[str, ...]:
    """SQL expressions that, sorted in turn with NULLs first, give SPARQL's order.

    Unbound, blank nodes, IRIs, then literals: numbers, times, durations, booleans, strings, language-tagged ones, all
    others; and triple terms. Equal numbers of different types are ties. Literals that `<` cannot compare are put in
    order by this rule of ours.
    """
    if value.static == "number" and value.is_exact:
        return (value.plain,)
    if value.static == "string":
        return (value.lexical,)
    if value.static == "boolean":
        return (well_formed_boolean(value),)
    if _is_plain_time(value):
        return (value.micros,)
    number, keyed = numerals.near(d, value.decimal, value.rest), numerals.tail(value.rest)
    if number != NULL and value.rank not in ("1", "2"):  # engines differ in where NULL comes in a record
        number = f"coalesce({number}, {numerals.LEAST})"
    if value.static == "number":
        kind = f"CASE WHEN ({value.kind}) IS NOT NULL THEN 3 ELSE 0 END"
        more = () if value.rest == NULL else (f"CASE WHEN ({number}) IS NOT NULL THEN {keyed} END",)
        return (kind, value.double, number, *more)
    truths = well_formed_boolean(value)
    moment = instants.near(d, value.micros, value.rest)
    moment = moment if value.rest == NULL else f"CASE WHEN {value.is_instant} THEN {moment} END"
    valued = f"{value.is_number} OR {value.is_instant} OR {value.is_duration} OR ({truths}) IS NOT NULL"
    kind = (
        f"CASE WHEN ({value.kind}) IS NULL THEN 0 WHEN ({value.kind}) = 2 THEN 1 WHEN ({value.kind}) = 1 THEN 2 "
        f"WHEN {value.is_number} THEN 3 WHEN {value.is_instant} THEN CASE {value.datatype} WHEN '{XSD}date' "
        f"THEN 5 WHEN '{XSD}time' THEN 6 ELSE 4 END WHEN {value.is_duration} THEN 7 WHEN ({truths}) IS NOT NULL THEN 8 "
        f"WHEN {value.datatype} = {STRING} THEN 9 WHEN {value.lang} IS NOT NULL THEN 10 WHEN ({value.kind}) = 3 "
        "THEN 11 ELSE 12 END"
    )
    tails = (
        f"WHEN {value.is_number} THEN {keyed} WHEN {value.is_instant} THEN {instants.tail(value.rest)} "
        f"WHEN {value.is_duration} THEN {value.rest} "
    )
    return (
        kind,
        value.double,
        f"CASE WHEN {value.is_number} THEN {number} END",
        f"coalesce({moment}, CASE WHEN ({truths}) THEN 1 WHEN NOT ({truths}) THEN 0 END)",
        f"CASE {tails if value.rest != NULL else ''}WHEN {valued} THEN NULL ELSE {value.lexical} END",
        f"CASE WHEN {valued} THEN NULL ELSE coalesce({value.lang}, {value.datatype}) END",
    )
