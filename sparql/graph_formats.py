"""Triples as text, as they come: N-Triples, Turtle, RDF/XML and JSON-LD; N-Quads and TriG are the first two, as all is
in the default graph. A format is a function from batches of token triples, and how terms are written for people, to
pieces of text; what it holds at a time is a batch."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from triplestore.model.errors import FormatError
from triplestore.model.prefixes import Names
from triplestore.model.remembering import Remembered
from triplestore.model.terms import RDF, XSD, split_literal, split_tag, to_ntriples

TokenTriple = tuple[str, str, str]
Batches = Iterable[list[TokenTriple]]

ITS: Final = "http://www.w3.org/2005/11/its"
"""The namespace of the attribute of XML that tells a base direction."""


def ntriples(batches: Batches, names: Names) -> Iterator[str]:
    """Canonical N-Triples."""
    for rows in batches:
        yield "".join(" ".join(map(to_ntriples, row)) + " .\n" for row in rows)


def turtle(batches: Batches, names: Names) -> Iterator[str]:
    """Turtle: neighbours with the same subject (and predicate) are written together, prefixes are declared before the
    batch that first uses them."""
    spaces = Remembered(lambda token: {*names.spaces(token)}).__getitem__
    written = Remembered(names.token).__getitem__
    declared: set[str] = set()
    for rows in batches:
        text, used = io.StringIO(), set[str]()
        for s, about in groupby(rows, itemgetter(0)):
            lines = []
            used |= spaces(s)
            for p, group in groupby(about, itemgetter(1)):
                objects = [row[2] for row in group]
                used.update(spaces(p) if p != _TYPE else (), *map(spaces, objects))
                lines.append(f"{'a' if p == _TYPE else written(p)} {', '.join(map(written, objects))}")
            text.write(f"{written(s)} {_BETWEEN.join(lines)} .\n")
        yield "".join(f"{names.declaration(space)}\n" for space in sorted(used - declared)) + text.getvalue()
        declared |= used


_TYPE: Final = f"<{RDF}type>"
_BETWEEN: Final = " ;\n    "


def rdfxml(batches: Batches, names: Names) -> Iterator[str]:
    """RDF/XML. Raises FormatError for a predicate that no XML name can be made of, and characters XML cannot hold."""
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF xmlns:rdf="{RDF}">\n'
    for rows in batches:
        text = io.StringIO()
        for s, about in groupby(rows, itemgetter(0)):
            text.write(f"<rdf:Description {_node(s, 'about')}>\n")
            text.writelines(_property(p, o) for _, p, o in about)
            text.write("</rdf:Description>\n")
        yield text.getvalue()
    yield "</rdf:RDF>\n"


def _property(p: str, o: str) -> str:
    """A property element."""
    namespace, element = _CUT[p[1:-1]]
    if not element or namespace == _XMLNS or (namespace == RDF and element in _RESERVED):
        raise FormatError(f"RDF/XML has no way to write the predicate {p}: take Turtle")
    space = quoteattr(namespace)
    if o[0] == "(":
        raise FormatError(f"no triple term is written as RDF/XML: take Turtle (it is {to_ntriples(o)})")
    if o[0] != '"':
        return f"  <{element} xmlns={space} {_node(o, 'resource')}/>\n"
    lexical, datatype, lang = split_literal(o)
    if NOT_XML.search(lexical):
        raise FormatError(f"RDF/XML cannot hold the control characters of {to_ntriples(o)}: take Turtle")
    mark = "" if datatype == XSD + "string" else f" rdf:datatype={quoteattr(datatype)}"
    if lang is not None:
        language, direction = split_tag(lang)
        mark = f" xml:lang={quoteattr(language)}"
        if direction is not None:
            mark += f' xmlns:its="{ITS}" its:version="2.0" rdf:version="1.2" its:dir="{direction}"'
    return f"  <{element} xmlns={space}{mark}>{escape(lexical, {_RETURN: '&#13;'})}</{element}>\n"


def _node(token: str, attribute: str) -> str:
    """A subject's or object's attribute; labels of blank nodes are made XML names by a letter before them."""
    if token[0] == "_":
        return f'rdf:nodeID="b{token[2:]}"'
    return f"rdf:{attribute}={quoteattr(token[1:-1])}"


_RETURN: Final = "\r"
_START: Final = (
    "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_BACKWARDS: Final = re.compile(rf"[{_START}0-9.\xb7\u0300-\u036f\u203f\u2040-]*+")
_FIRST: Final = re.compile(f"[{_START}]|$")


def _cut(iri: str) -> tuple[str, str]:
    """An IRI as a namespace and the longest XML name (without a colon) that it ends in, empty where there is none. Most
    readers of XML, expat among them, know the letters of its first editions alone, which Khmer, say, is not of."""
    found = _BACKWARDS.match(iri[::-1])
    assert found is not None  # every text matches
    begin = len(iri) - found.end()
    unknown = (at + 1 for at in range(len(iri) - 1, begin - 1, -1) if not _IS_NAME[f"_{iri[at]}"])
    first = _FIRST.search(iri, next(unknown, begin))
    while first and first[0] and not _IS_NAME[first[0]]:
        first = _FIRST.search(iri, first.end())
    assert first is not None  # the end matches
    return iri[: first.start()], iri[first.start() :]


def _is_name(text: str) -> bool:
    """Whether expat takes a character, or one after a `_`, for a name."""
    try:
        expat.ParserCreate().Parse(f"<{text}/>", True)
    except expat.ExpatError:
        return False
    return True


_CUT: Final = Remembered(_cut)
_IS_NAME: Final = Remembered(_is_name)


_RESERVED: Final = frozenset(
    (
        "RDF",
        "ID",
        "about",
        "parseType",
        "resource",
        "nodeID",
        "datatype",
        "li",
        "Description",
        "bagID",
        "aboutEach",
        "aboutEachPrefix",
    )
)
"""Names of RDF's own that are no property elements."""

