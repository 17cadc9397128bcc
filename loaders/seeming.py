"""What a file seems to be by its first bytes, for messages about files that are not what their names say."""

from __future__ import annotations

import re
from contextlib import suppress
from contextvars import ContextVar
from typing import Final

from pyoxigraph import DefaultGraph, RdfFormat, parse

from triplake.loaders.bounds import BOM
from triplake.loaders.compression import compression_of, opened
from triplestore.model.errors import InputError

_HEAD: Final = 1 << 12
_RDF: Final = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_OWL: Final = b"http://www.w3.org/2002/07/owl#"
_OTHERS: Final = {
    b"%PDF-": "a PDF document",
    b"PAR1": "a Parquet file",
    b"SQLite format 3": "an SQLite database",
    b"$HDT": "HDT",
    b"{\\rtf": "an RTF document",
}
_SPARQL: Final = re.compile(
    rb"(?:(?:prefix\s+\S*\s*<[^<>]*>|base\s*<[^<>]*>|#[^\n]*\n)\s*)*"
    rb"(?:(?P<query>(?:select|ask|construct|describe)\b)|(?:insert|delete|load|clear|drop|create|copy|move|add)\b)"
    rb"(?=\s[^:]*[{<*?])",
    re.IGNORECASE,
)
_PROLOGUE: Final = re.compile(rb"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:[^<>\[]|\[.*?\]\s*(?=>))*>)*", re.DOTALL)
_ROOT: Final = re.compile(rb"<([A-Za-z_][^\s<>/]*)[^<>]*")
_LINE: Final = re.compile(
    rb'\s*(?:#[^\n]*\n\s*)*(?:<[A-Za-z][^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(?:<[^<>\s]*>|_:\S+|"(?:[^"\\\n]|\\.)*"\S*)\s*'
    rb"(?P<graph><[^<>\s]*>\s*)?\.\s*(?:\n|#|$)"
)

option: ContextVar[str] = ContextVar("option", default="--format")
"""The option that says the format of what is read; empty where none does."""


def or_say(format: str) -> str:
    """The advice to say a format, where an option does."""
    return f", or say {option.get()} {format}".rstrip() if option.get() else ""


def head(path: str, name: str) -> bytes:
    """The first bytes of a file, unpacked; none of one that cannot be read."""
    try:
        with opened(path, name) as file:
            return file.read(_HEAD)
    except InputError:
        return b""


def root(data: bytes) -> tuple[str, bytes] | None:
    """The name of the first element of XML, and the text of its tag; None for what is no XML."""
    found = _PROLOGUE.match(data)
    tag = _ROOT.match(data, found.end() if found else 0)
    return (tag[1].decode(errors="replace"), tag[0]) if tag else None


def other_xml(path: str) -> str | None:
    """The first element of an XML file that is not RDF/XML (nothing in its head speaks of RDF); None for RDF/XML, and
    for any other."""
    data = head(path, path).removeprefix(BOM)
    first = root(data)
    return first[0] if first is not None and _RDF not in data else None


def seeming(data: bytes, syntax: str) -> str | None:
    """What a file of one syntax (N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD) seems to be instead, by its first
    bytes, and what to do; None if that is its syntax or is not known."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0<\0" in data or b"<\0" in data[:200]:
        return "this seems to be UTF-16: save it as UTF-8"
    if packed := compression_of(data[:4]):
        return f"this seems to be compressed: give its name the suffix {packed}"
    if data.startswith(b"\xfd7zXZ\0"):
        return "this seems to be xz, which is not read: unpack it first (`xz -d`)"
    if data.startswith(b"PK\x03\x04"):
        return "this seems to be a ZIP archive: unpack it first"
    if data[257:262] == b"ustar":
        return "this seems to be a tar archive: unpack it first"
    if other := next((kind for mark, kind in _OTHERS.items() if data.startswith(mark)), None):
        return f"this seems to be {other}, which is not read: convert it to an RDF syntax"
    if b"\0" in data:
        return "this seems to be no text, but binary data: look at what it is"
    text = data.removeprefix(BOM).lstrip()
    low = text[:512].lower()
    if low.startswith((b"<!doctype html", b"<html")):
        return "this seems to be an HTML page, not data: look at what was downloaded"
    if low.startswith(b"format-version:") or b"\n[term]\n" in low.replace(b"\r", b""):
        return "this seems to be OBO, which is not read: convert it to an RDF syntax"
    if low.startswith((b"ontology(", b"prefix(")):
        return "this seems to be OWL in functional syntax, which is not read: convert it to an RDF syntax"
    first = None if _LINE.match(text) else root(text)
    if first is not None and (syntax == "RDF/XML" or low.startswith((b"<?xml", b"<!")) or b"xmlns" in first[1]):
        return _xml(first, text, syntax)
    if found := _SPARQL.match(text):
        kind = ("a SPARQL query", "query") if found["query"] else ("a SPARQL update", "update")
        return f"this seems to be {kind[0]}, not data: see `triplake {kind[1]}`"
    if kind_of_triples := _triples(text, syntax):
        return kind_of_triples
    if syntax != "JSON-LD" and text.startswith(b"{") and re.match(rb'\{\s*"', text):
        return f"this seems to be JSON: name it .jsonld if it is JSON-LD{or_say('jsonld')}"
    return None


def _xml(first: tuple[str, bytes], text: bytes, syntax: str) -> str | None:
    name, tag = first
    if name.split(":")[-1] == "Ontology" and _RDF not in tag and (_OWL in tag or b"ontologyIRI" in tag):
        return "this seems to be OWL/XML, which is not read: convert it to RDF/XML or Turtle"
    if name.lower() == "html":
        return "this seems to be an HTML page, not data: look at what was downloaded"
    if _RDF not in text and name != "rdf:RDF":
        return f"this seems to be XML, but no RDF/XML (its first element is <{name}>)"
    if syntax != "RDF/XML":
        return f"this seems to be RDF/XML: name it .rdf{or_say('rdfxml')}"
    return None


_LESS: Final = {"N-Triples": ("N-Quads", "Turtle", "TriG"), "N-Quads": (), "Turtle": ("TriG",), "TriG": ()}
"""The syntaxes of triples, each with those that have all of it."""


def _triples(text: bytes, syntax: str) -> str | None:
    """What a text seems to be that seems to be in N-Triples, N-Quads, Turtle or TriG, but not in a syntax that has all
    of it; or in JSON, where XML is expected."""
    if line := _LINE.match(text):
        kind = ("N-Quads", ".nq", "nq") if line["graph"] else ("N-Triples", ".nt", "nt")
    elif _names_graphs(text):
        kind = ("TriG", ".trig", "trig")
    elif re.match(rb"(?:#[^\n]*\n\s*)*(?:@?prefix|@?base)\s", text, re.IGNORECASE):
        kind = ("Turtle", ".ttl", "ttl")
    elif syntax in ("RDF/XML", "") and re.match(rb'[\[{]\s*[\[{"]', text):
        kind = ("JSON", ".jsonld", "jsonld")
    else:
        return None
    if kind[0] == syntax or syntax in _LESS.get(kind[0], ()):
        return None
    return f"this seems to be {kind[0]}: name it {kind[1]}{or_say(kind[2])}"


def _names_graphs(text: bytes) -> bool:
    """Whether a text has a named graph if it is read as TriG, as far as that goes."""
    with suppress(SyntaxError):
        for quad in parse(text, RdfFormat.TRIG, base_iri="file:///"):
            if not isinstance(quad.graph_name, DefaultGraph):
                return True
    return False
