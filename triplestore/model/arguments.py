"""What the methods of a store refuse to be given, for what would be a false answer or a fault within an engine.

And what people who know RDFLib, pyoxigraph or DuckDB try first, with what they write here instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, Final

from triplestore.model.errors import UsageError


def check_whole(what: str, given: Any, least: int = 0, none: str = "") -> None:
    """Raise UsageError for what is no whole number of at least that. none: what None stands for; "" where it is
    refused."""
    if (given is None and none) or (isinstance(given, int) and not isinstance(given, bool) and given >= least):
        return
    also = f", or None for {none}" if none else ""
    raise UsageError(f"{what} is a whole number, {least} or more{also}: not {given!r}")


def check_text(what: str, given: Any) -> None:
    """Raise UsageError for what is no text."""
    if not isinstance(given, str):
        advice = "; read the file first, path.read_text()" if isinstance(given, PurePath) else ""
        raise UsageError(f"{what} is a text: not {shortened(repr(given))}{advice}")


def shortened(text: str, most: int = 100) -> str:
    """A text for a message, its beginning if it is long."""
    return text if len(text) <= most else f"{text[:most]} ..."


_ADD: Final = "store.update(add=[(s, p, o)])"
_DELETE: Final = "store.update(delete=[(s, p, o)])"
_MATCH: Final = "store.match(s, p, o)"
_QUADS: Final = "store.match_quads(s, p, o, graph)"
_QUERY: Final = "store.query(text)"
_LOAD: Final = 'store.load("file.ttl")'
_WRITE: Final = 'store.query("CONSTRUCT WHERE { ?s ?p ?o }").write(out, "ttl")'
_NEEDLESS: Final = "not needed: each call is a transaction, on disk when it returns"
_ARROW: Final = "result.to_arrow()"
_PANDAS: Final = "result.to_pandas()"

STORE: Final = {
    "add": _ADD,
    "addN": _ADD,
    "insert": _ADD,
    "extend": _ADD,
    "bulk_extend": _ADD,
    "remove": _DELETE,
    "delete": _DELETE,
    "discard": _DELETE,
    "clear": "store.replace()",
    "parse": _LOAD,
    "bulk_load": _LOAD,
    "read": _LOAD,
    "serialize": _WRITE,
    "dump": _WRITE,
    "export": _WRITE,
    "quads": _QUADS,
    "quads_for_pattern": _QUADS,
    "subjects": _MATCH,
    "predicates": _MATCH,
    "objects": _MATCH,
    "subject_objects": _MATCH,
    "predicate_objects": _MATCH,
    "subject_predicates": _MATCH,
    "value": _MATCH,
    "execute": _QUERY,
    "sql": _QUERY,
    "sparql": _QUERY,
    "bind": 'store.change_prefixes({"ex": "http://example.org/"})',
    "namespaces": "store.prefixes.declared",
    "namespace_manager": "store.prefixes.declared",
    "graph": _QUADS,
    "get_context": _QUADS,
    "contexts": "store.graphs()",
    "named_graphs": "store.graphs()",
    "materialize": "store.materialise()",
    "reason": "store.materialise()",
    "infer": "store.materialise()",
    "commit": _NEEDLESS,
    "flush": _NEEDLESS,
    "optimize": "store.compact()",
}
"""Names that a Store has not -> what to write."""

RESULT: Final = {
    "bindings": "[row.as_dict() for row in result]",
    "vars": "result.variables",
    "askAnswer": "result.boolean",
    "type": "result.kind",
    "graph": "list(result)",
    "serialize": 'result.write(out, "json")',
    "fetchall": "list(result)",
    "fetchone": "result[0]",
    "fetchmany": "result[:10]",
    "show": "result.write(out)",
    "df": _PANDAS,
    "fetchdf": _PANDAS,
    "to_df": _PANDAS,
    "arrow": _ARROW,
    "fetch_arrow_table": _ARROW,
    "pl": "result.to_polars()",
}
"""Names that a Result has not -> what to write."""

MODULE: Final = {
    "open": 'Store.open("kg")',
    "connect": 'Store("kg")',
    "load": 'Store("kg").load("file.ttl")',
    "Graph": 'Store(), or rdflib.Graph(store="Triplake")',
    "Dataset": 'Store(), or rdflib.Dataset(store="Triplake")',
}
"""Names that the package has not -> what to write."""

QUERY: Final = {
    "initBindings": 'bindings={"x": term}',
    "substitutions": 'bindings={"x": term}',
    "initNs": "PREFIX in the text, or store.change_prefixes",
    "prefixes": "PREFIX in the text, or store.change_prefixes",
    "base_iri": "base",
    "default_graph": "default_graphs",
    "use_default_graph_as_union": 'store.change_default_graph("union")',
}
"""Arguments that Store.query has not -> what to give."""

LOAD: Final = {
    "source": "the file as the first argument",
    "path": "the file as the first argument",
    "file": "the file as the first argument",
    "input": "the file as the first argument, or data for a text",
    "location": "the file or URL as the first argument",
    "publicID": "base",
    "base_iri": "base",
    "to_graph": "graph",
    "mime_type": "format",
}
"""Arguments that Store.load has not -> what to give."""


def absent(owner: str, name: str, known: Mapping[str, str]) -> AttributeError:
    """The error for an attribute that is not there. owner: what should have it, as in "'Store' object"."""
    message = f"{owner} has no attribute {name!r}"
    if (advice := known.get(name)) is not None:
        message += f": {advice}" if advice is _NEEDLESS else f": write {advice}"
    return AttributeError(message, name=name)


def check_keywords(method: str, given: Iterable[str], known: Mapping[str, str]) -> None:
    """Raise TypeError for the first argument, if there is any, that a method does not have."""
    for name in given:
        message = f"{method}() has no argument {name!r}"
        raise TypeError(f"{message}: give {known[name]}" if name in known else message)
