"""``IN`` with constants: one test per kind of value, whatever their number, instead of a comparison for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from triplestore.engine.dialect import Dialect
from triplestore.expressions import numerals
from triplestore.expressions.compare import known
from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import STRING, Value, double_of, string_literal, well_formed_boolean
from triplestore.model.expression import Constant, Expression
from triplestore.model.terms import split_literal


def listed(term: Expression, value: Value) -> Value | None:
    """The value, if `among` can tell what equals it: of a constant IRI, number, boolean or string (tagged, too)."""
    plain = value.static not in ("any", "quantity") and value.id is not None
    return value if isinstance(term, Constant) and plain else None


def among(d: Dialect, left: Value, values: Sequence[Value], errors: bool) -> str:
    """The condition that a value equals one of those that `listed` lets pass. errors: NULL where none does and one of
    them cannot be compared with it, else FALSE or NULL."""
    kinds = {static: [v for v in values if v.static == static] for static in ("iri", "string", "text", "boolean")}
    tests = []
    if nodes := kinds["iri"]:
        if left.id is not None:
            tests.append(f"{left.id} IN ({_list(str(v.id) for v in nodes)})")
        else:
            for kind in ("1", "2"):
                if texts := _list(v.text for v in nodes if v.kind == kind):
                    tests.append(f"({left.kind}) = {kind} AND ({left.lexical}) IN ({texts})")
    if strings := kinds["string"]:
        if left.id is not None:
            tests.append(f"{left.id} IN ({_list(str(v.id) for v in strings)})")
        else:
            plain = "TRUE" if left.static == "string" else f"{left.datatype} = {STRING}"
            tests.append(f"{plain} AND ({string_literal(left)}) IN ({_list(v.text for v in strings)})")
    for tag in dict.fromkeys(v.lang for v in kinds["text"] if left.lang != NULL):
        texts = _list(v.text for v in kinds["text"] if v.lang == tag)
        tests.append(f"({left.lang}) = {tag} AND ({left.lexical}) IN ({texts})")
    if booleans := kinds["boolean"]:
        tests.append(f"({well_formed_boolean(left)}) IN ({_list(str(v.truth) for v in booleans)})")
    if numbers := [v for v in values if v.static == "number"]:
        tests += _numbers(left, numbers)
    found = f"coalesce({' OR '.join(f'({test})' for test in tests)}, FALSE)" if tests else "FALSE"
    if not errors:
        return found
    literals = kinds["string"] or kinds["boolean"] or numbers
    strange = f"WHEN ({left.kind}) = 3 AND ({left.lang}) IS NULL AND NOT {known(left)} THEN NULL " if literals else ""
    return f"CASE WHEN ({left.kind}) IS NULL THEN NULL WHEN {found} THEN TRUE {strange}ELSE FALSE END"


def _numbers(left: Value, numbers: Sequence[Value]) -> list[str]:
    """The tests that a value equals a number: each as a number of the wider type of the two."""
    if left.rank == NULL:
        return []
    tests = []
    if exact := [_short(v) for v in numbers if v.decimal != NULL]:
        tests.append(f"({left.decimal}) IN ({_list(exact)})")
    if (wide := [v.rest for v in numbers if v.rest != NULL]) and left.rest != NULL:
        tests.append(f"({left.rank}) <= 2 AND ({left.rest}) IN ({_list(wide)})")
    no_nan = f"NOT isnan({left.double})"
    exact_ones = [v for v in numbers if v.rank in ("1", "2")]
    if most := [_double(v, 4) for v in exact_ones]:
        singles = [_double(v, 3) for v in exact_ones]
        if singles == most:
            tests.append(f"({left.rank}) >= 3 AND {no_nan} AND ({left.double}) IN ({_list(most)})")
        else:
            tests.append(f"({left.rank}) = 3 AND {no_nan} AND ({left.double}) IN ({_list(singles)})")
            tests.append(f"({left.rank}) = 4 AND ({left.double}) IN ({_list(most)})")
    if floats := [_double(v, 3) for v in numbers if v.rank == "3"]:
        tests.append(f"({left.rank}) <= 3 AND {no_nan} AND ({numerals.single(left.double)}) IN ({_list(floats)})")
        tests.append(f"({left.rank}) = 4 AND {no_nan} AND ({left.double}) IN ({_list(floats)})")
    if doubles := [_double(v, 4) for v in numbers if v.rank == "4"]:
        tests.append(f"{no_nan} AND ({left.double}) IN ({_list(doubles)})")
    return tests


def _double(value: Value, rank: int) -> str:
    """A constant as SQL of a DOUBLE, rounded to single precision if the rank is 3; short where that is possible."""
    text = double_of(_text(value), rank)
    return f"{text}e0" if re.fullmatch(r"-?[0-9]+[.][0-9]+", text) else f"CAST('{text}' AS DOUBLE)"


def _text(value: Value) -> str:
    return split_literal(str(value.constant))[0].strip(" \t\r\n")


def _short(value: Value) -> str:
    """An exact constant, as short SQL where it is small."""
    text = _text(value)
    return text if re.fullmatch(r"-?[1-9][0-9]{0,8}", text) else value.decimal


def _list(items: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(items))
