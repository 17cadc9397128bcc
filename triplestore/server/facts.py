"""What the page shows, as JSON: the store at a glance, a resource, the words that queries can use."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from rdflib.term import BNode, Node, URIRef
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from triplestore.model.dataset import DEFAULT
from triplestore.model.errors import UsageError
from triplestore.model.terms import OWL, from_rdflib, to_rdflib
from triplestore.read.names import token_of
from triplestore.server.bodies import Parameters, asked
from triplestore.server.broadcast import Broadcast
from triplestore.server.faults import HttpError, shown
from triplestore.server.work import Service
from triplestore.store import Store

Triple = tuple[Node, Node, Node]

MOST: Final = 500
"""Facts of each kind that a resource is shown with."""

MOST_HITS: Final = 50
"""Terms that a search shows."""

MOST_GRAPHS: Final = 1_000
"""Named graphs that are listed."""

_CLASSES: Final = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?x a ?t } GROUP BY ?t ORDER BY DESC(?n) ?t LIMIT 2000"
_PROPERTIES: Final = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?x ?t ?y } GROUP BY ?t ORDER BY DESC(?n) ?t LIMIT 2000"


async def health(request: Request) -> Response:
    """Whether the server works, and at which version."""
    service: Service = request.app.state.served.service
    broadcast: Broadcast | None = request.app.state.served.broadcast
    return JSONResponse(
        {
            "status": "ok",
            "version": service.readers.version,
            "engine": service.readers.engine_name,
            "read_only": service.settings.access.read_only,
            "reading": service.reads.inside,
            "waiting": service.reads.waiting + service.writes.waiting,
            "writing": bool(service.writes.inside),
            "streams": len(broadcast.channels) if broadcast is not None else 0,
        }
    )


async def stats(request: Request) -> Response:
    """Counts; keys as `triplake stats --json`."""
    service: Service = request.app.state.served.service
    return JSONResponse(await service.kept(request, "stats", lambda store: store.stats().as_dict()))


async def overview(request: Request) -> Response:
    """Counts, classes, properties, equality classes, versions and violations."""
    service: Service = request.app.state.served.service
    return JSONResponse(await service.kept(request, "overview", _overview))


async def graphs(request: Request) -> Response:
    """The graphs and their sizes."""
    service: Service = request.app.state.served.service
    return JSONResponse(await service.kept(request, "graphs", _graphs))


async def vocabulary(request: Request) -> Response:
    """Prefixes, classes and properties, the most used first."""
    service: Service = request.app.state.served.service
    return JSONResponse(await service.kept(request, "vocabulary", _vocabulary))


async def resource(request: Request) -> Response:
    """The facts of one resource, asserted and inferred apart, and what it equals."""
    service: Service = request.app.state.served.service
    sent = asked(request)

    def found(store: Store) -> dict[str, Any]:
        wanted = token(sent, "term", store)
        if wanted[0] in '"(':
            raise HttpError(400, "term is the IRI of a resource, or _:label of a blank node")
        term = to_rdflib(wanted)
        assert isinstance(term, URIRef | BNode)
        return _resource(store, term)

    return JSONResponse(await service.find(request, found))


async def search(request: Request) -> Response:
    """The terms of which some literal has words."""
    service: Service = request.app.state.served.service
    sent = asked(request)
    text = sent.get("text", [""])[-1]

    def found(store: Store) -> dict[str, Any]:
        hits = store.search(text, MOST_HITS + 1)
        shown = [
            {
                "term": of_token(hit.term),
                "property": of_token(hit.property),
                "text": of_token(hit.text),
                "score": hit.score,
            }
            for hit in hits[:MOST_HITS]
        ]
        return {"found": shown, "more": len(hits) > MOST_HITS, "version": store.version}

    return JSONResponse(await service.find(request, found))


def token(sent: Parameters, name: str, store: Store) -> str:
    """The token of a parameter: a term as N-Triples writes it, an IRI, or a name with a prefix that the store knows.
    Raises HttpError (400)."""
    given = sent.get(name, [""])[-1].strip()
    try:
        return token_of(given, store.prefixes.known, "those of /api/vocabulary are")
    except UsageError as error:
        raise HttpError(400, f"{name}: {error}".replace(given, shown(given))) from error


def term_object(term: Node) -> dict[str, str]:
    """A term as SPARQL's JSON results have it."""
    return of_token(from_rdflib(term))


