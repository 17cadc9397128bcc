"""What the page shows of links that may be wrong, as JSON: the suspects, and a class of equals with what joins it."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from triplestore.model.dataset import DEFAULT
from triplestore.model.equality import Equality
from triplestore.model.terms import to_rdflib
from triplestore.proof.text import writer
from triplestore.read.suspects import reason_text
from triplestore.server.bodies import asked
from triplestore.server.facts import of_token, token
from triplestore.server.faults import HttpError
from triplestore.server.work import Service
from triplestore.store import Store

MOST_SUSPECTS: Final = 50
"""Suspects that are shown."""

MOST_MEMBERS: Final = 200
"""Members of a class that are shown."""


async def suspects(request: Request) -> Response:
    """The links that are most likely wrong, the worst first."""
    service: Service = request.app.state.served.service
    return JSONResponse(await service.kept(request, "suspects", _suspects))


async def equals(request: Request) -> Response:
    """The class of a term: its members, and what joins them."""
    service: Service = request.app.state.served.service
    sent = asked(request)
    return JSONResponse(await service.find(request, lambda store: _class(store, token(sent, "term", store))))


def _suspects(store: Store) -> dict[str, Any]:
    if store.equality == Equality.OFF:
        return {"found": [], "more": False, "version": store.version}
    write = writer(store.prefixes.known)
    found = store.suspects(MOST_SUSPECTS + 1)
    shown = [
        {
            "left": of_token(suspect.left),
            "right": of_token(suspect.right),
            "by": list(suspect.by),
            "on": [of_token(name) for name in suspect.on],
            "members": suspect.members,
            "parts": suspect.parts,
            "bits": round(suspect.bits, 1),
            "reasons": [
                {"kind": reason.kind, "bits": round(reason.bits, 1), "text": reason_text(reason, write)}
                for reason in suspect.reasons
            ],
            "delete": _quads(suspect.delete, suspect.graphs),
        }
        for suspect in found[:MOST_SUSPECTS]
    ]
    return {"found": shown, "more": len(found) > MOST_SUSPECTS, "version": store.version}


def _quads(triples: tuple[tuple[str, str, str], ...], graphs: tuple[tuple[str, ...], ...]) -> list[dict[str, Any]]:
    """Triples, each with the graphs that assert it: null for the unnamed one."""
    names = graphs or ((),) * len(triples)
    return [
        {
            "triple": [of_token(term) for term in triple],
            "graphs": [None if name == DEFAULT else of_token(name) for name in some or (DEFAULT,)],
        }
        for triple, some in zip(triples, names, strict=True)
    ]


def _class(store: Store, wanted: str) -> dict[str, Any]:
    found = None if store.equality == Equality.OFF else store.equality_class(to_rdflib(wanted), 0)
    if found is None:
        raise HttpError(404, "the term equals no other")
    return {
        "size": len(found.tokens),
        "members": [of_token(member) for member in found.tokens[:MOST_MEMBERS]],
        "links": dict(found.links),
        "bridges": found.bridge_count,
        "joined": [
            {"left": of_token(left), "right": of_token(right), "by": rule, "bridge": bridge}
            for left, right, rule, bridge in found.joined
        ],
        "version": store.version,
    }
