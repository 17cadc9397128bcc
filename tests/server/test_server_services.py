"""SERVICE in a server: the endpoints that it was started with, and no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.endpoint import Endpoint, Reply, answering, dead_address, endpoint
from tests.support.server import EX, QUERY, TURTLE, eventually, people, rows, sent, serving, serving_with
from tests.support.sparql import ox_store
from triplestore.server.settings import Limits

AGE = [(f"<{EX}a>", f"<{EX}age>", '"7"'), (f"<{EX}b>", f"<{EX}age>", '"8"')]


@pytest.fixture
def ages() -> Iterator[Endpoint]:
    """An endpoint that knows ages."""
    with endpoint(answering(ox_store(AGE))) as made:
        yield made


def ask(address: str, silent: str = "") -> str:
    return f"SELECT ?x ?n {{ ?x a <{EX}Person> SERVICE {silent} <{address}> {{ ?x <{EX}age> ?n }} }}"


@pytest.mark.parametrize("silent", ["", "SILENT"])
def test_without_leave_nobody_is_asked(steady: httpx.Client, ages: Endpoint, silent: str) -> None:
    for answer in (sent(steady, ask(ages.address, silent), QUERY), _update(steady, ages.address, silent)):
        assert answer.status_code == 400
        assert "--allow-service" in answer.text
    assert ages.queries == []


def _update(client: httpx.Client, address: str, silent: str = "") -> httpx.Response:
    pattern = f"SERVICE {silent} <{address}> {{ ?x <{EX}age> ?n }}"
    return sent(client, f"INSERT {{ ?x a <{EX}Student> }} WHERE {{ {pattern} }}")


def test_queries_and_updates(store: Path, ages: Endpoint) -> None:
    with serving(store, services=(ages.address,)) as client:
        assert rows(sent(client, ask(ages.address), QUERY)) == [{"x": f"{EX}a", "n": "7"}]
        assert _update(client, ages.address).status_code == 200
        assert people(client) == ["a", "b"]
        assert "BasicFederatedQuery" in client.get("/sparql", headers={"Accept": TURTLE["Content-Type"]}).text


def test_a_failure_is_a_bad_gateway(template: Path) -> None:
    with endpoint(lambda _: Reply(b"out of order", 500)) as one, serving(template, services=(one.address,)) as client:
        answer = sent(client, ask(one.address), QUERY)
        assert answer.status_code == 502
        assert answer.text.endswith(f"the endpoint {one.address} answered with status 500: out of order\n")
        assert rows(sent(client, ask(one.address, "SILENT"), QUERY)) == [{"x": f"{EX}a"}]


def test_the_time_limit_holds(template: Path) -> None:
    over = threading.Event()

    def never(_: str) -> Iterator[bytes]:
        over.wait(20)
        yield b""

    limits = Limits(query_seconds=0.5, concurrent=1)
    with endpoint(never) as one, serving_with(template, limits, services=(one.address,)) as (client, service):
        started = time.monotonic()
        assert sent(client, ask(one.address), QUERY).status_code == 503
        eventually(lambda: service.reads.inside == 0)
        assert time.monotonic() - started < 5
        assert people(client) == ["a"]
        over.set()


def test_a_server_that_asks_itself_again_and_again(template: Path) -> None:
    address = dead_address()
    port = int(address.split(":")[2].removesuffix("/sparql"))
    text = f"?x a <{EX}Person>"
    with serving(template, services=(address,), port=port) as client:
        for deep in range(1, 7):
            text = f"SERVICE <{address}> {{ {text} }}"
            answer = sent(client, f"SELECT * {{ {text} }}", QUERY)
            assert answer.status_code == (200 if deep <= 3 else 502), answer.text
        assert "more than 3 deep" in sent(client, "ASK {}", QUERY, **{"Triplake-Depth": "4"}).text
        assert sent(client, "ASK {}", QUERY, **{"Triplake-Depth": "x"}).status_code == 508


def test_a_server_that_asks_itself(template: Path) -> None:
    """It waits for itself where it answers one query at a time: to the end of its limit, and no longer."""
    address = dead_address()
    port = int(address.split(":")[2].removesuffix("/sparql"))
    text = f"SELECT * {{ SERVICE <{address}> {{ SERVICE <{address}> {{ ?x a <{EX}Person> }} }} }}"
    with serving(template, services=(address,), port=port) as client:
        assert rows(sent(client, text, QUERY)) == [{"x": f"{EX}a"}]
    limits = Limits(query_seconds=1.0, concurrent=1)
    with serving_with(template, limits, services=(address,), port=port) as (client, service):
        assert sent(client, text, QUERY).status_code == 503
        eventually(lambda: service.reads.inside == 0)
        assert people(client) == ["a"]
