"""Requests and answers packed by gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from rdflib import RDF, URIRef

from tests.support.server import EX, QUERY, TURTLE, UPDATE, add, cut, people, rows, sent, serving
from triplestore import Store
from triplestore.server.negotiation import takes_gzip
from triplestore.server.settings import Limits


class TestPackedRequests:
    def test_gzip(self, client: httpx.Client) -> None:
        packed = {"Content-Encoding": "gzip"}
        one, two = (f"<{EX}{name}> a <{EX}Student> .\n".encode() for name in "bc")
        assert client.post("/data?default", content=gzip.compress(one), headers=TURTLE | packed).json()["version"] == 3
        both = gzip.compress(one) + gzip.compress(two)
        assert client.post("/data?default", content=both, headers=TURTLE | packed).status_code == 200
        assert people(client) == ["a", "b", "c"]
        for kind, content in ((UPDATE, add("d")), (QUERY, "ASK {?s ?p ?o}")):
            headers = {"Content-Type": kind} | packed
            assert client.post("/sparql", content=gzip.compress(content.encode()), headers=headers).status_code == 200
        assert people(client) == ["a", "b", "c", "d"]

    def test_no_gzip(self, client: httpx.Client) -> None:
        packed = TURTLE | {"Content-Encoding": "gzip"}
        whole = gzip.compress(f"<{EX}b> a <{EX}Student> .".encode())
        for content in (b"<a> <b> <c> .", b"", whole[:-9], whole + b"x"):
            answer = client.put("/data?default", content=content, headers=packed)
            assert (answer.status_code, "gzip" in answer.text) == (400, True)
        for coding in ("br", "deflate", "gzip, gzip"):
            answer = client.put("/data?default", content=whole, headers=TURTLE | {"Content-Encoding": coding})
            assert (answer.status_code, answer.headers["accept-encoding"]) == (415, "gzip")
        assert people(client) == ["a"]

    def test_a_bomb(self, store: Path) -> None:
        with serving(store, Limits(body=100_000)) as client:
            bomb = gzip.compress(b" " * 50_000_000)
            assert len(bomb) < 100_000
            headers = {"Content-Encoding": "gzip"}
            assert client.put("/data?default", content=bomb, headers=TURTLE | headers).status_code == 413
            assert client.post("/sparql", content=bomb, headers={"Content-Type": QUERY} | headers).status_code == 413

    def test_it_grows_at_the_end(self, client: httpx.Client) -> None:
        """What the last bytes stand for comes whole."""
        text = add("b") + " " * 3_000_000 + f"; {add('c')}"
        content = gzip.compress(text.encode())
        headers = {"Content-Type": UPDATE, "Content-Encoding": "gzip"}
        assert client.post("/sparql", content=content, headers=headers).status_code == 200
        assert people(client) == ["a", "b", "c"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("large") / "kg"
    with Store.create(path, ["none"]) as made:
        made.update(add=[(URIRef(f"{EX}s{n}"), RDF.type, URIRef(f"{EX}T{n % 7}")) for n in range(300)])
    with serving(path) as client:
        yield client


class TestPackedAnswers:
    WIDE = "SELECT * { ?a ?p ?b . ?c ?q ?d }"

    @staticmethod
    def raw(client: httpx.Client, query: str, coding: str) -> tuple[httpx.Headers, bytes]:
        """The headers and the body as they come."""
        headers = {"Content-Type": QUERY, "Accept": "text/csv", "Accept-Encoding": coding}
        with client.stream("POST", "/sparql", content=query.encode(), headers=headers) as answer:
            return answer.headers, b"".join(answer.iter_raw())

    @pytest.mark.parametrize("query", ["SELECT * {?s ?p ?o}", WIDE], ids=["whole", "stream"])
    def test_for_who_takes_it(self, large: httpx.Client, query: str) -> None:
        told, plain = self.raw(large, query, "identity")
        assert "content-encoding" not in told
        headers, packed = self.raw(large, query, "gzip, deflate")
        assert headers["content-encoding"] == "gzip"
        assert {"Accept", "Accept-Encoding"} <= {name.strip() for name in headers["vary"].split(",")}
        assert sorted(gzip.decompress(packed).splitlines()) == sorted(plain.splitlines())
        assert len(packed) < len(plain) / 5
        assert "content-encoding" not in self.raw(large, query, "gzip;q=0, *")[0]

    def test_small_ones_are_left_alone(self, large: httpx.Client) -> None:
        headers, body = self.raw(large, "ASK {}", "gzip")
        assert "content-encoding" not in headers
        assert (headers["content-length"], body) == ("5", b"true\n")

    def test_the_first_rows_come_before_the_last(self, large: httpx.Client) -> None:
        headers = {"Content-Type": QUERY, "Accept": "text/csv", "Accept-Encoding": "gzip"}
        query = f"{self.WIDE[:-1]} . ?e ?r ?f . ?g ?s ?h }}"
        with large.stream("POST", "/sparql", content=query, headers=headers) as answer:
            first = next(answer.iter_raw())
        assert zlib.decompressobj(31).decompress(first).startswith(b"a,p,b,c,q,d,")

    def test_a_cut_one_has_no_end(self, large: httpx.Client) -> None:
        query = f"{self.WIDE[:-1]} . ?e ?r ?f . ?g ?s ?h }}"
        headers = {"Content-Type": QUERY, "Accept": "text/csv", "Accept-Encoding": "gzip"}
        cut(large, content=query, headers=headers)

    def test_others(self, large: httpx.Client) -> None:
        for path in ("/static/app.css", "/openapi.json", "/data?default"):
            answer = large.get(path, headers={"Accept-Encoding": "gzip"})
            assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip")
            assert len(answer.content) > 1_000
        assert rows(sent(large, "SELECT * {?s ?p ?o} LIMIT 200", QUERY))


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("x-gzip", True),
        ("gzip;q=0", False),
        ("gzip; q=0.00", False),
        ("gzip; q=0.01", True),
        ("", False),
        ("identity, *", False),
        ("gzipped", False),
    ],
)
def test_who_takes_it(header: str, taken: bool) -> None:
    assert takes_gzip(header) is taken
