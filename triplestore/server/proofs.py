"""Why a fact holds, or what makes the closure inconsistent: proofs as JSON, for the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from triplestore.model.terms import to_rdflib
from triplestore.server.bodies import Parameters, asked
from triplestore.server.facts import token
from triplestore.server.faults import HttpError
from triplestore.server.work import Service
from triplestore.store import Store

if TYPE_CHECKING:
    from triplestore.proof.proof import Proof


async def explain(request: Request) -> Response:
    """The proof of a triple (`subject`, `predicate`, `object`) or of an inconsistency (`violation`).

    Steps are listed premises first, what they prove last; terms as SPARQL's JSON results have them.
    """
    service: Service = request.app.state.served.service
    sent = asked(request)
    if "violation" in sent:
        named = re.fullmatch(r"(.+):([0-9]{1,9})", sent["violation"][-1])
        if named is None:
            raise HttpError(400, "violation is a rule and a number, as eq-diff1:1")
        rule, number = named[1], int(named[2])
        return JSONResponse(await service.find(request, lambda store: _violation(store, rule, number)))
    found = await service.find(request, lambda store: _proof(store, sent))
    if found is None:
        raise HttpError(404, "this triple does not hold")
    return JSONResponse(found)


def _proof(store: Store, sent: Parameters) -> dict[str, Any] | None:
    triple = [token(sent, name, store) for name in ("subject", "predicate", "object")]
    found = store.explain(tuple(to_rdflib(term) for term in triple))
    return None if found is None else _told(found)


def _violation(store: Store, rule: str, number: int) -> dict[str, Any]:
    return _told(store.explain_violation(rule, number))


def _told(proof: Proof) -> dict[str, Any]:
    from triplake.sparql.formats import term_object
    from triplestore.proof.text import as_json

    told = as_json(proof)
    for step, part in zip(told["steps"], proof.steps(), strict=True):
        step["triple"] = None if part.tokens is None else [term_object(token) for token in part.tokens]
    return told
