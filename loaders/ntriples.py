r"""N-Triples and N-Quads as SQL over an engine's `lines`: one regular expression, then plain cuts, all in parallel.

The expression accepts only lines that every conforming parser accepts: absolute IRIs of conservative characters, no
escapes, no odd blank node labels. Whatever it does not accept goes, as it is, to `loaders.lines`, which is strict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from triplake.loaders.sources import Syntax
from triplestore.engine.dialect import Dialect
from triplestore.model.terms import XSD

# RFC 3987 without user names, percent signs and brackets; `ucschar` up to the surrogates and the compatibility area.
_SAFE: Final = r"A-Za-z0-9._~!$&'()*+,;=:@\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}"
_PATH: Final = rf"[{_SAFE}/-]*"
_QUERY: Final = rf"[{_SAFE}/?-]*"
_SCHEME: Final = r"[A-Za-z][A-Za-z0-9+.-]*:"
_HOST: Final = r"//[A-Za-z0-9._~-]+(?::[0-9]+)?"
_IRI: Final = rf"<{_SCHEME}(?:{_HOST}(?:[/?]{_QUERY})?(?:#{_QUERY})?|/?[{_SAFE}-]{_QUERY}(?:#{_QUERY})?)>"
# A datatype that ends in g may be rdf:langString, which is an error: those other than xsd:string go the slow way.
_NOT_G: Final = f"[{_SAFE.replace('A-Za-z', 'A-Za-fh-z')}-]"
_STRING: Final = re.escape(XSD + "string")
_DATATYPE: Final = rf"<(?:{_STRING}|{_SCHEME}{_HOST}/{_PATH}(?:#{_PATH})?{_NOT_G})>"
_BLANK: Final = r"_:[A-Za-z0-9_][A-Za-z0-9_-]*"
_LANGUAGE: Final = r"@[A-Za-z]{2,3}(?:-[A-Za-z]{4})?(?:-[A-Za-z]{2})?"
_LITERAL: Final = rf'"[^"\\\r\n\x{{FFFD}}]*"(?:{_LANGUAGE}|\^\^{_DATATYPE})?'
_GAP: Final = r"[ \t]"
_TRIPLE: Final = rf"(?:{_IRI}|{_BLANK}){_GAP}{_IRI}{_GAP}(?:{_IRI}|{_BLANK}|{_LITERAL})"
_END: Final = rf"{_GAP}*\.{_GAP}*"

CLEAN: Final = {
    Syntax.NTRIPLES: _TRIPLE + _END,
    Syntax.NQUADS: rf"{_TRIPLE}(?:{_GAP}(?:{_IRI}|{_BLANK}))?{_END}",
}
"""The lines that are plainly clean, as a regular expression that RE2 and Java read alike."""

_STRING_TAIL: Final = f"^^<{XSD}string>"


def cut(
    dialect: Dialect, syntax: Syntax, lines: str, first_file: int, graphs: Sequence[str] | None = None, kept: str = ""
) -> str:
    """A SELECT of (s, p, o) tokens from view `lines(file, line)`; for N-Quads, and where `graphs` are given, also of g,
    the name of the graph, empty for the unnamed one. graphs: of each file, what its unnamed graph goes into. kept: a
    column of the view that the rows have too.

    File f of the view is number first_file + f for its blank nodes. A line that is not plainly clean comes as
    ('', f, the line); most blank lines and comments do not come at all.
    """
    more = f", {kept}" * bool(kept)
    matches = dialect.matches("line", CLEAN[syntax])
    checked = f"SELECT file, line{more}, {matches} AS clean FROM {lines} WHERE substr(line, 1, 1) NOT IN ('', '#')"
    # Tabs count as spaces to find the places only: an IRI holds neither, a literal keeps its own.
    spaced = (
        f"SELECT file, line{more}, clean, CASE WHEN instr(line, chr(9)) > 0 THEN translate(line, chr(9), ' ') "
        f"ELSE line END AS flat FROM ({checked}) c"
    )
    words = "split_part(flat, ' ', 1) AS s, split_part(flat, ' ', 2) AS p"
    parted = f"SELECT file, line{more}, clean, {words} FROM ({spaced}) f"
    tailed = (
        f"SELECT file, line{more}, clean, s, p, CASE WHEN clean THEN "
        f"TRIM(TRAILING {dialect.string(' .' + chr(9))} FROM substr(line, length(s) + length(p) + 3)) "
        f"ELSE line END AS o FROM ({parted}) p"
    )
    if syntax is Syntax.NQUADS:
        # The last piece is a graph's name if it starts like one and closes no literal.
        last = "split_part(translate(o, chr(9), ' '), ' ', -1)"
        pieces = f"SELECT file, line, clean, s, p, o, CASE WHEN clean THEN {last} ELSE o END AS piece FROM ({tailed}) t"
        is_name = "length(piece) < length(o) AND substr(piece, 1, 1) IN ('<', '_') AND instr(piece, '\"') = 0"
        quads = (
            f"SELECT file, line, clean, s, p, o, CASE WHEN clean AND {is_name} THEN piece ELSE '' END AS g "
            f"FROM ({pieces}) l"
        )
        without = "CASE WHEN g <> '' THEN substr(o, 1, length(o) - length(g) - 1) ELSE o END"
        tailed = f"SELECT file, line, clean, s, p, {without} AS o, g FROM ({quads}) q"
    prefix = f"'_:f' || CAST(file + {first_file} AS STRING) || '_'"
    subject = f"CASE WHEN substr(s, 1, 1) = '_' THEN {prefix} || substr(s, 3) ELSE s END"
    tag = "split_part(o, '\"', -1)"
    tail = dialect.string(_STRING_TAIL)
    own, graph = _of_files(dialect, graphs or ("",)), ""
    if syntax is Syntax.NQUADS:
        graph = f", CASE substr(g, 1, 1) WHEN '_' THEN {prefix} || substr(g, 3) WHEN '' THEN {own} ELSE g END AS g"
    elif graphs is not None:
        graph = f", {own} AS g"
    obj = (
        "CASE substr(o, 1, 1) WHEN '<' THEN o "
        f"WHEN '_' THEN {prefix} || substr(o, 3) "
        "ELSE CASE substr(o, length(o), 1) WHEN '\"' THEN o "
        f"WHEN '>' THEN CASE WHEN {tag} = {tail} THEN substr(o, 1, length(o) - {len(_STRING_TAIL)}) ELSE o END "
        f"ELSE substr(o, 1, length(o) - length({tag})) || lower({tag}) END END"
    )
    return (
        f"SELECT CASE WHEN clean THEN {subject} ELSE '' END AS s, "
        f"CASE WHEN clean THEN p ELSE CAST(file AS STRING) END AS p, "
        f"CASE WHEN clean THEN {obj} ELSE line END AS o{graph}{more} FROM ({tailed}) t"
    )


def _of_files(dialect: Dialect, graphs: Sequence[str]) -> str:
    """The name of the graph of each file, as an SQL expression."""
    if len(set(graphs)) == 1:
        return dialect.string(graphs[0])
    named = " ".join(f"WHEN {file} THEN {dialect.string(graph)}" for file, graph in enumerate(graphs))
    return f"CASE file {named} END"
