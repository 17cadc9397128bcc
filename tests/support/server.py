"""A server on a socket of its own, in a thread, and a client for it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from prometheus_client.parser import text_string_to_metric_families
from rdflib import RDF, RDFS, URIRef

from triplestore import Store
from triplestore.server.app import make_app
from triplestore.server.backups import Backups
from triplestore.server.broadcast import Broadcast
from triplestore.server.connections import configured
from triplestore.server.served import Served
from triplestore.server.settings import LOOPBACK_NAMES, Access, Clients, Limits, Settings, StreamSettings
from triplestore.server.work import Service

OPEN = Access(hosts=LOOPBACK_NAMES)

EX = "http://ex/"
PEOPLE = f"SELECT ?x WHERE {{ ?x a <{EX}Person> }} ORDER BY ?x"
"""The people of the store of `students`: `a`."""

PATIENCE = 120
"""Seconds after which what is waited for is taken not to come, however busy the machine."""


@contextmanager
def serving(
    store: Path,
    limits: Limits | None = None,
    access: Access = OPEN,
    log_queries: bool = False,
    load_folder: str | None = None,
    clients: Clients | None = None,
    services: tuple[str, ...] = (),
    port: int = 0,
    streams: StreamSettings | None = None,
    **options: Any,
) -> Iterator[httpx.Client]:
    """Serve a store while this is entered; a client whose base is the server's address."""
    given = (store, limits, access, log_queries, load_folder, clients, services, port, streams)
    with serving_with(*given, **options) as (client, _):
        yield client


@contextmanager
def serving_with(
    store: Path,
    limits: Limits | None = None,
    access: Access = OPEN,
    log_queries: bool = False,
    load_folder: str | None = None,
    clients: Clients | None = None,
    services: tuple[str, ...] = (),
    port: int = 0,
    streams: StreamSettings | None = None,
    **options: Any,
) -> Iterator[tuple[httpx.Client, Service]]:
    """As `serving`; the service behind the client too."""
    clients = clients or Clients()
    settings = Settings(limits or Limits(), access, "expand", log_queries, load_folder, clients, services, streams)
    options = {"engine": "duckdb"} | options
    service = Service(store, settings, **options)
    broadcast = None if streams is None else Broadcast(store, streams, **options)
    with answering({"": Served(service, broadcast)}, port) as client:
        yield client, service


@contextmanager
def answering(stores: dict[str, Served], port: int = 0) -> Iterator[httpx.Client]:
    """A client of a server of these stores, by their names, while this is entered."""
    clients = next(iter(stores.values())).service.settings.clients
    listening = socket.create_server(("127.0.0.1", port))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = uvicorn.Server(configured(make_app(stores), clients))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        eventually(lambda: server.started or not thread.is_alive())
        assert server.started
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with httpx.Client(base_url=base, timeout=PATIENCE) as client:
            yield client
    finally:
        for served in stores.values():
            served.shut()
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
        assert not thread.is_alive()


def served(path: Path, backups: Backups | None = None) -> Served:
    """A store as an open server has it."""
    return Served(Service(path, Settings(access=OPEN), engine="duckdb", memory_limit="1GB"), None, backups)


def counted(client: httpx.Client) -> dict[tuple[str, ...], float]:
    """The samples of /metrics, by their names and the values of their labels, these in order of names."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    return {(s.name, *dict(sorted(s.labels.items())).values()): s.value for family in families for s in family.samples}


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    give_up = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def spoken(client: httpx.Client, *parts: bytes, wait: float = PATIENCE) -> tuple[int, bytes]:
    """Say these bytes on a new socket, as they are; the status and the whole of what comes back until the end."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=wait) as said:
        with contextlib.suppress(ConnectionError):  # closed before all was said
            for part in parts:
                said.sendall(part)
        found = bytearray()
        with contextlib.suppress(ConnectionError):
            while chunk := said.recv(1 << 16):
                found += chunk
    return int(found.split(None, 2)[1]) if found else 0, bytes(found)


def request(line: str, body: bytes = b"", headers: str = "", length: int | None = None) -> bytes:
    """A request as bytes, after which the connection is closed."""
    size = len(body) if length is None else length
    closing = "" if "Connection:" in headers else "Connection: close\r\n"
    head = f"{line} HTTP/1.1\r\nHost: localhost\r\n{closing}{headers}Content-Length: {size}\r\n\r\n"
    return head.encode() + body


def cut(client: httpx.Client, **asked: Any) -> None:
    """Ask what takes longer than any limit: the answer is cut without its proper end. The first bytes must be out
    before the limit is over: on a busy machine that takes a longer one."""
    for limit in (1, 4, 16, 50):
        with client.stream("POST", f"/sparql?timeout={limit}", **asked) as answer:
            if answer.status_code == 503:
                continue
            with pytest.raises(httpx.RemoteProtocolError):
                for _ in answer.iter_raw():
                    pass
            return
    raise AssertionError("the first bytes took longer than 50 s")


def rows(answer: httpx.Response) -> list[dict[str, str]]:
    """The values of the bindings of JSON results."""
    assert answer.status_code == 200, answer.text
    return [{name: term["value"] for name, term in row.items()} for row in answer.json()["results"]["bindings"]]


QUERY, UPDATE = "application/sparql-query", "application/sparql-update"
TURTLE = {"Content-Type": "text/turtle"}


def add(name: str) -> str:
    """The update that makes one more student."""
    return f"INSERT DATA {{ <{EX}{name}> a <{EX}Student> }}"


def people(client: httpx.Client, **more: Any) -> list[str]:
    """The local names of the people."""
    return [row["x"].removeprefix(EX) for row in rows(client.get("/sparql", params={"query": PEOPLE}, **more))]


def sent(client: httpx.Client, text: str, media: str = UPDATE, **more: Any) -> httpx.Response:
    """The answer to a query or an update, posted as it is. more: headers."""
    return client.post("/sparql", content=text.encode(), headers={"Content-Type": media} | more)


def students(path: Path) -> Path:
    """Make a store in which every student is a person, and `a` is a student."""
    with Store.create(path, ["owl2rl"]) as made:
        student, person = URIRef(EX + "Student"), URIRef(EX + "Person")
        made.update(add=[(student, RDFS.subClassOf, person), (URIRef(EX + "a"), RDF.type, student)])
    return path
