"""Results as text: the SPARQL 1.1 formats (JSON, XML, CSV and TSV) and a table for people; graphs are in
`sparql.graph_formats`.

A format is a function from a result to pieces of text, made as the rows come. Triples (CONSTRUCT, DESCRIBE) can be
written in any of them, as rows of subject, predicate and object. CSV and TSV have no form for ASK in the
recommendation: one line, true or false.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TextIO
from xml.sax.saxutils import escape, quoteattr

from triplake.sparql.graph_formats import GRAPH_FORMATS, ITS, NOT_XML
from triplestore.model.errors import FormatError, UsageError
from triplestore.model.prefixes import Names
from triplestore.model.remembering import Remembered
from triplestore.model.terms import XSD, split_literal, split_tag, to_ntriples
from triplestore.model.triple_terms import split_triple

_PARTS: Final = ("subject", "predicate", "object")


class Answer(Protocol):
    """What is written of a `Result`."""

    kind: str
    variables: tuple[str, ...]
    names: Names

    @property
    def boolean(self) -> bool: ...

    def tokens(self) -> Iterator[tuple[str | None, ...]]: ...

    def token_batches(self) -> Iterator[list[tuple[str | None, ...]]]: ...


def write_result(result: Answer, out: TextIO, format: str) -> None:
    """Write a result in a format. Raises UsageError for an unknown format or one that does not fit the result,
    FormatError (one of these) where it has no way to write a term."""
    for piece in pieces(result, format):
        out.write(piece)


def pieces(result: Answer, format: str) -> Iterator[str]:
    """The text of a result in a format, as its rows come. Raises UsageError as `write_result`, at once."""
    if format in GRAPH_FORMATS:
        if result.kind not in ("construct", "describe"):
            raise UsageError(
                f"{format} holds triples: use it with CONSTRUCT or DESCRIBE, or take {', '.join(ROW_FORMATS)}"
            )
        return GRAPH_FORMATS[format](result.token_batches(), result.names)  # type: ignore[arg-type]
    if format not in ROW_FORMATS:
        known = ", ".join([*ROW_FORMATS, *GRAPH_FORMATS])
        raise UsageError(f"unknown result format {format!r}: use one of {known}")
    return ROW_FORMATS[format](result)


def term_object(token: str) -> dict[str, Any]:
    """A term as an object of the JSON format."""
    if token[0] == "(":
        parts = zip(_PARTS, split_triple(token), strict=True)
        return {"type": "triple", "value": {name: term_object(part) for name, part in parts}}
    if token[0] == "<":
        return {"type": "uri", "value": token[1:-1]}
    if token[0] == "_":
        return {"type": "bnode", "value": token[2:]}
    lexical, datatype, lang = split_literal(token)
    found = {"type": "literal", "value": lexical}
    if lang is not None:
        found["xml:lang"], direction = split_tag(lang)
        if direction is not None:
            found["its:dir"] = direction
    elif datatype != XSD + "string":
        found["datatype"] = datatype
    return found


_JSON: Final = Remembered(lambda token: json.dumps(term_object(token), ensure_ascii=False))
"""The texts of terms, which results repeat."""


def _json(result: Answer) -> Iterator[str]:
    """SPARQL 1.1 Query Results JSON Format, one row a line."""
    if result.kind == "ask":
        yield json.dumps({"head": {}, "boolean": result.boolean}) + "\n"
        return
    names = [json.dumps(name, ensure_ascii=False) for name in result.variables]
    yield f'{{"head": {{"vars": [{", ".join(names)}]}}, "results": {{"bindings": ['
    separator = "\n"
    for rows in result.token_batches():
        lines = (
            ", ".join(f"{n}: {_JSON[t]}" for n, t in zip(names, row, strict=True) if t is not None) for row in rows
        )
        yield separator + ",\n".join(f"{{{line}}}" for line in lines)
        separator = ",\n"
    yield "\n]}}\n"


def _xml_term(token: str) -> str:
    if token[0] == "(":
        parts = zip(_PARTS, split_triple(token), strict=True)
        return f"<triple>{''.join(f'<{name}>{_xml_term(part)}</{name}>' for name, part in parts)}</triple>"
    if token[0] == "<":
        return f"<uri>{_xml_text(token[1:-1])}</uri>"
    if token[0] == "_":
        return f"<bnode>{_xml_text(token[2:])}</bnode>"
    lexical, datatype, lang = split_literal(token)
    mark = ""
    if lang is not None:
        language, direction = split_tag(lang)
        mark = f" xml:lang={quoteattr(language)}"
        if direction is not None:
            mark += f' xmlns:its="{ITS}" its:dir="{direction}"'
    elif datatype != XSD + "string":
        mark = f" datatype={quoteattr(datatype)}"
    return f"<literal{mark}>{_xml_text(lexical)}</literal>"


_XML: Final = Remembered(_xml_term)


def _xml_text(text: str) -> str:
    """Escaped. White space that a parser may change (a carriage return), or take for layout and leave out (around the
    text, or all of it), is written as references. Raises FormatError for characters that XML cannot hold."""
    if NOT_XML.search(text):
        shown = to_ntriples(f'"{text}"')
        raise FormatError(f"XML cannot hold the control characters of {shown}: ask for JSON")
    found = escape(text, _WHITE)
    if text[:1] == " " or text[-1:] == " ":
        inner = found.strip(" ")
        before = len(found) - len(found.lstrip(" "))
        found = "&#32;" * before + inner + "&#32;" * (len(found) - before - len(inner))
    return found


_WHITE: Final = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


def _xml(result: Answer) -> Iterator[str]:
    """SPARQL Query Results XML Format (Second Edition)."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n'
    variables = "".join(f"<variable name={quoteattr(name)}/>" for name in result.variables)
    yield f"<head>{variables}</head>\n"
    if result.kind == "ask":
        yield f"<boolean>{str(result.boolean).lower()}</boolean>\n</sparql>\n"
        return
    opening = [f"<binding name={quoteattr(name)}>" for name in result.variables]
    yield "<results>\n"
    for rows in result.token_batches():
        lines = (
            "".join(f"{o}{_XML[t]}</binding>" for o, t in zip(opening, row, strict=True) if t is not None)
            for row in rows
        )
        yield "".join(f"<result>{line}</result>\n" for line in lines)
    yield "</results>\n</sparql>\n"


