"""The functions and operators of SPARQL 1.1 expressions (section 17.4) over `Value`s, by name, in one table.

A function gets the values of its arguments and gives a value. Arithmetic is in `triplestore.expressions.arithmetic`;
what needs more than values (BOUND, IF, COALESCE, REGEX, IN, the logical ones) in `triplestore.expressions.compiler`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions import constructors, strings, temporal, times
from triplestore.expressions.arithmetic import ARITHMETIC
from triplestore.expressions.casts import CASTS
from triplestore.expressions.decimals import NULL
from triplestore.expressions.numerals import exact_text, floating_string, floating_text
from triplestore.expressions.values import STRING, Value, boolean, string, truth, well_formed_boolean
from triplestore.model.terms import XSD

Function = Callable[..., Value]


def _is(kind: int) -> Function:
    return lambda d, a: boolean(f"({a.kind}) = {kind}")


def _is_numeric(d: Dialect, a: Value) -> Value:
    return boolean(f"CASE WHEN ({a.kind}) IS NOT NULL THEN ({a.rank}) IS NOT NULL END")


def _to_string(d: Dialect, a: Value) -> Value:
    """Numbers and booleans in canonical form: XPath and XQuery Functions 3.1, section 19.1.2."""
    if a.static == "boolean":
        a = boolean(truth(a))
    if a.static in ("string", "text", "boolean", "iri", "node") or (a.static == "quantity" and a.rank == NULL):
        return constructors.str_(d, a)
    double, cases = a.double, []
    if a.static == "any":
        flag = well_formed_boolean(a)
        cases += [
            f"WHEN ({a.kind}) IN (2, 4) THEN NULL",
            f"WHEN ({flag}) THEN 'true'",
            f"WHEN NOT ({flag}) THEN 'false'",
        ]
    if a.rank not in ("3", "4", NULL):
        wide = "" if a.rest == NULL else f" OR ({a.rest}) IS NOT NULL"
        exact = exact_text(d, a.decimal, a.rest) if (a.decimal, a.rest) != (NULL, NULL) else NULL
        cases.append(f"WHEN ({a.rank}) <= 2 AND (({a.decimal}) IS NOT NULL{wide}) THEN {exact}")
    if a.rank not in ("1", "2", NULL):
        rounded = exact_text(d, f"TRY_CAST({floating_string(a.rank, double)} AS DECIMAL(38,18))")
        small = f"abs({double}) >= 1e-6 AND abs({double}) < 1e6"
        zero = f"CASE WHEN CAST({double} AS STRING) LIKE '-%' THEN '-0' ELSE '0' END"
        text = floating_text(d, a.rank, double)
        written = f"CASE WHEN ({double}) = 0 THEN {zero} WHEN {small} THEN {rounded} ELSE {text} END"
        cases.append(f"WHEN ({a.rank}) >= 3 THEN {written}")
    if a.static in ("any", "quantity"):
        cases.append(f"ELSE {a.text}")
    return string(f"CASE {' '.join(cases)} END")


def _to_boolean(d: Dialect, a: Value) -> Value:
    if a.static in ("number", "boolean"):
        return boolean(truth(a))
    text = f"CASE WHEN {a.datatype} = {STRING} THEN {d.trim(a.text)} END"
    named = f"CASE WHEN {text} IN ('true', '1') THEN TRUE WHEN {text} IN ('false', '0') THEN FALSE END"
    number = f"CASE WHEN ({a.rank}) IS NOT NULL THEN {truth(a)} END"
    return boolean(f"coalesce({well_formed_boolean(a)}, {named}, {number})")


def _cast(datatype: str) -> Function:
    """A cast to one of `casts.CASTS`."""

    def apply(d: Dialect, a: Value) -> Value:
        source = f"CASE ({a.kind}) WHEN 1 THEN '' WHEN 3 THEN {a.datatype} END"
        text = f"tl_cast('{datatype}', {_to_string(d, a).lexical}, {source})"
        return Value(f"CASE WHEN ({text}) IS NOT NULL THEN 3 END", text, f"'{datatype}'")

    return apply


FUNCTIONS: Final[dict[str, Function]] = {
    "STR": constructors.str_,
    "LANG": constructors.lang,
    "LANGDIR": constructors.langdir,
    "HASLANG": constructors.has_lang,
    "HASLANGDIR": constructors.has_langdir,
    "DATATYPE": constructors.datatype,
    "ISIRI": _is(1),
    "ISBLANK": _is(2),
    "ISLITERAL": _is(3),
    "ISTRIPLE": _is(4),
    "ISNUMERIC": _is_numeric,
    "STRLEN": strings.strlen,
    "SUBSTR": strings.substr,
    "UCASE": strings.cased("upper"),
    "LCASE": strings.cased("lower"),
    "CONTAINS": strings.contains,
    "STRSTARTS": strings.search("substr({0}, 1, length({1})) = ({1})"),
    "STRENDS": strings.search("(length({0}) >= length({1}) AND substr({0}, length({0}) - length({1}) + 1) = ({1}))"),
    "STRBEFORE": strings.before,
    "STRAFTER": strings.after,
    "STRLANG": constructors.strlang,
    "STRLANGDIR": constructors.strlangdir,
    "STRDT": constructors.strdt,
    "ENCODE_FOR_URI": strings.encode_for_uri,
    **{name: strings.hashed(name.lower()) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")},
    "LANGMATCHES": strings.lang_matches,
    "TZ": times.tz,
    XSD + "string": _to_string,
    XSD + "boolean": _to_boolean,
    **{datatype: _cast(datatype) for datatype in CASTS},
}

KEEPING: Final[dict[str, Function]] = {
    **ARITHMETIC,
    **{name: temporal.extended(name, ARITHMETIC[name]) for name in ("+", "-", "*", "/", "negate")},
    **times.TIMES,
    **temporal.CASTING,
    "CONCAT": strings.concat,
    "TRIPLE": constructors.triple,
    **{name: constructors.part(place) for place, name in enumerate(("SUBJECT", "PREDICATE", "OBJECT"))},
}
"""Those that also take `keep`, before the values."""


def is_known(name: str) -> bool:
    """Whether there is a function of this name or IRI."""
    return name in FUNCTIONS or name in KEEPING
