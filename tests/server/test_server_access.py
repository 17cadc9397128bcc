"""Who may do what: tokens, users, pages of other sites, and the names of the server."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.server import EX, OPEN, PEOPLE, TURTLE, add, people, request, sent, serving, spoken
from triplestore.server.settings import Access


class TestAccess:
    TOKEN: ClassVar = {"Authorization": "Bearer s3cret"}
    BASIC: ClassVar = {"Authorization": "Basic " + base64.b64encode("ann:pässword".encode()).decode()}
    ACCESS = Access(("s3cret", "other"), (("ann", "pässword"),))
    WRONG = (
        {"Authorization": "Bearer s3cre"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic " + base64.b64encode(b"ann:no").decode()},
        {"Authorization": "Basic !"},
        {"Authorization": "Digest s3cret"},
    )

    @pytest.mark.parametrize("protect", [False, True])
    def test_matrix(self, store: Path, protect: bool) -> None:
        access = Access(self.ACCESS.tokens, self.ACCESS.users, protect_reads=protect)
        with serving(store, access=access) as client:
            reads = [lambda h: client.get("/sparql", params={"query": PEOPLE}, headers=h),
                     lambda h: client.post("/sparql", data={"query": PEOPLE}, headers=h),
                     lambda h: client.get("/data?default", headers=h),
                     lambda h: client.get("/stats", headers=h)]  # fmt: skip
            writes = [lambda h: client.post("/sparql", data={"update": add("b")}, headers=h),
                      lambda h: sent(client, add("c"), **h),
                      lambda h: client.post("/data?default", content=b"", headers=TURTLE | h)]  # fmt: skip
            for right in (self.TOKEN, self.BASIC):
                assert {ask(right).status_code for ask in (*reads, *writes)} == {200}
            assert {ask({}).status_code for ask in reads} == ({401} if protect else {200})
            assert {ask({}).status_code for ask in writes} == {401}
            assert client.delete("/data?default").status_code == client.put("/data?default").status_code == 401
            assert {ask(wrong).status_code for wrong in self.WRONG for ask in (*reads, *writes)} == {401}
            assert "Bearer" in writes[0]({}).headers["www-authenticate"]
            assert "Authorization: Bearer TOKEN" in writes[0]({}).text
            assert people(client, headers=self.TOKEN) == ["a", "b", "c"]
            for path in ("/", "/health", "/openapi.json", "/static/app.css"):
                assert client.get(path).status_code == 200
            for path in ("/", "/static/app.css"):  # as it may be another after an upgrade
                assert client.get(path).headers["cache-control"] == "no-cache"
            known = {"If-None-Match": client.get("/static/app.css").headers["etag"]}
            assert client.get("/static/app.css", headers=known).status_code == 304

    def test_pages_of_other_sites(self, store: Path) -> None:
        access = Access(origins=("https://friend.example",), hosts=OPEN.hosts)
        with serving(store, access=access) as client:
            evil, friend = {"Origin": "https://evil.example"}, {"Origin": "https://friend.example"}
            assert client.post("/sparql", data={"update": add("b")}, headers=evil).status_code == 403
            assert client.post("/sparql", data={"update": add("b")}, headers={"Origin": "null"}).status_code == 403
            assert client.post("/sparql", data={"query": PEOPLE}, headers={"Origin": "http://[x"}).status_code == 403
            assert people(client) == ["a"]
            assert "access-control-allow-origin" not in client.get("/health", headers=evil).headers
            same = {"Origin": str(client.base_url).rstrip("/")}
            assert client.post("/sparql", data={"update": add("c")}, headers=same).status_code == 200
            answer = client.post("/sparql", data={"update": add("d")}, headers=friend)
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == "https://friend.example"
            asked = client.options("/sparql", headers=friend | {"Access-Control-Request-Method": "POST"})
            assert asked.status_code == 204
            assert "POST" in asked.headers["access-control-allow-methods"]
            assert {"if-none-match", "if-match"} <= {*asked.headers["access-control-allow-headers"].split(", ")}
            assert "Location" in answer.headers["access-control-expose-headers"]
            assert client.options("/sparql", headers=evil).status_code == 405

    def test_names(self, store: Path) -> None:
        with serving(store) as client:
            assert client.get("/health", headers={"Host": "evil.example:80"}).status_code == 400
            assert client.get("/health", headers={"Host": "localhost"}).status_code == 200

    def test_whole_addresses(self, store: Path) -> None:
        """As clients send them to proxies; the host that counts is the one in them."""
        with serving(store) as client:
            for address, status in (
                ("http://localhost/data/%61?dry_run=true", 404),
                ("HTTP://127.0.0.1:1/data/a", 200),
                ("http://localhost", 405),
                ("http://evil.example/data/a", 400),
                ("ftp://localhost/data/a", 404),
            ):
                client.put("/data/a", content=b"", headers=TURTLE | {"Host": "127.0.0.1:1"})
                assert spoken(client, request(f"DELETE {address}"))[0] == status, address
            got = spoken(client, request(f"GET http://localhost/sparql?query=ASK%20%7B%20%3C{EX}a%3E%20a%20?x%20%7D"))
            assert b"true" in got[1]
