"""The limit of time holds for every phase of a request, and leaves nothing running that others wait for."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from rdflib import URIRef

from tests.conftest import MakeStore
from tests.support.endless import endless
from tests.support.server import eventually, serving_with
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import StoppedError
from triplestore.model.stopping import Stop, check, heeding, interrupting
from triplestore.model.thresholds import SIZES
from triplestore.server.jobs import Answer, Job
from triplestore.server.settings import Limits
from triplestore.server.work import Service

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
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, Service]]:
    folder = tmp_path_factory.mktemp("limit")
    (folder / "many.nt").write_text(MANY)
    with Store.create(folder / "kg", rules=[]) as made:
        made.load(folder / "many.nt")
    with serving_with(folder / "kg", Limits(query_seconds=1.0, concurrent=2), memory_limit="1GB") as found:
        yield found


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
@pytest.mark.sampled(each=2)
def test_a_query_ends_at_its_limit(served: tuple[httpx.Client, Service], text: str) -> None:
    client, service = served
    started = time.monotonic()
    with contextlib.suppress(httpx.RemoteProtocolError):  # it was cut after the first rows
        assert client.get("/sparql", params={"query": text}).status_code == 503
    assert time.monotonic() - started < 3
    eventually(lambda: service.reads.inside == 0)
    assert time.monotonic() - started < 6


@pytest.mark.parametrize("text", UPDATES.values(), ids=UPDATES.keys())
def test_an_update_ends_at_its_limit(served: tuple[httpx.Client, Service], text: str) -> None:
    client, _ = served
    started = time.monotonic()
    answer = client.post("/sparql", content=text, headers={"Content-Type": "application/sparql-update"})
    assert time.monotonic() - started < 4
    assert (answer.status_code, "the update took longer" in answer.text) == (503, True)
    small = client.post(
        "/sparql", data={"update": "INSERT DATA { <urn:a> <urn:b> 1 }; DELETE DATA { <urn:a> <urn:b> 1 }"}
    )
    assert small.status_code == 200


def test_a_write_is_stopped_as_the_server_ends(served: tuple[httpx.Client, Service]) -> None:
    client, service = served
    graph = "".join(f"<urn:s{number}> <urn:q> <urn:t{number}> .\n" for number in range(200_000))
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(client.put, "/data?default", content=graph, headers={"Content-Type": "text/turtle"})
        eventually(lambda: service.writes.inside == 1)
        service.stop_writing()
        answer = sent.result()
    assert (answer.status_code, answer.text) == (503, "the server is shutting down\n")
    assert client.get("/health").json()["version"] == service.readers.version
    assert client.get("/sparql", params={"query": "ASK { ?s <urn:q> ?t }"}).json()["boolean"] is False


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


class _After(Stop):
    """A limit that is over at the look after so many."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def check(self) -> None:
        if self.left == 0:
            self.stop("late")
        self.left -= 1
        super().check()


RING = [(URIRef(f"u:{a}"), URIRef("u:next"), URIRef(f"u:{a + 1}")) for a in range(12)]


@pytest.mark.long_on_spark
@pytest.mark.parametrize("algorithm", ["rematerialise", "backward-forward"])
def test_an_update_is_stopped_wherever_it_looks(make_store: MakeStore, tmp_path: Path, algorithm: str) -> None:
    """Also while it maintains the closure; never once its version can be seen."""
    (tmp_path / "r.dlog").write_text("[?x, <u:next>, ?z] :- [?x, <u:next>, ?y], [?y, <u:next>, ?z] .\n")
    store = make_store([str(tmp_path / "r.dlog")])
    store.update(add=RING)
    text = "DELETE DATA { <u:3> <u:next> <u:4> } ; INSERT { ?x <u:prior> ?y } WHERE { ?y <u:next> ?x }"
    version, stopped = store.version, 0
    before = set(store.triples())
    while store.version == version:
        try:
            with heeding(_After(stopped)):
                store.sparql_update(text, maintain=algorithm)
        except StoppedError:
            stopped += 17
            assert (store.version, set(store.triples())) == (version, before)
    assert stopped > 5 * 17
    assert len(set(store.triples())) == 2 * (6 + 36)  # rings of 0 to 3 and of 4 to 12


def test_the_engine_of_another_job_is_not_interrupted() -> None:
    """A reader is given to the next only when who stops this job has done so."""
    order, interrupting = list[str](), threading.Event()

    class Engine:
        def interrupt(self) -> None:
            interrupting.set()
            time.sleep(0.05)
            order.append("interrupted")

    class Given:
        version = 1

        @contextmanager
        def reading(self, timeout: float) -> Iterator[tuple[Given, Engine]]:
            yield self, Engine()
            order.append("given back")

    job = Job(Given(), lambda store: Answer("text/plain", iter(["x" * SIZES.piece, "y"])), {})  # type: ignore[arg-type]
    job.start()
    stopping = threading.Thread(target=job.stop, args=("enough",))
    stopping.start()
    assert interrupting.wait(60)
    job.end()
    stopping.join(60)
    assert order == ["interrupted", "given back"]
