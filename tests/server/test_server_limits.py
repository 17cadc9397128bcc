"""The limits of time, rows, bytes and requests, and what is freed when one is reached."""

from __future__ import annotations

import contextlib
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import httpx
import pytest
from rdflib import RDF, URIRef

from tests.support.server import (
    EX,
    PATIENCE,
    QUERY,
    TURTLE,
    UPDATE,
    add,
    cut,
    eventually,
    people,
    rows,
    sent,
    serving,
    serving_with,
)
from triplestore import Store
from triplestore.server.settings import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TestLimits:
    ENDLESS = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h . ?i ?t ?j FILTER(?a != ?j) }"
    WIDE = "SELECT * WHERE { ?a ?p ?b . ?c ?q ?d }"

    @pytest.fixture
    def large(self, tmp_path: Path) -> Path:
        path = tmp_path / "large"
        with Store.create(path, ["none"]) as made:
            made.update(add=[(URIRef(f"{EX}s{n}"), RDF.type, URIRef(f"{EX}T{n % 7}")) for n in range(1_000)])
        return path

    @staticmethod
    def wait_until(client: httpx.Client, reading: int = 0, waiting: int = 0) -> None:
        """Wait for so many requests to be carried out, and to wait. A place is free when the engine has stopped."""

        def holds() -> bool:
            health = client.get("/health").json()
            return (health["reading"], health["waiting"]) == (reading, waiting)

        eventually(holds)

    def test_a_query_without_end_is_cut(self, large: Path) -> None:
        import psutil

        process = psutil.Process()
        with serving(large) as client:
            assert len(rows(sent(client, "SELECT * {?s ?p ?o}", QUERY))) == 1_000
            before = process.memory_info().rss
            for _ in range(3):
                answer = client.post("/sparql?timeout=0.5", data={"query": self.ENDLESS})
                assert answer.status_code == 503, answer.text
                assert "longer than 0.5 s" in answer.text
            self.wait_until(client, reading=0)
            assert len(rows(sent(client, "SELECT * {?s ?p ?o}", QUERY))) == 1_000
            eventually(lambda: process.memory_info().rss - before < 200 << 20)

    @pytest.mark.long
    def test_the_memory_of_a_query_that_is_cut_is_given_back(self, tmp_path: Path) -> None:
        """A sort takes hold of all that is allowed before its end is near; the process lets go of it afterwards."""
        import psutil

        path = tmp_path / "kg"
        with Store.create(path, ["none"]) as made:
            made.update(add=[(URIRef(f"{EX}s{n}"), RDF.type, URIRef(f"{EX}T{n % 7}")) for n in range(20_000)])
        process = psutil.Process()
        with serving(path, memory_limit="1GB") as client:
            assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]
            before = peak = process.memory_info().rss
            with ThreadPoolExecutor(1) as pool:
                for _ in range(2):
                    sort = {"query": self.WIDE + " ORDER BY ?a ?d"}
                    answer = pool.submit(client.post, "/sparql?timeout=3", data=sort)
                    while not answer.done():
                        peak = max(peak, process.memory_info().rss)
                        time.sleep(0.05)
                    assert answer.result().status_code == 503, answer.result().text
            assert peak - before > 200 << 20
            eventually(lambda: process.memory_info().rss - before < 100 << 20)
            assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]

    @pytest.mark.spark
    def test_on_spark_its_jobs_are_cancelled(self, large: Path, spark: SparkSession) -> None:
        """Of three tables, so that tasks end soon after their job."""
        never = "FILTER(CONCAT(STR(?a), STR(?d), STR(?f)) = '')"
        product = f"SELECT (COUNT(*) AS ?n) WHERE {{ ?a ?p ?b . ?c ?q ?d . ?e ?r ?f {never} }}"
        jobs = spark.sparkContext.statusTracker()
        with serving(large, engine="spark", spark=spark) as client:
            assert client.post("/sparql?timeout=2", data={"query": product}).status_code == 503
            self.wait_until(client, reading=0)
            eventually(lambda: not jobs.getActiveJobsIds())
            assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]

    def test_no_longer_than_the_servers_limit(self, large: Path) -> None:
        with serving(large, Limits(query_seconds=0.5)) as client:
            answer = client.post("/sparql?timeout=1000", data={"query": self.ENDLESS})
            assert answer.status_code == 503
            assert "longer than 0.5 s" in answer.text

    def test_a_stream_that_is_cut_is_no_whole_answer(self, large: Path) -> None:
        with serving(large) as client:
            cut(client, data={"query": self.WIDE})

    def test_a_client_that_goes_frees_its_place(self, large: Path) -> None:
        """Long before the time limit does."""
        with serving(large, Limits(query_seconds=3_600, concurrent=1)) as client:
            for query in (self.ENDLESS, self.WIDE):
                asked = client.stream("POST", "/sparql", data={"query": query}, timeout=httpx.Timeout(PATIENCE, read=1))
                with contextlib.suppress(httpx.ReadTimeout), asked as answer:
                    assert query == self.WIDE
                    next(answer.iter_raw())
                assert client.get("/sparql", params={"query": "ASK {?s ?p ?o}"}).json()["boolean"]

    def test_too_many(self, large: Path) -> None:
        with ThreadPoolExecutor(3) as pool:
            limits = Limits(query_seconds=3_600, concurrent=1, queue=2)
            with serving_with(large, limits) as (client, service):
                running = pool.submit(sent, client, self.ENDLESS, QUERY)
                self.wait_until(client, reading=1)
                waiting = [pool.submit(sent, client, self.ENDLESS, QUERY) for _ in range(2)]
                self.wait_until(client, reading=1, waiting=2)
                for _ in range(3):
                    answer = sent(client, self.ENDLESS, QUERY)
                    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                    assert "too many requests wait" in answer.text
                service.shut()
                stopped = [future.result() for future in (running, *waiting)]
            assert [answer.status_code for answer in stopped] == [503] * 3
            assert all("shutting down" in answer.text and "retry-after" in answer.headers for answer in stopped)

    def test_rows(self, large: Path) -> None:
        with serving(large, Limits(rows=999)) as client:
            assert "more than 999 rows" in sent(client, "SELECT * {?s ?p ?o}", QUERY).text
            assert len(rows(sent(client, "SELECT * {?s ?p ?o} LIMIT 999", QUERY))) == 999

    def test_an_answer_that_is_made_whole_leaves_room_on_the_disk(
        self, large: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As much as it takes."""
        monkeypatch.setattr("triplestore.model.thresholds.Sizes.block", 1 << 16)
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000_000))
        with serving(large) as client:
            for rows_, status in ((1_000, 200), (10_000, 400)):
                query = f"SELECT ?a ?b {{ ?a ?p ?b . ?c ?q ?d }} LIMIT {rows_}"
                answer = sent(client, query, QUERY, Accept="application/sparql-results+xml")
                assert answer.status_code == status
            assert "ask for JSON" in answer.text
            assert sent(client, query, QUERY).status_code == 200

    def test_body(self, store: Path) -> None:
        with serving(store, Limits(body=1_000)) as client:
            assert sent(client, add("b") + " " * 1_000).status_code == 413
            chunked = client.post("/sparql", content=iter([b" " * 600] * 2), headers={"Content-Type": UPDATE})
            assert chunked.status_code == 413
            assert client.put("/data?default", content=b" " * 1_001, headers=TURTLE).status_code == 413
            assert people(client) == ["a"]

    @pytest.mark.sampled(each=2)
    @pytest.mark.parametrize(
        "text", [f'CONCAT(STR(?a), "{"a" * 5_000}")', f'"{"a" * 30_000}"'], ids=["computed", "constant"]
    )
    def test_memory_stays_flat_over_long_texts(self, large: Path, text: str) -> None:
        import psutil

        process = psutil.Process()
        with serving(large) as client:
            peak, size, start = 0, 0, process.memory_info().rss
            query = f"SELECT ({text} AS ?x) {{ ?a ?p ?b . ?c ?q ?d }}"
            headers = {"Accept": "text/csv", "Accept-Encoding": "identity"}
            with client.stream("POST", "/sparql", data={"query": query}, headers=headers) as answer:
                assert answer.status_code == 200, answer.read()
                for chunk in answer.iter_raw():
                    size += len(chunk)
                    peak = max(peak, process.memory_info().rss)
                    if size > 100 << 20:
                        break
            assert size > 100 << 20
            assert peak - start < 350 << 20

    def test_memory_stays_flat_over_a_large_answer(self, large: Path) -> None:
        import psutil

        process = psutil.Process()
        with serving(large) as client:
            peak, size, start = 0, 0, process.memory_info().rss
            with client.stream(
                "POST", "/sparql", data={"query": self.WIDE + " LIMIT 300000"}, headers={"Accept-Encoding": "identity"}
            ) as answer:
                for chunk in answer.iter_raw():
                    size += len(chunk)
                    peak = max(peak, process.memory_info().rss)
            assert size > 50 << 20
            assert peak - start < 150 << 20
