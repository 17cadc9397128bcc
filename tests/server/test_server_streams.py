"""Continuous queries of a server: answers as events, streams that clients post or files that grow."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.conftest import ENGINES
from tests.support.server import OPEN, eventually, serving
from triplestore import Store
from triplestore.model.thresholds import SIZES
from triplestore.server import broadcast
from triplestore.server.settings import Access, StreamSettings
from triplestore.streams import posted
from triplestore.streams.answers import Answer
from triplestore.streams.registration import StreamQuery

EX = "http://ex/"
PREFIX = f"PREFIX : <{EX}>\n"
COLD = f"<{EX}Cold> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <{EX}Alarm> ."
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ALARMS = PREFIX + "REGISTER QUERY alarms AS SELECT ?x FROM STREAM <s> [RANGE 10 STEP 2] { ?x a :Alarm } ORDER BY ?x"
HOW_MANY = PREFIX + "SELECT (COUNT(*) AS ?n) FROM STREAM <s> [RANGE 6 STEP 3] { ?x a :Alarm }"


def lines(seed: int, times: int = 40) -> list[str]:
    rng = random.Random(seed)
    return [f"{time} <{EX}x{rng.randrange(5)}> {TYPE} <{EX}{rng.choice(('Cold', 'Dull'))}> ." for time in range(times)]


def settings(*queries: str, **more: Any) -> StreamSettings:
    return StreamSettings(tuple((f"q{n}", text) for n, text in enumerate(queries or (ALARMS,))), **more)


def followed(client: httpx.Client, path: str, **headers: str) -> Iterator[tuple[str, Any, str | None]]:
    """The events at a path: kind, data, id."""
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        found: dict[str, str] = {}
        for line in response.iter_lines():
            if not line:
                if "event" in found:
                    yield found["event"], json.loads(found["data"]), found.get("id")
                found = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                found[name] = value


def answers(client: httpx.Client, path: str, many: int, **headers: str) -> list[Any]:
    """The first answers that come."""
    found: list[Any] = []
    for kind, data, _ in followed(client, path, **headers):
        found += [data] if kind == "answer" else []
        if len(found) == many:
            break
    return found


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Store.create(tmp_path / "kg", ["rdfs-plus"]) as made:
        made.sparql_update(f"INSERT DATA {{ {COLD} }}")
    return tmp_path / "kg"


def expected(store: Path, text: str, query: str) -> list[Any]:
    """The answers of a run over the same lines, but for the windows at its end that only that completes."""
    source = store.parent / "lines.txt"
    source.write_text(text)
    with Store.open(store, engine="duckdb") as opened, opened.stream(source, query) as run:
        return [answer.as_json() for answer in run]


@pytest.mark.long_on_spark
@pytest.mark.parametrize("engine", ENGINES)
def test_answers_are_those_of_a_run(store: Path, engine: str, request: pytest.FixtureRequest) -> None:
    given = lines(1, 12 if engine == "spark" else 40)
    right = {q: expected(store, "\n".join(given), q)[:-4] for q in (ALARMS, HOW_MANY)}
    options = {"engine": engine, "spark": request.getfixturevalue("spark") if engine == "spark" else None}
    with serving(store, streams=settings(ALARMS, HOW_MANY), **options) as client:
        assert [q["name"] for q in client.get("/streams").json()["queries"]] == ["alarms", "q1"]
        for start in range(0, len(given), 7):
            sent = given[start : start + 7]
            reply = client.post("/streams", content="\n".join(sent))
            assert (reply.status_code, reply.json()) == (202, {"triples": len(sent)})
        for name, query in (("alarms", ALARMS), ("q1", HOW_MANY)):
            found = answers(client, f"/streams/{name}?after=-1", len(right[query]))
            assert [(a["time"], a["rows"]) for a in found] == [(a["time"], a["rows"]) for a in right[query]]
        eventually(lambda: client.get("/streams").json()["figures"]["triples"] == len(given))
        assert client.get("/streams").json()["figures"]["state"] == "running"


def test_who_comes_back_goes_on_where_it_was(store: Path) -> None:
    text = "\n".join(lines(2))
    right = expected(store, text, ALARMS)[:-5]
    with serving(store, streams=settings()) as client:
        client.post("/streams", content=text)
        (first,) = answers(client, "/streams/alarms?after=-1", 1)
        assert first == right[0]
        rest = answers(client, "/streams/alarms", len(right) - 1, **{"Last-Event-ID": str(first["time"])})
        assert rest == right[1:]
        assert answers(client, "/streams/alarms?after=1970-01-01T00:00:00.010Z", 1) == [right[6]]
        eventually(lambda: client.get("/streams").json()["queries"][0]["answers"] >= len(right))
        assert answers(client, "/streams/alarms", 1)[0]["time"] >= right[-1]["time"]  # without a time: the newest


def test_what_is_not_kept_is_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "KEPT", 3)
    with serving(store, streams=settings()) as client:
        client.post("/streams", content="\n".join(lines(3)))
        eventually(lambda: client.get("/streams").json()["queries"][0]["answers"] >= 15)
        kind, data, _ = next(followed(client, "/streams/alarms?after=4"))
        assert kind == "missed"
        assert data["after"] == 4
        assert data["until"] > 4


@pytest.mark.long
def test_who_reads_nothing_holds_up_nobody(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "KEPT_BYTES", 1 << 20)
    big = PREFIX + "REGISTER QUERY big AS CONSTRUCT { ?s ?p ?o } FROM STREAM <s> [RANGE 100 STEP 1] { ?s ?p ?o }"
    with (
        serving(store, streams=settings(big)) as client,
        socket.create_connection((client.base_url.host, client.base_url.port or 80)) as deaf,
    ):
        deaf.sendall(b"GET /streams/big?after=-1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for time in range(1, 60):
            text = "\n".join(f"{time} <{EX}{'x' * 500}{i}> <{EX}p> <{EX}{time}> ." for i in range(40))
            assert client.post("/streams", content=text).status_code == 202
        eventually(lambda: client.get("/streams").json()["queries"][0]["answers"] >= 58)
        assert answers(client, "/streams/big", 1)


def test_who_reads_slowly_holds_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has not read of one that is let go of it does not get: its event has no end."""
    monkeypatch.setattr(broadcast, "KEPT_BYTES", 5 * SIZES.piece)
    channel, pieces = broadcast.Channel(StreamQuery.of(ALARMS)), list[bytes]()

    def add(time: int) -> None:
        channel.add(Answer("", "ask", "rstream", time - 1, time, (), []), b"x" * (3 * SIZES.piece))

    async def follow() -> None:
        add(1)
        async for piece in broadcast.Broadcast.events(SimpleNamespace(ended=True), channel, None):  # type: ignore[arg-type]
            pieces.append(piece)
            if len(pieces) == 3:
                add(2)

    asyncio.run(follow())
    assert len(pieces) == 3
    assert pieces[-1] == b"x" * SIZES.piece


