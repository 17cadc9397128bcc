"""The grammar of SERVICE (SPARQL 1.1 Federated Query, section 2): its pattern is parsed here, and sent as written."""

from __future__ import annotations

from collections.abc import Callable

from triplake.sparql.algebra import Node, Service, Term, certain, visible
from triplake.sparql.cursor import Cursor, Word, words
from triplestore.model.terms import is_absolute


def service(at: Cursor, name: Callable[[], Term], group: Callable[[], Node]) -> Service:
    """``SERVICE SILENT name { pattern }`` at a cursor. name, group: parse these parts."""
    where = at.where(at.peek().start)
    at.expect("SERVICE")
    silent = at.accept("SILENT")
    endpoint = name()
    start = at.peek().start
    pattern = group()
    bound, variables = certain(pattern), visible(pattern)
    return Service(
        *(endpoint, silent, _prologue(at, start, at.at), at.text[start : at.at], variables),
        bound=tuple(variable for variable in variables if variable in bound),
        where=where,
    )


def _prologue(at: Cursor, start: int, end: int) -> str:
    """The declarations in force that a part of the text uses, on one line."""
    used: dict[str, None] = {}
    for word in words(at.text[:end], start):
        if word.kind == "name" and not word.text.startswith("_:"):
            prefix = word.text.partition(":")[0]
            used[f"PREFIX {prefix}: <{at.prefixes.get(prefix, at.known.get(prefix))}>"] = None
        elif _is_relative(word):
            used[f"BASE <{at.base}>"] = None
    return " ".join(used)


def _is_relative(word: Word) -> bool:
    return word.kind == "iri" and not is_absolute(word.text[1:-1])
