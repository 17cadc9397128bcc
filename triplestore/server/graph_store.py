"""SPARQL 1.1 Graph Store HTTP Protocol for the default graph: GET, HEAD, PUT, POST, DELETE on `?default` or its own
address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from triplestore.server.bodies import Parameters, documents, parameters
from triplestore.server.faults import HttpError
from triplestore.server.guard import require_writer
from triplestore.server.negotiation import GRAPHS, choose
from triplestore.server.protocol import applied, changed, endpoint_of
from triplestore.server.work import Answer, Service
from triplestore.store import Store

SUFFIXES: Final = {
    "text/turtle": ".ttl",
    "application/x-turtle": ".ttl",
    "application/n-triples": ".nt",
    "text/plain": ".nt",
    "application/rdf+xml": ".rdf",
    "application/xml": ".rdf",
    "text/xml": ".rdf",
    "application/ld+json": ".jsonld",
    "application/trig": ".trig",
    "application/n-quads": ".nq",
}
"""Media types of graphs that can be sent, and the suffixes that tell the loaders the syntax. Of TriG and N-Quads all
triples are taken, whatever graph they are in."""


async def default_graph(request: Request) -> Response:
    """The default graph, by `?default` or directly by its own address."""
    service: Service = request.app.state.service
    sent = parameters(request.url.query)
    if "graph" in sent:
        missing = request.method in ("GET", "HEAD", "DELETE")
        raise HttpError(
            404 if missing else 400,
            "this store is one graph, the default one, without a name: use ?default (named graphs are not supported)",
        )
    if "default" not in sent and not request.url.path.endswith("/default"):
        raise HttpError(400, "say which graph: ?default is the one there is")
    if request.method in ("GET", "HEAD"):
        return await _get(request, service, sent)
    require_writer(request)
    if request.method == "DELETE":
        return changed(await service.write(lambda store: applied(store, (), lambda: store.replace())))
    base = endpoint_of(request)
    replacing = request.method == "PUT"
    async with documents(request, SUFFIXES, service.settings.limits.body) as paths:

        def change(store: Store) -> None:
            (store.replace if replacing else store.load)(*paths, base=base)

        return changed(await service.write(lambda store: applied(store, paths, lambda: change(store))))


async def _get(request: Request, service: Service, sent: Parameters) -> Response:
    """The graph that queries see; of it, with `what`, the asserted or the inferred part."""
    media = choose(request.headers.get("accept"), list(GRAPHS))
    if media is None:
        raise HttpError(406, f"a graph can be had as {', '.join(GRAPHS)}: accept one")
    what = sent.get("what", ["all"])[-1]
    same_as = sent.get("same_as", [service.settings.same_as])[-1]
    charset = "; charset=utf-8" if media.startswith("text/") else ""

    def work(store: Store) -> Answer:
        from triplake.sparql.formats import REFUSING

        pieces = _written(store, what, same_as, GRAPHS[media])
        return Answer(media + charset, pieces, whole=GRAPHS[media] in REFUSING)

    return await service.read(request, work)


def _written(store: Store, what: str, same_as: str, format: str) -> Iterator[str]:
    from triplake.sparql.graph_formats import GRAPH_FORMATS

    return GRAPH_FORMATS[format](store.token_batches(what, same_as), store.prefixes.names)
