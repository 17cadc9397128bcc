"""What a server makes of connections as they are: by raw sockets, with clients that are slow, odd or mean harm."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from rdflib import RDF, URIRef

from tests.support.cli import command
from tests.support.server import (
    EX,
    PATIENCE,
    QUERY,
    UPDATE,
    add,
    eventually,
    people,
    request,
    rows,
    sent,
    serving,
    serving_with,
    spoken,
)
from triplestore import Store
from triplestore.server.settings import Clients, Limits

IMPATIENT = Clients(head_seconds=0.4, body_seconds=0.4, linger_seconds=0.2, per_address=6)


@pytest.fixture(scope="module")
def impatient(template: Path) -> Iterator[httpx.Client]:
    """A server for requests that change nothing, which waits for nobody."""
    with serving(template, clients=IMPATIENT) as made:
        yield made


class TestSlowClients:
    @pytest.mark.parametrize(
        "said",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b"GET /health HTTP/1.1\r\n", id="line"),
            pytest.param(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", id="header"),
            pytest.param(request("GET /health", headers="Connection: keep-alive\r\n") + b"GET /h", id="second"),
        ],
    )
    def test_a_head_that_does_not_end(self, impatient: httpx.Client, said: bytes) -> None:
        started = time.monotonic()
        _, answer = spoken(impatient, said)
        assert time.monotonic() - started >= IMPATIENT.head_seconds
        assert b"HTTP/1.1 408 Request Timeout" in answer
        assert answer.endswith(b"no request arrived within 0.4 s\n")

    def test_a_head_that_comes_by_and_by(self, impatient: httpx.Client) -> None:
        """Each byte does not buy more time."""
        with socket.create_connection((impatient.base_url.host, impatient.base_url.port or 80)) as opened:
            opened.settimeout(0.05)
            started = time.monotonic()
            found = b""
            with contextlib.suppress(ConnectionError):
                opened.sendall(b"GET /health HTTP/1.1\r\nX: ")
                while time.monotonic() - started < PATIENCE and b"408" not in found:
                    opened.sendall(b"x")
                    with contextlib.suppress(TimeoutError):
                        found += opened.recv(1 << 16)
        assert b"408" in found

    @pytest.mark.parametrize("line", ["POST /sparql", "PUT /data?default"])
    def test_a_body_that_stops(self, impatient: httpx.Client, line: str) -> None:
        kind = QUERY if "sparql" in line else "text/turtle"
        status, answer = spoken(impatient, request(line, b"ASK", f"Content-Type: {kind}\r\n", length=100))
        assert status == 408
        assert b"arrived within 0.4 s" in answer

    def test_a_body_that_comes_by_and_by(self, impatient: httpx.Client) -> None:
        def trickle() -> Iterator[bytes]:
            for _ in range(200):
                yield b" "
                time.sleep(0.02)

        try:
            answer = impatient.post("/sparql", content=trickle(), headers={"Content-Type": QUERY})
        except httpx.WriteError:  # closed while it was still sent
            return
        assert answer.status_code == 408

    def test_a_body_that_is_slow_but_comes(self, template: Path) -> None:
        """Longer than the bound in all. (A machine that is busy for so long has another try.)"""

        def steady() -> Iterator[bytes]:
            for _ in range(6):
                yield b" " * 2_000
                time.sleep(0.2)
            yield b"ASK {}"

        with serving(template, clients=Clients(body_seconds=0.6)) as client:
            asked = (client.post("/sparql", content=steady(), headers={"Content-Type": QUERY}) for _ in range(10))
            assert any(answer.status_code == 200 for answer in asked)

    def test_a_client_that_reads_nothing_frees_its_place(self, tmp_path: Path) -> None:
        path = tmp_path / "large"
        with Store.create(path, ["none"]) as made:
            made.update(add=[(URIRef(f"{EX}s{n}"), RDF.type, URIRef(f"{EX}T{n % 7}")) for n in range(2_000)])
        limits = Limits(query_seconds=1, concurrent=1)
        with serving_with(path, limits, clients=Clients(body_seconds=0.4)) as (client, service):
            body = b"SELECT * { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }"
            with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as opened:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                opened.sendall(request("POST /sparql", body, f"Content-Type: {QUERY}\r\nAccept: text/csv\r\n"))
                eventually(lambda: service.reads.inside == 1)
                eventually(lambda: service.reads.inside == 0)
                assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]

    def test_connections_of_one_address(self, template: Path) -> None:
        with serving(template, clients=Clients(head_seconds=600, per_address=6)) as client:
            address = (client.base_url.host, client.base_url.port or 80)
            with contextlib.ExitStack() as stack:
                opened = [stack.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(20)]
                for connection in opened[6:]:
                    answer = connection.recv(1 << 16)
                    assert b" 503 " in answer
                    assert b"too many connections from this address" in answer
                opened[0].sendall(request("GET /health"))
                assert b" 200 " in opened[0].recv(1 << 16)
            eventually(lambda: spoken(client, request("GET /health"))[0] == 200)

    def test_many_silent_ones_do_not_stop_others(self, template: Path) -> None:
        with (
            serving(template, clients=Clients(head_seconds=0.5, per_address=0)) as client,
            contextlib.ExitStack() as all_,
        ):
            address = (client.base_url.host, client.base_url.port or 80)
            opened = [all_.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(200)]
            for connection in opened:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
            assert people(client) == ["a"]
            assert all(b" 408 " in connection.recv(1 << 16) for connection in opened)


TWICE = "Content-Length: 6\r\n"


class TestSizes:
    def test_an_address(self, impatient: httpx.Client) -> None:
        """Of some length: told to send it otherwise. Of any: not held."""
        query = "ASK {} #" + "x" * 20_000
        assert impatient.get("/sparql", params={"query": query}).status_code == 200
        for length in (40_000, 4_000_000):
            status, answer = spoken(impatient, request(f"GET /sparql?query=ASK%7B%7D%23{'x' * length}"))
            assert (status, b"send a query by POST" in answer) == (414, True), answer[:200]

    def test_headers(self, impatient: httpx.Client) -> None:
        assert impatient.get("/health", headers={"X-Long": "x" * 30_000}).status_code == 200
        for length in (70_000, 4_000_000):
            status, answer = spoken(impatient, request("GET /health", headers=f"X-Long: {'x' * length}\r\n"))
            assert (status, b"headers are longer than 65,536" in answer) == (431, True), answer[:200]
        many = "".join(f"X-{n}: 1234567890\r\n" for n in range(6_000))
        assert spoken(impatient, request("GET /health", headers=many))[0] == 431

    @pytest.mark.parametrize(
        "said",
        [
            pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", id="TLS"),
            pytest.param(b"GET /health\r\n\r\n", id="HTTP/0.9"),
            pytest.param(b"GET /health HTTP/1.1\r\nHost: localhost\r\nA B: c\r\n\r\n", id="header"),
            pytest.param(b"GET /health HTTP/1.1\r\n\r\n", id="no host"),
        ],
    )
    def test_no_http(self, impatient: httpx.Client, said: bytes) -> None:
        status, answer = spoken(impatient, said)
        assert (status, b"this is not HTTP" in answer) == (400, True), answer

    def test_chunks_that_are_none(self, impatient: httpx.Client) -> None:
        head = f"POST /sparql HTTP/1.1\r\nHost: x\r\nContent-Type: {QUERY}\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert spoken(impatient, head.encode() + b"3\r\nASK\r\nzz\r\n")[0] == 400
        rest = head.replace("/sparql", "/nothing").encode() + b"3\r\nASK\r\n"
        assert spoken(impatient, rest, b"zz\r\n")[0] in (400, 404)

    @pytest.mark.parametrize(
        ("head", "status"),
        [
            ("POST /sparql HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 13\r\n", 400),
            ("POST /nothing HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400),
            ("POST /sparql HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", 400),
            ("POST /sparql HTTP/2.0\r\nContent-Length: 3\r\n", 505),
            ("POST /sparql HTTP/3.1\r\nContent-Length: 3\r\n", 505),
            ("POST /sparql HTTP/0.9\r\nContent-Length: 3\r\n", 505),
            ("PRI * HTTP/2.0\r\n", 505),
            ("POST /sparql HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nContent-Length: 3, 4\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nContent-Length: +3\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nContent-Length: -1\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n", 501),
            ("POST /sparql HTTP/1.1\r\nTransfer-Encoding: identity\r\n", 501),
            ("POST /sparql HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 501),
            ("POST /sparql HTTP/1.1\r\nContent-Length : 3\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 3\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nX: a\x00b\r\nContent-Length: 3\r\n", 400),
            ("POST /sparql HTTP/1.1\r\nX: a\rGET / HTTP/1.1\r\nContent-Length: 3\r\n", 400),
        ],
    )
    def test_a_second_request_is_never_found_in_a_first(self, impatient: httpx.Client, head: str, status: int) -> None:
        """Where the end of a request is in doubt, it is answered and the connection closed: nothing after it counts."""
        whole = f"{head}Host: localhost\r\nContent-Type: {QUERY}\r\n\r\n3\r\nASK\r\n0\r\n\r\n"
        found, answer = spoken(impatient, whole.encode(), request("GET /health"))
        assert (found, answer.count(b"HTTP/1.1 ")) == (status, 1), answer
        assert b"connection: close" in answer.lower()

    @pytest.mark.parametrize(
        "head",
        [
            "GET /health HTTP/1.2\r\n",
            "GET /health HTTP/1.1\r\nX: folded\r\n  line\r\n",
            f"POST /sparql HTTP/1.1\r\nContent-Type: {QUERY}\r\n{2 * TWICE}",
        ],
    )
    @pytest.mark.parametrize("end", ["\r\n", "\n"])
    def test_odd_but_legal(self, impatient: httpx.Client, head: str, end: str) -> None:
        body = "ASK {}" if "POST" in head else ""
        said = f"{head}Host: localhost\r\nConnection: close\r\n\r\n".replace("\r\n", end) + body
        assert spoken(impatient, said.encode())[0] == 200

    @pytest.mark.parametrize("line", ["PUT /data?default", "POST /sparql"])
    def test_chunks_beyond_the_limit(self, store: Path, line: str) -> None:
        """Also a client that sends all of them before it reads gets the answer."""
        kind = "text/turtle" if "data" in line else UPDATE
        more = "Connection: close\r\nTransfer-Encoding: chunked\r\n"
        head = f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{more}\r\n"
        chunk = b"10000\r\n" + b" " * (1 << 16) + b"\r\n"
        with serving(store, Limits(body=1_000)) as client:
            for size in (1, 50, 400):
                status, answer = spoken(client, head.encode(), *[chunk] * size, b"0\r\n\r\n")
                assert (status, b"larger than 1,000 bytes" in answer) == (413, True), answer

    def test_a_query_is_shorter_than_a_load(self, store: Path) -> None:
        with serving(store) as client:
            long = "ASK {} #" + "x" * (16 << 20)
            assert sent(client, long, QUERY).status_code == 413
            assert client.post("/sparql", data={"query": long}).status_code == 413
            assert sent(client, add("b") + " #" + "x" * (16 << 20)).status_code == 200

    def test_a_body_that_comes_after_its_answer(self, impatient: httpx.Client) -> None:
        """The connection serves the next request then, however much later than the first. (A machine that is busy for
        longer than it lingers has another try.)"""
        first = request("POST /nothing", b"", "Connection: keep-alive\r\n", length=4)

        def served() -> bool:
            with socket.create_connection((impatient.base_url.host, impatient.base_url.port or 80)) as opened:
                opened.settimeout(PATIENCE)
                opened.sendall(first)
                assert b" 404 " in opened.recv(1 << 16)
                with contextlib.suppress(ConnectionError):
                    opened.sendall(b"rest" + request("POST /sparql", b"", f"Content-Type: {QUERY}\r\n", length=6))
                    time.sleep(0.3)
                    opened.sendall(b"ASK {}")
                    return b" 200 " in opened.recv(1 << 16)
                return False

        assert any(served() for _ in range(10))

    def test_an_answer_before_the_end_of_the_body(self, store: Path) -> None:
        """A client that reads only after it has sent all gets it too."""
        with serving(store, Limits(body=1_000)) as client:
            body = b" " * 3_000_000
            status, _ = spoken(client, request("PUT /data?default", body, "Content-Type: text/turtle\r\n"))
            assert status == 413


class TestEnd:
    ENDLESS = (
        "SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h . ?i ?t ?j . ?k ?u ?l FILTER(?a != ?j)}"
    )

    @contextlib.contextmanager
    def served(self, store: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
        """`triplake serve` as a process of its own, with its address."""
        asked = command("serve", store, "--port", "0", "--timeout", "3600", *arguments)
        with subprocess.Popen(asked, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            try:
                process.stderr.readline()
                yield process, process.stderr.readline().split()[2].rstrip("/")
            finally:
                process.kill()

    @staticmethod
    def endless(address: str, kind: str, text: str) -> socket.socket:
        host, _, port = address.removeprefix("http://").partition(":")
        opened = socket.create_connection((host, int(port)), timeout=PATIENCE)
        opened.sendall(request("POST /sparql", text.encode(), f"Content-Type: {kind}\r\n"))
        name = "writing" if kind == UPDATE else "reading"
        eventually(lambda: bool(httpx.get(f"{address}/health").json()[name]))
        return opened

    def test_queries(self, store: Path) -> None:
        with self.served(store) as (process, address):
            opened = [self.endless(address, QUERY, self.ENDLESS) for _ in range(3)]
            unread = self.endless(address, QUERY, f"SELECT * {{{self.ENDLESS.partition('{')[2]}")
            eventually(lambda: b" 200 " in unread.recv(100, socket.MSG_PEEK))
            started = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert time.monotonic() - started < 20  # the time of grace, which it does not need, is 30
            unread.close()
            assert all(b" 503 " in connection.recv(1 << 16) for connection in opened)
            for connection in opened:
                connection.close()

    def test_an_update_is_given_its_time(self, store: Path) -> None:
        with self.served(store, "--grace", "1") as (process, address):
            where = self.ENDLESS.partition("{")[2]
            opened = self.endless(address, UPDATE, f"INSERT {{ ?a <{EX}n> ?l }} WHERE {{ {where}")
            started = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
            assert time.monotonic() - started < 20
            opened.close()
        with Store.open(store) as after:
            assert after.version == 2

    def test_a_second_signal_ends_it_at_once(self, store: Path) -> None:
        with self.served(store, "--grace", "600") as (process, address):
            where = self.ENDLESS.partition("{")[2]
            opened = self.endless(address, UPDATE, f"INSERT {{ ?a <{EX}n> ?l }} WHERE {{ {where}")
            process.send_signal(signal.SIGTERM)

            def ended() -> bool:
                process.send_signal(signal.SIGTERM)  # of several that come at once the process sees one
                return process.poll() is not None

            eventually(ended)
            opened.close()


def test_rows_arrive(client: httpx.Client) -> None:
    """The bounds leave ordinary requests alone, one after the other on one connection."""
    for _ in range(20):
        assert rows(sent(client, "SELECT ?x { ?x a ?y }", QUERY))
