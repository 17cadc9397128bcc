"""Which tokens are terms of RDF that every parser reads: what a program gives is stored, and exported, as it is.

A regular expression knows the plain ones, most of any, all at once. The rest is pyoxigraph's to parse, as it parses
what is loaded: IRIs by RFC 3987, blank node labels and triple terms by N-Triples, language tags by BCP 47.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import pyoxigraph

from triplestore.model.errors import UsageError

TERM_DEPTH: Final = 100
"""Most levels of triple terms in triple terms."""

_TEXT: Final = r"[A-Za-z0-9._~!$&'()*+,;=:@\xa0-\ud7ff/?-]*+"
_PLAIN: Final = re.compile(
    rf"(?:(?:<(?:[A-Za-z][A-Za-z0-9+.-]*+://[A-Za-z0-9._~-]++(?:/{_TEXT})?|urn:[A-Za-z0-9]+:[A-Za-z0-9._:-]++)"
    rf"(?:#{_TEXT})?>|_:[A-Za-z0-9_][A-Za-z0-9_-]*+)\n)*+"
)
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_PLACE: Final = re.compile(r"^Parser error at .*?\d: |\s*\(line \d+\)$")


def check_characters(text: str) -> None:
    """Raise UsageError for text that holds half of a surrogate pair, which no file, no table and no answer can."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        around = text[max(error.start - 20, 0) : error.end + 20]
        raise UsageError(
            f"half of a surrogate pair is not a character, in {around!r}: decode the text that it is of again,"
            " by errors='replace' if need be"
        ) from None


def is_iri(text: str) -> bool:
    """Whether a text is an absolute IRI (RFC 3987)."""
    try:
        pyoxigraph.NamedNode(text)
    except ValueError:
        return False
    return True


def check_legal(tokens: Collection[str]) -> None:
    """Raise UsageError for the first of these tokens that is not a legal term of RDF. The lexical form of a literal may
    be anything, but for what `check_characters` refuses."""
    if (plain := _PLAIN.fullmatch("\n".join((*tokens, "")))) and plain[0].count("\n") == len(tokens):
        return
    for token in tokens:
        try:
            _parse(token)
        except ValueError as error:
            raise UsageError(
                f"{token!r} is not a legal term of RDF ({error}): IRIs are absolute, with spaces and the like as"
                " %20; blank nodes and language tags are as N-Triples writes them"
            ) from None


def _parse(token: str) -> None:
    """Raise ValueError for what is not a term."""
    if token[0] == "<":
        pyoxigraph.NamedNode(token[1:-1])
        return
    if token.count("<<(") >= TERM_DEPTH:
        raise ValueError(f"triple terms are more than {TERM_DEPTH} deep")
    text, inner = (f"<<( {token[1:-1]} )>>", token[1:-1]) if token[0] == "(" else (token, token)
    try:
        found = list(pyoxigraph.parse(f"<x:> <x:> {text} .".encode(), format=pyoxigraph.RdfFormat.N_TRIPLES))
    except SyntaxError as error:
        raise ValueError(_PLACE.sub("", str(error.args[0]))) from None
    if _STRING.sub("", inner) != _STRING.sub("", str(found[0].object)):  # maybe with a dot, and another triple
        raise ValueError("this is not how one is written")
