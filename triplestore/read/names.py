"""Terms as people write them: on the command line, in the parameters of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from triplestore.model.arguments import check_text
from triplestore.model.errors import UsageError
from triplestore.model.terms import RDF

_NAME: Final = re.compile(r"([^\W\d_][\w.-]*)?:(?!//)(.*)", re.DOTALL)

_IRI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://|(urn|tag|mailto|tel|data|file|info|doi|did|geo|news|ni|cid|mid):", re.I
)
"""How an IRI begins that no angle brackets need to distinguish from a prefixed name."""


def prefixes_of(declared: Sequence[str]) -> dict[str, str]:
    """The declarations NAME=IRI (name -> IRI). Raises UsageError."""
    found: dict[str, str] = {}
    for text in declared:
        name, equals, iri = text.partition("=")
        if not equals or not iri:
            raise UsageError(f"'{text}' declares no prefix: write NAME=IRI, as in ex=http://example.org/")
        found[name.removesuffix(":")] = iri.removeprefix("<").removesuffix(">")
    return found


def token_of(text: str, prefixes: Mapping[str, str], declared: str = "give --prefix {}=IRI") -> str:
    """The token of a term in N-Triples syntax, of a prefixed name, `a`, or an IRI as it is. Raises UsageError.

    declared: how a prefix is declared here, for the message."""
    if text == "a":
        return f"<{RDF}type>"
    if text.startswith("_:") and len(text) > 2:
        return text
    if text[:1] in ('"', "<"):
        return _parsed(_with_datatype(text, prefixes, declared), text)
    name = _NAME.fullmatch(text)
    if name is not None and (name[1] or "") in prefixes:
        return _parsed(f"<{prefixes[name[1] or '']}{name[2]}>", text)
    if _IRI.match(text):
        return _parsed(f"<{text}>", text)
    if name is not None:
        raise _unknown(name[1] or "", declared, f"; an IRI is <{text}>")
    raise UsageError(f"'{text}' is not a term: write an IRI, a prefixed name, _:label, or a literal as N-Triples does")


def graph_token(name: str) -> str:
    """The token of the name of a graph: an IRI, in angle brackets or without, or `_:label`. Raises UsageError."""
    check_text("the name of a graph", name)
    try:
        token = _parsed(name if name.startswith(("<", "_:")) else f"<{name}>", name)
    except UsageError as error:
        raise UsageError(f"'{name}' cannot name a graph: give an absolute IRI or _:label") from error
    if token[0] == "(":
        raise UsageError(f"'{name}' is a triple term, which names no graph: give an IRI or _:label")
    return token


def _with_datatype(text: str, prefixes: Mapping[str, str], declared: str) -> str:
    """A literal whose datatype is a prefixed name with the datatype's IRI."""
    body, mark, datatype = text.rpartition('"^^')
    name = _NAME.fullmatch(datatype) if mark else None
    if name is None:
        return text
    if (name[1] or "") not in prefixes:
        raise _unknown(name[1] or "", declared)
    return f"{body}{mark}<{prefixes[name[1] or '']}{name[2]}>"


def _unknown(prefix: str, declared: str, more: str = "") -> UsageError:
    return UsageError(f"the prefix '{prefix}:' is not declared: {declared.format(prefix)}{more}")


def _parsed(term: str, text: str) -> str:
    from triplake.loaders.tokens import place_and_reason, term_token

    try:
        return term_token(term)
    except SyntaxError as error:
        raise UsageError(f"'{text}' is not a term: {place_and_reason(error)[2]}") from error
