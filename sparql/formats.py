"""Results as text: the SPARQL 1.1 formats (JSON, XML, CSV and TSV), a table for people, N-Triples and Turtle.

Triples (CONSTRUCT, DESCRIBE) can be written in any of them, as rows of subject, predicate and object. CSV and TSV have
no form for ASK in the recommendation: one line, true or false.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TextIO
from xml.sax.saxutils import escape, quoteattr

from triplestore.errors import UsageError
from triplestore.terms import RDF, XSD, split_literal, to_ntriples

if TYPE_CHECKING:
    from sparql.results import Result

_PREFIXES: Final = {
    RDF: "rdf:",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs:",
    "http://www.w3.org/2002/07/owl#": "owl:",
    XSD: "xsd:",
}


def write_result(result: Result, out: TextIO, format: str) -> None:
    """Write a result in a format. Raises UsageError for an unknown format or one that does not fit the result."""
    if format in ("nt", "ttl"):
        if result.kind not in ("construct", "describe"):
            raise UsageError(
                f"{format} holds triples: use it with CONSTRUCT or DESCRIBE, or take table, csv, tsv, json or xml"
            )
        _TRIPLES[format](result, out)
        return
    writer = _ROWS.get(format)
    if writer is None:
        raise UsageError(f"unknown result format {format!r}: use one of {', '.join([*_ROWS, *_TRIPLES])}")
    writer(result, out)


def _json_term(token: str) -> dict[str, str]:
    if token[0] == "<":
        return {"type": "uri", "value": token[1:-1]}
    if token[0] == "_":
        return {"type": "bnode", "value": token[2:]}
    lexical, datatype, lang = split_literal(token)
    found = {"type": "literal", "value": lexical}
    if lang is not None:
        found["xml:lang"] = lang
    elif datatype != XSD + "string":
        found["datatype"] = datatype
    return found


def _write_json(result: Result, out: TextIO) -> None:
    """SPARQL 1.1 Query Results JSON Format, one row a line."""
    if result.kind == "ask":
        out.write(json.dumps({"head": {}, "boolean": result.boolean}) + "\n")
        return
    out.write(f'{{"head": {json.dumps({"vars": list(result.variables)})}, "results": {{"bindings": [')
    separator = "\n"
    for row in result.tokens():
        bound = {name: _json_term(t) for name, t in zip(result.variables, row, strict=True) if t is not None}
        out.write(separator + json.dumps(bound, ensure_ascii=False))
        separator = ",\n"
    out.write("\n]}}\n")


def _xml_term(token: str) -> str:
    if token[0] == "<":
        return f"<uri>{_xml_text(token[1:-1])}</uri>"
    if token[0] == "_":
        return f"<bnode>{_xml_text(token[2:])}</bnode>"
    lexical, datatype, lang = split_literal(token)
    mark = ""
    if lang is not None:
        mark = f" xml:lang={quoteattr(lang)}"
    elif datatype != XSD + "string":
        mark = f" datatype={quoteattr(datatype)}"
    return f"<literal{mark}>{_xml_text(lexical)}</literal>"


def _xml_text(text: str) -> str:
    """Escaped; a carriage return as a reference, or a parser would make a line feed of it."""
    return escape(text, {"\r": "&#13;"})


def _write_xml(result: Result, out: TextIO) -> None:
    """SPARQL Query Results XML Format (Second Edition)."""
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n')
    variables = "".join(f"<variable name={quoteattr(name)}/>" for name in result.variables)
    out.write(f"<head>{variables}</head>\n")
    if result.kind == "ask":
        out.write(f"<boolean>{str(result.boolean).lower()}</boolean>\n</sparql>\n")
        return
    out.write("<results>\n")
    for row in result.tokens():
        bindings = "".join(
            f"<binding name={quoteattr(name)}>{_xml_term(token)}</binding>"
            for name, token in zip(result.variables, row, strict=True)
            if token is not None
        )
        out.write(f"<result>{bindings}</result>\n")
    out.write("</results>\n</sparql>\n")


def _plain(token: str) -> str:
    """A term as SPARQL's CSV has it: no quotes, datatype or language."""
    if token[0] == "<":
        return token[1:-1]
    return token if token[0] == "_" else split_literal(token)[0]


