"""Requests that offer HTTP/2 with their body, and bodies that are lost on the way."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.server import EX, PATIENCE, QUERY, UPDATE, add, people, request, spoken
from triplestore.server.bodies import text
from triplestore.server.faults import HttpError
from triplestore.server.held import Held, Room
from triplestore.server.settings import Settings

UPGRADE = (
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
)


class TestUpgrades:
    """Java's clients offer HTTP/2 in their first request; what they send with it must arrive."""

    def test_put(self, client: httpx.Client) -> None:
        body = f"<{EX}b> a <{EX}Person> .".encode()
        said = request("PUT /data?default", body, f"{UPGRADE}Content-Type: text/turtle\r\n")
        with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=PATIENCE) as opened:
            opened.sendall(said)
            assert opened.recv(1 << 16).startswith(b"HTTP/1.1 200")
        assert people(client) == ["b"]

    @pytest.mark.parametrize("chunked", [False, True])
    def test_update_and_query(self, client: httpx.Client, chunked: bool) -> None:
        headers = UPGRADE.replace("Connection: Upgrade", "Connection: close, Upgrade")
        for kind, body in ((UPDATE, add("b").encode()), (QUERY, b"ASK { ?s ?p ?o }")):
            said = f"{headers}Content-Type: {kind}\r\n"
            if chunked:
                packed = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
                head = f"POST /sparql HTTP/1.1\r\nHost: localhost\r\n{said}Transfer-Encoding: chunked\r\n\r\n"
                status, answer = spoken(client, head.encode(), packed)
            else:
                status, answer = spoken(client, request("POST /sparql", body, said))
            assert status == 200, answer
        assert people(client) == ["a", "b"]

    def test_websocket(self, client: httpx.Client) -> None:
        headers = "Connection: close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        assert spoken(client, request("GET /health", headers=headers))[0] == 200

    def test_a_body_that_is_shorter_than_it_says(self, client: httpx.Client, store: Path) -> None:
        """Whatever hands the request over: an empty body is no empty graph."""
        body = f"<{EX}b> a <{EX}Person> .".encode()
        with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=PATIENCE) as opened:
            opened.sendall(request("PUT /data?default", body, "Content-Type: text/turtle\r\n", length=len(body) + 1))
            opened.shutdown(socket.SHUT_WR)
            assert b" 200 " not in opened.recv(1 << 16)
        assert people(client) == ["a"]

    def test_no_length(self, client: httpx.Client) -> None:
        """Of a PUT whose body was lost on the way; one that means no triples says so."""
        for line, kind in (("PUT /data?default", "text/turtle"), ("POST /sparql", UPDATE)):
            head = f"{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n\r\n"
            status, answer = spoken(client, head.encode())
            assert (status, b"Content-Length" in answer) == (411, True)
        assert people(client) == ["a"]
        assert spoken(client, request("PUT /data?default", b"", "Content-Type: text/turtle\r\n"))[0] == 200
        assert people(client) == []

    async def _read(self, length: int, *bodies: bytes) -> str:
        from starlette.requests import Request

        messages = [{"type": "http.request", "body": body, "more_body": True} for body in bodies[:-1]]
        messages.append({"type": "http.request", "body": bodies[-1], "more_body": False})

        async def receive() -> Any:
            return messages.pop(0)

        class App:
            class state:
                class served:
                    class service:
                        settings = Settings()

        headers = [(b"content-length", str(length).encode())]
        scope = {"type": "http", "method": "POST", "headers": headers, "app": App, "triplake.body": Held(Room(0), "")}
        return await text(Request(scope, receive), 1_000)

    def test_a_body_that_was_dropped(self) -> None:
        import asyncio

        assert asyncio.run(self._read(4, b"ab", b"cd")) == "abcd"
        with pytest.raises(HttpError, match="0 bytes where Content-Length says 4") as raised:
            asyncio.run(self._read(4, b""))
        assert raised.value.status == 400

    @pytest.mark.long
    def test_jena(self, client: httpx.Client, tmp_path: Path) -> None:
        """`RDFConnection.put` and an update by Jena's own client, which is Java's."""
        maven = shutil.which("mvn")
        if maven is None or shutil.which("javac") is None:
            pytest.skip("needs Maven and a JDK")
        (tmp_path / "pom.xml").write_text(POM)
        code = tmp_path / "src" / "main" / "java"
        code.mkdir(parents=True)
        (code / "Put.java").write_text(PUT)
        asked = [maven, "-q", "-B", "compile", "exec:java", "-Dexec.mainClass=Put", f"-Dexec.args={client.base_url}"]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=800, check=False)
        if "Could not resolve" in done.stdout or "Could not transfer" in done.stdout:
            pytest.skip("Maven's repository cannot be reached")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "true" in done.stdout
        assert people(client) == ["b", "c"]


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>x</groupId><artifactId>put</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
<dependencies><dependency><groupId>org.apache.jena</groupId><artifactId>jena-rdfconnection</artifactId>
<version>5.2.0</version></dependency></dependencies>
<build><plugins><plugin><groupId>org.codehaus.mojo</groupId><artifactId>exec-maven-plugin</artifactId>
<version>3.5.0</version></plugin></plugins></build></project>
"""
PUT = f"""import org.apache.jena.rdf.model.*;
import org.apache.jena.rdfconnection.*; import org.apache.jena.vocabulary.RDF;
public class Put {{ public static void main(String[] arguments) {{
  Model model = ModelFactory.createDefaultModel();
  model.createResource("{EX}b").addProperty(RDF.type, model.createResource("{EX}Person"));
  String base = arguments[0].replaceAll("/$", "");
  try (RDFConnection to = RDFConnectionRemote.newBuilder().destination(base).queryEndpoint("sparql")
      .updateEndpoint("sparql").gspEndpoint("data").build()) {{
    to.put(model);
    to.update("INSERT DATA {{ <{EX}c> a <{EX}Person> }}");
    System.out.println(to.queryAsk("ASK {{ <{EX}c> a <{EX}Person> }}"));
  }} System.exit(0); }} }}
"""