def _plain(token: str) -> str:
    """A term as SPARQL's CSV has it: no quotes, datatype or language, but within triple terms."""
    if token[0] == "<":
        return token[1:-1]
    return split_literal(token)[0] if token[0] == '"' else to_ntriples(token)


def _csv(result: Answer) -> Iterator[str]:
    """SPARQL 1.1 Query Results CSV Format."""
    if result.kind == "ask":
        yield f"{str(result.boolean).lower()}\n"
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(result.variables)
    yield text.getvalue()
    for rows in result.token_batches():
        text.seek(0)
        text.truncate()
        writer.writerows(["" if token is None else _plain(token) for token in row] for row in rows)
        yield text.getvalue()


def _tsv(result: Answer) -> Iterator[str]:
    """SPARQL 1.1 Query Results TSV Format: terms as in Turtle."""
    if result.kind == "ask":
        yield f"{str(result.boolean).lower()}\n"
        return
    yield "\t".join(f"?{name}" for name in result.variables) + "\n"
    for rows in result.token_batches():
        yield "".join(
            "\t".join("" if t is None else to_ntriples(t).replace("\t", "\\t") for t in row) + "\n" for row in rows
        )


def _table(result: Answer) -> Iterator[str]:
    """Columns for people: IRIs by prefixes, a line with the number of rows."""
    if result.kind == "ask":
        yield "yes\n" if result.boolean else "no\n"
        return
    rows = [["" if token is None else _short(token, result.names) for token in row] for row in result.tokens()]
    names = [f"?{name}" if result.kind == "select" else name for name in result.variables]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)] if names else []
    for row in [names, ["-" * width for width in widths], *rows]:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
    yield f"({len(rows)} row{'s' * (len(rows) != 1)})\n"


def _short(token: str, names: Names) -> str:
    """A term as Turtle would write it for a reader who knows the prefixes."""
    if token[0] != '"':
        return names.token(token)
    lexical, datatype, lang = split_literal(token)
    if datatype in (XSD + "integer", XSD + "decimal", XSD + "boolean") and lexical and lexical == lexical.strip():
        return lexical
    text = to_ntriples(f'"{lexical}"')
    if lang is not None:
        return f"{text}@{lang}"
    return text if datatype == XSD + "string" else f"{text}^^{names.iri(datatype)}"


REFUSING: Final = ("xml", "rdf", "jsonld")
"""The formats that have no way to write some terms, which may come at the end of an answer."""

ROW_FORMATS: Final[dict[str, Callable[[Answer], Iterator[str]]]] = {
    "table": _table,
    "csv": _csv,
    "tsv": _tsv,
    "json": _json,
    "xml": _xml,
}
