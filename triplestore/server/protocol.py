"""SPARQL 1.1 Protocol: queries by GET, form and direct POST, updates by form and direct POST, at one address."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from triplake.loaders import LoadReport
from triplestore.model.endpoints import DEPTH
from triplestore.model.errors import InputError, TriplakeError, UsageError
from triplestore.model.report import UpdateReport
from triplestore.model.terms import is_absolute
from triplestore.server.bodies import FORM, Parameters, asked, form, media_type, text
from triplestore.server.description import describe
from triplestore.server.faults import HttpError, shown
from triplestore.server.guard import may_write, require_writer
from triplestore.server.jobs import Answer
from triplestore.server.negotiation import GRAPH_NAMES, GRAPHS, ROW_NAMES, ROWS, choose
from triplestore.server.settings import MAX_QUERY
from triplestore.server.work import Service
from triplestore.store import Store
from triplestore.write.queue import Waiting

QUERY: Final = "application/sparql-query"
UPDATE: Final = "application/sparql-update"

_TYPES: Final = f"{FORM}, {QUERY} or {UPDATE}"


async def sparql(request: Request) -> Response:
    """The endpoint. Without a query, a GET is answered with the service's description."""
    service: Service = request.app.state.served.service
    most = service.settings.limits.body
    sent = asked(request)
    check(sent)
    if request.method != "POST":
        if "update" in sent:
            raise HttpError(400, "an update is sent by POST")
        if "query" not in sent:
            return await _described(request, service, sent)
        return await _query(request, service, _one(sent, "query"), sent)
    media, _ = media_type(request.headers.get("content-type"))
    if media == QUERY:
        return await _query(request, service, _whole(await text(request, min(most, MAX_QUERY))), sent)
    if media == UPDATE:
        require_writer(request)
        return await _update(request, service, _whole(await text(request, most)), sent)
    if media != FORM:
        message = f"the content type {shown(media)} is not understood" if media else "the request says no content type"
        raise HttpError(415, f"{message}: POST {_TYPES}")
    filled = await form(request, most if may_write(request) else min(most, MAX_QUERY))
    both = {name: [*filled.get(name, ()), *sent.get(name, ())] for name in {**filled, **sent}}
    check(both)
    if ("query" in filled) == ("update" in filled):
        raise HttpError(400, "the form holds neither a query nor an update, or both: send one of them")
    if "query" in filled:
        query = _one(filled, "query")
        if len(query) > MAX_QUERY:
            raise HttpError(413, f"the query is longer than {MAX_QUERY:,} characters, the limit here")
        return await _query(request, service, query, both)
    require_writer(request)
    return await _update(request, service, _one(filled, "update"), both)


MOST_DEPTH: Final = 3
"""Queries of endpoints in which a query may be nested."""


def _depth(request: Request) -> int:
    """In how many queries of other endpoints this one is nested. Raises HttpError (508) for more than `MOST_DEPTH`."""
    given = request.headers.get(DEPTH, "0")
    if not re.fullmatch("[0-9]", given) or int(given) > MOST_DEPTH:
        raise HttpError(508, f"a SERVICE asks an endpoint that asks others, more than {MOST_DEPTH} deep: nest less")
    return int(given)


def _whole(sent: str) -> str:
    """The text of a body. Raises HttpError (400) where all of it is one comment, which is no slip of who wrote it."""
    if sent.lstrip().startswith("#") and not re.search(r"[\r\n]", sent.strip()):
        message = "the text is one line, and all of it a comment"
        raise HttpError(400, f"{message}: curl's --data takes ends of lines out, --data-binary leaves them")
    return sent


async def _described(request: Request, service: Service, sent: Parameters) -> Response:
    """The description, or the page for a browser."""
    offers = [*GRAPHS, "text/html"]
    media = choose(_accept(request, _format(sent), GRAPH_NAMES), offers)
    if media == "text/html":
        return RedirectResponse("../" if request.url.path.endswith("/") else "./", 303)
    endpoint = endpoint_of(request)
    return await service.read(request, lambda store: describe(store, endpoint, service, media))


def endpoint_of(request: Request) -> str:
    """The address that was asked, without parameters: what relative IRIs are resolved against."""
    path = request.scope["raw_path"].decode("latin-1")  # as it was sent, for it may name a graph
    return f"{request.url.scheme}://{request.url.netloc}{path}"


async def _query(request: Request, service: Service, query: str, sent: Parameters) -> Response:
    default, named = _graphs(sent, "default-graph-uri"), _graphs(sent, "named-graph-uri")
    same_as = sent.get("same_as", [service.settings.same_as])[-1]
    prefer = sent.get("prefer", [])
    format = _format(sent)
    most, base = service.settings.limits.rows, endpoint_of(request)
    request.scope["triplake.log"]["query"] = query

    nested = _depth(request)

    def work(store: Store) -> Answer:
        from triplake.sparql.endpoint import depth
        from triplake.sparql.formats import REFUSING, pieces

        before = depth.set(nested)
        try:
            result = store.query(
                query, same_as, stream=True, base=base, prefer=prefer, default_graphs=default, named_graphs=named
            )
        finally:
            depth.reset(before)
        of_graph = result.kind in ("construct", "describe")
        offers, names = (GRAPHS, GRAPH_NAMES) if of_graph else (ROWS, ROW_NAMES)
        media = choose(_accept(request, format, names), list(offers))
        if media is None:
            raise HttpError(406, f"the result of {result.kind.upper()} can be had as {', '.join(offers)}: accept one")
        found = pieces(result.at_most(most) if most else result, offers[media])
        return Answer(_with_charset(media), found, _warned(result.warnings), offers[media] in REFUSING)

    return await service.read(request, work, _seconds(sent))