@pytest.mark.long
def test_a_file_that_grows(store: Path, tmp_path: Path) -> None:
    source, given = tmp_path / "grows.txt", lines(4)
    source.write_text("\n".join(given[:20]) + "\n")
    right = expected(store, "\n".join(given), ALARMS)[:-5]
    with serving(store, streams=settings(sources=(("", str(source)),))) as client:
        begun = answers(client, "/streams/alarms?after=-1", 5)
        with source.open("a") as file:
            file.write("\n".join(given[20:]) + "\n")
        assert begun + answers(client, f"/streams/alarms?after={begun[-1]['time']}", len(right) - 5) == right
        reply = client.post("/streams", content=given[0])
        assert reply.status_code == 400
        assert "come from files" in reply.text


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (f"1 <{EX}a> <{EX}p> <{EX}b> .\n\nsoon <{EX}a> <{EX}p> 1 .", "the body:3: 'soon' is not a time"),
        (f"# a comment\n1 <{EX}a> <{EX}p> <{EX}b> .\n2 <{EX}a> <no> <{EX}b> .", "the body:3: "),
        ("3", "the body:1: a time without a triple"),
        ('{"time": 4}', "the body:1: a JSON line without"),
    ],
)
def test_what_is_no_stream_is_refused_whole(store: Path, body: str, wrong: str) -> None:
    with serving(store, streams=settings()) as client:
        reply = client.post("/streams", content=body)
        assert reply.status_code == 400
        assert wrong in reply.text
        assert client.get("/streams").json()["figures"]["triples"] == 0


