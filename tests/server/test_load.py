"""Many clients at once: no request fails, none waits for an update; and how fast that is at ten universities."""

from __future__ import annotations

import http.client
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from rdflib import RDF, RDFS, URIRef

from tests import ROOT
from tests.support.cli import command
from tests.support.server import PATIENCE, eventually, rows, serving
from triplestore import Store

EX = "http://ex/"
CONNECTIONS = 8
DEPARTMENT = "http://www.Department0.University0.edu"
UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("load") / "kg"
    with Store.create(path, ["owl2rl"]) as made:
        of = [(URIRef(f"{EX}n{i}"), RDF.type, URIRef(f"{EX}T{i % 5}")) for i in range(200)]
        up = [(URIRef(f"{EX}T{i}"), RDFS.subClassOf, URIRef(EX + "Thing")) for i in range(5)]
        made.update(add=[*of, *up])
    return path


def test_mixed_requests_beside_updates(store: Path) -> None:
    """Each of 8 clients finds what it should, in each form, while a ninth adds things one by one."""
    with serving(store) as server:
        base = str(server.base_url)

        def read(number: int) -> set[int]:
            dice = random.Random(number)
            with httpx.Client(base_url=base, timeout=PATIENCE) as client:
                for _ in range(25):
                    ask = dice.choice(READS)
                    answer = ask(client, dice.randrange(200))
                    assert answer.status_code == 200, answer.text
                return {answer.status_code}

        def write(_: int) -> set[int]:
            with httpx.Client(base_url=base, timeout=PATIENCE) as client:
                texts = [f"INSERT DATA {{ <{EX}new{i}> a <{EX}T1> }}" for i in range(5)]
                return {client.post("/sparql", data={"update": text}).status_code for text in texts}

        with ThreadPoolExecutor(CONNECTIONS + 1) as pool:
            done = [*pool.map(read, range(CONNECTIONS)), *pool.map(write, range(1))]
        assert set.union(*done) == {200}
        things = rows(server.get("/sparql", params={"query": f"SELECT (COUNT(*) AS ?n) {{ ?x a <{EX}Thing> }}"}))
        assert things == [{"n": "205"}]


def _select(text: str) -> Callable[[httpx.Client, int], httpx.Response]:
    return lambda client, n: client.get("/sparql", params={"query": text.replace("$n", str(n))})


READS: list[Callable[[httpx.Client, int], httpx.Response]] = [
    _select(f"SELECT * {{ <{EX}n$n> ?p ?o }}"),
    _select(f"SELECT ?x {{ ?x a <{EX}Thing> }} ORDER BY ?x LIMIT 10 OFFSET $n"),
    _select(f"ASK {{ <{EX}n$n> a <{EX}Thing> }}"),
    _select(f"CONSTRUCT {{ ?x <{EX}is> ?c }} WHERE {{ VALUES ?x {{ <{EX}n$n> }} ?x a ?c }}"),
    _select("SELECT ?c (COUNT(*) AS ?n) { ?x a ?c } GROUP BY ?c"),
    lambda client, n: client.get("/api/resource", params={"term": f"{EX}n{n}"}),
    lambda client, n: client.get("/stats"),
    lambda client, n: client.get("/health"),
]


