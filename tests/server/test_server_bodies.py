"""Bodies that who may only read sends: never more of them in memory than queries need."""

from __future__ import annotations

import contextlib
import gzip
import socket
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote_plus

import httpx
import psutil
import pytest

from tests.support.server import OPEN, PATIENCE, QUERY, add, eventually, people, request, sent, serving, spoken
from triplestore.model.thresholds import SIZES
from triplestore.server import guard
from triplestore.server.bodies import FORM, parameters
from triplestore.server.held import Held, Room
from triplestore.server.settings import MAX_QUERY, Access, Limits

ACCESS = Access(("s3cret",), hosts=OPEN.hosts)
TOKEN = {"Authorization": "Bearer s3cret"}
FORMS = f"Content-Type: {FORM}\r\n"


@pytest.fixture(scope="module")
def reading(template: Path) -> Iterator[httpx.Client]:
    """A server that everybody may read."""
    with serving(template, access=ACCESS) as made:
        yield made


def test_a_form_of_a_reader_has_the_limit_of_a_query(reading: httpx.Client) -> None:
    """It is refused before it is sent."""
    status, answer = spoken(reading, request("POST /sparql", b"query=", FORMS, length=MAX_QUERY + 1))
    assert (status, b"16,777,216 bytes" in answer) == (413, True), answer
    assert reading.post("/sparql", data={"query": "ASK {} #" + "x" * 200_000}).status_code == 200


@pytest.mark.long
def test_a_form_of_a_writer_has_that_of_an_update(store: Path) -> None:
    with serving(store, access=ACCESS) as client:
        long = " #" + "x" * MAX_QUERY
        assert client.post("/sparql", data={"update": add("b") + long}, headers=TOKEN).status_code == 200
        assert client.post("/sparql", data={"query": "ASK {}" + long}, headers=TOKEN).status_code == 413
        assert people(client) == ["a", "b"]


def test_a_body_that_is_unpacked_has_it_too(reading: httpx.Client) -> None:
    packed = gzip.compress(b"query=" + b"a" * (100 << 20), 1)
    process = psutil.Process()
    before = process.memory_info().rss
    answer = reading.post("/sparql", content=packed, headers={"Content-Type": FORM, "Content-Encoding": "gzip"})
    assert answer.status_code == 413
    assert process.memory_info().rss - before < 80 << 20


@pytest.mark.parametrize("line", ["POST /sparql", "POST /api/plan"])
def test_bodies_that_stop_share_the_room(template: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """One address has half of it; what is small has room whatever others hold; and it is given back."""
    room = Room(4 << 20)
    monkeypatch.setattr(guard, "Room", lambda most: room)
    body, size = b"x" * 900_000, 1_000_000
    large = "ASK {} #" + "x" * size
    with serving(template, Limits(body=2 << 20), ACCESS) as client, contextlib.ExitStack() as stack:
        address = (client.base_url.host, client.base_url.port or 80)
        opened = [stack.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(2)]
        for connection in opened:
            connection.sendall(request(line, body, f"Content-Type: {QUERY}\r\n", length=size))
        eventually(lambda: room.taken == 2 * (len(body) - SIZES.piece))
        answer = sent(client, large, QUERY)
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "5"), answer.text
        assert people(client) == ["a"]
        assert sent(client, large, QUERY, **TOKEN).status_code == 200
        for connection in opened:
            connection.close()
        eventually(lambda: room.taken == 0)
        assert sent(client, large, QUERY).status_code == 200


def test_the_room_is_given_back_whatever_is_refused() -> None:
    room = Room(10 * SIZES.piece)
    held = [Held(room, address) for address in "aab"]
    for one in held:
        one.add(SIZES.piece, True)
    assert room.taken == 0
    held[0].add(5 * SIZES.piece, True)
    with pytest.raises(guard.HttpError):
        held[1].add(1, True)
    held[1].add(4 * SIZES.piece, False)
    with pytest.raises(guard.HttpError):
        held[2].add(SIZES.piece, True)
    for one in held:
        one.free()
    assert (room.taken, dict(room.of)) == (0, {})


def test_parameters_are_those_of_the_standard_library() -> None:
    values = ["", "a b", "é😀", "%", "+&=", "x" * SIZES.piece + "é" * SIZES.piece, "😀" * SIZES.piece]
    encoded = "&".join([*(f"v={quote_plus(value)}" for value in values), "blank=", "bare", "", "raw=é%2", "a=b=c"])
    assert parameters(encoded) == parse_qs(encoded, keep_blank_values=True)
    assert parameters(encoded)["v"] == values


def test_escapes_take_little_memory_and_time() -> None:
    encoded = "query=" + "%41" * 1_000_000
    tracemalloc.start()
    try:
        assert parameters(encoded) == {"query": ["A" * 1_000_000]}
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
    started = time.monotonic()
    with pytest.raises(guard.HttpError):
        parameters("&" * 1_000_000)
    assert time.monotonic() - started < 1