async def plan(request: Request) -> Response:
    """How a query, the body, is answered: it is run for the rows that each step has."""
    service: Service = request.app.state.served.service
    sent = asked(request)
    check(sent)
    query = _whole(await text(request, min(service.settings.limits.body, MAX_QUERY)))
    request.scope["triplake.log"]["query"] = query
    same_as = sent.get("same_as", [service.settings.same_as])[-1]
    base = f"{endpoint_of(request).removesuffix('/api/plan')}/sparql"  # as where it is asked

    def work(store: Store) -> Answer:
        return Answer("text/plain; charset=utf-8", iter([store.explain_query(query, same_as, base=base).text()]))

    return await service.read(request, work, _seconds(sent))


def _warned(warnings: Sequence[str]) -> dict[str, str]:
    """What is legal in a query, but hardly meant, as a header; what a header cannot hold as escapes."""
    told = " ".join(" ".join(warnings).split())[:_SHOWN]
    return {"Triplake-Warning": told.encode("ascii", "backslashreplace").decode()} if told else {}


_SHOWN: Final = 2_000
"""Characters of warnings that are sent."""


def _format(sent: Parameters) -> str:
    """The value of the parameter `format` or `output`: a name or a media type, empty where there is none. Raises
    HttpError (400) for an unknown one."""
    given = [*sent.get("format", ()), *sent.get("output", ())]
    found = next((value.strip().lower().replace(" ", "+") for value in given if value.strip()), "")  # a "+" is a space
    known = found in ROW_NAMES or found in GRAPH_NAMES
    if found and not known and ("/" not in found or choose(found, [*ROWS, *GRAPHS]) is None):
        names = ", ".join(dict.fromkeys((*ROW_NAMES, *GRAPH_NAMES)))
        raise HttpError(400, f"unknown format '{shown(found)}': use one of {names}, or a media type")
    return found


def _accept(request: Request, format: str, names: Mapping[str, str]) -> str | None:
    """What the client accepts: what the parameter `format` means for this kind of result, else the header."""
    if not format:
        return request.headers.get("accept")
    if "/" in format:
        return format
    return names.get(format, (GRAPH_NAMES | ROW_NAMES).get(format))


def check(sent: Parameters) -> None:
    """Raise HttpError (400) for parameters that make no sense, whether or not the request would use them."""
    _seconds(sent)
    if any(value not in ("expand", "canonical") for value in sent.get("same_as", ())):
        raise HttpError(400, "same_as is expand or canonical")
    if any(value not in ("true", "false") for value in sent.get("dry_run", ())):
        raise HttpError(400, "dry_run is true or false")


def is_dry(sent: Parameters) -> bool:
    """Whether a request is only to be tried."""
    return sent.get("dry_run", [""])[-1] == "true"


def _seconds(sent: Parameters) -> float | None:
    """The parameter `timeout`, in seconds."""
    try:
        seconds = float(sent["timeout"][-1]) if "timeout" in sent else None
    except ValueError:
        seconds = 0.0
    if seconds is not None and not seconds > 0:
        raise HttpError(400, "timeout is a number of seconds, more than 0")
    return seconds


def _graphs(sent: Parameters, name: str) -> list[str]:
    """The graphs that a parameter names. Raises HttpError (400) for what is not an absolute IRI."""
    found = [iri for iri in sent.get(name, ()) if iri]
    for iri in found:
        if not is_absolute(iri):
            raise HttpError(400, f"{name}: '{shown(iri)}' is not an absolute IRI")
    return found


def _one(sent: Parameters, name: str) -> str:
    if len(sent[name]) > 1:
        raise HttpError(400, f"there is more than one {name} in the request: send one")
    return sent[name][0]


def _with_charset(media: str) -> str:
    return f"{media}; charset=utf-8" if media.startswith("text/") else media


async def _update(request: Request, service: Service, update: str, sent: Parameters) -> Response:
    default, named = _graphs(sent, "using-graph-uri"), _graphs(sent, "using-named-graph-uri")
    request.scope["triplake.log"]["update"] = update
    folder, base = service.settings.load_folder, endpoint_of(request)

    if not is_dry(sent):
        waiting = Waiting(text=update, base=base, default_graphs=default, named_graphs=named)
        return changed(await service.update(waiting))

    def tried(store: Store) -> dict[str, Any]:
        report = store.sparql_update(
            update, dry_run=True, load_folder=folder, base=base, default_graphs=default, named_graphs=named
        )
        return _effect(store, report)

    return changed(await service.write(tried, limited=True))


def _effect(store: Store, report: UpdateReport | None, read: LoadReport | None = None) -> dict[str, Any]:
    """The figures of a dry run. read: what was read for it."""
    figures = {} if report is None else report.as_dict()
    triples = {} if read is None else {"triples": read.triples}
    return {**figures, **triples, "version": store.version, "dry_run": True}


def applied(
    store: Store, files: Sequence[Path], change: Callable[[], LoadReport | UpdateReport], dry: bool
) -> dict[str, Any]:
    """Make a change from temporary files, or try it; errors name places in what was sent, not the files. The last
    figures; of a dry run those of its effect."""
    try:
        report = change()
    except TriplakeError as error:
        message = str(error)
        for file in files:
            message = message.replace(f"{file}:", "").replace(str(file), "the body").strip()
        if isinstance(error, InputError):
            raise InputError(error.reason, None, error.line, error.column) from error
        if isinstance(error, UsageError):
            raise type(error)(message) from error
        raise
    if dry:
        return _effect(store, report) if isinstance(report, UpdateReport) else _effect(store, report.effect, report)
    return {"version": store.version, **store.log(store.version)[0]}


def changed(figures: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a change: what it did."""
    return JSONResponse(figures, status, {"Triplake-Version": str(figures["version"]), **(headers or {})})