def test_an_update_blocks_no_query(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries are answered while an update goes on that does not end before they are."""
    answered, carry_out = threading.Event(), Store.update_together

    def waiting(self: Store, *arguments: Any, **options: Any) -> list[Any]:
        assert answered.wait(PATIENCE)
        return carry_out(self, *arguments, **options)

    monkeypatch.setattr(Store, "update_together", waiting)
    with ThreadPoolExecutor(1) as pool, serving(store) as server:
        try:
            update = pool.submit(server.post, "/sparql", data={"update": f"INSERT DATA {{ <{EX}late> a <{EX}T1> }}"})
            eventually(lambda: bool(server.get("/health").json()["writing"]))
            for n in range(20):
                assert rows(server.get("/sparql", params={"query": f"SELECT * {{ <{EX}n{n}> ?p ?o }}"}))
            assert server.get("/sparql", params={"query": f"ASK {{ <{EX}late> ?p ?o }}"}).json()["boolean"] is False
            assert not update.done()
        finally:
            answered.set()
        assert update.result().status_code == 200
        assert server.get("/sparql", params={"query": f"ASK {{ <{EX}late> a <{EX}Thing> }}"}).json()["boolean"] is True


# Ten universities ----------------------------------------------------------------------------------------------------

LOOKUP = "SELECT ?p ?o WHERE { <$x> ?p ?o }"
MIX = [
    *[LOOKUP] * 6,
    "ASK { <$x> a <" + UB + "Person> }",
    "SELECT ?c WHERE { <$x> <" + UB + "takesCourse> ?c }",
    "SELECT ?y ?n WHERE { <$x> <" + UB + "memberOf> ?d . ?y <" + UB + "worksFor> ?d ; <" + UB + "name> ?n } LIMIT 20",
    "DESCRIBE <$x>",
]


@pytest.fixture(scope="module")
def universities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("universities")
    making = [sys.executable, "-m", "datasets.university", "-n", "10", "--ontology", "-o", str(folder / "u10.nt")]
    subprocess.run(making, cwd=ROOT, check=True)
    with Store.create(folder / "kg", ["owl2rl"]) as made:
        made.load(folder / "u10.nt")
    return folder / "kg"


@pytest.fixture(scope="module")
def address(universities: Path) -> Iterator[str]:
    """Where `triplake serve`, a process of its own, answers."""
    serve = command("serve", universities, "--port", "0", "--no-access-log")
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            while not (found := re.search(r"http://\S+/", line := process.stderr.readline())):
                assert line
            yield found.group()
        finally:
            process.terminate()


def people(address: str) -> list[str]:
    text = f"SELECT ?x WHERE {{ ?x a <{UB}GraduateStudent> }} ORDER BY ?x LIMIT 2000"
    return [row["x"] for row in rows(httpx.get(f"{address}sparql", params={"query": text}, timeout=PATIENCE))]


@pytest.mark.long
class TestTenUniversities:
    def test_lookups_in_process(self, universities: Path) -> None:
        """All facts of one resource: below 10 ms, the median of warm ones."""
        with Store.open(universities) as store:
            found = store.query(f"SELECT ?x WHERE {{ ?x a <{UB}GraduateStudent> }} LIMIT 300")
            names = [str(x) for (x,) in found]
            taken = []
            for name in names:
                started = time.perf_counter()
                assert len(list(store.query(LOOKUP.replace("$x", name)))) > 5
                taken.append((time.perf_counter() - started) * 1000)
        print("lookup in process:", quantiles(taken[20:]))
        assert statistics.median(taken[20:]) < 10

    def test_lookups_through_the_server(self, address: str) -> None:
        """Below 20 ms, the median of warm ones."""
        client = Client(address)
        taken = [client.ask(LOOKUP.replace("$x", name)) for name in people(address)[:300]]
        print("lookup through the server:", quantiles(taken[20:]))
        assert statistics.median(taken[20:]) < 20

    @pytest.mark.parametrize("updating", [False, True])
    def test_two_hundred_requests_a_second(self, address: str, updating: bool) -> None:
        """At 8 connections for 20 seconds, without an error, also beside updates that never pause; a tenth of that,
        where other tests have the processors too."""
        names = people(address)
        end, taken, updates = time.perf_counter() + 20, [], []

        def read(number: int) -> None:
            dice, client = random.Random(number), Client(address)
            while time.perf_counter() < end:
                taken.append(client.ask(dice.choice(MIX).replace("$x", dice.choice(names))))

        def write() -> None:
            client = Client(address)
            while updating and time.perf_counter() < end:
                text = f"INSERT DATA {{ <{EX}s{len(updates)}> <{UB}memberOf> <{DEPARTMENT}> }}"
                updates.append(client.ask(text, "update"))

        with ThreadPoolExecutor(CONNECTIONS + 1) as pool:
            done = [pool.submit(write), *(pool.submit(read, number) for number in range(CONNECTIONS))]
            for future in done:
                future.result()
        print(f"{len(taken) / 20:.0f} requests/s:", quantiles(taken))
        if updating:
            print(f"beside {len(updates)} updates:", quantiles(updates))
        assert len(taken) / 20 >= (200 if "PYTEST_XDIST_WORKER" not in os.environ else 20)


class Client:
    """A connection that stays open, with as little around it as there can be: it runs on the server's machine."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address.removeprefix("http://").rstrip("/"), timeout=PATIENCE)

    def ask(self, text: str, what: str = "query") -> float:
        """Send a query or an update; the milliseconds until its answer was there, which is no error."""
        started = time.perf_counter()
        headers = {"Content-Type": f"application/sparql-{what}"}
        self._connection.request("POST", "/sparql", text.encode(), headers)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return (time.perf_counter() - started) * 1000


def quantiles(taken: list[float]) -> str:
    cuts = statistics.quantiles(taken, n=100)
    return f"median {cuts[49]:.1f} ms, 95 % {cuts[94]:.1f} ms, 99 % {cuts[98]:.1f} ms"
