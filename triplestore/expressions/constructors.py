"""Functions that take terms apart and make terms (SPARQL 1.1, section 17.4.2) over `Value`s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from triplestore.engine.dialect import Dialect
from triplestore.expressions.decimals import NULL
from triplestore.expressions.values import (
    DIRECTIONAL,
    LANG_STRING,
    STRING,
    Value,
    boolean,
    iri,
    parsed,
    string,
    tagged_datatype,
    token,
    typed,
)
from triplestore.model.terms import PLAIN

Keep = Callable[[str], str]
_LANGUAGE: Final = (
    "([a-z]{2,3}(-[a-z]{3}){0,3}|[a-z]{4,8})(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    "(-[0-9a-wy-z](-[a-z0-9]{2,8})+)*(-x(-[a-z0-9]{1,8})+)?|x(-[a-z0-9]{1,8})+|i-(ami|bnn|default|enochian|hak|klingon"
    "|lux|mingo|navajo|pwn|tao|tay|tsu)|sgn-(be-fr|be-nl|ch-de)|en-gb-oed|zh-min-nan|zh-min|no-(bok|nyn)"
)
"""Language tags in lower case (BCP 47, section 2.1), as a regular expression that every engine reads alike."""


def str_(d: Dialect, a: Value) -> Value:
    return string(f"CASE WHEN ({a.kind}) IN (1, 3) THEN {a.lexical} END")


def lang(d: Dialect, a: Value) -> Value:
    return string(f"CASE WHEN ({a.kind}) = 3 THEN split_part(coalesce({a.lang}, ''), '--', 1) END")


def langdir(d: Dialect, a: Value) -> Value:
    """LANGDIR: the base direction, empty where there is none."""
    return string(f"CASE WHEN ({a.kind}) = 3 THEN split_part(coalesce({a.lang}, ''), '--', 2) END")


def has_lang(d: Dialect, a: Value) -> Value:
    """hasLANG: whether it is a string with a language tag."""
    return boolean(f"CASE WHEN ({a.kind}) IS NOT NULL THEN ({a.lang}) IS NOT NULL END")


def has_langdir(d: Dialect, a: Value) -> Value:
    """hasLANGDIR: whether it is a string with a base direction."""
    return boolean(f"CASE WHEN ({a.kind}) IS NOT NULL THEN coalesce(({a.lang}) LIKE '%--%', FALSE) END")


def datatype(d: Dialect, a: Value) -> Value:
    return iri(f"CASE WHEN ({a.kind}) = 3 THEN {a.datatype} END")


def to_iri(d: Dialect, a: Value, base: str | None = None) -> Value:
    """IRI: a relative one is resolved against `base`, an error without, as is what RDF has for no IRI."""
    text = f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} WHEN ({a.kind}) = 1 THEN {a.lexical} END"
    if base is not None:
        return iri(f"tl_resolve({text}, {d.string(base)})")
    other = f"CASE WHEN NOT {d.matches(text, PLAIN)} THEN {text} END"
    return iri(f"CASE WHEN {d.matches(text, PLAIN)} THEN {text} ELSE tl_iri({other}) END")


def strlang(d: Dialect, a: Value, tag: Value) -> Value:
    lang = f"CASE WHEN {tag.datatype} = {STRING} THEN lower({tag.lexical}) END"
    return _tagged(d, a, lang, _LANGUAGE)


def strlangdir(d: Dialect, a: Value, tag: Value, direction: Value) -> Value:
    """STRLANGDIR: a string with a language tag and a base direction, `ltr` or `rtl`."""
    both = f"{tag.datatype} = {STRING} AND {direction.datatype} = {STRING}"
    lang = f"CASE WHEN {both} THEN concat(lower({tag.lexical}), '--', {direction.lexical}) END"
    return _tagged(d, a, lang, f"({_LANGUAGE})--(ltr|rtl)")


def _tagged(d: Dialect, a: Value, lang: str, pattern: str) -> Value:
    """The string of an xsd:string and a language tag (SQL text), an error where that does not match."""
    text = f"CASE WHEN {a.datatype} = {STRING} THEN {a.lexical} END"
    kind = f"CASE WHEN ({text}) IS NOT NULL AND {d.matches(lang, pattern)} THEN 3 END"
    return Value(kind, text, tagged_datatype(lang), lang, static="text")


def strdt(d: Dialect, a: Value, kind: Value) -> Value:
    """STRDT: a literal of a datatype."""
    text = f"CASE WHEN {a.datatype} = {STRING} AND ({kind.kind}) = 1 THEN {a.lexical} END"
    plain = f"({kind.kind}) = 1 AND ({kind.lexical}) NOT IN ({LANG_STRING}, {DIRECTIONAL})"
    return typed(d, text, f"CASE WHEN {plain} THEN {kind.lexical} END")


def triple(d: Dialect, keep: Keep, s: Value, p: Value, o: Value) -> Value:
    """TRIPLE: an error where RDF has no such triple term."""
    made = keep(f"tl_triple({token(s)}, {token(p)}, {token(o)})")
    return Value(f"CASE WHEN {made} IS NOT NULL THEN 4 END", f"substr({made}, 2, length({made}) - 2)", NULL)


def part(place: int) -> Callable[[Dialect, Keep, Value], Value]:
    """SUBJECT, PREDICATE or OBJECT of a triple term: by its place among the three, from 0."""

    def apply(d: Dialect, keep: Keep, a: Value) -> Value:
        found = keep(f"tl_part(CASE WHEN ({a.kind}) = 4 THEN {a.lexical} END, '{place}')")
        return parsed(d, keep, found)

    return apply


def bnode(d: Dialect, row: str, label: Value | None = None) -> Value:
    """BNODE: a new blank node, the same for the same label in one solution. row: a text that is unique to it."""
    if label is None:
        return Value(f"CASE WHEN ({row}) IS NOT NULL THEN 2 END", f"concat('b', {row})", NULL)
    text = f"CASE WHEN {label.datatype} = {STRING} THEN {label.lexical} END"
    return Value(f"CASE WHEN ({text}) IS NOT NULL THEN 2 END", f"concat('b', {row}, '_', md5({text}))", NULL)
