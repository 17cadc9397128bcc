"""Listening: uvicorn on a socket, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import uvicorn

from triplestore.errors import UsageError
from triplestore.server.app import make_app
from triplestore.server.settings import LOOPBACK_NAMES, Access, is_loopback
from triplestore.server.work import Service

GRACE: Final = 30
"""Seconds that an update which runs at the end is given to finish."""


TURN: Final = 0.001
"""Seconds for which a thread that computes in Python keeps others waiting. A request takes several turns, so with the
usual 5 ms it would wait long beside an update."""


class _Server(uvicorn.Server):
    """Stops what is read as soon as the signal comes; an update that runs is waited for. The signal is not raised again
    afterwards, as uvicorn would: to end is what it asked for."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.shut()
        self.force_exit = self.should_exit and sig == signal.SIGINT  # a second Ctrl-C waits for nothing
        self.should_exit = True


def known_hosts(host: str, access: Access, more: tuple[str, ...]) -> tuple[str, ...]:
    """The names by which a server that listens on `host` may be addressed; empty: any.

    A server that asks nobody who they are, on this machine only, answers to this machine's names and those in `more`.
    """
    if not is_loopback(host) or access.authenticates:
        return ()
    return (*LOOPBACK_NAMES, host.lower(), *(name.lower() for name in more))


def listen(service: Service, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until a signal ends it. `ready` is told the address once requests are answered (port 0 takes a free one).

    Raises UsageError where the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named since event loops send at once (TCP_NODELAY) only what says that it is TCP: head and body of
    # an answer are two pieces, and the second would wait 40 ms for the client's acknowledgement of the first.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except OSError as error:
        listening.close()
        other = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}; try another {other}") from error
    taken = listening.getsockname()[1]
    config = uvicorn.Config(
        make_app(service),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        lifespan="on",
    )
    server = _Server(config, service)

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            ready(f"http://{host}:{taken}/")
        await serving

    sys.setswitchinterval(TURN)
    try:
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(run())
    finally:
        listening.close()


def log_to_stderr(access: bool, verbose: bool) -> None:
    """The server's own log, and one JSON line for each request, on standard error."""
    for name, level in (("triplake", logging.WARNING), ("uvicorn", logging.CRITICAL)):  # an answer we cut is no error
        logger = logging.getLogger(name)
        handler: Any = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if verbose else level)
    logging.getLogger("triplake.access").setLevel(logging.INFO if access else logging.CRITICAL)