def of_token(token: str) -> dict[str, str]:
    """The same of a token."""
    from triplake.sparql.formats import term_object  # when asked for: a server starts without the writers

    return term_object(token)


def _overview(store: Store) -> dict[str, Any]:
    violated = store.violated()
    return {
        "stats": store.stats().as_dict(),
        **_words(store, 20),
        "equality": [
            {"size": size, "members": [term_object(m) for m in members]}
            for size, members in store.equality_classes(10, 20)
        ],
        "versions": [entry.as_dict() for entry in store.log()[-50:]][::-1],
        "violations": {
            "count": sum(violated.values()),
            "rules": violated,
            "first": [
                {
                    "rule": violation.rule,
                    "triples": [list(map(of_token, triple)) for triple in violation.at_fault],
                    "because": [
                        list(map(of_token, triple)) for triple in violation.because if triple not in violation.at_fault
                    ],
                }
                for violation in islice(store.check(10, by=True), 50)
            ],
        },
    }


def _graphs(store: Store) -> dict[str, Any]:
    """The size of the unnamed graph, and the `MOST_GRAPHS` largest named ones."""
    unnamed, *named = store.graphs()
    named.sort(key=lambda graph: (-graph.triples, graph.name))
    return {
        "default_graph": store.default_graph,
        "unnamed": unnamed.triples,
        "count": len(named),
        "graphs": [{"graph": of_token(graph.name), "triples": graph.triples} for graph in named[:MOST_GRAPHS]],
        "version": store.version,
    }


def _vocabulary(store: Store) -> dict[str, Any]:
    return {"prefixes": store.prefixes.known, **_words(store, 2_000)}


def _words(store: Store, most: int) -> dict[str, Any]:
    """The classes and properties in use, with how many things and facts use them; equal things count once."""
    found: dict[str, Any] = {}
    for name, text in (("classes", _CLASSES), ("properties", _PROPERTIES)):
        rows = store.query(text, "canonical")
        found[name] = [{"term": term_object(t), "count": int(str(n))} for t, n in islice(rows, most) if t is not None]
    return found


def _resource(store: Store, term: URIRef | BNode) -> dict[str, Any]:
    """Lists of at most `MOST`; those under whose name in `more` there are more. graphs: of what is asserted, fact by
    fact, the graphs that it is in: null for the unnamed one."""
    same = URIRef(OWL + "sameAs")
    facts: dict[str, Any] = {}
    graphs_of: dict[str, Any] = {}
    more: list[str] = []
    for what in ("asserted", "inferred"):
        outgoing, there_are = _first(
            t for t in store.match(term, what=what) if not (t[1] == same and what == "inferred")
        )
        incoming, others = _first(t for t in store.match(object=term, what=what) if t[1] != same)
        if what == "asserted":
            graphs_of = {"asserted": _graphs_of(store, outgoing), "asserted_incoming": _graphs_of(store, incoming)}
        more += [what] * there_are + [f"{what}_incoming"] * others
        facts[what] = [[term_object(p), term_object(o)] for _, p, o in outgoing]
        facts[f"{what}_incoming"] = [[term_object(s), term_object(p)] for s, p, _ in incoming]
    equals, others = _first(o for _, _, o in store.match(term, same) if o != term)
    return {
        "term": term_object(term),
        "equals": [term_object(o) for o in equals],
        **facts,
        "graphs": graphs_of,
        "more": more + ["equals"] * others,
        "version": store.version,
    }


def _graphs_of(store: Store, triples: list[Triple]) -> list[list[dict[str, str] | None]]:
    """The graphs of each of some asserted triples."""
    tokens = [(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in triples]
    return [[None if name == DEFAULT else of_token(name) for name in names] for names in store.asserted_in(tokens)]


def _first(items: Iterable[Any]) -> tuple[list[Any], bool]:
    """The first `MOST`, and whether there are more."""
    found = list(islice(items, MOST + 1))
    return found[:MOST], len(found) > MOST
