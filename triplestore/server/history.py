"""What a version changed, as JSON, for the page."""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from triplestore.model.errors import UsageError
from triplestore.read.differences import SIGNS
from triplestore.server.bodies import asked
from triplestore.server.faults import HttpError
from triplestore.server.gate import busy
from triplestore.server.work import Service
from triplestore.storage.versions import Versions
from triplestore.store import Store

MOST_LINES: Final = 500
"""Triples of each kind and sign that are shown."""

MOST_ROWS: Final = 2_000_000
"""Rows of files that are compared."""

MEMORY: Final = "10%"
"""Of the machine's, that a comparison takes before it spills."""

_ONE = Lock()
"""One version is looked at at a time: each takes an engine of its own."""


async def changes(request: Request) -> Response:
    """The triples that a version added and removed, asserted and inferred apart."""
    service: Service = request.app.state.served.service
    sent = asked(request)
    text = sent.get("version", [""])[-1]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise HttpError(400, "version is the number of a version: /api/overview lists them")
    return JSONResponse(await service.find(request, lambda store: _changes(store, int(text))))


def _changes(store: Store, number: int) -> dict[str, Any]:
    if not _ONE.acquire(blocking=False):
        raise busy()
    try:
        with Store.open(store.path, engine="duckdb", memory_limit=MEMORY) as own:
            try:
                entry = own.log(number)[0]
                with own.log_facts(number, MOST_ROWS) as found:
                    kinds = {
                        kind: {
                            sign: {"count": signs[sign], "lines": list(found.lines(kind, sign, MOST_LINES))}
                            for sign in SIGNS
                        }
                        for kind, signs in found.counts.items()
                        if any(signs.values())
                    }
            except UsageError as error:
                raise HttpError(404, str(error).replace(str(store.path), "the store")) from error
            after = min((other for other in Versions(store.path).numbers() if other > number), default=None)
            return {**entry.as_dict(), "before": found.before, "after": after, "kinds": kinds}
    finally:
        _ONE.release()