def _write_csv(result: Result, out: TextIO) -> None:
    """SPARQL 1.1 Query Results CSV Format."""
    if result.kind == "ask":
        out.write(f"{str(result.boolean).lower()}\n")
        return
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(result.variables)
    for row in result.tokens():
        writer.writerow(["" if token is None else _plain(token) for token in row])


def _write_tsv(result: Result, out: TextIO) -> None:
    """SPARQL 1.1 Query Results TSV Format: terms as in Turtle."""
    if result.kind == "ask":
        out.write(f"{str(result.boolean).lower()}\n")
        return
    out.write("\t".join(f"?{name}" for name in result.variables) + "\n")
    for row in result.tokens():
        out.write("\t".join("" if t is None else to_ntriples(t).replace("\t", "\\t") for t in row) + "\n")


def _write_table(result: Result, out: TextIO) -> None:
    """Columns for people: well-known namespaces by their prefixes, a line with the number of rows."""
    if result.kind == "ask":
        out.write("yes\n" if result.boolean else "no\n")
        return
    rows = [["" if token is None else _short(token) for token in row] for row in result.tokens()]
    names = [f"?{name}" if result.kind == "select" else name for name in result.variables]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)] if names else []
    for row in [names, ["-" * width for width in widths], *rows]:
        out.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")
    out.write(f"({len(rows)} row{'s' * (len(rows) != 1)})\n")


def _short(token: str) -> str:
    """A term as Turtle would write it for a reader who knows the common prefixes."""
    if token[0] == "<":
        return _iri(token[1:-1])
    if token[0] == "_":
        return token
    lexical, datatype, lang = split_literal(token)
    if datatype in (XSD + "integer", XSD + "decimal", XSD + "boolean") and lexical and lexical == lexical.strip():
        return lexical
    text = to_ntriples(f'"{lexical}"')
    if lang is not None:
        return f"{text}@{lang}"
    return text if datatype == XSD + "string" else f"{text}^^{_iri(datatype)}"


def _iri(iri: str) -> str:
    for space, prefix in _PREFIXES.items():
        name = iri.removeprefix(space)
        if name != iri and name.isalnum():
            return prefix + name
    return f"<{iri}>"


def _write_ntriples(result: Result, out: TextIO) -> None:
    for row in result.tokens():
        out.write(" ".join(to_ntriples(token) for token in row if token is not None) + " .\n")


def _write_turtle(result: Result, out: TextIO) -> None:
    """Turtle: triples grouped by subject and predicate."""
    tree: dict[str, dict[str, list[str]]] = {}
    for row in result.tokens():
        s, p, o = (token or "" for token in row)
        tree.setdefault(s, {}).setdefault(p, []).append(o)
    used = {space for space in _PREFIXES if any(space in t for t in _terms(tree))}
    for space in used:
        out.write(f"@prefix {_PREFIXES[space]} <{space}> .\n")
    for s, predicates in tree.items():
        lines = [
            f"{'a' if p == f'<{RDF}type>' else _turtle(p)} {', '.join(_turtle(o) for o in objects)}"
            for p, objects in predicates.items()
        ]
        out.write(f"{_turtle(s)} " + " ;\n    ".join(lines) + " .\n")


def _terms(tree: dict[str, dict[str, list[str]]]) -> Iterable[str]:
    for s, predicates in tree.items():
        yield s
        for p, objects in predicates.items():
            yield p
            yield from objects


def _turtle(token: str) -> str:
    if token[0] == "<":
        return _iri(token[1:-1])
    if token[0] == "_":
        return token
    lexical, datatype, lang = split_literal(token)
    text = to_ntriples(f'"{lexical}"')
    if lang is not None or datatype == XSD + "string":
        return to_ntriples(token)
    return f"{text}^^{_iri(datatype)}"


_ROWS: Final[dict[str, Callable[[Result, TextIO], None]]] = {
    "table": _write_table,
    "csv": _write_csv,
    "tsv": _write_tsv,
    "json": _write_json,
    "xml": _write_xml,
}
_TRIPLES: Final[dict[str, Callable[[Result, TextIO], None]]] = {"nt": _write_ntriples, "ttl": _write_turtle}
