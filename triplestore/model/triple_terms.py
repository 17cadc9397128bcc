"""Triple terms of RDF 1.2: their tokens, made of the tokens of three terms and taken apart again.

The text within the parentheses of such a token is N-Triples as `triplestore.model.terms.to_ntriples` writes it, with
one space between the terms; subject and predicate hold none, so that the first two spaces cut it.
"""

from __future__ import annotations

import re
from typing import Final

from triplestore.model.legal_terms import TERM_DEPTH
from triplestore.model.terms import to_ntriples

_ESCAPE: Final = re.compile(r"\\(.)")
_CHARACTERS: Final = {"n": "\n", "r": "\r"}
_INSIDE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|<<\(')


def triple_token(subject: str, predicate: str, obj: str) -> str | None:
    """The token of the triple term of three tokens; None where RDF has none: the subject is an IRI or blank node, the
    predicate an IRI, and triple terms nest `TERM_DEPTH` deep at most."""
    if subject[0] not in "<_" or predicate[0] != "<" or " " in subject or " " in predicate:
        return None
    if obj[0] == "(" and depth(obj) >= TERM_DEPTH:
        return None
    return f"({subject} {predicate} {to_ntriples(obj)})"


def depth(token: str) -> int:
    """How many levels of triple terms a token of one holds, itself included. A triple term has one object, so that its
    marks outside of strings count them."""
    return 1 + _INSIDE.findall(token).count("<<(")


def split_triple(token: str) -> tuple[str, str, str]:
    """The tokens of subject, predicate and object of a triple term's token."""
    subject, predicate, obj = token[1:-1].split(" ", 2)
    return subject, predicate, from_ntriples(obj)


def from_ntriples(text: str) -> str:
    """The token of a term as `to_ntriples` writes it."""
    if text.startswith("<<( "):
        return f"({text[4:-4]})"
    if text[0] != '"':
        return text
    close = text.rindex('"')
    return f'"{_ESCAPE.sub(_character, text[1:close])}{text[close:]}'


def _character(found: re.Match[str]) -> str:
    return _CHARACTERS.get(found[1], found[1])
