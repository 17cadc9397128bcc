"""Endpoints that fail, or answer as they must not: errors that name them, or, with SILENT, a solution of nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.support.endpoint import JSON, Answer, Reply, dead_address, endpoint
from tests.support.sparql import make_graph
from triplake.sparql import endpoint as client
from triplake.sparql import query
from triplestore.engine import Engine
from triplestore.model.endpoints import normalised_all
from triplestore.model.errors import EndpointError, StoppedError
from triplestore.model.stopping import Stop, heeding

EMPTY = b'{"head": {"vars": ["s"]}, "results": {"bindings": []}}'
ONE = b'{"head": {"vars": ["s"]}, "results": {"bindings": [{"s": {"type": "uri", "value": "x:a"}}]}}'
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\n".encode()
END = threading.Event()


def asked(engine: Engine, *addresses: str, silent: str = "") -> list[tuple[str | None, ...]]:
    """What the first endpoint answers; all are allowed."""
    graph = replace(make_graph(engine, [], equality="off"), services=normalised_all(addresses))
    text = f"SELECT ?x ?s {{ VALUES ?x {{ 'here' }} SERVICE {silent} <{addresses[0]}> {{ ?s ?p ?o }} }}"
    return list(query(graph, text).tokens())


def slowly(_: str) -> Iterator[bytes]:
    """A byte now and then."""
    yield HEAD + b"\r\n"
    while not END.wait(0.02):
        yield b" "


def never(_: str) -> Iterator[bytes]:
    """Nothing at all."""
    END.wait(5)
    yield b""


@pytest.fixture(autouse=True)
def ending() -> Iterator[None]:
    """Answers without end have one after the test."""
    END.clear()
    yield
    END.set()


FAULTS: dict[str, tuple[Answer, str]] = {
    "a fault of its own": (lambda _: Reply(b"out of\n coffee", 500), "status 500: out of coffee"),
    "a page": (lambda _: Reply(b"<html>", media="text/html; charset=utf-8"), "with text/html, not with application/"),
    "no content type": (lambda _: Reply(ONE, media=None), "without a content type"),
    "no JSON": (lambda _: Reply(b"{"), "something other than results"),
    "half an answer": (lambda _: Reply(ONE[:-9]), "something other than results"),
    "half of what it promises": (lambda _: iter([HEAD + b"Content-Length: 999\r\n\r\n", ONE[:-9]]), "<ENDPOINT>"),
    "the answer to an ASK": (lambda _: Reply(b'{"head": {}, "boolean": true}'), "answer to an ASK"),
    "no HTTP": (lambda _: iter([b"220 mail.example.org\r\n"]), "cannot be asked"),
    "nothing": (lambda _: iter([]), "cannot be asked"),
    "a redirect to nowhere": (lambda _: Reply(status=307, headers={"Location": "http://["}), "no endpoint's address"),
    "a redirect to another scheme": (lambda _: Reply(status=307, headers={"Location": "file:///etc/passwd"}), "file:"),
    "a redirect that asks for GET": (lambda _: Reply(status=303, headers={"Location": "/x"}), "status 303"),
    "too much": (lambda _: Reply(b" " * 3_000 + ONE), "more than 2,000 bytes"),
    "too slow an answer": (slowly, "has not answered in 0.5 s"),
    "no answer": (never, "has not answered in 0.5 s"),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Close bounds."""
    monkeypatch.setattr(client, "MOST_BYTES", 2_000)
    monkeypatch.setattr(client, "WHOLE", 0.5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("answer", "says"), FAULTS.values(), ids=FAULTS.keys())
def test_faults(embedded: Engine, answer: Answer, says: str) -> None:
    with endpoint(answer) as one:
        started = time.monotonic()
        with pytest.raises(EndpointError, match=says.replace("<ENDPOINT>", one.address)) as raised:
            asked(embedded, one.address)
        assert str(raised.value).startswith(f"line 1, column 37: the endpoint {one.address} ")
        assert asked(embedded, one.address, silent="SILENT") == [('"here"', None)]
        assert time.monotonic() - started < 10


def test_nobody_there(embedded: Engine) -> None:
    address = dead_address()
    with pytest.raises(EndpointError, match=f"{address} cannot be asked: Connection refused"):
        asked(embedded, address)
    assert asked(embedded, address, silent="SILENT") == [('"here"', None)]


def redirecting(to: Callable[[], str], status: int) -> Answer:
    return lambda _: Reply(status=status, headers={"Location": to()})


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_to_what_is_allowed(embedded: Engine, status: int) -> None:
    with endpoint(lambda _: Reply(ONE)) as two, endpoint(redirecting(lambda: two.address, status)) as one:
        assert asked(embedded, one.address, two.address) == [('"here"', "<x:a>")]
        assert one.queries == two.queries


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_to_what_is_not(embedded: Engine, status: int) -> None:
    with endpoint(lambda _: Reply(ONE)) as two, endpoint(redirecting(lambda: two.address, status)) as one:
        with pytest.raises(EndpointError, match=f"redirects to {two.address}, which is not allowed"):
            asked(embedded, one.address)
        assert two.queries == []


def test_redirects_without_end(embedded: Engine) -> None:
    with (
        endpoint(lambda _: Reply(status=307, headers={"Location": "/sparql"})) as one,
        pytest.raises(EndpointError, match="status 307"),
    ):
        asked(embedded, one.address)
    assert len(one.queries) == 1 + client.MOST_REDIRECTS


@pytest.mark.parametrize("silent", ["", "SILENT"])
@pytest.mark.parametrize("answer", [slowly, never])
def test_the_limit_of_the_query(embedded: Engine, answer: Answer, silent: str) -> None:
    with endpoint(answer) as one:
        started = time.monotonic()
        with heeding(Stop(0.3)), pytest.raises(StoppedError):
            asked(embedded, one.address, silent=silent)
        assert time.monotonic() - started < 5


def test_no_thread_is_left(embedded: Engine) -> None:
    with endpoint(slowly) as one, heeding(Stop(0.2)), pytest.raises(StoppedError):
        asked(embedded, one.address)
    for thread in threading.enumerate():
        if thread.name == "triplake-service":
            thread.join(5)
            assert not thread.is_alive()


def test_no_solutions(embedded: Engine) -> None:
    with endpoint(lambda _: Reply(EMPTY)) as one:
        assert asked(embedded, one.address) == []
        assert asked(embedded, one.address, silent="SILENT") == []
