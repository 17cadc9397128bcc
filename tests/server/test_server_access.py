"""Who may do what: tokens, users, pages of other sites, and the names of the server."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.server import EX, OPEN, PEOPLE, QUERY, TURTLE, add, answering, people, request, sent, serving, spoken
from triplestore.server import attempts
from triplestore.server.served import Served
from triplestore.server.settings import Access, Settings
from triplestore.server.work import Service


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
    def test_matrix(self, store: Path, protect: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attempts, "BURST", 1_000)
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
            other = {"Origin": str(client.base_url).rstrip("/").replace("http:", "https:")}
            assert client.post("/sparql", data={"update": add("b")}, headers=other).status_code == 403
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

    @pytest.mark.parametrize(
        ("origin", "host", "proto", "status"),
        [
            ("http://kg.example", "kg.example", "http", 200),
            ("http://kg.example", "kg.example:80", "http", 200),
            ("https://KG.example", "kg.example:443", "https", 200),
            ("https://kg.example", "kg.example", "http", 403),
            ("http://kg.example", "kg.example", "https", 403),
            ("http://kg.example:8080", "kg.example", "http", 403),
            ("http://other.kg.example", "kg.example", "http", 403),
            ("http://kg.example.", "kg.example", "http", 403),
            ("http://[::1]:99999", "kg.example", "http", 403),
            ("kg.example", "kg.example", "http", 403),
            ("null", "kg.example", "http", 403),
            ("", "kg.example", "http", 403),
        ],
    )
    def test_what_is_another_site(self, template: Path, origin: str, host: str, proto: str, status: int) -> None:
        """Scheme, host and port count, as a proxy on this machine says that they are."""
        headers = {"Origin": origin, "Host": host, "X-Forwarded-Proto": proto, "Content-Type": QUERY}
        with answering({"": Served(Service(template, Settings(access=Access()), engine="duckdb"))}) as client:
            assert client.post("/sparql", content="ASK {}", headers=headers).status_code == status

    @pytest.mark.parametrize(
        ("site", "origin", "status"),
        [
            ("same-origin", "own", 200),
            ("none", None, 200),
            ("cross-site", None, 403),
            ("Cross-Site", "own", 403),
            ("same-site", None, 403),
            ("cross-site", "https://friend.example", 200),
            ("same-site", "https://friend.example", 200),
        ],
    )
    def test_what_browsers_say_of_the_site(self, store: Path, site: str, origin: str | None, status: int) -> None:
        access = Access(origins=("https://friend.example",), hosts=OPEN.hosts)
        with serving(store, access=access) as client:
            headers = {"Sec-Fetch-Site": site}
            if origin is not None:
                headers["Origin"] = str(client.base_url).rstrip("/") if origin == "own" else origin
            assert client.post("/sparql", data={"update": add("b")}, headers=headers).status_code == status
            assert client.request("DELETE", "/data?default", headers=headers).status_code == status
            assert client.get("/sparql", params={"query": PEOPLE}, headers=headers).status_code == 200

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