_XMLNS: Final = "http://www.w3.org/2000/xmlns/"
"""The namespace that no document may declare."""

NOT_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML 1.0 cannot hold, escaped or not."""


def jsonld(batches: Batches, names: Names) -> Iterator[str]:
    """JSON-LD 1.1, expanded: neighbours with the same subject are one node, in a line."""
    yield "["
    separator = "\n"
    for rows in batches:
        nodes = (json.dumps(_node_object(s, about), ensure_ascii=False) for s, about in groupby(rows, itemgetter(0)))
        if text := ",\n".join(nodes):
            yield separator + text
            separator = ",\n"
    yield "\n]\n"


def _node_object(subject: str, about: Iterable[TokenTriple]) -> dict[str, object]:
    found: dict[str, object] = {"@id": _id(subject)}
    for _, p, o in about:
        typed = p == _TYPE and o[0] not in '"('
        values = found.setdefault("@type" if typed else _id(p), [])
        assert isinstance(values, list)
        values.append(_id(o) if typed else _value_object(o))
    return found


def _value_object(token: str) -> dict[str, str]:
    if token[0] == "(":
        raise FormatError(f"JSON-LD has no way to write the triple term {to_ntriples(token)}: take Turtle")
    if token[0] != '"':
        return {"@id": _id(token)}
    lexical, datatype, lang = split_literal(token)
    if lang is not None:
        language, direction = split_tag(lang)
        found = {"@value": lexical, "@language": language}
        return found if direction is None else {**found, "@direction": direction}
    return {"@value": lexical} if datatype == XSD + "string" else {"@value": lexical, "@type": datatype}


def _id(token: str) -> str:
    return token[1:-1] if token[0] == "<" else token


GRAPH_FORMATS: Final[dict[str, Callable[[Batches, Names], Iterator[str]]]] = {
    "nt": ntriples,
    "ttl": turtle,
    "rdf": rdfxml,
    "jsonld": jsonld,
    "nq": ntriples,
    "trig": turtle,
}
