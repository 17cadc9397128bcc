"""For who runs the server, while it runs: see and stop queries, back up, read accounts and certificates again."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from triplestore.server.faults import HttpError, shown
from triplestore.server.served import Served


async def requests(request: Request) -> Response:
    """The queries that run, the oldest first."""
    served: Served = request.app.state.served
    return JSONResponse({"requests": [job.as_dict() for job in served.service.running()]})


async def stop(request: Request) -> Response:
    """Stop one of them."""
    served: Served = request.app.state.served
    given = request.path_params["number"]
    found = [job.number for job in served.service.running() if str(job.number) == given]
    if not found or not served.service.stop(found[0], "stopped by who runs the server"):
        raise HttpError(404, f"no query {shown(given)} runs: GET /admin/requests lists those that do")
    return JSONResponse({"stopped": found[0]})


async def backup(request: Request) -> Response:
    """Bring the backup up to date."""
    served: Served = request.app.state.served
    if served.backups is None:
        raise HttpError(409, "the server was started without --backup FOLDER")
    return JSONResponse(await served.backups.now())


async def reload(request: Request) -> Response:
    """Read accounts and certificates again, as SIGHUP does."""
    return JSONResponse(request.app.state.reload())