def test_several_streams_are_named(store: Path) -> None:
    two = PREFIX + "SELECT ?x FROM STREAM <s> [RANGE 9] FROM STREAM <t> [RANGE 9] { ?x a :Alarm }"
    with serving(store, streams=settings(two)) as client:
        assert client.post("/streams", content="1 <a:a> <a:b> <a:c> .").status_code == 400
        assert client.post("/streams?stream=u", content="1 <a:a> <a:b> <a:c> .").status_code == 400
        for name in "st":
            text = f"1 <{EX}{name}> {TYPE} <{EX}Cold> .\n99 <{EX}{name}> {TYPE} <{EX}Cold> ."
            assert client.post(f"/streams?stream={name}", content=text).status_code == 202
        (found,) = answers(client, "/streams/q0?after=-1", 1)
        assert sorted(row["x"] for row in found["rows"]) == [f"<{EX}s>", f"<{EX}t>"]


def test_who_may(store: Path) -> None:
    line = "1 <a:a> <a:b> <a:c> ."
    with serving(store, access=Access(hosts=OPEN.hosts, read_only=True), streams=settings()) as client:
        assert client.post("/streams", content=line).status_code == 403
    tokens = Access(hosts=OPEN.hosts, tokens=("secret",), protect_reads=True)
    with serving(store, access=tokens, streams=settings()) as client:
        assert client.get("/streams").status_code == 401
        assert client.get("/streams/alarms").status_code == 401
        assert client.post("/streams", content=line).status_code == 401
        assert client.post("/streams", content=line, headers={"Authorization": "Bearer secret"}).status_code == 202


def test_more_than_is_read_is_put_off(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posted, "MOST", 2_000)
    with serving(store, streams=settings(sources=(), pace=0.001)) as client:
        text = "\n".join(lines(5, 20))
        statuses = [client.post("/streams", content=text).status_code for _ in range(4)]
        assert statuses[0] == 202
        assert statuses[-1] == 503


def test_what_there_is_not(store: Path) -> None:
    with serving(store) as client:
        assert client.get("/streams").json() == {"queries": []}
        assert "--stream" in client.get("/streams/alarms").text
        assert client.post("/streams", content="1 <a:a> <a:b> <a:c> .").status_code == 404
        assert client.get("/health").json()["streams"] == 0
    with serving(store, streams=settings()) as client:
        assert "there are alarms" in client.get("/streams/none").text
        assert client.get("/streams/alarms", headers={"Accept": "text/html"}).status_code == 406
        assert client.get("/streams/alarms?after=noon").status_code == 400
        assert client.head("/streams/alarms").status_code == 200
        assert client.get("/health").json()["streams"] == 1


def test_a_run_that_fails_is_told(store: Path, tmp_path: Path) -> None:
    source = tmp_path / "broken.txt.gz"
    source.write_bytes(b"\x1f\x8bno gzip")
    with serving(store, streams=settings(sources=(("", str(source)),))) as client:
        events = {kind: data for kind, data, _ in followed(client, "/streams/alarms")}
        assert events["end"] == {"state": "failed"}
        assert "broken.txt.gz" in events["figures"]["fault"]
        assert client.get("/streams").json()["figures"]["state"] == "failed"


def test_who_follows_is_told_of_the_end(store: Path) -> None:
    found: list[str] = []
    with serving(store, streams=settings()) as client:
        client.post("/streams", content="\n".join(lines(6)))
        begun = threading.Event()

        def follow() -> None:
            with httpx.Client(base_url=client.base_url, timeout=60) as other:
                for kind, _, _ in followed(other, "/streams/alarms", **{"Accept-Encoding": "gzip"}):
                    found.append(kind)
                    begun.set()

        thread = threading.Thread(target=follow)
        thread.start()
        assert begun.wait(60)
    thread.join(60)
    assert found[-1] == "end"
