"""Listening: uvicorn on a socket, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, Final

import uvicorn

from triplestore.model.errors import TriplakeError, UsageError
from triplestore.server.app import make_app
from triplestore.server.connections import configured
from triplestore.server.served import Served
from triplestore.server.settings import LOOPBACK_NAMES, Access, Certificate, is_loopback

log = logging.getLogger("triplake.server")

CLOSING: Final = 0.2
"""The part of the time of grace that is left for closing, after what still runs was stopped."""

TURN: Final = 0.001
"""Seconds for which a thread that computes in Python keeps others waiting. A request takes several turns, so with the
usual 5 ms it would wait long beside an update."""


class _Server(uvicorn.Server):
    """Stops what is read as soon as the signal comes; an update that runs is waited for, and stopped towards the end of
    `grace` seconds. The signal is not raised again afterwards, as uvicorn would: to end is what it asked for."""

    def __init__(self, config: uvicorn.Config, stores: Iterable[Served], grace: float) -> None:
        super().__init__(config)
        self._stores, self._grace = list(stores), grace
        self._late: list[threading.Timer] = []

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            _end("a second signal")
        self.should_exit = True
        for served in self._stores:
            served.shut()
        message = f"requests ran on for {self._grace:g} s after the signal"
        self._late += [
            *(threading.Timer(self._grace * (1 - CLOSING), served.service.stop_writing) for served in self._stores),
            threading.Timer(self._grace, _end, [message]),
        ]
        for late in self._late:
            late.daemon = True
            late.start()

    def in_time(self) -> None:
        """All has ended: nothing is to be stopped any more. (A thread that outlives the interpreter keeps engines.)"""
        for late in self._late:
            late.cancel()
            late.join()


def _end(why: str) -> None:
    """End the process as it is: a version is published whole or not at all, so nothing but the running work is lost."""
    log.warning("ended at once: %s", why)
    logging.shutdown()
    os._exit(1)


def known_hosts(host: str, access: Access, more: tuple[str, ...]) -> tuple[str, ...]:
    """The names by which a server that listens on `host` may be addressed; empty: any.

    A server that asks nobody who they are, on this machine only, answers to this machine's names and those in `more`.
    """
    if not is_loopback(host) or access.authenticates:
        return ()
    return (*LOOPBACK_NAMES, host.lower(), *(name.lower() for name in more))


def listen(
    stores: Mapping[str, Served],
    host: str,
    port: int,
    ready: Callable[[str], None],
    certificate: Certificate | None = None,
) -> None:
    """Serve stores, as `make_app` has them, until a signal ends it; SIGHUP reads accounts and certificate again.
    `ready` gets the address once requests are answered (port 0 takes a free one). certificate: for TLS; None: HTTP.

    Raises UsageError where the address cannot be listened on, or the certificate cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named since event loops send at once (TCP_NODELAY) only what says that it is TCP: head and body of
    # an answer are two pieces, and the second would wait 40 ms for the client's acknowledgement of the first.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
    except UnicodeError as error:  # what no name of a host can be
        listening.close()
        raise UsageError(f"cannot listen on {host}:{port}: it is not the name of a host; try another --host") from error
    except OSError as error:
        listening.close()
        other = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}; try another {other}") from error
    taken = listening.getsockname()[1]
    clients = next(iter(stores.values())).service.settings.clients

    def reload() -> dict[str, Any]:
        if certificate is None or config.ssl is None:
            return {}
        certificate.use(config.ssl)
        return {"certificate": certificate.file}

    try:
        app = make_app(stores, reload)
        config = configured(app, clients, timeout_graceful_shutdown=max(1, int(clients.grace * (1 - CLOSING))))
        config.load()
        if certificate is not None:
            config.ssl = certificate.context()
    except BaseException:
        listening.close()
        raise
    server = _Server(config, stores.values(), clients.grace)

    def hung_up() -> None:
        try:
            log.warning("read again: %s", ", ".join(f"{what} ({of})" for what, of in app.reload().items()))
        except TriplakeError as error:
            log.error("what was read before stays: %s", error)

    async def run() -> None:
        if hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            shown = f"[{host}]" if ":" in host and "[" not in host else host
            ready(f"{'http' if certificate is None else 'https'}://{shown}:{taken}/")
        await serving

    sys.setswitchinterval(TURN)
    try:
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(run())
    finally:
        listening.close()
        server.in_time()
        if app.traces is not None:
            app.traces.close()
