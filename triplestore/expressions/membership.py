"""``IN`` with constants: one test per kind of value, whatever their number, instead of a comparison for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triplestore.engine.dialect import Dialect
from triplestore.expressions import numerals
from triplestore.expressions.compare import known
from triplestore.expressions.constants import (
    Keep,
    decimal_sql,
    double_sql,
    equal_instants,
    is_duration,
    is_instant,
)
from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import STRING, Value, string_literal, well_formed_boolean


def listed(value: Value) -> bool:
    """Whether `among` can tell what equals a value: an IRI, or a literal of a type that comparisons know."""
    return value.constant is not None and value.id is not None and value.static != "any"


def among(d: Dialect, keep: Keep, left: Value, values: Sequence[Value], errors: bool) -> str:
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
    same, doubts = equal_instants(left, filter(is_instant, values), keep)
    tests += same
    if (durations := [v.rest for v in values if is_duration(v)]) and left.rest != NULL:
        tests.append(f"{left.is_duration} AND {left.rest} IN ({_list(durations)})")
    found = f"coalesce({' OR '.join(f'({test})' for test in tests)}, FALSE)" if tests else "FALSE"
    if not errors:
        return found
    strange = []
    if left.static == "any" and any(v.kind == "3" and v.static != "text" for v in values):
        strange.append(keep(f"({left.kind}) = 3 AND ({left.lang}) IS NULL AND NOT {known(left)}"))
    unsure = "".join(f"WHEN {test} THEN NULL " for test in strange + doubts)
    return f"CASE WHEN ({left.kind}) IS NULL THEN NULL WHEN {found} THEN TRUE {unsure}ELSE FALSE END"


def _numbers(left: Value, numbers: Sequence[Value]) -> list[str]:
    """The tests that a value equals a number: each as a number of the wider type of the two."""
    if left.rank == NULL:
        return []
    tests = []
    if exact := [decimal_sql(v) for v in numbers if v.decimal != NULL]:
        tests.append(f"({left.plain}) IN ({_list(exact)})")
    if (wide := [v.rest for v in numbers if v.rest != NULL]) and left.rest != NULL:
        tests.append(f"({left.rank}) <= 2 AND ({left.rest}) IN ({_list(wide)})")
    if left.is_exact and all(v.rank in ("1", "2") for v in numbers):
        return tests
    no_nan = f"NOT isnan({left.double})"
    exact_ones = [v for v in numbers if v.rank in ("1", "2")]
    if most := [double_sql(v, 4) for v in exact_ones]:
        singles = [double_sql(v, 3) for v in exact_ones]
        if singles == most:
            tests.append(f"({left.rank}) >= 3 AND {no_nan} AND ({left.double}) IN ({_list(most)})")
        else:
            tests.append(f"({left.rank}) = 3 AND {no_nan} AND ({left.double}) IN ({_list(singles)})")
            tests.append(f"({left.rank}) = 4 AND ({left.double}) IN ({_list(most)})")
    if floats := [double_sql(v, 3) for v in numbers if v.rank == "3"]:
        tests.append(f"({left.rank}) <= 3 AND {no_nan} AND ({numerals.single(left.double)}) IN ({_list(floats)})")
        tests.append(f"({left.rank}) = 4 AND {no_nan} AND ({left.double}) IN ({_list(floats)})")
    if doubles := [double_sql(v, 4) for v in numbers if v.rank == "4"]:
        tests.append(f"{no_nan} AND ({left.double}) IN ({_list(doubles)})")
    return tests


def _list(items: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(items))
