"""The limit of time holds for every phase of a request, and leaves nothing running that others wait for."""

from __future__ import annotations

import contextlib
import time

import httpx
import pytest

from tests.server.test_readers import endless
from tests.support.server import eventually, serving_with
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import StoppedError
from triplestore.model.stopping import Stop, check, heeding, interrupting
from triplestore.server.settings import Limits

MANY = "".join(f"<urn:s{number}> <urn:p{number % 7}> <urn:o{number % 97}> .\n" for number in range(3_000))

CROSS = "?a ?p ?b . ?c ?q ?d . ?e ?r ?f"

QUERIES = {
    "a cross product": f"SELECT (COUNT(*) AS ?n) {{ {CROSS} FILTER(CONCAT(STR(?a), STR(?c)) < STR(?e)) }}",
    "a cross product, sorted": f"SELECT * {{ {CROSS} }} ORDER BY ?a ?c ?e",
    "inline data": "SELECT (COUNT(*) AS ?n) { "
    + " ".join(f"VALUES ?{name} {{ {' '.join(map(str, range(400)))} }}" for name in "abcd")
    + " FILTER(?a + ?b + ?c < ?d) }",
    "everything in one string": f"SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?c))) AS ?x) {{ {CROSS} }}",
    "paths": "SELECT (COUNT(*) AS ?n) { ?a (!<urn:x>|^!<urn:x>)+ ?b . "
    "?c (!<urn:x>|^!<urn:x>)+ ?d FILTER(CONCAT(STR(?a), STR(?c)) < STR(?d)) }",
    "rows without end": f"SELECT * {{ {CROSS} }}",
    "triples without end": f"CONSTRUCT {{ ?a ?q ?f }} {{ {CROSS} }}",
}

UPDATES = {
    "a cross product": f"DELETE {{ ?a ?p ?b }} WHERE {{ {CROSS} FILTER(CONCAT(STR(?a), STR(?c)) < STR(?e)) }}",
    "triples without end": f"INSERT {{ ?a ?q ?f }} WHERE {{ {CROSS} }}",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("limit")
    (folder / "many.nt").write_text(MANY)
    with Store.create(folder / "kg", rules=[]) as made:
        made.load(folder / "many.nt")
    with serving_with(folder / "kg", Limits(query_seconds=1.0, concurrent=2), memory_limit="1GB") as found:
        yield found


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_a_query_ends_at_its_limit(served: tuple[httpx.Client, object], text: str) -> None:
    client, service = served
    started = time.monotonic()
    with contextlib.suppress(httpx.RemoteProtocolError):  # it was cut after the first rows
        assert client.get("/sparql", params={"query": text}).status_code == 503
    assert time.monotonic() - started < 3
    eventually(lambda: service.reads.inside == 0)  # type: ignore[attr-defined]
    assert time.monotonic() - started < 6


@pytest.mark.parametrize("text", UPDATES.values(), ids=UPDATES.keys())
def test_an_update_ends_at_its_limit(served: tuple[httpx.Client, object], text: str) -> None:
    client, _ = served
    started = time.monotonic()
    answer = client.post("/sparql", content=text, headers={"Content-Type": "application/sparql-update"})
    assert time.monotonic() - started < 4
    assert (answer.status_code, "the update took longer" in answer.text) == (503, True)
    small = client.post(
        "/sparql", data={"update": "INSERT DATA { <urn:a> <urn:b> 1 }; DELETE DATA { <urn:a> <urn:b> 1 }"}
    )
    assert small.status_code == 200


def test_steps_in_python_heed_it() -> None:
    with heeding(Stop(0.0, "late")), pytest.raises(StoppedError, match="late"):
        check()
    check()


def test_a_writer_is_stopped_in_a_statement(engine: Engine) -> None:
    sql = endless(engine)
    started = time.monotonic()
    with pytest.raises(StoppedError, match="late"), heeding(Stop(1.0, "late")), interrupting(engine):
        engine.create("found", sql)
    assert time.monotonic() - started < 20
    assert engine.rows("SELECT count(*) FROM many") == [(10_000,)]
