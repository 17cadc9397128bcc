"""What the page shows, as JSON: the store at a glance, a resource, the words that queries can use."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from rdflib.term import BNode, Node, URIRef
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from triplestore.server.bodies import parameters
from triplestore.server.faults import HttpError
from triplestore.server.prefixes import PREFIXES
from triplestore.server.work import Service
from triplestore.store import Store
from triplestore.terms import OWL, from_rdflib

MOST: Final = 500
"""Facts of each kind that a resource is shown with."""

_CLASSES: Final = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?x a ?t } GROUP BY ?t ORDER BY DESC(?n) ?t LIMIT 2000"
_PROPERTIES: Final = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?x ?t ?y } GROUP BY ?t ORDER BY DESC(?n) ?t LIMIT 2000"


async def health(request: Request) -> Response:
    """Whether the server works, and at which version."""
    service: Service = request.app.state.service
    return JSONResponse(
        {
            "status": "ok",
            "version": service.readers.version,
            "engine": service.readers.engine_name,
            "read_only": service.settings.access.read_only,
            "reading": service.reads.inside,
            "waiting": service.reads.waiting + service.writes.waiting,
            "writing": bool(service.writes.inside),
        }
    )


async def stats(request: Request) -> Response:
    """Counts; keys as `triplake stats --json`."""
    service: Service = request.app.state.service
    return JSONResponse(await service.kept(request, "stats", lambda store: store.stats()))


async def overview(request: Request) -> Response:
    """Counts, classes, properties, equality classes, versions and violations."""
    service: Service = request.app.state.service
    return JSONResponse(await service.kept(request, "overview", _overview))


async def vocabulary(request: Request) -> Response:
    """Prefixes, classes and properties, the most used first."""
    service: Service = request.app.state.service
    return JSONResponse(await service.kept(request, "vocabulary", _vocabulary))


async def resource(request: Request) -> Response:
    """The facts of one resource, asserted and inferred apart, and what it equals."""
    service: Service = request.app.state.service
    term = term_of(parameters(request.url.query).get("term", [""])[-1])
    found = await service.find(request, lambda store: _resource(store, term))
    return JSONResponse(found)


def term_of(text: str) -> URIRef | BNode:
    """An IRI (with or without angle brackets) or a blank node `_:label`. Raises HttpError (400) for anything else."""
    text = text.strip()
    if text.startswith("_:") and len(text) > 2:
        return BNode(text[2:])
    iri = text[1:-1] if text.startswith("<") and text.endswith(">") else text
    if not iri or any(character in '<>"{}|^`\\' or character <= " " for character in iri):
        raise HttpError(400, "term is the IRI of a resource, or _:label of a blank node")
    return URIRef(iri)


def term_object(term: Node) -> dict[str, str]:
    """A term as SPARQL's JSON results have it."""
    from sparql.formats import term_object as of_token

    return of_token(from_rdflib(term))


def _overview(store: Store) -> dict[str, Any]:
    violated = store.violated()
    return {
        "stats": store.stats(),
        **_words(store, 20),
        "equality": [
            {"size": size, "members": [term_object(m) for m in members]}
            for size, members in store.equality_classes(10, 20)
        ],
        "versions": [dict(entry) for entry in store.log()[-50:]][::-1],
        "violations": {
            "count": sum(violated.values()),
            "rules": violated,
            "first": [
                {"rule": v.rule, "triples": [[term_object(t) for t in triple] for triple in v.triples]}
                for v in islice(store.check(10), 50)
            ],
        },
    }


def _vocabulary(store: Store) -> dict[str, Any]:
    return {"prefixes": PREFIXES, **_words(store, 2_000)}


def _words(store: Store, most: int) -> dict[str, Any]:
    """The classes and properties in use, with how many things and facts use them; equal things count once."""
    found: dict[str, Any] = {}
    for name, text in (("classes", _CLASSES), ("properties", _PROPERTIES)):
        rows = store.query(text, "canonical")
        found[name] = [{"term": term_object(t), "count": int(str(n))} for t, n in islice(rows, most) if t is not None]
    return found


def _resource(store: Store, term: URIRef | BNode) -> dict[str, Any]:
    same = URIRef(OWL + "sameAs")
    facts: dict[str, Any] = {}
    truncated = False
    for what in ("asserted", "inferred"):
        outgoing, more = _first(t for t in store.match(term, what=what) if not (t[1] == same and what == "inferred"))
        incoming, others = _first(t for t in store.match(object=term, what=what) if t[1] != same)
        truncated |= more or others
        facts[what] = [[term_object(p), term_object(o)] for _, p, o in outgoing]
        facts[f"{what}_incoming"] = [[term_object(s), term_object(p)] for s, p, _ in incoming]
    equals, more = _first(o for _, _, o in store.match(term, same) if o != term)
    return {
        "term": term_object(term),
        "equals": [term_object(o) for o in equals],
        **facts,
        "truncated": truncated or more,
        "version": store.version,
    }


def _first(items: Iterable[Any]) -> tuple[list[Any], bool]:
    """The first `MOST`, and whether there are more."""
    found = list(islice(items, MOST + 1))
    return found[:MOST], len(found) > MOST
