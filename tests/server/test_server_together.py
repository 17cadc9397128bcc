"""Clients that update at once: what waits for the writer is carried out together, and each has its own answer."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.server import EX, UPDATE, add, eventually, people, sent, serving
from triplestore import Store
from triplestore.server.readers import Readers
from triplestore.server.work import LOOK

CLIENTS = 64


def test_a_refused_update_is_refused_alone(client: httpx.Client) -> None:
    texts = [add(f"p{number}") for number in range(20)]
    texts[3:3] = ["INSERT DATA { <s> <p>", "LOAD <file:///etc/passwd>"]
    answers = asyncio.run(at_once(str(client.base_url), texts))
    assert [answer.status_code for answer in answers] == [200] * 3 + [400, 400] + [200] * 17
    assert {"a", *(f"p{n}" for n in range(20))} <= set(people(client))
    together = [answer.json()["transactions"] for answer in answers if answer.status_code == 200]
    assert max(together) > 1
    versions = {answer.json()["version"] for answer in answers if answer.status_code == 200}
    assert len(versions) < 20, "fewer commits than updates"


def test_what_follows_in_a_connection_sees_it(client: httpx.Client) -> None:
    for number in range(5):
        assert sent(client, add(f"q{number}")).status_code == 200
        assert f"q{number}" in people(client)


def test_readers_that_fail_undo_no_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is published is answered so, and is not carried out again; the server follows once readers can."""
    with Store.create(tmp_path / "kg", "none", engine="duckdb") as store:
        store.sparql_update(f"INSERT DATA {{ <{EX}c> <{EX}n> 0 }}")
    where = f"<{EX}c> <{EX}n>"
    count = f"DELETE {{ {where} ?x }} INSERT {{ {where} ?y }} WHERE {{ {where} ?x BIND(?x + 1 AS ?y) }}"

    def fails(readers: Readers) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def counted() -> str:
        text: str = client.get("/sparql", params={"query": f"SELECT ?n {{ {where} ?n }}"}).text
        return text

    with serving(tmp_path / "kg") as client:
        with monkeypatch.context() as patch:
            patch.setattr(Readers, "refresh", fails)
            answers = asyncio.run(at_once(str(client.base_url), [count] * 6))
            assert [answer.status_code for answer in answers] == [200] * 6
            time.sleep(2 * LOOK)
        eventually(lambda: '"6"' in counted())


async def at_once(base: str, texts: list[str]) -> list[httpx.Response]:
    async with httpx.AsyncClient(base_url=base, timeout=120) as client:
        return await asyncio.gather(
            *(client.post("/sparql", content=text, headers={"Content-Type": UPDATE}) for text in texts)
        )


@contextmanager
def served(store: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "triplestore.cli", "serve", str(store), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                httpx.get(f"{base}/sparql?query=ASK%7B%7D", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield process, base
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(60)


class Writer:
    """One client: it adds a triple of its own, and deletes it now and then; what it knows to be there or gone."""

    def __init__(self, number: int) -> None:
        self.number, self.turn = number, 0
        self.there: set[str] = set()
        self.unsure: set[str] = set()

    async def write(self, client: httpx.AsyncClient) -> None:
        self.turn += 1
        name = f"w{self.number}-{self.turn - 1 if self.turn % 3 == 0 else self.turn}"
        text = add(name).replace("INSERT", "DELETE") if self.turn % 3 == 0 else add(name)
        self.unsure.add(name)
        answer = await client.post("/sparql", content=text, headers={"Content-Type": UPDATE})
        if answer.status_code == 503:
            await asyncio.sleep(0.05)
            self.turn -= 1
            return
        assert answer.status_code == 200, answer.text
        self.unsure.remove(name)
        (self.there.discard if self.turn % 3 == 0 else self.there.add)(name)


async def write_until_killed(base: str, process: subprocess.Popen[bytes], turns: int) -> list[Writer]:
    """Kill the server once the writers have begun so many updates."""
    writers = [Writer(number) for number in range(CLIENTS)]
    killed = False

    async def work(writer: Writer) -> None:
        async with httpx.AsyncClient(base_url=base, timeout=60) as client:
            try:
                while True:
                    await writer.write(client)
            except httpx.TransportError:
                assert killed, "only the kill cuts them off"

    async def kill() -> None:
        nonlocal killed
        while sum(writer.turn for writer in writers) < turns:
            await asyncio.sleep(0.02)
        killed = True
        os.kill(process.pid, signal.SIGKILL)
        process.wait(60)

    await asyncio.gather(kill(), *(work(writer) for writer in writers))
    return writers


@pytest.mark.parametrize("turns", [150, pytest.param(5_000, marks=pytest.mark.long)])
def test_no_acknowledged_update_is_lost(store: Path, turns: int) -> None:
    """The server is killed amid the updates of 64 clients, twice; those that were answered are there, no other ones
    are."""
    there: set[str] = set()
    unsure: set[str] = set()
    for _ in range(2):
        with served(store) as (process, base):
            writers = asyncio.run(write_until_killed(base, process, turns))
        assert any(writer.there for writer in writers)
        there |= {name for writer in writers for name in writer.there}
        unsure |= {name for writer in writers for name in writer.unsure}
        with Store.open(store, engine="duckdb") as opened:
            found = {str(s).removeprefix(EX) for s, _, _ in opened.triples("asserted") if str(s).startswith(f"{EX}w")}
            assert there - unsure <= found
            assert found <= there | unsure
            assert not opened.check()
            kept = set(opened.triples())
            opened.materialise()
            assert set(opened.triples()) == kept
            opened.update(delete=[t for t in opened.triples("asserted") if str(t[0]).startswith(f"{EX}w")])
        there.clear()
        unsure.clear()
