"""Places and turns are shared by address: who asks much does not keep others out."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest

from tests.server import test_server_limits
from tests.support.server import PATIENCE, QUERY, eventually, request, serving_with
from triplestore.server.faults import HttpError
from triplestore.server.gate import Gate
from triplestore.server.settings import Limits


def test_one_address_leaves_a_quarter_to_others() -> None:
    async def run() -> None:
        gate = Gate(8, 12)
        one = [asyncio.create_task(gate.enter("a")) for _ in range(16)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (gate.inside, gate.waiting) == (6, 9)
        with pytest.raises(HttpError, match="too many requests wait"):
            await one[15]
        await gate.enter("b")
        await gate.enter("c")
        late = [asyncio.create_task(gate.enter(name, 60)) for name in ("a", "c", "b", "d")]
        await asyncio.sleep(0)
        assert (gate.inside, gate.waiting) == (8, 12)
        with pytest.raises(HttpError, match="too many requests wait"):
            await late[0]
        for place in (3, 1):  # d has none inside, c and b one each
            gate.leave("a")
            await late[place]
        for task in one:
            task.cancel()
        await asyncio.wait(one)
        gate.leave("a")
        await late[2]
        assert gate.waiting == 0

    asyncio.run(run())


def test_turns_that_are_given_up() -> None:
    """By a limit, or by a client that goes, at whatever moment."""

    async def run() -> None:
        gate = Gate(1, 10)
        await gate.enter("a")
        with pytest.raises(HttpError, match="busy for too long"):
            await gate.enter("b", 0.01)
        gone = asyncio.create_task(gate.enter("b"))
        await asyncio.sleep(0)
        gate.leave("a")  # to b, who is cancelled before it runs
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
            gate.leave("b")
        assert (gate.inside, gate.waiting) == (0, 0)
        await gate.enter("c")

    asyncio.run(run())


def test_many_slow_queries_of_another_address(template: Path) -> None:
    """All of its connections ask; others are answered at once."""
    body = test_server_limits.TestLimits.ENDLESS.replace("FILTER", ". ?k ?u ?l . ?m ?v ?n . ?x ?y ?z FILTER").encode()
    with serving_with(template, Limits(query_seconds=3_600)) as (client, service), contextlib.ExitStack() as stack:
        address = (client.base_url.host, client.base_url.port or 80)
        for _ in range(120):
            opened = stack.enter_context(socket.create_connection(address, PATIENCE, ("127.0.0.2", 0)))
            opened.sendall(request("POST /sparql", body, f"Content-Type: {QUERY}\r\n"))
        eventually(lambda: (service.reads.inside, service.reads.waiting) == (6, 75))
        for _ in range(5):
            assert client.get("/sparql", params={"query": "ASK {}"}, timeout=30).status_code == 200
