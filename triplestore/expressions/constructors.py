"""Functions that take terms apart and make terms (SPARQL 1.1, section 17.4.2) over `Value`s."""

from __future__ import annotations

from triplestore.engine.dialect import Dialect
from triplestore.expressions.decimals import NULL
from triplestore.expressions.iris import ABSOLUTE
from triplestore.expressions.values import LANG_STRING, STRING, Value, iri, string, typed


def str_(d: Dialect, a: Value) -> Value:
    return string(f"CASE WHEN ({a.kind}) <> 2 THEN {a.lexical} END")


def lang(d: Dialect, a: Value) -> Value:
    return string(f"CASE WHEN ({a.kind}) = 3 THEN coalesce({a.lang}, '') END")


def datatype(d: Dialect, a: Value) -> Value:
    return iri(f"CASE WHEN ({a.kind}) = 3 THEN {a.datatype} END")


def to_iri(d: Dialect, a: Value, base: str | None = None) -> Value:
    """IRI: a relative one is resolved against `base`, an error without."""
    text = f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} WHEN ({a.kind}) = 1 THEN {a.lexical} END"
    if base is not None:
        return iri(f"tl_resolve({text}, {d.string(base)})")
    return iri(f"CASE WHEN {d.matches(text, ABSOLUTE)} THEN {text} END")


def strlang(d: Dialect, a: Value, tag: Value) -> Value:
    text = f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} END"
    lang = f"CASE WHEN {tag.datatype} = {STRING} THEN lower({tag.lexical}) END"
    ok = d.matches(lang, "[a-z]{1,8}(-[a-z0-9]{1,8})*")
    return Value(f"CASE WHEN ({text}) IS NOT NULL AND {ok} THEN 3 END", text, LANG_STRING, lang, static="text")


def strdt(d: Dialect, a: Value, kind: Value) -> Value:
    """STRDT: a literal of a datatype."""
    text = f"CASE WHEN {a.datatype} = {STRING} AND ({kind.kind}) = 1 THEN {a.lexical} END"
    return typed(d, text, f"CASE WHEN ({kind.kind}) = 1 AND ({kind.lexical}) <> {LANG_STRING} THEN {kind.lexical} END")


def bnode(d: Dialect, row: str, label: Value | None = None) -> Value:
    """BNODE: a new blank node, the same for the same label in one solution. row: a text that is unique to it."""
    if label is None:
        return Value(f"CASE WHEN ({row}) IS NOT NULL THEN 2 END", f"concat('b', {row})", NULL)
    text = f"CASE WHEN {label.datatype} = {STRING} THEN {label.lexical} END"
    return Value(f"CASE WHEN ({text}) IS NOT NULL THEN 2 END", f"concat('b', {row}, '_', md5({text}))", NULL)
