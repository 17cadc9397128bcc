"""SPARQL 1.1 Graph Store HTTP Protocol: GET, HEAD, PUT, POST and DELETE of graphs."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from triplestore.model.dataset import DEFAULT
from triplestore.model.terms import is_absolute
from triplestore.server.bodies import Parameters, asked, documents
from triplestore.server.faults import HttpError, shown
from triplestore.server.guard import require_writer
from triplestore.server.jobs import Answer
from triplestore.server.negotiation import GRAPHS, choose
from triplestore.server.protocol import applied, changed, check, endpoint_of, is_dry
from triplestore.server.work import Service
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
    "application/json": ".jsonld",
    "application/trig": ".trig",
    "application/n-quads": ".nq",
}
"""Media types of graphs that can be sent, and the suffixes that tell the loaders the syntax."""


_DATASETS: Final = {"application/n-quads": "nq", "application/trig": "trig"}
"""The media type of the whole store."""


async def graph_store(request: Request) -> Response:
    """A graph, by `?default`, by `?graph=IRI`, or directly by its own address under that of the store; without any of
    these the store: GET has all of it as N-Quads, POST makes a new graph."""
    service: Service = request.app.state.served.service
    sent = asked(request)
    graph = _graph(request, sent)
    if request.method in ("GET", "HEAD"):
        check(sent)
        return await (_whole(request, service, sent) if graph is None else _get(request, service, graph, sent))
    require_writer(request)
    if "content-range" in request.headers:
        raise HttpError(400, "a part of a graph cannot be put (Content-Range): send all of it, or POST what is added")
    if graph is None:
        if request.method != "POST":
            raise HttpError(400, _WHICH)
        graph = f"{endpoint_of(request).rstrip('/')}/{uuid4()}"
    check(sent)
    dry = is_dry(sent)

    def found(store: Store) -> bool:
        store.refresh()
        there = _exists(store, graph)
        _heed(request, there)
        return there

    if request.method == "DELETE":

        def delete(store: Store) -> dict[str, Any]:
            if not found(store):
                raise _absent(graph)
            return _deleted(store, graph, dry)

        return changed(await service.write(delete, limited=dry))
    base, replacing = endpoint_of(request), request.method == "PUT"
    async with documents(request, SUFFIXES, service.settings.limits.body) as paths:

        def change(store: Store) -> tuple[dict[str, Any], bool]:
            write, there = store.replace if replacing else store.load, found(store)
            return applied(store, paths, lambda: write(*paths, base=base, graph=graph, dry_run=dry), dry), there

        figures, there = await service.write(change, limited=dry)
    if there or dry:
        return changed(figures)
    named = "graph" in sent  # else it is an address of this server's: the one that was asked, or a new one
    return changed(figures, 201, {"Location": _address(request, graph) if named else graph})


_WHICH: Final = "say which graph: ?default or ?graph=IRI, or its own address below this one"
_DEFAULT: Final = DEFAULT[1:-1]


def _graph(request: Request, sent: Parameters) -> str | None:
    """The name of the graph that a request is for, of the unnamed one its own name; None for the store as a whole.
    Raises HttpError (400)."""
    named = [*sent.get("graph", ())]
    if "default" in sent:
        named.append(_DEFAULT)
    own = request.path_params.get("name", "")
    if own:
        named.append(_DEFAULT if own == "default" else endpoint_of(request))
    if len(named) > 1:
        raise HttpError(400, "the request names more than one graph: name one")
    if named and not is_absolute(named[0]):
        raise HttpError(400, f"graph: '{shown(named[0])}' is not an absolute IRI")
    return named[0] if named else None


def _address(request: Request, graph: str) -> str:
    """Where a graph is that is named by a parameter, whatever its name: the address of the store with it."""
    store = f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}/data"
    return f"{store}?graph={quote(graph, safe='')}"


def _exists(store: Store, graph: str) -> bool:
    return graph == _DEFAULT or store.has_graph(f"<{graph}>")


def _absent(graph: str) -> HttpError:
    return HttpError(404, f"there is no graph <{shown(graph)}>")


def _heed(request: Request, there: bool) -> None:
    """Raise HttpError (412) where a condition of a change does not hold (RFC 9110, section 13.1). Graphs have no entity
    tags: one that is asked for is that of none. there: whether there is the graph."""
    wanted, unwanted = request.headers.get("if-match"), request.headers.get("if-none-match")
    if wanted is not None and not (there and wanted.strip() == "*"):
        message = "the graph has no such tag" if there else "there is no such graph"
        raise HttpError(412, f"{message}, as If-Match asks: nothing was done")
    if unwanted is not None and unwanted.strip() == "*" and there:
        raise HttpError(412, "there is such a graph, as If-None-Match asks that there be not: nothing was done")


def _deleted(store: Store, graph: str, dry: bool) -> dict[str, Any]:
    """Take a graph away; of the unnamed one, which is always there, its triples. dry: a dry run."""
    if graph == _DEFAULT:
        return applied(store, (), lambda: store.replace(graph=graph, dry_run=dry), dry)
    return applied(store, (), lambda: store.sparql_update(f"DROP GRAPH <{graph}>", dry_run=dry), dry)


async def _whole(request: Request, service: Service, sent: Parameters) -> Response:
    """All asserted triples, with their graphs."""
    _asserted(sent)
    media = choose(request.headers.get("accept"), list(_DATASETS))
    if media is None:
        raise HttpError(406, f"{_WHICH}; all graphs together can be had as {' or '.join(_DATASETS)}")

    def work(store: Store) -> Answer:
        from triplake.sparql.dataset_formats import DATASET_FORMATS

        return Answer(media, DATASET_FORMATS[_DATASETS[media]](store.quad_batches(), store.prefixes.names))

    return await service.read(request, work)


def _asserted(sent: Parameters) -> None:
    """Raise HttpError (400) where another part is wanted than the asserted one, of graphs that have no other."""
    if any(what != "asserted" for what in sent.get("what", ())):
        raise HttpError(400, "graphs have asserted triples alone: what follows from these is in ?default")


async def _get(request: Request, service: Service, graph: str, sent: Parameters) -> Response:
    """A graph. Of the default one what queries see; of that, with `what`, the asserted or the inferred part."""
    media = choose(request.headers.get("accept"), list(GRAPHS))
    if media is None:
        raise HttpError(406, f"a graph can be had as {', '.join(GRAPHS)}: accept one")
    own = "graph" in sent or graph != _DEFAULT
    if own:
        _asserted(sent)
    what = sent.get("what", ["all"])[-1]
    same_as = sent.get("same_as", [service.settings.same_as])[-1]
    charset = "; charset=utf-8" if media.startswith("text/") else ""

    def work(store: Store) -> Answer:
        from triplake.sparql.formats import REFUSING
        from triplake.sparql.graph_formats import GRAPH_FORMATS

        if not _exists(store, graph):
            raise _absent(graph)
        batches = store.graph_batches(f"<{graph}>", grouped=True) if own else store.token_batches(what, same_as)
        pieces = GRAPH_FORMATS[GRAPHS[media]](batches, store.prefixes.names)
        return Answer(media + charset, pieces, whole=GRAPHS[media] in REFUSING)

    return await service.read(request, work)
