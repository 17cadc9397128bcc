"""Answers as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from triplestore.model.prefixes import Names

SHOWN: Final = 20
"""Rows that a notebook shows."""

_STYLE: Final = "text-align:left; vertical-align:top; overflow-wrap:anywhere"


def table_html(names: Sequence[str], rows: Iterable[Sequence[str]], below: str = "") -> str:
    """A table of cells that are HTML already, and a line below it, which is text."""
    head = "".join(f'<th style="{_STYLE}">{escape(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f'<td style="{_STYLE}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    note = f"<p>{escape(below)}</p>" if below else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def term_html(token: str | None, names: Names) -> str:
    """A term: an IRI as a link where it is one of the web, by its prefix; nothing where it is unbound."""
    if token is None:
        return ""
    text = escape(names.token(token))
    if token.startswith(("<http://", "<https://")):
        return f'<a href="{escape(token[1:-1])}">{text}</a>'
    return text
